#pragma once
// Keeps EndpointSlices in step with Services and pods. Looks only at what changed since the last
// time: with thousands of Services, one that changes costs no more than with one. For one thread.

#include "verbs/api.hpp"

#include <set>
#include <stop_token>

namespace kindlb::apiserver {

class EndpointSliceController {
 public:
  explicit EndpointSliceController(Api& api) : api_(api) {}

  /// Writes what differs and removes what nobody wants, for everything that changed.
  void reconcile();
  /// Settles whenever something changed, until `stop`.
  void run(const std::stop_token& stop);

 private:
  std::set<ObjectKey> changed_keys();
  std::set<ObjectKey> all_keys() const;
  void reconcile_service(const ObjectKey& key);

  Api& api_;
  Revision services_revision_ = 0;
  Revision pods_revision_ = 0;
};

}  // namespace kindlb::apiserver
