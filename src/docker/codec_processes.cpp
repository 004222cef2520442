#include "codec.hpp"
#include "kindlb/base/number.hpp"
#include "kindlb/json/json.hpp"

namespace kindlb::docker {

using json::Json;

/// {"Titles": ["PID", "STAT"], "Processes": [["4711", "Ss"]]}, in the order that was asked for.
std::optional<std::vector<Process>> decode_processes(std::string_view text) {
  const Json json = json::parse_bounded(text);
  const Json* const rows = json::find(json, {"Processes"});
  if (rows == nullptr || !rows->is_array()) return std::nullopt;
  std::vector<Process> out;
  for (const Json& row : *rows) {
    if (!row.is_array() || row.size() < 2) return std::nullopt;
    const auto pid = base::parse_number<std::int64_t>(json::text_at(row[0], {}));
    if (!pid) return std::nullopt;
    out.push_back({*pid, json::text_at(row[1], {})});
  }
  return out;
}

}  // namespace kindlb::docker
