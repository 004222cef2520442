#include "object_meta.hpp"

#include "schema/validation.hpp"

#include <time.h>

#include <fmt/format.h>

#include <ctime>
#include <random>

namespace kindlb::apiserver {

namespace {
std::uint64_t random_bits() {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return generator();
}

/// Kinds whose specs are counted; Services are not among them.
bool has_generation(const Resource& resource) {
  return &resource == &endpoint_slices() || &resource == &pods();
}

bool takes_label_names(const Resource& resource) {
  return &resource == &services() || &resource == &namespaces();
}

void check_labels(const Json& object, FieldFaults& faults) {
  for (const auto& [key, value] : map_at(object, {"metadata", "labels"}).items()) {
    if (const auto why = why_not_qualified_name(key); !why.empty())
      faults.invalid("metadata.labels", key, why);
    const auto text = value.is_string() ? value.get<std::string>() : std::string();
    if (const auto why = why_not_label_value(text); !why.empty())
      faults.invalid("metadata.labels", text, why);
  }
}

void check_annotations(const Json& object, FieldFaults& faults) {
  constexpr std::size_t kMaxSize = std::size_t{256} << 10U;
  std::size_t size = 0;
  for (const auto& [key, value] : map_at(object, {"metadata", "annotations"}).items()) {
    std::string lower = key;
    for (auto& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (const auto why = why_not_qualified_name(lower); !why.empty())
      faults.invalid("metadata.annotations", key, why);
    size += key.size() + (value.is_string() ? value.get_ref<const std::string&>().size() : 0);
  }
  if (size > kMaxSize)
    faults.invalid("metadata.annotations", "", "may not be more than 262144 bytes");
}

void check_finalizers(const Json& object, FieldFaults& faults) {
  const auto finalizers = texts_at(object, {"metadata", "finalizers"});
  for (std::size_t i = 0; i < finalizers.size(); ++i) {
    const auto path = fmt::format("metadata.finalizers[{}]", i);
    if (const auto why = why_not_qualified_name(finalizers[i]); !why.empty())
      faults.invalid(path, finalizers[i], why);
    else if (finalizers[i].find('/') == std::string::npos && finalizers[i] != "orphan" &&
             finalizers[i] != "foregroundDeletion")
      faults.invalid(path, finalizers[i],
                     "name is neither a standard finalizer name nor is it fully qualified");
  }
}

bool differs(const Json& object, const Json& current, const char* field) {
  const auto given = text_at(object, {"metadata", field});
  return !given.empty() && given != text_at(current, {"metadata", field});
}

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

std::string name_suffix() {
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string out;
  for (int i = 0; i < 5; ++i) out += kLetters[random_bits() % kLetters.size()];
  return out;
}

std::string now_text() {
  const auto now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

ObjectKey key_of(const Json& object) {
  return {text_at(object, {"metadata", "namespace"}), text_at(object, {"metadata", "name"})};
}

std::optional<Refusal> check_metadata(const Json& object, const Resource& resource) {
  FieldFaults faults;
  const auto name = text_at(object, {"metadata", "name"});
  if (name.empty()) {
    faults.required("metadata.name", "name or generateName is required");
  } else {
    const auto why =
        takes_label_names(resource) ? why_not_dns_label(name) : why_not_dns_subdomain(name);
    if (!why.empty()) faults.invalid("metadata.name", name, why);
  }
  check_labels(object, faults);
  check_annotations(object, faults);
  check_finalizers(object, faults);
  if (faults.empty()) return std::nullopt;
  return invalid(resource, name, faults.take());
}

void begin_metadata(Json& object, const Resource& resource, const std::string& ns) {
  auto& meta = object["metadata"];
  for (const char* field :
       {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion"})
    meta.erase(field);
  if (resource.namespaced) meta["namespace"] = ns;
  const auto prefix = text_at(meta, {"generateName"});
  if (text_at(meta, {"name"}).empty() && !prefix.empty()) meta["name"] = prefix + name_suffix();
  meta["uid"] = new_uid();
  meta["creationTimestamp"] = now_text();
  meta.erase("generation");
  if (has_generation(resource)) meta["generation"] = 1;
  object["apiVersion"] = resource.api_version();
  object["kind"] = resource.kind;
}

std::optional<Refusal> keep_metadata(Json& object, const Json& current, const Resource& resource) {
  auto& meta = object["metadata"];
  const auto name = text_at(current, {"metadata", "name"});
  FieldFaults faults;
  for (const char* field : {"name", "namespace", "uid"})
    if (differs(object, current, field))
      faults.invalid(std::string("metadata.") + field, text_at(meta, {field}),
                     "field is immutable");
  if (!faults.empty()) return invalid(resource, name, faults.take());
  if (differs(object, current, "resourceVersion"))
    return conflict(resource, name,
                    "the object has been modified; please apply your changes to the latest version "
                    "and try again");
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
  // A slice's labels say whose it is, and count.
  const bool relabelled =
      &resource == &endpoint_slices() &&
      map_at(object, {"metadata", "labels"}) != map_at(current, {"metadata", "labels"});
  if (has_generation(resource) && (relabelled || spec_changed(object, current)))
    meta["generation"] = number_at(current, {"metadata", "generation"}) + 1;
  return std::nullopt;
}

}  // namespace kindlb::apiserver
