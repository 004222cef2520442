#include "verbs/paging.hpp"

#include "kindlb/base/number.hpp"
#include "object_meta.hpp"
#include "serializer/table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kindlb::apiserver {

namespace {
/// Tokens are opaque to clients; hexadecimal is safe in a URL.
std::string to_hex(const std::string& text) {
  std::string out;
  for (const char c : text) base::append_hex(out, c);
  return out;
}

std::optional<std::string> from_hex(const std::string& hex) {
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const auto byte = base::parse_number<unsigned char>(std::string_view(hex).substr(i, 2), 16);
    if (!byte) return std::nullopt;
    out += static_cast<char>(*byte);
  }
  return out;
}

std::string token_of(Revision revision, const ObjectKey& key) {
  return to_hex(dump(Json::array({revision, key.ns, key.name})));
}

void erase_first(std::string& text, const std::string& part) {
  if (const auto at = text.find(part); at != std::string::npos) text.erase(at, part.size());
}

/// Items of a list have no apiVersion and kind. Keys are serialized in alphabetical order, and no
/// key before "apiVersion" or "kind" holds an object that contains our kind: the first match is the
/// top-level one.
std::string without_type(std::string text, const Resource& resource) {
  erase_first(text, "\"apiVersion\":\"" + resource.api_version() + "\",");
  erase_first(text, "\"kind\":\"" + resource.kind + "\",");
  return text;
}

Json metadata_of(const Page& page) {
  Json meta{{"resourceVersion", std::to_string(page.revision)}};
  if (!page.token.empty()) meta["continue"] = page.token;
  if (!page.token.empty() && page.remaining > 0) meta["remainingItemCount"] = page.remaining;
  return meta;
}
}  // namespace

ApiResult<PageRequest> PageRequest::parse(const std::string& limit, const std::string& token) {
  PageRequest out;
  if (!limit.empty()) {
    const auto number = base::parse_number<std::int64_t>(limit);
    if (!number) return bad_request("limit: invalid value \"" + limit + "\"");
    if (*number > 0) out.limit = static_cast<std::size_t>(*number);
  }
  if (token.empty()) return out;
  const auto text = from_hex(token);
  const auto json = text ? parse_bounded(*text) : Json();
  if (!json.is_array() || json.size() != 3 || !json[0].is_number_unsigned() ||
      !json[1].is_string() || !json[2].is_string())
    return bad_request("invalid continue token: continue key is not valid");
  out.revision = json[0].get<Revision>();
  out.after = {json[1].get<std::string>(), json[2].get<std::string>()};
  return out;
}

Page paginate(std::vector<ObjectPtr> objects, const PageRequest& request, Revision revision) {
  Page page;
  page.revision = revision;
  // By key, not by position: what was deleted meanwhile does not shift the pages.
  if (request.revision)
    objects.erase(objects.begin(),
                  std::find_if(objects.begin(), objects.end(), [&](const ObjectPtr& object) {
                    return request.after < key_of(object->value);
                  }));
  if (request.limit > 0 && objects.size() > request.limit) {
    page.remaining = objects.size() - request.limit;
    objects.resize(request.limit);
    page.token = token_of(revision, key_of(objects.back()->value));
  }
  page.objects = std::move(objects);
  return page;
}

std::string encode_list(const Page& page, const Resource& resource) {
  std::string out =
      fmt::format("{{\"kind\":\"{}List\",\"apiVersion\":\"{}\",\"metadata\":{},\"items\":[",
                  resource.kind, resource.api_version(), dump(metadata_of(page)));
  bool first = true;
  for (const auto& object : page.objects) {
    if (!first) out += ',';
    out += without_type(object->text, resource);
    first = false;
  }
  return out + "]}\n";
}

std::string encode_table(const Page& page, const Resource& resource) {
  std::vector<Json> values;
  values.reserve(page.objects.size());
  for (const auto& object : page.objects) values.push_back(object->value);
  auto table = to_table(resource, values, std::to_string(page.revision));
  table["metadata"] = metadata_of(page);
  return dump(table) + "\n";
}

}  // namespace kindlb::apiserver
