// The part of Api that starts and ends objects: initial objects, deletion, finalizers, state files.

#include "object_meta.hpp"
#include "service/service.hpp"
#include "verbs/api.hpp"

#include <fmt/format.h>

namespace kindlb::apiserver {

namespace {
/// REQUIRES: at least one range.
Allocators make_allocators(const std::vector<core::Cidr>& ranges) {
  Allocators allocators;
  for (const auto& range : ranges) allocators.ips.emplace_back(range);
  KINDLB_ASSERT(!allocators.ips.empty());
  return allocators;
}

/// The Service of the API server itself, with the first address of the range.
Json kubernetes_service(const core::Cidr& range) {
  const auto first = range.first().next();
  return {{"metadata",
           {{"name", "kubernetes"},
            {"labels", {{"component", "apiserver"}, {"provider", "kubernetes"}}}}},
          {"spec",
           {{"clusterIP", first ? first->text() : ""},
            {"ports", {{{"name", "https"}, {"port", 443}, {"targetPort", 6443}}}}}}};
}

std::optional<StatusError> check_preconditions(const Resource& resource, const Json& object,
                                               const DeleteOptions& options) {
  const auto name = text_at(object, {"metadata", "name"});
  const auto mismatch = [&](const char* what, const std::string& wanted, const std::string& found,
                            const char* guess) {
    // Here kube-apiserver reports the kind, elsewhere the resource.
    return StatusError{
        .code = 409,
        .reason = "Conflict",
        .message = fmt::format("Operation cannot be fulfilled on {} \"{}\": the {} in the "
                               "precondition ({}) does not match the {} in record ({}). "
                               "The object might have been {}",
                               resource.kind, name, what, wanted, what, found, guess),
        .kind = resource.kind,
        .name = name};
  };
  const auto uid = text_at(object, {"metadata", "uid"});
  if (!options.uid.empty() && options.uid != uid)
    return mismatch("UID", options.uid, uid, "deleted and then recreated");
  const auto version = text_at(object, {"metadata", "resourceVersion"});
  if (!options.resource_version.empty() && options.resource_version != version)
    return mismatch("ResourceVersion", options.resource_version, version, "modified");
  return std::nullopt;
}
}  // namespace

Api::Api(const Options& options)
    : gates_(options.gates),
      store_(options.history),
      allocators_(make_allocators(options.service_ranges)) {
  const WriteOptions server{.manager = "kindlb-sandbox"};
  for (const char* name : {"default", "kube-node-lease", "kube-public", "kube-system"})
    KINDLB_ASSERT(create(namespaces(), "", {{"metadata", {{"name", name}}}}, server));
  KINDLB_ASSERT(
      create(services(), "default", kubernetes_service(options.service_ranges[0]), server));
}

ApiResult<ObjectPtr> Api::remove(const Resource& resource, const ObjectKey& key,
                                 const DeleteOptions& options) {
  const bool is_namespace = &resource == &namespaces();
  if (is_namespace && (key.name == "default" || key.name.starts_with("kube-")))
    return forbidden(resource, key.name, "this namespace may not be deleted");
  auto result = store_.write(resource, key, [&](const ObjectPtr& current) -> ApiResult<Edit> {
    if (current == nullptr) return not_found(resource, key.name);
    if (auto error = check_preconditions(resource, current->value, options)) return *error;
    // Preconditions are checked in a dry run, too.
    if (options.dry_run) return Edit{};
    // Namespaces always have a finalizer, "kubernetes" in their spec: their content goes first.
    const bool blocked = is_namespace || has_finalizers(current->value);
    if (!blocked) return prepare_removal(resource, current->value);
    // Deleting again what is being deleted does nothing, and keeps the first deletionTimestamp.
    if (is_terminating(current->value)) return Edit{};
    Json object = current->value;
    object["metadata"]["deletionTimestamp"] = now_rfc3339();
    object["metadata"]["deletionGracePeriodSeconds"] = 0;
    if (is_namespace) object["status"]["phase"] = "Terminating";
    return Edit{Edit::Kind::Put, std::move(object), {}};
  });
  if (result && is_namespace && !options.dry_run) delete_namespace_content(key.name);
  return result;
}

void Api::delete_namespace_content(const std::string& ns) {
  // Objects with finalizers stay and end the namespace when they go, through on_commit.
  for (const auto& resource : resources()) {
    if (!resource.namespaced) continue;
    for (const auto& object : store_.list(resource, ns).objects)
      (void)remove(resource, key_of(object->value), {});
  }
  finalize_namespace_if_empty(ns);
}

void Api::finalize_namespace_if_empty(const std::string& ns) {
  const auto found = store_.get(namespaces(), {"", ns});
  if (ns.empty() || found == nullptr || !is_terminating(found->value)) return;
  for (const auto& resource : resources())
    if (resource.namespaced && !store_.list(resource, ns).objects.empty()) return;
  (void)store_.write(namespaces(), {"", ns}, [](const ObjectPtr& current) -> ApiResult<Edit> {
    return Edit{current == nullptr ? Edit::Kind::Keep : Edit::Kind::Remove, {}, {}};
  });
}

/// Default what is restored, as kube-apiserver does with what it reads from etcd: a Service that
/// was stored while a gate was off gets the default of the gate's field, under its old revision.
void Api::restore(std::vector<std::pair<const Resource*, Json>> objects, Revision revision) {
  for (auto& [resource, object] : objects)
    if (resource == &services()) default_service(object, gates_);
  store_.transact([&] {
    // Allocations are derived state: the Services are the source of truth.
    Allocators fresh;
    for (const auto& allocator : allocators_.ips) fresh.ips.emplace_back(allocator.range());
    allocators_ = std::move(fresh);
    AllocationTransaction transaction(allocators_);
    for (const auto& [resource, object] : objects)
      if (resource == &services()) claim_service(object, transaction);
    transaction.commit();
    store_.restore(objects, revision);
  });
}

}  // namespace kindlb::apiserver
