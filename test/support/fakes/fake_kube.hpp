#pragma once
// An API server in memory, for one cluster: Services with resourceVersions and uids, status writes
// as server-side apply makes them, releases, Events, EndpointSlices and Nodes, and a watch that
// tells all of it to a Store. Outages, conflicts and late news on demand. Thread-safe; the watch is
// called with the lock held, so that news keep their order, and must only pass them on.

#include "kindlb/kube/api.hpp"
#include "reconciler/store.hpp"
#include "support/fakes/journal.hpp"

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::testing {

class FakeKube final : public kube::Api {
 public:
  using Edit = std::function<controller::Store::Keys(controller::Store&)>;
  using Watch = std::function<void(Edit)>;

  FakeKube(Journal& journal, std::string cluster)
      : journal_(journal), cluster_(std::move(cluster)) {}

  /// List everything, then report every change. Null ends it.
  void watch(Watch watch);
  /// Hold watch events back until called with false; the API itself goes on.
  void hold_watch_events(bool hold);
  /// The API server does not answer. When it does again, watches list anew.
  void set_down(bool down);
  /// The next `times` calls of "apply", "release" or "event" fail.
  void fail_next(const std::string& operation, core::Error error, int times = 1);
  /// What the API server makes of writes from now on, before it stores them: a gate, a webhook.
  /// Null ends it.
  void mangle_writes(std::function<void(core::StatusApply&)> mangle);
  /// Called once each, without the lock, on the writer's thread: before the next status write takes
  /// effect, or after it did but before its writer hears of it.
  void before_next_apply(std::function<void()> hook);
  void after_next_apply(std::function<void()> hook);

  // What users do.
  core::Service create(core::Service service);  ///< gives it a uid and a version
  void edit(const std::string& name, const std::function<void(core::Service&)>& change);
  void remove(const std::string& name);  ///< kubectl delete: finalizers hold it back
  void put_slice(core::EndpointSlice slice);
  void remove_slice(const std::string& ns, const std::string& name);
  void put_node(core::Node node);

  // Looking. Names are "namespace/name".
  std::optional<core::Service> get(const std::string& name) const;
  std::size_t size() const;
  std::vector<std::string> events() const;  ///< "default/web Serving"
  void forget_events();

  core::Result<std::string> server_version(std::stop_token) override { return std::string("v1"); }
  core::Result<std::string> cluster_uid() override { return "uid-" + cluster_; }
  core::Result<core::Service> apply_status(const core::StatusApply& apply) override;
  core::Result<void> release(const kube::ReleasePatch& patch) override;
  core::Result<void> emit(const core::Service& about, const core::EventNote& note) override;

 private:
  core::ServiceKey key_of(const std::string& name) const;
  std::optional<core::Error> enter(const std::string& operation, const core::ServiceKey& key);
  core::Result<core::Service> write(const core::StatusApply& apply);
  void store(core::Service service);
  void store_or_delete(core::Service service);
  void notify(Edit edit);
  void notify_all();

  Journal& journal_;
  const std::string cluster_;
  mutable std::mutex mutex_;
  Watch watch_;
  std::function<void()> before_;
  std::function<void()> after_;
  std::function<void(core::StatusApply&)> mangle_;
  std::deque<Edit> held_;
  bool holding_ = false;
  bool down_ = false;
  std::map<core::ServiceKey, core::Service> services_;
  std::map<std::pair<std::string, std::string>, core::EndpointSlice> slices_;
  std::map<std::string, core::Node> nodes_;
  std::map<std::string, std::deque<core::Error>> faults_;
  std::vector<std::string> events_;
  std::uint64_t version_ = 100;
  unsigned births_ = 0;
};

}  // namespace kindlb::testing
