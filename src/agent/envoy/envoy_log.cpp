#include "envoy/envoy_log.hpp"

#include <algorithm>

namespace kindlb::agent {
namespace {

constexpr std::size_t kMaxRejections = 64;
constexpr std::size_t kMaxText = 2'000;

/// The text after `marker`, or nothing.
std::string_view after(std::string_view line, std::string_view marker) {
  const auto at = line.find(marker);
  return at == std::string_view::npos ? std::string_view() : line.substr(at + marker.size());
}

bool has_resource(const protocol::Unit& unit, const std::string& name) {
  const auto is_it = [&](const protocol::Resource& resource) { return resource.name == name; };
  return std::any_of(unit.listeners.begin(), unit.listeners.end(), is_it) ||
         std::any_of(unit.clusters.begin(), unit.clusters.end(), is_it);
}

}  // namespace

std::vector<std::string> EnvoyLog::feed(std::string_view bytes) {
  std::vector<std::string> lines;
  const bool fits = splitter_.feed(bytes, [&](std::string_view line) {
    record_rejection(line);
    lines.emplace_back(line);
    return true;
  });
  if (!fits) splitter_ = core::LineSplitter(kMaxLine);
  return lines;
}

void EnvoyLog::record_rejection(std::string_view line) {
  if (rejections_.size() >= kMaxRejections) return;
  // "cds: cluster 'NAME' config rejected: WHY"
  if (const auto why = after(line, "' config rejected: "); !why.empty()) {
    const auto head = line.substr(0, line.find("' config rejected: "));
    const auto name = head.substr(head.find('\'') + 1);
    rejections_.push_back({std::string(name), std::string(why.substr(0, kMaxText))});
    return;
  }
  // "Filesystem config update rejected: WHY", which repeats the line above if there was one
  for (const auto* marker : {"config update rejected: ", "config update failure: "}) {
    const auto why = after(line, marker);
    if (!why.empty() && !why.starts_with("Error adding/updating"))
      rejections_.push_back({std::nullopt, std::string(why.substr(0, kMaxText))});
  }
}

std::string EnvoyLog::reason_for(const protocol::Unit& unit) const {
  for (const auto& rejection : rejections_)
    if (rejection.resource && has_resource(unit, *rejection.resource)) return rejection.text;
  for (const auto& rejection : rejections_)
    if (!rejection.resource) return rejection.text;
  return {};
}

}  // namespace kindlb::agent
