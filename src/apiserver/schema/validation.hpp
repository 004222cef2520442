#pragma once
// Validation errors in the words of the real server: what is wrong with which field.

#include "json.hpp"
#include "status_error.hpp"

#include <string>
#include <vector>

namespace kindlb::apiserver {

class FieldFaults {
 public:
  void invalid(const std::string& field, const Json& value, const std::string& why);
  void required(const std::string& field, const std::string& why = "");
  void forbidden(const std::string& field, const std::string& why);
  void duplicate(const std::string& field, const Json& value);
  /// `supported` in the order to be told.
  void unsupported(const std::string& field, const Json& value,
                   const std::vector<std::string>& supported);

  bool empty() const { return causes_.empty(); }
  std::vector<Cause> take() { return std::move(causes_); }

 private:
  std::vector<Cause> causes_;
};

/// Empty when the text is fine, else the real server's explanation.
std::string why_not_dns_label(const std::string& text);      ///< RFC 1123
std::string why_not_dns_subdomain(const std::string& text);  ///< RFC 1123
std::string why_not_qualified_name(const std::string& text);
std::string why_not_label_value(const std::string& text);
std::string why_not_port(std::int64_t port);
std::string why_not_ip(const std::string& text);
std::string why_not_cidr(const std::string& text);

}  // namespace kindlb::apiserver
