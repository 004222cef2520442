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
/// kube-apiserver keeps ten Update entries per object and merges older ones; here the oldest are
/// dropped, so that managedFields cannot outgrow the object.
constexpr std::size_t kMaxUpdateManagers = 10;

/// One entry of metadata.managedFields.
struct Entry {
  std::string manager;
  std::string operation;
  std::string subresource;
  std::string time;
  FieldSet fields;

  bool is(const char* wanted, const FieldManager& by) const {
    return operation == wanted && manager == by.name && subresource == by.subresource;
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
  // kube-apiserver's order: Apply before Update, then oldest first.
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.operation, a.time, a.manager, a.subresource) <
           std::tie(b.operation, b.time, b.manager, b.subresource);
  });
  auto update_managers = std::count_if(entries.begin(), entries.end(),
                                       [](const Entry& e) { return e.operation == "Update"; });
  Json list = Json::array();
  for (const auto& entry : entries) {
    // A manager that lost its last field disappears.
    if (entry.fields.empty()) continue;
    const bool forgotten = entry.operation == "Update" &&
                           update_managers-- > static_cast<std::ptrdiff_t>(kMaxUpdateManagers);
    if (!forgotten) list.push_back(to_json(entry, resource));
  }
  if (list.empty())
    erase_at(object, {"metadata"}, "managedFields");
  else
    object["metadata"]["managedFields"] = std::move(list);
}

/// Remove what has no owner: the fields that the server sets, and the half of the object (spec or
/// status) that a write through this endpoint does not change.
FieldSet managed_only(FieldSet set, const FieldManager& field_manager) {
  set.member = false;
  for (const char* top : {"f:apiVersion", "f:kind"}) set.children.erase(top);
  set.children.erase(field_manager.subresource == "status" ? "f:spec" : "f:status");
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

/// Find or append the entry of a manager. The reference is valid until `entries` grows.
Entry& entry_for(std::vector<Entry>& entries, const char* operation,
                 const FieldManager& field_manager) {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
    return entry.is(operation, field_manager);
  });
  if (found != entries.end()) return *found;
  entries.push_back(
      {field_manager.name, operation, field_manager.subresource, field_manager.time, {}});
  return entries.back();
}

/// The fields that an apply would take from one other manager.
struct ManagerConflict {
  std::string manager;
  std::vector<std::string> fields;
};

/// In the words of kube-apiserver; kubectl prints them and explains --force-conflicts.
StatusError conflict_error(const std::vector<ManagerConflict>& conflicts) {
  StatusError out{.code = 409, .reason = "Conflict"};
  std::string lines;
  std::size_t count = 0;
  for (const auto& conflict : conflicts) {
    for (const auto& field : conflict.fields) {
      out.causes.push_back({"FieldManagerConflict", "conflict with " + conflict.manager, field});
      lines += "\n- " + field;
      ++count;
    }
  }
  out.message = count == 1 ? fmt::format("Apply failed with 1 conflict: conflict with {}: {}",
                                         conflicts[0].manager, conflicts[0].fields[0])
                           : fmt::format("Apply failed with {} conflicts: conflicts with {}:{}",
                                         count, conflicts[0].manager, lines);
  return out;
}

/// How conflicts name a manager: "kubectl" with subresource "status" using v1.
std::string manager_name(const Entry& entry, const Resource& resource) {
  auto text = fmt::format("\"{}\"", entry.manager);
  if (!entry.subresource.empty())
    text += fmt::format(" with subresource \"{}\"", entry.subresource);
  if (entry.operation == "Update") text += fmt::format(" using {}", resource.api_version());
  return text;
}

/// An object without what changes with every write.
Json without_managed_fields(const Json& object) {
  Json copy = object;
  erase_at(copy, {"metadata"}, "managedFields");
  erase_at(copy, {"metadata"}, "resourceVersion");
  erase_at(copy, {"metadata"}, "generation");
  return copy;
}
}  // namespace

void track_update(const Json* before, Json& after, const Resource& resource,
                  const FieldManager& field_manager) {
  const auto shape = Schema::get().root(resource.kind);
  // A client may replace managedFields by an update: kubectl does so when it migrates an object
  // from client-side to server-side apply.
  const bool set_by_client = !list_at(after, {"metadata", "managedFields"}).empty();
  auto entries =
      before == nullptr ? std::vector<Entry>{} : read_entries(set_by_client ? after : *before);
  const auto difference = before == nullptr ? Comparison{fields_of(after, shape, true), {}}
                                            : compare(without_managed_fields(*before),
                                                      without_managed_fields(after), shape);
  // Removed fields lose their owners, and changed ones go to this manager alone: an update always
  // wins. A manager that applied them before gets a conflict at the next apply.
  const auto changed = managed_only(difference.changed, field_manager);
  const auto removed = managed_only(difference.removed, field_manager);
  for (auto& entry : entries)
    entry.fields = set_difference(set_difference(entry.fields, changed), removed);
  if (!changed.empty()) {
    auto& mine = entry_for(entries, "Update", field_manager);
    mine.fields = set_union(mine.fields, changed);
    mine.time = field_manager.time;
  }
  write_entries(after, std::move(entries), resource);
}

ApiResult<Json> apply_config(const Json& live, const Json& config, const Resource& resource,
                             const FieldManager& field_manager, bool force) {
  const auto shape = Schema::get().root(resource.kind);
  auto entries = read_entries(live);
  auto& mine = entry_for(entries, "Apply", field_manager);
  const auto wanted = managed_only(fields_of(config, shape, false), field_manager);
  // Entries of other managers protect fields that this one gives up.
  FieldSet others;
  for (const auto& entry : entries)
    if (&entry != &mine) others = set_union(others, entry.fields);

  // Set what the configuration names, then remove what this manager no longer names.
  auto merged = merge_typed(live, config, shape);
  // Only what no entry owns any more is removed. `wanted` protects what this request sets.
  const auto abandoned = set_difference(mine.fields, set_union(wanted, others));
  remove_fields(merged, shape, abandoned, set_union(wanted, others));

  // A conflict needs a change of value: fields with equal values become shared.
  const auto touched = set_intersection(compare(live, merged, shape).changed, wanted);
  std::vector<ManagerConflict> conflicts;
  for (auto& entry : entries) {
    if (&entry == &mine) continue;
    const auto lost = set_intersection(touched, entry.fields);
    if (lost.empty()) continue;
    // With force, ownership moves; otherwise the whole apply fails, after all conflicts are known.
    if (!force) conflicts.push_back({manager_name(entry, resource), paths_of(lost)});
    entry.fields = set_difference(entry.fields, lost);
  }
  if (!conflicts.empty()) return conflict_error(conflicts);
  // An apply that changes nothing keeps its time, so that the write is a no-op.
  if (mine.fields != wanted || !same_content(live, merged)) mine.time = field_manager.time;
  mine.fields = wanted;
  write_entries(merged, std::move(entries), resource);
  return merged;
}

bool same_content(const Json& a, const Json& b) {
  const auto entries_of = [](const Json& object) {
    std::set<std::string> out;
    for (auto entry : list_at(object, {"metadata", "managedFields"})) {
      if (entry.is_object()) entry.erase("time");
      out.insert(dump(entry));
    }
    return out;
  };
  return without_managed_fields(a) == without_managed_fields(b) && entries_of(a) == entries_of(b);
}

}  // namespace kindlb::apiserver
