#include "validation.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

namespace kindlb::kube {

namespace {

constexpr std::size_t kLongestLabel = 63;
constexpr std::size_t kLongestPortName = 15;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/// RFC 1123 label: a-z, 0-9 and '-', the latter not at the ends.
bool is_label(std::string_view text, std::size_t longest) {
  return !text.empty() && text.size() <= longest && is_plain(text.front()) &&
         is_plain(text.back()) &&
         std::ranges::all_of(text, [](char c) { return is_plain(c) || c == '-'; });
}

std::optional<ValidationError> validate_name(const char* path, const std::string& name) {
  if (is_label(name, kLongestLabel)) return std::nullopt;
  return ValidationError{
      path,
      "not a valid name: use a-z, 0-9 and '-', with a letter or digit at both ends, 63 characters "
      "at most"};
}

/// A port number (0 stands for "same as port") or an IANA service name (RFC 6335 §5.1), which has
/// at least one letter and no two hyphens in a row.
bool is_target(const std::string& text) {
  int number = 0;
  const auto* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (stop == end && !text.empty()) return error == std::errc{} && number >= 0 && number <= 65535;
  return text.empty() || (is_label(text, kLongestPortName) && text.find("--") == text.npos &&
                          std::ranges::any_of(text, [](char c) { return c >= 'a' && c <= 'z'; }));
}

std::optional<ValidationError> validate_port(const std::vector<core::ServicePort>& ports,
                                             std::size_t i) {
  const auto path = "spec.ports[" + std::to_string(i) + "]";
  const auto& port = ports[i];
  if (port.port == 0)
    return ValidationError{path + ".port", "missing, or not a port from 1 to 65535"};
  if (ports.size() > 1 && port.name.empty())
    return ValidationError{path + ".name", "missing; a Service with several ports must name each"};
  if (!is_target(port.target_port))
    return ValidationError{
        path + ".targetPort",
        "neither a port from 1 to 65535 nor a port name (a-z, 0-9 and '-', with at least one "
        "letter, 15 characters at most)"};
  for (std::size_t j = 0; j < i; ++j) {
    if (ports[j].port == port.port && ports[j].protocol == port.protocol)
      return ValidationError{path, std::string(name_of(port.protocol)) + " " +
                                       std::to_string(port.port) + " is also spec.ports[" +
                                       std::to_string(j) + "]"};
    if (!port.name.empty() && ports[j].name == port.name)
      return ValidationError{path + ".name",
                             "'" + port.name + "' is also spec.ports[" + std::to_string(j) + "]"};
  }
  return std::nullopt;
}

std::optional<ValidationError> validate_families(const std::vector<core::IpFamily>& families) {
  for (std::size_t i = 1; i < families.size(); ++i)
    if (std::find(families.begin(), families.begin() + static_cast<long>(i), families[i]) !=
        families.begin() + static_cast<long>(i))
      return ValidationError{"spec.ipFamilies[" + std::to_string(i) + "]",
                             std::string(name_of(families[i])) + " is given twice"};
  return std::nullopt;
}

}  // namespace

std::optional<ValidationError> validate(const core::Service& service) {
  if (auto problem = validate_name("metadata.name", service.key.name)) return problem;
  if (auto problem = validate_name("metadata.namespace", service.key.ns)) return problem;
  const auto& ports = service.spec.ports;
  if (ports.empty() && service.spec.type == core::ServiceType::LoadBalancer)
    return ValidationError{"spec.ports",
                           "missing; a Service of type LoadBalancer has at least one port"};
  for (std::size_t i = 0; i < ports.size(); ++i)
    if (auto problem = validate_port(ports, i)) return problem;
  return validate_families(service.spec.ip_families);
}

}  // namespace kindlb::kube
