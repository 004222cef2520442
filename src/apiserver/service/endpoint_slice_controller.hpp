#pragma once
// The EndpointSlice controller of the sandbox: writes the slices of Services with selectors from
// the pods they select. It follows the store's history instead of listing: with thousands of
// Services, a change of one costs no more than with a single Service. Level-triggered: after an
// expired history it reconciles everything. Not thread-safe: runs on a thread of its own.

#include "verbs/api.hpp"

#include <set>
#include <stop_token>

namespace kindlb::apiserver {

class EndpointSliceController {
 public:
  explicit EndpointSliceController(Api& api) : api_(api) {}

  /// Reconcile the Services that changed, or whose pods did, since the last call.
  void reconcile();
  /// Reconcile on every change until `stop`.
  void run(const std::stop_token& stop);

 private:
  std::set<ObjectKey> changed_keys();
  std::set<ObjectKey> all_keys() const;
  void reconcile_service(const ObjectKey& key);

  Api& api_;
  Revision services_revision_ = 0;  ///< changes up to here are reconciled
  Revision pods_revision_ = 0;
};

}  // namespace kindlb::apiserver
