#pragma once
// Source addresses on a stage's network that the test can call from: on this machine's end of the
// bridge, so it needs root. They go with the object, or at the latest with the bridge.

#include "integration/stage.hpp"

#include <string>
#include <vector>

namespace kindlb::it {

class Clients {
 public:
  /// `count` addresses of each family the stage has.
  Clients(Stage& stage, unsigned count);
  /// This IPv4 address.
  Clients(Stage& stage, const core::IpAddress& address);
  ~Clients();
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;

  const core::IpAddress& v4(std::size_t index) const { return v4_.at(index); }
  const core::IpAddress& v6(std::size_t index) const { return v6_.at(index); }

 private:
  void add();
  std::vector<core::IpAddress> reserve(core::IpFamily family, unsigned count);

  const std::string bridge_;
  Stage& stage_;
  std::vector<core::IpAddress> v4_;
  std::vector<core::IpAddress> v6_;
};

}  // namespace kindlb::it
