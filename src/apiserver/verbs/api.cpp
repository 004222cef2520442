#include "verbs/api.hpp"

#include "kindlb/base/random_name.hpp"
#include "merge/managed_fields.hpp"
#include "merge/patch.hpp"
#include "object_meta.hpp"
#include "schema/decode.hpp"
#include "schema/validation.hpp"
#include "service/service.hpp"

#include <fmt/format.h>

#include <memory>

namespace kindlb::apiserver {

namespace {
FieldManager field_manager_of(const WriteOptions& options) {
  return {options.manager, options.subresource, now_rfc3339()};
}

/// Keep clients from writing status through the main resource, and spec through /status: restore
/// the other half from `current`. For all kinds but Services, which have rules of their own.
void reset_other_half(Json& object, const Json* current, const Resource& resource,
                      const WriteOptions& options) {
  if (!resource.has_status) return;
  const auto keep = [&](const char* half) {
    if (const auto* value = find(*current, {half}))
      object[half] = *value;
    else
      object.erase(half);
  };
  if (current != nullptr) {
    keep(options.subresource == "status" ? "spec" : "status");
  } else if (&resource == &namespaces()) {
    object["spec"]["finalizers"] = Json::array({"kubernetes"});
    object["status"] = {{"phase", "Active"}};
  } else if (&resource == &pods()) {
    object["status"] = {{"phase", "Pending"}};
  }
}

/// Kinds whose strategy has AllowCreateOnUpdate: a PUT of an object that does not exist creates it.
bool allows_create_on_update(const Resource& resource) {
  return &resource == &services() || resource.plural == "leases" || resource.plural == "events";
}

StatusError name_mismatch(const std::string& in_body, const std::string& in_url) {
  return bad_request(fmt::format(
      "the name of the object ({}) does not match the name on the URL ({})", in_body, in_url));
}

void default_slice(Json& slice) {
  if (slice.contains("endpoints"))
    for (auto& endpoint : slice["endpoints"])
      if (!endpoint.contains("conditions")) endpoint["conditions"] = Json::object();
  if (slice.contains("ports"))
    for (auto& port : slice["ports"])
      if (!port.contains("protocol")) port["protocol"] = "TCP";
}
}  // namespace

ApiResult<ObjectPtr> Api::get(const Resource& resource, const ObjectKey& key) const {
  auto object = store_.get(resource, key);
  if (object == nullptr) return not_found(resource, key.name);
  return object;
}

ApiResult<Json> Api::decoded(const Resource& resource, const Json& sent,
                             const WriteOptions& options,
                             std::vector<std::string>& warnings) const {
  if (!sent.is_object()) return bad_request("the body of the request was not an object");
  const auto kind = text_at(sent, {"kind"});
  const auto version = text_at(sent, {"apiVersion"});
  // apiVersion and kind are optional, since the path determines them; if present, they must match.
  if ((!kind.empty() && kind != resource.kind) ||
      (!version.empty() && version != resource.api_version()))
    return bad_request(fmt::format("{} in version \"{}\" cannot be handled as a {}: this is {}",
                                   kind, version, resource.kind, resource.api_version()));
  auto out = decode(sent, resource.kind);
  if (!out) {
    const auto& why = out.error().message;
    return bad_request(fmt::format("{} in version \"{}\" cannot be handled as a {}: {}",
                                   resource.kind, resource.version, resource.kind, why));
  }
  std::string unknown;
  for (const auto& field : out->unknown) {
    unknown += fmt::format("{}unknown field \"{}\"", unknown.empty() ? "" : ", ", field);
    warnings.push_back(fmt::format("unknown field \"{}\"", field));
  }
  // fieldValidation=Warn and Ignore accept unknown fields; the handler decides on warnings.
  if (options.strict && !unknown.empty())
    return bad_request(
        fmt::format("{} in version \"{}\" cannot be handled as a {}: strict "
                    "decoding error: {}",
                    resource.kind, resource.version, resource.kind, unknown));
  if (!out->value.contains("metadata")) out->value["metadata"] = Json::object();
  return std::move(out->value);
}

std::optional<StatusError> Api::validate_namespace(const Resource& resource,
                                                   const std::string& ns) const {
  if (!resource.namespaced) return std::nullopt;
  const auto found = store_.get(namespaces(), {"", ns});
  if (found == nullptr) return not_found(namespaces(), ns);
  // A terminating namespace accepts updates, which remove finalizers, but no new objects.
  if (!is_terminating(found->value)) return std::nullopt;
  return forbidden(resource, "",
                   fmt::format("unable to create new content in namespace {} because it is being "
                               "terminated",
                               ns));
}

void Api::record_managed_fields(const Resource& resource, const Json* before, Json& object,
                                const WriteOptions& options) const {
  if (&resource == &services() && options.subresource.empty()) {
    if (!object.contains("spec")) object["spec"] = Json::object();
    drop_disabled_fields(object, before, gates_);
    default_service(object, gates_);
  }
  if (&resource == &endpoint_slices()) default_slice(object);
  track_update(before, object, resource, field_manager_of(options));
}

ApiResult<Edit> Api::prepare_create(const Resource& resource, const std::string& ns, Json object,
                                    const WriteOptions& options, bool by_apply) {
  if (auto error = validate_namespace(resource, ns)) return *error;
  // A namespace in the body is optional and must match the path.
  const auto given = text_at(object, {"metadata", "namespace"});
  if (!given.empty() && given != ns)
    return bad_request(
        "the namespace of the provided object does not match the namespace sent on the request");
  fill_system_metadata(object, resource, ns);
  if (auto error = validate_metadata(object, resource)) return *error;
  if (&resource == &namespaces())
    object["metadata"]["labels"]["kubernetes.io/metadata.name"] = key_of(object).name;
  // An apply has set managedFields already, from the configuration instead of the difference.
  if (!by_apply) record_managed_fields(resource, nullptr, object, options);
  // Shared with on_commit; if that is never called, the destructor releases the allocations.
  const auto transaction = std::make_shared<AllocationTransaction>(allocators_);
  if (&resource == &services()) {
    auto prepared = prepare_service(std::move(object), nullptr, gates_, *transaction);
    if (!prepared) return prepared.error();
    object = std::move(*prepared);
  } else {
    reset_other_half(object, nullptr, resource, options);
  }
  return Edit{Edit::Kind::Put, std::move(object), [transaction] { transaction->commit(); }};
}

ApiResult<Edit> Api::prepare_update(const Resource& resource, const Object& current, Json object,
                                    const WriteOptions& options, bool by_apply) {
  if (auto error = preserve_system_metadata(object, current.value, resource)) return *error;
  if (auto error = validate_metadata(object, resource)) return *error;
  if (!by_apply) record_managed_fields(resource, &current.value, object, options);
  const auto transaction = std::make_shared<AllocationTransaction>(allocators_);
  if (&resource == &services()) {
    auto prepared = options.subresource == "status"
                        ? prepare_service_status(std::move(object), current.value, gates_)
                        : prepare_service(std::move(object), &current.value, gates_, *transaction);
    if (!prepared) return prepared.error();
    object = std::move(*prepared);
  } else {
    reset_other_half(object, &current.value, resource, options);
  }
  // The update removed the last finalizer of an object that is being deleted: delete it now. The
  // client gets the object as it sent it. Namespaces end when their content is gone instead.
  if (is_terminating(object) && !has_finalizers(object) && &resource != &namespaces()) {
    auto edit = prepare_removal(resource, current.value);
    edit.value = std::move(object);
    return edit;
  }
  // A no-op write keeps the resourceVersion, as in kube-apiserver.
  if (same_content(current.value, object)) return Edit{};
  return Edit{Edit::Kind::Put, std::move(object), [transaction] { transaction->commit(); }};
}

Edit Api::prepare_removal(const Resource& resource, const Json& object) {
  const auto transaction = std::make_shared<AllocationTransaction>(allocators_);
  if (&resource == &services()) release_service(object, *transaction);
  const auto ns = key_of(object).ns;
  return Edit{Edit::Kind::Remove, {}, [this, transaction, ns] {
                transaction->commit();
                finalize_namespace_if_empty(ns);
              }};
}

ApiResult<WriteResult> Api::write(const Resource& resource, const ObjectKey& key,
                                  const WriteOptions& options, const Store::Editor& editor,
                                  WriteResult out) {
  ObjectPtr dry_run_object;
  const auto result = store_.write(resource, key, [&](const ObjectPtr& current) -> ApiResult<Edit> {
    auto edit = editor(current);
    if (!edit || !options.dry_run) return edit;
    // A dry run: validated like any other write, then discarded.
    if (edit->kind == Edit::Kind::Put)
      dry_run_object =
          std::make_shared<const Object>(Object{edit->value, dump(edit->value), store_.revision()});
    return Edit{};
  });
  if (!result) return result.error();
  out.object = dry_run_object != nullptr ? dry_run_object : *result;
  return out;
}

ApiResult<WriteResult> Api::create(const Resource& resource, const std::string& ns,
                                   const Json& sent, const WriteOptions& options) {
  WriteResult out{nullptr, true, {}};
  auto object = decoded(resource, sent, options, out.warnings);
  if (!object) return object.error();
  auto& meta = (*object)["metadata"];
  if (text_at(meta, {"name"}).empty() && !text_at(meta, {"generateName"}).empty())
    meta["name"] = text_at(meta, {"generateName"}) + base::random_name(kGeneratedSuffix);
  // The name must be known before the write: it is the key under which the store locks.
  const ObjectKey key{resource.namespaced ? ns : "", text_at(meta, {"name"})};
  return write(
      resource, key, options,
      [&](const ObjectPtr& current) -> ApiResult<Edit> {
        // As kube-apiserver: an invalid object is reported as such even if its name is taken.
        auto edit = prepare_create(resource, ns, *object, options, false);
        if (edit && current != nullptr) return already_exists(resource, key.name);
        return edit;
      },
      out);
}

ApiResult<WriteResult> Api::update(const Resource& resource, const ObjectKey& key, const Json& sent,
                                   const WriteOptions& options) {
  WriteResult out;
  auto object = decoded(resource, sent, options, out.warnings);
  if (!object) return object.error();
  const auto name = text_at(*object, {"metadata", "name"});
  if (name != key.name) return name_mismatch(name, key.name);
  bool created_now = false;
  auto result = write(
      resource, key, options,
      [&](const ObjectPtr& current) -> ApiResult<Edit> {
        if (current != nullptr) return prepare_update(resource, *current, *object, options, false);
        if (!allows_create_on_update(resource) || !options.subresource.empty())
          return not_found(resource, key.name);
        created_now = true;
        return prepare_create(resource, key.ns, *object, options, false);
      },
      out);
  if (result) result->created = created_now;
  return result;
}

ApiResult<WriteResult> Api::patch(const Resource& resource, const ObjectKey& key, PatchType type,
                                  const Json& patch, const WriteOptions& options) {
  WriteResult out;
  const auto result =
      write(resource, key, options,
            [&](const ObjectPtr& current) {
              return prepare_patch(resource, current, key, type, patch, options, out);
            },
            {});
  if (!result) return result.error();
  out.object = result->object;
  return out;
}

ApiResult<Edit> Api::prepare_patch(const Resource& resource, const ObjectPtr& current,
                                   const ObjectKey& key, PatchType type, const Json& patch,
                                   const WriteOptions& options, WriteResult& out) {
  // Patches other than apply are updates for managedFields: the manager owns what it changed.
  if (type == PatchType::Apply) return prepare_apply(resource, current, key, patch, options, out);
  if (current == nullptr) return not_found(resource, key.name);
  auto result =
      type == PatchType::JsonPatch ? apply_json_patch(current->value, patch)
      : type == PatchType::MergePatch
          ? apply_merge_patch(current->value, patch)
          : apply_strategic_merge_patch(current->value, patch, Schema::get().root(resource.kind));
  if (!result) {
    auto error = result.error();
    if (error.reason == "Invalid") error.name = key.name;
    return error;
  }
  auto object = decoded(resource, *result, options, out.warnings);
  if (!object) {
    if (type == PatchType::Strategic || options.strict) return object.error();
    // kube-apiserver reports the patched object, not the patch, as the invalid value.
    FieldErrors errors;
    errors.invalid("patch", dump(*result), object.error().message);
    return StatusError{.code = 422,
                       .reason = "Invalid",
                       .message = " \"\" is invalid: patch: " + object.error().message,
                       .causes = errors.take()};
  }
  return prepare_update(resource, *current, std::move(*object), options, false);
}

ApiResult<Edit> Api::prepare_apply(const Resource& resource, const ObjectPtr& current,
                                   const ObjectKey& key, const Json& sent,
                                   const WriteOptions& options, WriteResult& out) {
  if (options.manager.empty())
    return bad_request(
        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for "
        "apply patch");
  if (!list_at(sent, {"metadata", "managedFields"}).empty())
    return bad_request("metadata.managedFields must be nil");
  auto config = decoded(resource, sent, options, out.warnings);
  if (!config) return config.error();
  const auto name = text_at(*config, {"metadata", "name"});
  if (!name.empty() && name != key.name) return name_mismatch(name, key.name);
  if (current == nullptr) {
    if (!options.subresource.empty()) return not_found(resource, key.name);
    const auto uid = text_at(*config, {"metadata", "uid"});
    if (!uid.empty())
      return conflict(resource, key.name,
                      fmt::format("uid mismatch: the provided object specified uid {}, and no "
                                  "existing object was found",
                                  uid));
    out.created = true;
  }
  // An apply to a name that does not exist creates the object, from an empty one.
  const Json live = current != nullptr ? current->value : Json{{"metadata", {{"name", key.name}}}};
  if (current != nullptr && config->contains("metadata")) {
    const auto version = text_at(*config, {"metadata", "resourceVersion"});
    if (!version.empty() && version != text_at(live, {"metadata", "resourceVersion"}))
      return optimistic_lock_error(resource, key.name);
  }
  auto merged = apply_config(live, *config, resource, field_manager_of(options), options.force);
  if (!merged) return merged.error();
  if (current == nullptr)
    return prepare_create(resource, key.ns, std::move(*merged), options, true);
  return prepare_update(resource, *current, std::move(*merged), options, true);
}

}  // namespace kindlb::apiserver
