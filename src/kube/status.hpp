#pragma once
// Failures reported by the API server (metav1.Status) as Errors: the kind by the code, the server's
// own message as detail. Pure; any body is accepted.

#include "kindlb/core/result.hpp"
#include "kindlb/http/client.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace kindlb::kube {

/// Return the Error of an answer that is not 2xx. Of a body that is no Status (a proxy's error
/// page) the first line is quoted, at most 200 bytes.
core::Error error_of(const http::Response& response, const std::string& operation);
/// Return the Error of the object of an ERROR event in a watch.
core::Error error_of_status(const nlohmann::json& status, const std::string& operation);
/// Return whether details.causes of a Status contains that reason, e.g. "NamespaceTerminating".
bool has_cause(std::string_view body, std::string_view reason);

}  // namespace kindlb::kube
