#include "object_meta.hpp"

#include "kindlb/base/random_name.hpp"
#include "kindlb/base/text.hpp"
#include "schema/validation.hpp"

#include <time.h>

#include <fmt/format.h>

#include <ctime>
#include <random>

namespace kindlb::apiserver {

namespace {
/// Not cryptographic: uids have to be unique, not secret.
std::uint64_t random_bits() {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return generator();
}

/// Kinds whose registry strategy maintains metadata.generation. That of Services does not.
bool has_generation(const Resource& resource) {
  return &resource == &endpoint_slices() || &resource == &pods();
}

/// These names become DNS labels; other kinds allow subdomains.
bool requires_label_name(const Resource& resource) {
  return &resource == &services() || &resource == &namespaces();
}

/// Keys are validated in lower case and the total size is limited (TotalAnnotationSizeLimitB).
void check_annotations(const Json& object, FieldErrors& errors) {
  constexpr std::size_t kMaxSize = std::size_t{256} << 10U;
  std::size_t size = 0;
  for (const auto& [key, value] : map_at(object, {"metadata", "annotations"}).items()) {
    if (const auto why = qualified_name_error(base::lowered(key)); !why.empty())
      errors.invalid("metadata.annotations", key, why);
    size += key.size() + (value.is_string() ? value.get_ref<const std::string&>().size() : 0);
  }
  if (size > kMaxSize)
    errors.invalid("metadata.annotations", "", "may not be more than 262144 bytes");
}

/// Qualified names, apart from the two that the garbage collector uses.
void check_finalizers(const Json& object, FieldErrors& errors) {
  const auto finalizers = texts_at(object, {"metadata", "finalizers"});
  for (std::size_t i = 0; i < finalizers.size(); ++i) {
    const auto path = fmt::format("metadata.finalizers[{}]", i);
    if (const auto why = qualified_name_error(finalizers[i]); !why.empty())
      errors.invalid(path, finalizers[i], why);
    else if (finalizers[i].find('/') == std::string::npos && finalizers[i] != "orphan" &&
             finalizers[i] != "foregroundDeletion")
      errors.invalid(path, finalizers[i],
                     "name is neither a standard finalizer name nor is it fully qualified");
  }
}

bool differs(const Json& object, const Json& current, const char* field) {
  const auto given = text_at(object, {"metadata", field});
  return !given.empty() && given != text_at(current, {"metadata", field});
}

/// Everything but metadata and status counts as spec: some kinds have no field of that name.
bool spec_changed(const Json& a, const Json& b) {
  auto left = a;
  auto right = b;
  for (const char* part : {"metadata", "status"}) {
    left.erase(part);
    right.erase(part);
  }
  return left != right;
}
}  // namespace

std::string new_uid() {
  const auto high = (random_bits() & ~0xF000ULL) | 0x4000ULL;
  const auto low = (random_bits() & ~(3ULL << 62U)) | (1ULL << 63U);
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32U, (high >> 16U) & 0xFFFFU,
                     high & 0xFFFFU, low >> 48U, low & 0xFFFFFFFFFFFFULL);
}

std::string rfc3339(std::time_t time) {
  std::tm parts{};
  gmtime_r(&time, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string now_rfc3339() {
  return rfc3339(std::time(nullptr));
}

ObjectKey key_of(const Json& object) {
  return {text_at(object, {"metadata", "namespace"}), text_at(object, {"metadata", "name"})};
}

bool is_terminating(const Json& object) {
  return find(object, {"metadata", "deletionTimestamp"}) != nullptr;
}

bool has_finalizers(const Json& object) {
  return !list_at(object, {"metadata", "finalizers"}).empty();
}

std::optional<StatusError> validate_metadata(const Json& object, const Resource& resource) {
  FieldErrors errors;
  const auto name = text_at(object, {"metadata", "name"});
  if (name.empty()) {
    errors.required("metadata.name", "name or generateName is required");
  } else {
    const auto why =
        requires_label_name(resource) ? dns_label_error(name) : dns_subdomain_error(name);
    if (!why.empty()) errors.invalid("metadata.name", name, why);
  }
  validate_labels(map_at(object, {"metadata", "labels"}), "metadata.labels", errors);
  check_annotations(object, errors);
  check_finalizers(object, errors);
  if (errors.empty()) return std::nullopt;
  return invalid(resource, name, errors.take());
}

void fill_system_metadata(Json& object, const Resource& resource, const std::string& ns) {
  auto& meta = object["metadata"];
  for (const char* field :
       {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion"})
    meta.erase(field);
  if (resource.namespaced) meta["namespace"] = ns;
  const auto prefix = text_at(meta, {"generateName"});
  if (text_at(meta, {"name"}).empty() && !prefix.empty())
    meta["name"] = prefix + base::random_name(kGeneratedSuffix);
  meta["uid"] = new_uid();
  meta["creationTimestamp"] = now_rfc3339();
  meta.erase("generation");
  if (has_generation(resource)) meta["generation"] = 1;
  object["apiVersion"] = resource.api_version();
  object["kind"] = resource.kind;
}

std::optional<StatusError> preserve_system_metadata(Json& object, const Json& current,
                                                    const Resource& resource) {
  auto& meta = object["metadata"];
  const auto name = text_at(current, {"metadata", "name"});
  FieldErrors errors;
  for (const char* field : {"name", "namespace", "uid"})
    if (differs(object, current, field))
      errors.invalid(std::string("metadata.") + field, text_at(meta, {field}),
                     "field is immutable");
  if (!errors.empty()) return invalid(resource, name, errors.take());
  if (differs(object, current, "resourceVersion")) return optimistic_lock_error(resource, name);
  for (const char* field :
       {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp",
        "deletionGracePeriodSeconds", "generateName", "generation", "resourceVersion"}) {
    const auto* value = find(current, {"metadata", field});
    if (value != nullptr)
      meta[field] = *value;
    else
      meta.erase(field);
  }
  object["apiVersion"] = resource.api_version();
  object["kind"] = resource.kind;
  // EndpointSlices: a changed label increments the generation, too, since it can move a slice to
  // another Service.
  const bool relabelled =
      &resource == &endpoint_slices() &&
      map_at(object, {"metadata", "labels"}) != map_at(current, {"metadata", "labels"});
  if (has_generation(resource) && (relabelled || spec_changed(object, current)))
    meta["generation"] = number_at(current, {"metadata", "generation"}) + 1;
  return std::nullopt;
}

}  // namespace kindlb::apiserver
