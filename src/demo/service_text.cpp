#include "service_text.hpp"

#include "kindlb/base/text.hpp"
#include "kindlb/core/conditions.hpp"

#include <algorithm>
#include <array>

namespace kindlb::demo {

namespace {
using core::Condition;
using core::ConditionStatus;
using core::Service;

constexpr std::array kTypes = {core::kServingCondition, core::kProvisioningCondition,
                               core::kDegradedCondition};

/// "LoadBalancerServing" is shortened to "Serving": all of them are about load balancers.
std::string condition_text(const Condition& condition) {
  constexpr std::string_view kPrefix = "LoadBalancer";
  auto name = condition.type;
  if (name.starts_with(kPrefix)) name.erase(0, kPrefix.size());
  const bool obvious = condition.reason.empty() || condition.reason == "Complete" ||
                       (condition.status == ConditionStatus::True && condition.reason == name);
  return name + "=" + core::name_of(condition.status) + (obvious ? "" : "/" + condition.reason);
}

std::string port_text(std::uint16_t port, core::Protocol protocol) {
  return std::to_string(port) + "/" + core::name_of(protocol);
}

/// A port is closed only if its status has an error; without a status, nothing is known yet.
bool is_open(const Service& service, const core::ServicePort& port) {
  for (const auto& ingress : service.status.ingress)
    for (const auto& status : ingress.ports)
      if (status.port == port.port && status.protocol == port.protocol && !status.error.empty())
        return false;
  return true;
}

void join(std::string& all, const std::string& one) {
  all += (all.empty() ? "" : " ") + one;
}

/// Serving stayed True, but a change took effect: KEP-4631 moves the transition time then.
bool serving_time_moved(const Service& before, const Service& after) {
  const auto* const then = find_condition(before.status.conditions, core::kServingCondition);
  const auto* const now = find_condition(after.status.conditions, core::kServingCondition);
  return then != nullptr && now != nullptr && then->last_transition != now->last_transition;
}
}  // namespace

bool is_serving(const Service& service) {
  return core::is_true(service.status.conditions, core::kServingCondition);
}

bool is_provisioning(const Service& service) {
  return core::is_true(service.status.conditions, core::kProvisioningCondition);
}

std::string conditions_text(const Service& service) {
  std::string out;
  for (const auto* type : kTypes)
    if (const auto* found = find_condition(service.status.conditions, type))
      join(out, condition_text(*found));
  return out;
}

std::string addresses_text(const Service& service) {
  std::string out;
  for (const auto& ingress : service.status.ingress) join(out, ingress.ip);
  return out;
}

std::string ports_text(const Service& service) {
  std::string out;
  for (const auto& port : service.spec.ports)
    join(out, port_text(port.port, port.protocol) + (is_open(service, port) ? "" : "!"));
  return out;
}

/// Order as a user would tell it: what was asked (created, deleted, ports), then what came of it
/// (conditions), then where (addresses).
std::vector<std::string> differences(const Service* before, const Service& after) {
  static const Service kNothing;
  std::vector<std::string> out;
  if (before == nullptr) out.emplace_back("created");
  const auto& then = before == nullptr ? kNothing : *before;
  if (after.deleting && !then.deleting) out.emplace_back("is being deleted");
  if (before != nullptr && ports_text(then) != ports_text(after))
    out.push_back("ports " + ports_text(after));
  const auto conditions = conditions_text(after);
  if (conditions_text(then) != conditions)
    out.push_back(conditions.empty() ? "no conditions" : conditions);
  else if (serving_time_moved(then, after))
    out.push_back("a change took effect, " + conditions);
  const auto addresses = addresses_text(after);
  if (addresses_text(then) != addresses)
    out.push_back(addresses.empty() ? "address removed" : "at " + addresses);
  return out;
}

Row row_of(const Service& service) {
  Row row{.name = service.key.name, .ports = ports_text(service)};
  const auto& ingress = service.status.ingress;
  if (!ingress.empty()) row.address = ingress.front().ip;
  if (ingress.size() > 1) row.address += " +" + std::to_string(ingress.size() - 1);
  row.conditions = conditions_text(service);
  constexpr std::string_view kUsual = " Provisioning=False";
  if (const auto at = row.conditions.find(kUsual); at != std::string::npos)
    row.conditions.erase(at, kUsual.size());
  return row;
}

// ---- the table ---------------------------------------------------------------------------------

namespace {
using Cells = std::array<std::string, 5>;

Cells cells_of(const Row& row) {
  return {(row.recently_changed ? "* " : "  ") + base::printable(row.name),
          base::printable(row.address), row.ports, base::printable(row.answer),
          base::printable(row.conditions)};
}

/// Green: serves. Red: does not. Yellow: being provisioned, or degraded. Dim: no conditions.
const char* colour_of(const Row& row) {
  const auto has = [&](const char* part) { return row.conditions.find(part) != std::string::npos; };
  if (has("Provisioning=True") || has("Degraded=True")) return "\033[33m";
  if (has("Serving=True")) return "\033[32m";
  return has("Serving=False") ? "\033[31m" : "\033[2m";
}

std::string line_of(const Cells& cells, const std::array<std::size_t, 5>& widths,
                    std::size_t width) {
  std::string out;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    out += cells[i];
    if (i + 1 < cells.size()) out.append(widths[i] - cells[i].size() + 2, ' ');
  }
  out.erase(std::min(out.size(), width));
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}
}  // namespace

/// Colours are added after cutting and padding: escape sequences have no width.
std::vector<std::string> table(const std::vector<Row>& rows, const TableShape& shape) {
  const Cells heading = {"  NAME", "ADDRESS", "PORTS", "ANSWER", "CONDITIONS"};
  std::array<std::size_t, 5> widths{};
  const auto widen = [&](const Cells& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
  };
  widen(heading);
  for (const auto& row : rows) widen(cells_of(row));
  std::vector<std::string> out = {line_of(heading, widths, shape.width)};
  for (const auto& row : rows) {
    const auto line = line_of(cells_of(row), widths, shape.width);
    out.push_back(shape.colour ? colour_of(row) + line + "\033[0m" : line);
  }
  return out;
}

}  // namespace kindlb::demo
