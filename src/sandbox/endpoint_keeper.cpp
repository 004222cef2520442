#include "sandbox/endpoint_keeper.hpp"

#include "sandbox/endpoint_slices.hpp"
#include "sandbox/identity.hpp"

#include <set>

namespace kindlb::sandbox {

namespace {
using namespace std::chrono_literals;

constexpr const char* kManagedBy = "endpointslice.kubernetes.io/managed-by";
constexpr auto kMoment = 100ms;

void settle(Api& api, const Json& wanted) {
  const WriteOptions as_controller{.manager = "endpoint-keeper"};
  const auto key = key_of(wanted);
  const auto stored = api.store().get(endpoint_slices(), key);
  if (stored == nullptr)
    (void)api.create(endpoint_slices(), key.ns, wanted, as_controller);
  else if (!says_the_same(stored->value, wanted))
    (void)api.update(endpoint_slices(), key, wanted, as_controller);
}
}  // namespace

void settle_endpoint_slices(Api& api) {
  std::set<ObjectKey> wanted;
  for (const auto& service : api.store().list(services(), "").objects) {
    const auto key = key_of(service->value);
    for (const auto& slice : slices_for(service->value, api.store().list(pods(), key.ns).objects)) {
      wanted.insert(key_of(slice));
      settle(api, slice);
    }
  }
  for (const auto& slice : api.store().list(endpoint_slices(), "").objects) {
    const auto key = key_of(slice->value);
    const bool ours = text_at(slice->value, {"metadata", "labels", kManagedBy}) == kSliceManager;
    if (ours && wanted.count(key) == 0) (void)api.remove(endpoint_slices(), key, {});
  }
}

void keep_endpoint_slices(Api& api, const std::stop_token& stop) {
  auto& store = api.store();
  const auto changed = [&](const Resource& resource, Revision after,
                           std::chrono::milliseconds patience) {
    const auto news = store.wait(resource, after, std::chrono::steady_clock::now() + patience);
    return news.expired || !news.changes.empty();
  };
  Revision seen = 0;
  while (!stop.stop_requested()) {
    // Any change ends the wait for pods, so that Services are looked at soon enough, too.
    if (!changed(pods(), seen, kMoment) && !changed(services(), seen, 0ms)) continue;
    seen = store.revision();
    settle_endpoint_slices(api);
  }
}

}  // namespace kindlb::sandbox
