#pragma once
// One Service with backends of this process behind it, on a stage that all tests of a binary share:
// a stage costs seconds, a Service milliseconds.

#include "integration/stage.hpp"
#include "support/traffic/backend.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace kindlb::it {

/// Both families, kindlb running. Started with the first use, taken down when the binary ends.
Stage& shared_stage();

/// The spec of a Service with TCP and UDP on port 80; `more` is JSON to add: ,"x":1
std::string mixed_spec(const std::string& more = "");
inline constexpr const char* kDualStack = R"(,"ipFamilyPolicy":"RequireDualStack")";

class Served {
 public:
  /// Does not create the Service yet.
  explicit Served(Stage& stage);
  ~Served();  ///< deletes it
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  /// A ready endpoint for ports named "tcp", "udp" and "extra" (TCP as well).
  testing::Backend& add(const std::string& backend, core::IpFamily family = core::IpFamily::V4);
  /// A ready endpoint that a node runs; nobody need listen where traffic goes through node ports.
  void place(const std::string& slice, const core::Target& endpoint, const std::string& node);
  /// As a pod that terminates: no new connections, but it goes on with those it has.
  void leave(const std::string& backend);
  /// Its endpoint is gone; it answers on until the test ends.
  void remove(const std::string& backend);

  /// That reached any of its backends.
  std::size_t datagrams() const;

  /// Creates the Service and waits until it is served.
  core::Service create(const std::string& spec,
                       const std::map<std::string, std::string>& annotations = {});
  /// Changes it and waits until that is served.
  core::Service patch(const std::string& merge_patch);

  core::Target target(std::uint16_t port = 80, core::IpFamily family = core::IpFamily::V4) const {
    return target_of(service_, port, family);
  }
  const core::Service& service() const { return service_; }
  const std::string& name() const { return name_; }

 private:
  struct Slice {
    std::string name;
    core::Target endpoint;
    bool ready = true;
    std::string node;
  };
  void put(const Slice& slice);
  std::string slice_path(const std::string& backend) const;

  Stage& stage_;
  const std::string name_;
  core::Service service_;
  std::map<std::string, std::unique_ptr<testing::Backend>> backends_;
  std::set<std::string> slices_;
};

}  // namespace kindlb::it
