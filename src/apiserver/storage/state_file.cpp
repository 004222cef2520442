#include "storage/state_file.hpp"

#include "schema/decode.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace kindlb::apiserver {

namespace {
using core::Error;
using core::ErrorKind;

/// Changes with any incompatible change of the format; other versions are rejected.
constexpr const char* kFormat = "kindlb-sandbox/1";

Error broken(const std::string& path, std::string why) {
  return {ErrorKind::Invalid, "read state file " + path,
          std::move(why) + "; delete the file to start with an empty cluster"};
}

const Resource* resource_of(const Json& object) {
  const auto version = text_at(object, {"apiVersion"});
  const auto kind = text_at(object, {"kind"});
  for (const auto& resource : resources())
    if (resource.kind == kind && resource.api_version() == version) return &resource;
  return nullptr;
}
}  // namespace

core::Result<void> save_state(const Store& store, const std::string& path) {
  const auto temporary = path + ".tmp";
  // A consistent snapshot: the store's lock is not held while writing.
  const auto all = store.snapshot();
  {
    std::ofstream out(temporary);
    out << "{\"format\":\"" << kFormat << "\",\"revision\":" << all.revision << ",\"objects\":[";
    const char* separator = "\n";
    for (const auto& [resource, object] : all.objects) {
      out << separator << object->text;
      separator = ",\n";
    }
    out << "\n]}\n";
    if (!out.flush())
      return Error{ErrorKind::Unavailable, "write state file " + temporary,
                   "the write failed; check the directory and its free space"};
  }
  std::error_code failure;
  std::filesystem::rename(temporary, path, failure);
  if (failure) return Error{ErrorKind::Unavailable, "write state file " + path, failure.message()};
  return {};
}

core::Result<void> load_state(Api& api, const std::string& path) {
  std::ifstream in(path);
  if (!in) return {};
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto json = parse_bounded(text);
  if (text_at(json, {"format"}) != kFormat)
    return broken(path, std::string("unknown format, expected ") + kFormat);
  std::vector<std::pair<const Resource*, Json>> objects;
  for (const auto& object : list_at(json, {"objects"})) {
    const auto* resource = resource_of(object);
    if (resource == nullptr || text_at(object, {"metadata", "name"}).empty())
      return broken(path, "it contains an object without a name or of an unknown kind");
    // Decoded as if a client had sent it: the file may be edited by hand, and all code behind
    // relies on checked types.
    auto checked = decode(object, resource->kind);
    if (!checked) return broken(path, checked.error().message);
    objects.emplace_back(resource, std::move(checked->value));
  }
  const auto revision = number_at(json, {"revision"});
  api.restore(std::move(objects), revision > 0 ? static_cast<Revision>(revision) : 1);
  return {};
}

}  // namespace kindlb::apiserver
