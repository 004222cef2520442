#include "serializer/table.hpp"

#include "serializer/columns.hpp"

#include <time.h>

#include <fmt/format.h>

#include <ctime>

namespace kindlb::apiserver {

namespace {
Json columns_json(const std::vector<Column>& columns) {
  Json out = Json::array();
  for (const auto& column : columns)
    out.push_back({{"name", column.name},
                   {"type", "string"},
                   {"format", std::string(column.name) == "Name" ? "name" : ""},
                   {"description", ""},
                   {"priority", column.wide ? 1 : 0}});
  return out;
}

/// With the object's metadata: kubectl needs it for --show-labels and for watching.
Json row_of(const std::vector<Column>& columns, const Json& object) {
  Json cells = Json::array();
  for (const auto& column : columns) cells.push_back(column.cell(object));
  return {{"cells", cells},
          {"object",
           {{"kind", "PartialObjectMetadata"},
            {"apiVersion", "meta.k8s.io/v1"},
            {"metadata", map_at(object, {"metadata"})}}}};
}
}  // namespace

/// As duration.HumanDuration of apimachinery: two units while the larger one is small.
std::string human_duration(std::int64_t seconds) {
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  constexpr std::int64_t kDay = 24 * kHour;
  const auto two = [](std::int64_t large, const char* unit, std::int64_t small, const char* rest) {
    return small == 0 ? fmt::format("{}{}", large, unit)
                      : fmt::format("{}{}{}{}", large, unit, small, rest);
  };
  if (seconds < 0) return seconds < -1 ? "<invalid>" : "0s";
  if (seconds < 2 * kMinute) return fmt::format("{}s", seconds);
  if (seconds < 10 * kMinute) return two(seconds / kMinute, "m", seconds % kMinute, "s");
  if (seconds < 3 * kHour) return fmt::format("{}m", seconds / kMinute);
  if (seconds < 8 * kHour) return two(seconds / kHour, "h", seconds % kHour / kMinute, "m");
  if (seconds < 2 * kDay) return fmt::format("{}h", seconds / kHour);
  if (seconds < 8 * kDay) return two(seconds / kDay, "d", seconds % kDay / kHour, "h");
  return fmt::format("{}d", seconds / kDay);
}

Json to_table(const Resource& resource, std::span<const Json> objects,
              const std::string& resource_version) {
  const auto& columns = columns_of(resource);
  Json rows = Json::array();
  for (const auto& object : objects) rows.push_back(row_of(columns, object));
  Json table{{"kind", "Table"},
             {"apiVersion", "meta.k8s.io/v1"},
             {"metadata", Json::object()},
             {"columnDefinitions", columns_json(columns)},
             {"rows", std::move(rows)}};
  const auto version = !resource_version.empty() || objects.empty()
                           ? resource_version
                           : text_at(objects.front(), {"metadata", "resourceVersion"});
  if (!version.empty()) table["metadata"]["resourceVersion"] = version;
  return table;
}

}  // namespace kindlb::apiserver
