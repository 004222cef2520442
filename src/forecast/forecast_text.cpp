#include "kindlb/base/text.hpp"
#include "kindlb/forecast/forecast.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace kindlb::forecast {

namespace {

constexpr std::size_t kLabelWidth = 12;
/// A line per port must stay readable for Services with hundreds of endpoints.
constexpr std::size_t kTargetsShown = 3;

/// Format "  label       first\n              second\n"; nothing when there are no lines. Values
/// come from manifests and must not break lines or control the terminal.
std::string section(const std::string& label, const std::vector<std::string>& lines) {
  std::string out;
  for (const auto& line : lines) {
    const auto head = out.empty() ? label : std::string();
    out += "  " + head + std::string(kLabelWidth - head.size(), ' ') + base::printable(line) + "\n";
  }
  return out;
}

std::vector<std::string> notes(const std::vector<ForecastNote>& all) {
  std::vector<std::string> out;
  for (const auto& note : all)
    out.push_back(note.reason.empty() ? note.message : note.reason + ": " + note.message);
  return out;
}

std::vector<std::string> addresses(const core::Prediction& prediction) {
  std::vector<std::string> out;
  if (!prediction.status) return out;
  for (const auto& ingress : prediction.status->ingress) out.push_back(ingress.ip);
  return out;
}

/// Return the targets of a port, of all families, sorted.
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
  if (targets.empty()) return "no endpoints yet";
  std::string out = config.direct ? "" : "node ports ";
  std::size_t shown = 0;
  for (const auto& target : targets) {
    if (shown == kTargetsShown)
      return out + " and " + std::to_string(targets.size() - shown) + " more";
    out += (shown++ == 0 ? "" : ", ") + target.text();
  }
  return out;
}

std::vector<std::string> ports(const core::Prediction& prediction) {
  std::vector<std::string> out;
  if (!prediction.config) return out;
  for (const auto& port : prediction.verdict.port_status) {
    auto line = core::port_label(port.protocol, port.port);
    line += port.error.empty() ? " -> " + destination(*prediction.config, port)
                               : " is not opened (" + port.error + ")";
    out.push_back(std::move(line));
  }
  return out;
}

std::vector<std::string> conditions(const core::Prediction& prediction) {
  std::vector<std::string> out;
  if (!prediction.status) return out;
  for (const auto& condition : prediction.status->conditions)
    out.push_back(condition.type + "=" + name_of(condition.status) + ", " + condition.reason);
  return out;
}

std::string block(const ServiceForecast& forecast) {
  const auto& prediction = forecast.prediction;
  auto out = base::printable(forecast.service) + ": " + name_of(forecast.decision) + "\n";
  out += section("why", notes(forecast.reasons));
  if (!prediction.failure.empty()) out += section("but", {prediction.failure});
  out += section("addresses", addresses(prediction));
  out += section("ports", ports(prediction));
  out += section("conditions", conditions(prediction));
  out += section("warnings", notes(forecast.warnings));
  return out + "\n";
}

/// Count the decisions. Failures are counted apart: their Services are supported, but not servable
/// here.
std::string summary(const std::vector<ServiceForecast>& forecasts) {
  std::array<std::size_t, 4> counts{};
  std::size_t failures = 0;
  for (const auto& forecast : forecasts) {
    ++counts[static_cast<std::size_t>(forecast.decision)];
    failures += forecast.prediction.failure.empty() ? 0U : 1U;
  }
  auto out =
      std::to_string(forecasts.size()) + (forecasts.size() == 1 ? " Service: " : " Services: ");
  for (const auto decision :
       {Decision::Serve, Decision::Degrade, Decision::Refuse, Decision::Ignore})
    out += (decision == Decision::Serve ? "" : ", ") +
           std::to_string(counts[static_cast<std::size_t>(decision)]) + " " + name_of(decision);
  if (failures > 0) out += "; " + std::to_string(failures) + " would not work here";
  return out + "\n";
}

}  // namespace

std::string forecast_text(const std::vector<ServiceForecast>& forecasts) {
  std::string out;
  for (const auto& forecast : forecasts) out += block(forecast);
  return out + summary(forecasts);
}

}  // namespace kindlb::forecast
