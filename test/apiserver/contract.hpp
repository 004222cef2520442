#pragma once
// Requests in order, and their answers in a form that two servers can be compared by.

#include "kindlb/http/client.hpp"

#include <string>
#include <vector>

namespace kindlb::test {

struct Step {
  std::string method;
  std::string path;  ///< with its query
  std::string
      type;  ///< "json", or the kind of a patch: "merge", "json-patch", "strategic", "apply"
  std::string body;
};

struct Scenario {
  std::string name;
  std::vector<Step> steps;
};

/// The first step of a scenario.
inline Step make_namespace(const std::string& ns) {
  return {"POST", "/api/v1/namespaces", "json", R"({"metadata":{"name":")" + ns + R"("}})"};
}

/// All of them; each works in a namespace of its own name, made by its first step. Node ports are
/// chosen from 30000 to 30085 and cluster IPs from 10.96.0.2 to 10.96.0.255: no others are sure to
/// be free.
const std::vector<Scenario>& scenarios();
/// Of contract_keps.cpp; part of scenarios().
std::vector<Scenario> kep_scenarios();

/// "STATUS BODY" of each step, without what differs from run to run.
std::vector<std::string> play(const Scenario& scenario, http::Client& client);

}  // namespace kindlb::test
