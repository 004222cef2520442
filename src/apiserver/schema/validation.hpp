#pragma once
// Field validation with the messages of kube-apiserver (field.ErrorList and the validation
// functions of apimachinery). The contract tests compare them: do not improve the wording.

#include "json.hpp"
#include "status_error.hpp"

#include <string>
#include <vector>

namespace kindlb::apiserver {

/// Collects the errors of one object, to report all of them at once.
class FieldErrors {
 public:
  void invalid(const std::string& field, const Json& value, const std::string& why);
  void required(const std::string& field, const std::string& why = "");
  void forbidden(const std::string& field, const std::string& why);
  void duplicate(const std::string& field, const Json& value);
  /// `supported`: in the order of the message.
  void unsupported(const std::string& field, const Json& value,
                   const std::vector<std::string>& supported);

  bool empty() const { return causes_.empty(); }
  std::vector<Cause> take() { return std::move(causes_); }

 private:
  std::vector<Cause> causes_;
};

/// Check keys and values of labels or of a selector by equality.
void validate_labels(const Json& labels, const std::string& field, FieldErrors& errors);

/// Return why the value is not valid; empty: it is.
std::string dns_label_error(const std::string& text);      ///< RFC 1123
std::string dns_subdomain_error(const std::string& text);  ///< RFC 1123
std::string qualified_name_error(const std::string& text);
std::string label_value_error(const std::string& text);
std::string port_error(std::int64_t port);
std::string ip_error(const std::string& text);
std::string cidr_error(const std::string& text);

}  // namespace kindlb::apiserver
