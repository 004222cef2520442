// The half of a ServiceUnderTest that writes as kubectl does.

#include "service_under_test.hpp"

namespace kindlb::conformance {

namespace {
constexpr const char* kApplyManager = "kindlb-conformance";
/// What `kubectl apply` remembers: the manifest of the last time.
constexpr const char* kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";
}  // namespace

core::Result<Json> ServiceUnderTest::fetch_spec() const {
  const auto found = env_.objects.get(path(), env_.stop);
  if (!found) return found.error();
  return json::map_at(*found, {"spec"});
}

/// An API server drops a field that it does not know, or whose feature gate is off, without a word.
core::Result<bool> ServiceUnderTest::api_keeps(const Json& fields) const {
  const auto service = manifest(load_balancer_fields(fields));
  const auto made = env_.objects.create(env_.path("services") + "?dryRun=All", service, env_.stop);
  if (!made) return made.error();
  const auto& spec = json::map_at(*made, {"spec"});
  for (const auto& [name, value] : fields.items())
    if (!spec.contains(name) || spec.at(name) != value) return false;
  return true;
}

EarlyEnd ServiceUnderTest::apply_again(const Json& fields) {
  auto wanted = manifest(load_balancer_fields(fields));
  const auto applied = env_.objects.apply(path(), wanted, kApplyManager, env_.stop);
  if (!applied) return context_.fail(applied.error());
  wanted["metadata"]["annotations"][kLastApplied] = json::dump(wanted);
  const auto patched = env_.objects.strategic_patch(path(), wanted, env_.stop);
  if (!patched) return context_.fail(patched.error());
  return std::nullopt;
}

}  // namespace kindlb::conformance
