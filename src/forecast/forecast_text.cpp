#include "kindlb/forecast/forecast.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace kindlb::forecast {

namespace {

constexpr std::size_t kLabelWidth = 12;
constexpr std::size_t kTargetsShown = 3;

const char* name_of(core::ConditionStatus status) {
  switch (status) {
    case core::ConditionStatus::True:
      return "True";
    case core::ConditionStatus::False:
      return "False";
    case core::ConditionStatus::Unknown:
      break;
  }
  return "Unknown";
}

/// Values from manifests are in here: none of them may break the line or talk to the terminal.
std::string printable(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return text;
}

/// "  label       first\n              second\n"; nothing without lines.
std::string section(const std::string& label, const std::vector<std::string>& lines) {
  std::string out;
  for (const auto& line : lines) {
    const auto head = out.empty() ? label : std::string();
    out += "  " + head + std::string(kLabelWidth - head.size(), ' ') + printable(line) + "\n";
  }
  return out;
}

std::vector<std::string> notes(const std::vector<OutlookNote>& all) {
  std::vector<std::string> out;
  for (const auto& note : all)
    out.push_back(note.reason.empty() ? note.message : note.reason + ": " + note.message);
  return out;
}

std::vector<std::string> addresses(const core::Forecast& forecast) {
  std::vector<std::string> out;
  if (!forecast.status) return out;
  for (const auto& ingress : forecast.status->ingress) out.push_back(ingress.ip);
  return out;
}

/// Of every family, in order.
std::set<core::Target> targets_of(const core::ProxyConfig& config, const core::PortStatus& port) {
  std::set<core::Target> out;
  for (const auto& listener : config.listeners) {
    if (listener.port != port.port || listener.protocol != port.protocol) continue;
    const auto backend = std::ranges::find(config.backends, listener.backend, &core::Backend::name);
    if (backend != config.backends.end())
      out.insert(backend->targets.begin(), backend->targets.end());
  }
  return out;
}

std::string destination(const core::ProxyConfig& config, const core::PortStatus& port) {
  const auto targets = targets_of(config, port);
  if (targets.empty()) return "nobody yet: no endpoint is known";
  std::string out = config.direct ? "" : "node ports ";
  std::size_t shown = 0;
  for (const auto& target : targets) {
    if (shown == kTargetsShown)
      return out + " and " + std::to_string(targets.size() - shown) + " more";
    out += (shown++ == 0 ? "" : ", ") + target.text();
  }
  return out;
}

std::vector<std::string> ports(const core::Forecast& forecast) {
  std::vector<std::string> out;
  if (!forecast.config) return out;
  for (const auto& port : forecast.verdict.port_status) {
    auto line = std::string(core::name_of(port.protocol)) + "/" + std::to_string(port.port);
    line += port.error.empty() ? " -> " + destination(*forecast.config, port)
                               : " is not opened (" + port.error + ")";
    out.push_back(std::move(line));
  }
  return out;
}

std::vector<std::string> conditions(const core::Forecast& forecast) {
  std::vector<std::string> out;
  if (!forecast.status) return out;
  for (const auto& condition : forecast.status->conditions)
    out.push_back(condition.type + "=" + name_of(condition.status) + ", " + condition.reason);
  return out;
}

std::string block(const Outlook& outlook) {
  const auto& forecast = outlook.forecast;
  auto out = outlook.service + ": " + name_of(outlook.decision) + "\n";
  out += section("why", notes(outlook.reasons));
  if (!forecast.failure.empty()) out += section("but", {forecast.failure});
  out += section("addresses", addresses(forecast));
  out += section("ports", ports(forecast));
  out += section("conditions", conditions(forecast));
  out += section("warnings", notes(outlook.warnings));
  return out + "\n";
}

std::string summary(const std::vector<Outlook>& outlooks) {
  std::array<std::size_t, 4> counts{};
  std::size_t failures = 0;
  for (const auto& outlook : outlooks) {
    ++counts[static_cast<std::size_t>(outlook.decision)];
    failures += outlook.forecast.failure.empty() ? 0U : 1U;
  }
  auto out =
      std::to_string(outlooks.size()) + (outlooks.size() == 1 ? " Service: " : " Services: ");
  for (const auto decision :
       {Decision::Serve, Decision::Degrade, Decision::Refuse, Decision::Ignore})
    out += (decision == Decision::Serve ? "" : ", ") +
           std::to_string(counts[static_cast<std::size_t>(decision)]) + " " + name_of(decision);
  if (failures > 0) out += "; " + std::to_string(failures) + " would not work here";
  return out + "\n";
}

}  // namespace

std::string forecast_text(const std::vector<Outlook>& outlooks) {
  std::string out;
  for (const auto& outlook : outlooks) out += block(outlook);
  return out + summary(outlooks);
}

}  // namespace kindlb::forecast
