#include "apiserver/contract.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <regex>
#include <stdexcept>

namespace kindlb::test {

namespace {
using Json = nlohmann::json;

std::string content_type(const std::string& type) {
  if (type == "merge") return "application/merge-patch+json";
  if (type == "json-patch") return "application/json-patch+json";
  if (type == "strategic") return "application/strategic-merge-patch+json";
  if (type == "apply") return "application/apply-patch+yaml";
  return "application/json";
}

/// Both servers leave the low end of their ranges to those who choose a number, so a number from
/// there was asked for and is compared; any other was free when it was given.
bool was_given(const Json& value, const std::string& key) {
  if (key == "nodePort" || key == "healthCheckNodePort") return value > 30085;
  if (key != "clusterIP" || !value.is_string()) return false;
  static const std::regex kChosen("|None|10\\.96\\.0\\.[0-9]+|fd00:10:96::[0-9a-f]{1,2}");
  return !std::regex_match(value.get<std::string>(), kChosen);
}

bool is_of_the_run(const std::string& key) {
  return key == "uid" || key == "resourceVersion" || key == "creationTimestamp" ||
         key == "deletionTimestamp" || key == "time" || key == "remainingItemCount" ||
         key == "continue" || key == "lastTransitionTime";
}

/// The real server validates some things twice and says so; it prints Go structs, whole objects
/// and addresses that were free.
Json normal_causes(const Json& causes) {
  Json out = Json::array();
  for (auto cause : causes) {
    const auto message = cause.value("message", std::string());
    if (cause.value("field", "").ends_with("nodePort") && message.starts_with("Duplicate value: "))
      cause["message"] = "Duplicate value: *";
    for (const char* part :
         {"Duplicate value: {", "may not change", "can not be unset", "expected an"})
      if (message.find(part) != std::string::npos) cause["message"] = part;
    if (cause.value("field", "") == "patch") cause["message"] = "*";
    if (std::find(out.begin(), out.end(), cause) == out.end()) out.push_back(cause);
  }
  return out;
}

/// Without uids, and without what Go's JSON reader says.
std::string plain(std::string message) {
  static const std::regex kUid("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");
  const std::string broken = "continue key is not valid";
  if (const auto at = message.find(broken); at != std::string::npos)
    message.erase(at + broken.size());
  return std::regex_replace(message, kUid, "*");
}

/// Of what differs from run to run only the presence is left.
Json normal(const Json& value, const std::string& key = "") {
  if (is_of_the_run(key) || was_given(value, key)) return "*";
  if (value.is_object()) {
    Json out = Json::object();
    for (const auto& [name, item] : value.items())
      out[name] = name == "causes" ? normal_causes(item) : normal(item, name);
    if (out.contains("message") && out["message"].is_string())
      out["message"] = plain(out["message"]);
    // It is made of the causes.
    if (out.contains("details") && out["details"].contains("causes")) out.erase("message");
    return out;
  }
  if (!value.is_array()) return value;
  Json out = Json::array();
  for (const auto& item : value)
    out.push_back(normal(item, key == "clusterIPs" ? "clusterIP" : ""));
  return out;
}

std::string told(const http::Response& response) {
  const auto json = Json::parse(response.body, nullptr, false);
  return std::to_string(response.status) + " " +
         (json.is_discarded() ? response.body : normal(json).dump());
}
}  // namespace

std::vector<std::string> play(const Scenario& scenario, http::Client& client) {
  std::vector<std::string> out;
  for (const auto& step : scenario.steps) {
    http::Request request{.method = step.method,
                          .target = step.path,
                          .headers = {{"Accept", "application/json"}, {"User-Agent", "contract/1"}},
                          .body = step.body};
    if (!step.body.empty()) request.headers.push_back({"Content-Type", content_type(step.type)});
    const auto response = client.send(request);
    if (!response) throw std::runtime_error(response.error().text());
    out.push_back(told(*response));
  }
  return out;
}

}  // namespace kindlb::test
