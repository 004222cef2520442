#pragma once
// The API writes for Services: status with its Events, and release. Does not decide what to write.
//
// Threads and lifetime: lives on the loop's thread, and all methods are called there; each write
// runs on the executor. Executor and loop must be stopped before it is destroyed.
//
// Invariants:
//  - Per Service (by uid), at most one write is under way. Another one asked for meanwhile is
//    dropped: the end of the first makes the Service be planned again. A write under way would also
//    restore what a release removes.
//  - What an API server answers to a write goes to the store at once, so that the next pass does
//    not repeat the write while the watch is behind.
//  - A version of a Service that was released is not released twice.
//  - The Events of a Service are written in the order of the writes that they are about.
//  - A write that fails is not repeated as it is: what is right may have changed.

#include "kindlb/base/thread_pool.hpp"
#include "kindlb/core/plan.hpp"
#include "kindlb/core/result.hpp"
#include "kindlb/kube/api.hpp"
#include "loop.hpp"
#include "reconciler/clusters.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace kindlb::controller {

class ServiceWrites {
 public:
  /// Called on the loop's thread when a write has ended, unless its Service was forgotten.
  struct Callbacks {
    /// The store has the answer already. The plan is the one that was given to write().
    std::function<void(const core::Service& answer, const core::Plan& plan)> written;
    std::function<void(const core::ServiceKey& key, const std::string& uid)> write_failed;
    /// Not `ok`: the release has failed.
    std::function<void(const core::ServiceKey& key, const std::string& uid, bool ok)> released;
  };

  ServiceWrites(Loop& loop, base::ThreadPool& executor, Clusters& clusters, Callbacks callbacks)
      : loop_(loop), executor_(executor), clusters_(clusters), callbacks_(std::move(callbacks)) {}

  /// Write the plan's status, then its Events. REQUIRES: plan.write
  void write(std::shared_ptr<kube::Api> api, const core::Service& service, core::Plan plan);
  /// Write the plan's Events alone, for a change that the API does not show. Dropped while a write
  /// is under way: its end makes the Service be planned again.
  /// Return whether the Events were taken.
  bool tell(std::shared_ptr<kube::Api> api, const core::Service& service,
            std::vector<core::EventNote> events);
  /// Give the Service back, by dropping the finalizer or removing all that we wrote.
  void release(std::shared_ptr<kube::Api> api, const core::Service& service,
               core::Teardown teardown);

  /// Return whether a release is under way, or has ended and the watch has not shown its effect
  /// yet: planning from this version would repeat it.
  bool awaits_release(const core::Service& service);
  /// Return whether the last version seen of the Service was released.
  bool was_released(const std::string& uid) const;
  void forget(const std::string& uid) { states_.erase(uid); }

 private:
  struct State {
    bool writing = false;
    bool releasing = false;
    std::string released;  ///< the resourceVersion that was released
    /// Held while Events are written, by one executor thread after the other.
    std::shared_ptr<std::mutex> emitting = std::make_shared<std::mutex>();
  };

  State* find(const std::string& uid);
  void written(const core::ServiceKey& key, const core::Plan& plan,
               const core::Result<core::Service>& result);
  void release_ended(const core::Service& about, const core::Result<void>& result);

  Loop& loop_;
  base::ThreadPool& executor_;
  Clusters& clusters_;
  const Callbacks callbacks_;
  std::map<std::string, State> states_;  ///< by uid
};

}  // namespace kindlb::controller
