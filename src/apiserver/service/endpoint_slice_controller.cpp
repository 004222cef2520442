#include "service/endpoint_slice_controller.hpp"

#include "object_meta.hpp"
#include "service/endpoint_slices.hpp"

#include <algorithm>

namespace kindlb::apiserver {

namespace {
using namespace std::chrono_literals;

constexpr const char* kManagedBy = "endpointslice.kubernetes.io/managed-by";
constexpr const char* kServiceName = "kubernetes.io/service-name";
/// In managedFields of stored slices, so it cannot change.
constexpr const char* kFieldManager = "endpoint-keeper";
/// How late a stop may be noticed.
constexpr auto kWakeupInterval = 100ms;

bool is_managed(const Json& slice) {
  return text_at(slice, {"metadata", "labels", kManagedBy}) == kSliceManager;
}

ObjectKey service_of(const Json& slice) {
  return {key_of(slice).ns, text_at(slice, {"metadata", "labels", kServiceName})};
}

/// Errors are dropped: they come from a concurrent deletion of the namespace, and any later change
/// leads to another attempt.
void write_slice(Api& api, const Json& wanted) {
  const WriteOptions as_controller{.manager = kFieldManager};
  const auto key = key_of(wanted);
  const auto stored = api.store().get(endpoint_slices(), key);
  if (stored == nullptr)
    (void)api.create(endpoint_slices(), key.ns, wanted, as_controller);
  else if (!is_up_to_date(stored->value, wanted))
    (void)api.update(endpoint_slices(), key, wanted, as_controller);
}
}  // namespace

void EndpointSliceController::reconcile_service(const ObjectKey& key) {
  auto& store = api_.store();
  const auto service = store.get(services(), key);
  std::set<ObjectKey> wanted;
  if (service != nullptr) {
    for (const auto& slice : desired_slices(service->value, store.list(pods(), key.ns).objects)) {
      wanted.insert(key_of(slice));
      write_slice(api_, slice);
    }
  }
  // Slices of families that the Service no longer has, or of a deleted Service.
  for (const auto& name : slice_names(key.name)) {
    const ObjectKey other{key.ns, name};
    const auto stored = store.get(endpoint_slices(), other);
    if (stored != nullptr && wanted.count(other) == 0 && is_managed(stored->value) &&
        service_of(stored->value) == key)
      (void)api_.remove(endpoint_slices(), other, {});
  }
}

/// All Services, and deleted ones that have slices left.
std::set<ObjectKey> EndpointSliceController::all_keys() const {
  std::set<ObjectKey> out;
  for (const auto& service : api_.store().list(services(), "").objects)
    out.insert(key_of(service->value));
  for (const auto& slice : api_.store().list(endpoint_slices(), "").objects)
    if (is_managed(slice->value)) out.insert(service_of(slice->value));
  return out;
}

std::set<ObjectKey> EndpointSliceController::changed_keys() {
  const auto now = std::chrono::steady_clock::now();
  const auto of_services = api_.store().wait(services(), services_revision_, now);
  const auto of_pods = api_.store().wait(pods(), pods_revision_, now);
  // Revision first, list second: a change in between is seen twice rather than never.
  if (of_services.expired || of_pods.expired) {
    services_revision_ = pods_revision_ = api_.store().revision();
    return all_keys();
  }
  services_revision_ = of_services.up_to;
  pods_revision_ = of_pods.up_to;
  std::set<ObjectKey> out;
  for (const auto& change : of_services.changes) out.insert(change.key);
  std::set<std::string> namespaces_changed;
  // Which Services a pod's labels selected before and after is not computed: all Services of its
  // namespace are compared, and only those that differ are written.
  for (const auto& change : of_pods.changes) namespaces_changed.insert(change.key.ns);
  for (const auto& ns : namespaces_changed)
    for (const auto& service : api_.store().list(services(), ns).objects)
      out.insert(key_of(service->value));
  return out;
}

void EndpointSliceController::reconcile() {
  for (const auto& key : changed_keys()) reconcile_service(key);
}

void EndpointSliceController::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    reconcile();
    // Either may be ahead of the other; waiting from the older one at worst reconciles nothing.
    api_.store().wait_for_any(std::min(services_revision_, pods_revision_),
                              std::chrono::steady_clock::now() + kWakeupInterval);
  }
}

}  // namespace kindlb::apiserver
