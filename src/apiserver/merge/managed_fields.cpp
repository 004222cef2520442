#include "merge/managed_fields.hpp"

#include "merge/apply_merge.hpp"
#include "merge/field_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

namespace kindlb::apiserver {

namespace {
/// More writers than this are forgotten, oldest first: the book must not outgrow the object.
constexpr std::size_t kMaxUpdaters = 10;

struct Entry {
  std::string manager;
  std::string operation;
  std::string subresource;
  std::string time;
  FieldSet fields;

  bool is(const char* wanted, const Writer& writer) const {
    return operation == wanted && manager == writer.manager && subresource == writer.subresource;
  }
};

std::vector<Entry> read_entries(const Json& object) {
  std::vector<Entry> out;
  for (const auto& json : list_at(object, {"metadata", "managedFields"}))
    out.push_back({text_at(json, {"manager"}), text_at(json, {"operation"}),
                   text_at(json, {"subresource"}), text_at(json, {"time"}),
                   from_fields_v1(map_at(json, {"fieldsV1"}))});
  return out;
}

Json to_json(const Entry& entry, const Resource& resource) {
  Json out{{"manager", entry.manager}, {"operation", entry.operation},
           {"time", entry.time},       {"apiVersion", resource.api_version()},
           {"fieldsType", "FieldsV1"}, {"fieldsV1", to_fields_v1(entry.fields)}};
  if (!entry.subresource.empty()) out["subresource"] = entry.subresource;
  return out;
}

void write_entries(Json& object, std::vector<Entry> entries, const Resource& resource) {
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.operation, a.time, a.manager, a.subresource) <
           std::tie(b.operation, b.time, b.manager, b.subresource);
  });
  auto updaters = std::count_if(entries.begin(), entries.end(),
                                [](const Entry& e) { return e.operation == "Update"; });
  Json list = Json::array();
  for (const auto& entry : entries) {
    if (entry.fields.empty()) continue;
    const bool forgotten =
        entry.operation == "Update" && updaters-- > static_cast<std::ptrdiff_t>(kMaxUpdaters);
    if (!forgotten) list.push_back(to_json(entry, resource));
  }
  if (list.empty())
    erase_at(object, {"metadata"}, "managedFields");
  else
    object["metadata"]["managedFields"] = std::move(list);
}

/// What nobody manages: identity and what the server itself keeps; and the half of the object that
/// the other endpoint owns.
FieldSet stripped(FieldSet set, const Writer& writer) {
  set.member = false;
  for (const char* top : {"f:apiVersion", "f:kind"}) set.children.erase(top);
  set.children.erase(writer.subresource == "status" ? "f:spec" : "f:status");
  const auto meta = set.children.find("f:metadata");
  if (meta == set.children.end()) return set;
  meta->second.member = false;
  for (const char* key : {"f:name", "f:namespace", "f:uid", "f:resourceVersion", "f:generation",
                          "f:generateName", "f:creationTimestamp", "f:deletionTimestamp",
                          "f:deletionGracePeriodSeconds", "f:managedFields", "f:selfLink"})
    meta->second.children.erase(key);
  if (meta->second.empty()) set.children.erase(meta);
  return set;
}

Entry& entry_for(std::vector<Entry>& entries, const char* operation, const Writer& writer) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry& entry) { return entry.is(operation, writer); });
  if (found != entries.end()) return *found;
  entries.push_back({writer.manager, operation, writer.subresource, writer.time, {}});
  return entries.back();
}

struct Clash {
  std::string who;
  std::vector<std::string> fields;
};

Refusal clash_refusal(const std::vector<Clash>& clashes) {
  Refusal out{.code = 409, .reason = "Conflict"};
  std::string lines;
  std::size_t count = 0;
  for (const auto& clash : clashes) {
    for (const auto& field : clash.fields) {
      out.causes.push_back({"FieldManagerConflict", "conflict with " + clash.who, field});
      lines += "\n- " + field;
      ++count;
    }
  }
  out.message = count == 1 ? fmt::format("Apply failed with 1 conflict: conflict with {}: {}",
                                         clashes[0].who, clashes[0].fields[0])
                           : fmt::format("Apply failed with {} conflicts: conflicts with {}:{}",
                                         count, clashes[0].who, lines);
  return out;
}

std::string described(const Entry& entry, const Resource& resource) {
  auto text = fmt::format("\"{}\"", entry.manager);
  if (!entry.subresource.empty())
    text += fmt::format(" with subresource \"{}\"", entry.subresource);
  if (entry.operation == "Update") text += fmt::format(" using {}", resource.api_version());
  return text;
}

Json without_book(const Json& object) {
  Json copy = object;
  erase_at(copy, {"metadata"}, "managedFields");
  erase_at(copy, {"metadata"}, "resourceVersion");
  erase_at(copy, {"metadata"}, "generation");
  return copy;
}
}  // namespace

void record_update(const Json* before, Json& after, const Resource& resource,
                   const Writer& writer) {
  const auto shape = Schema::get().root(resource.kind);
  // A client may rewrite the book itself; kubectl does when it goes over to server-side apply.
  const bool rewritten = !list_at(after, {"metadata", "managedFields"}).empty();
  auto entries =
      before == nullptr ? std::vector<Entry>{} : read_entries(rewritten ? after : *before);
  const auto difference = before == nullptr
                              ? Difference{fields_of(after, shape, true), {}}
                              : compare(without_book(*before), without_book(after), shape);
  const auto changed = stripped(difference.changed, writer);
  const auto removed = stripped(difference.removed, writer);
  for (auto& entry : entries) entry.fields = without(without(entry.fields, changed), removed);
  if (!changed.empty()) {
    auto& mine = entry_for(entries, "Update", writer);
    mine.fields = united(mine.fields, changed);
    mine.time = writer.time;
  }
  write_entries(after, std::move(entries), resource);
}

Outcome<Json> apply_config(const Json& live, const Json& config, const Resource& resource,
                           const Writer& writer, bool force) {
  const auto shape = Schema::get().root(resource.kind);
  auto entries = read_entries(live);
  auto& mine = entry_for(entries, "Apply", writer);
  const auto wanted = stripped(fields_of(config, shape, false), writer);
  FieldSet others;
  for (const auto& entry : entries)
    if (&entry != &mine) others = united(others, entry.fields);

  auto merged = merge_applied(live, config, shape);
  const auto given_up = without(mine.fields, united(wanted, others));
  remove_fields(merged, shape, given_up, united(wanted, others));

  const auto touched = intersection(compare(live, merged, shape).changed, wanted);
  std::vector<Clash> clashes;
  for (auto& entry : entries) {
    if (&entry == &mine) continue;
    const auto lost = intersection(touched, entry.fields);
    if (lost.empty()) continue;
    if (!force) clashes.push_back({described(entry, resource), paths_of(lost)});
    entry.fields = without(entry.fields, lost);
  }
  if (!clashes.empty()) return clash_refusal(clashes);
  if (mine.fields != wanted || !same_content(live, merged)) mine.time = writer.time;
  mine.fields = wanted;
  write_entries(merged, std::move(entries), resource);
  return merged;
}

bool same_content(const Json& a, const Json& b) {
  const auto book = [](const Json& object) {
    std::set<std::string> out;
    for (auto entry : list_at(object, {"metadata", "managedFields"})) {
      if (entry.is_object()) entry.erase("time");
      out.insert(dump(entry));
    }
    return out;
  };
  return without_book(a) == without_book(b) && book(a) == book(b);
}

}  // namespace kindlb::apiserver
