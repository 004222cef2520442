#pragma once
// Refusals of the API server (metav1.Status) as Errors: the kind for the code, the server's own
// message for people.

#include "kindlb/core/result.hpp"
#include "kindlb/http/client.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace kindlb::kube {

/// For an answer that is not 2xx. A body that is no Status (a proxy's page) is quoted shortly.
core::Error error_of(const http::Response& response, const std::string& operation);
/// For the object of an ERROR event in a watch.
core::Error error_of_status(const nlohmann::json& status, const std::string& operation);
/// Whether details.causes names that reason, e.g. "NamespaceTerminating".
bool has_cause(std::string_view body, std::string_view reason);

}  // namespace kindlb::kube
