#include "schema/validation.hpp"

#include "kindlb/core/ip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace kindlb::apiserver {

namespace {
bool alphanumeric(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

bool lower_alphanumeric(char c) {
  return alphanumeric(c) && std::isupper(static_cast<unsigned char>(c)) == 0;
}

/// Whether the first and last characters satisfy `edge`, and the others that or are in `inner`.
template <typename Edge>
bool is_word(std::string_view text, Edge edge, std::string_view inner) {
  return !text.empty() && edge(text.front()) && edge(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return edge(c) || inner.find(c) != std::string_view::npos; });
}

/// Labels separated by dots.
bool is_subdomain(std::string_view text) {
  while (true) {
    const auto dot = text.find('.');
    if (!is_word(text.substr(0, dot), lower_alphanumeric, "-")) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

/// "010.1.2.3", which some parsers read as octal: Kubernetes rejects it.
bool has_leading_zero(std::string_view text) {
  const bool dotted = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isdigit(c) != 0 || c == '.';
  });
  for (std::size_t i = 0; dotted && i + 1 < text.size(); ++i)
    if (text[i] == '0' && text[i + 1] != '.' && (i == 0 || text[i - 1] == '.')) return true;
  return false;
}

std::string too_long(std::size_t limit) {
  return fmt::format("must be no more than {} bytes", limit);
}

constexpr const char* kLabelRule =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr const char* kSubdomainRule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr const char* kNameRule =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr const char* kLabelValueRule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
}  // namespace

void FieldErrors::invalid(const std::string& field, const Json& value, const std::string& why) {
  causes_.push_back(
      {"FieldValueInvalid", fmt::format("Invalid value: {}: {}", dump(value), why), field});
}

void FieldErrors::required(const std::string& field, const std::string& why) {
  causes_.push_back(
      {"FieldValueRequired", why.empty() ? "Required value" : "Required value: " + why, field});
}

void FieldErrors::forbidden(const std::string& field, const std::string& why) {
  causes_.push_back({"FieldValueForbidden", "Forbidden: " + why, field});
}

void FieldErrors::duplicate(const std::string& field, const Json& value) {
  causes_.push_back({"FieldValueDuplicate", "Duplicate value: " + dump(value), field});
}

void FieldErrors::unsupported(const std::string& field, const Json& value,
                              const std::vector<std::string>& supported) {
  std::string list;
  for (const auto& each : supported) list += (list.empty() ? "\"" : ", \"") + each + "\"";
  causes_.push_back({"FieldValueNotSupported",
                     fmt::format("Unsupported value: {}: supported values: {}", dump(value), list),
                     field});
}

void validate_labels(const Json& labels, const std::string& field, FieldErrors& errors) {
  for (const auto& [key, value] : labels.items()) {
    if (const auto why = qualified_name_error(key); !why.empty()) errors.invalid(field, key, why);
    const auto text = value.is_string() ? value.get<std::string>() : std::string();
    if (const auto why = label_value_error(text); !why.empty()) errors.invalid(field, text, why);
  }
}

std::string dns_label_error(const std::string& text) {
  if (text.size() > 63) return too_long(63);
  return is_word(text, lower_alphanumeric, "-") ? "" : kLabelRule;
}

std::string dns_subdomain_error(const std::string& text) {
  if (text.size() > 253) return too_long(253);
  return is_subdomain(text) ? "" : kSubdomainRule;
}

std::string qualified_name_error(const std::string& text) {
  const auto slash = text.find('/');
  const auto name = slash == std::string::npos ? text : text.substr(slash + 1);
  if (name.find('/') != std::string::npos)
    return "a qualified name must consist of alphanumeric characters, '-', '_' or '.', with an "
           "optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
  if (slash == 0) return "prefix part must be non-empty";
  if (slash != std::string::npos) {
    const auto why = dns_subdomain_error(text.substr(0, slash));
    if (!why.empty()) return "prefix part " + why;
  }
  if (name.empty()) return "name part must be non-empty";
  if (name.size() > 63) return "name part " + too_long(63);
  return is_word(name, alphanumeric, "-_.") ? "" : kNameRule;
}

std::string label_value_error(const std::string& text) {
  if (text.size() > 63) return too_long(63);
  return text.empty() || is_word(text, alphanumeric, "-_.") ? "" : kLabelValueRule;
}

std::string port_error(std::int64_t port) {
  return port >= 1 && port <= 65535 ? "" : "must be between 1 and 65535, inclusive";
}

std::string ip_error(const std::string& text) {
  if (has_leading_zero(text)) return "must not have leading 0s";
  return core::IpAddress::parse(text)
             ? ""
             : "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
}

std::string cidr_error(const std::string& text) {
  return core::Cidr::parse(text)
             ? ""
             : "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
}

}  // namespace kindlb::apiserver
