#pragma once
// Watches the Services of one namespace as a user would, and keeps every version it saw, in order.
// Thread-safe. Ends its watch on destruction.

#include "kindlb/kube/api.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kindlb::it {

using Wish = std::function<bool(const core::Service&)>;

class Diary final : public kube::Observer {
 public:
  /// Returns once the watch is under way: what is written afterwards is seen.
  Diary(std::shared_ptr<http::Client> client, std::string ns);
  ~Diary() override;

  /// The first version from number `from` on that fulfils the wish.
  std::optional<core::Service> wait(const std::string& name, const Wish& wish,
                                    std::chrono::milliseconds limit, std::size_t from = 0);
  bool wait_gone(const std::string& name, std::chrono::milliseconds limit);
  /// Every version so far, from number `from` on.
  std::vector<core::Service> pages(const std::string& name, std::size_t from = 0);
  std::size_t count(const std::string& name) { return pages(name).size(); }

  void services_listed(std::vector<core::Service> all) override;
  void service_changed(core::Service service) override;
  void service_deleted(const core::ServiceKey& key) override;
  void slices_listed(std::vector<core::EndpointSlice>) override {}
  void slice_changed(core::EndpointSlice) override {}
  void slice_deleted(const std::string&, const std::string&) override {}
  void nodes_listed(std::vector<core::Node>) override {}
  void node_changed(core::Node) override {}
  void node_deleted(const std::string&) override {}
  void watch_state(const std::string&, const core::Result<void>&) override {}

 private:
  void note(core::Service service);

  const std::string ns_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool listed_ = false;
  std::map<std::string, std::vector<core::Service>> pages_;
  std::set<std::string> gone_;
  std::unique_ptr<kube::Reflectors> reflectors_;  // last: its threads use the rest
};

/// The three conditions in one line: "Serving=True/Serving Provisioning=False/Complete", with
/// "Degraded=..." where there is one; empty without any.
std::string told(const core::Service& service);
/// told() of each, without repetitions in a row.
std::vector<std::string> told(const std::vector<core::Service>& pages);

/// told() of a Service that is served as it was asked for.
inline constexpr const char* kServing = "Serving=True/Serving Provisioning=False/Complete";

bool is_serving(const core::Service& service);  ///< Serving=True and Provisioning=False

}  // namespace kindlb::it
