// Each field of a Service changes once: what is written, and whose time moves (docs/contract.md
// §2). From the JSON of the API on, so that a field that is not decoded fails here, too.
#include "kube/service_fields.hpp"

#include "codec.hpp"
#include "core/plan/plan_support.hpp"
#include "support/paths.hpp"

#include <fstream>

using namespace kindlb;
using namespace kindlb::core;
using namespace kindlb::test;

namespace {

constexpr const char* kServed = R"({
  "metadata": {"name": "web", "namespace": "default", "uid": "u", "labels": {"app": "web"}},
  "spec": {
    "type": "LoadBalancer", "selector": {"app": "echo"},
    "clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7"],
    "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
    "externalTrafficPolicy": "Cluster", "internalTrafficPolicy": "Cluster",
    "sessionAffinity": "None", "allocateLoadBalancerNodePorts": true,
    "ports": [{"name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080,
               "nodePort": 30080}]}})";

nlohmann::json patched(nlohmann::json object, const std::string& patch) {
  object.merge_patch(nlohmann::json::parse(patch));
  return object;
}

/// A Service as its users change it: in JSON. What kindlb wrote stays, and the EndpointSlices
/// follow at once.
class EditedLife : public Life {
 public:
  explicit EditedLife(const nlohmann::json& object) : Life(decoded(object)) {
    has_ipv6();
    // The one profile that gives an annotation a meaning.
    policy.capabilities.mixed_protocols_annotation =
        "service.beta.kubernetes.io/azure-load-balancer-mixed-protocols";
    endpoints_follow();
    settle();
    REQUIRE(serving() == "True/Serving");
  }

  /// Put the object in the place of the present one, and live until nothing is left to do.
  std::vector<StatusApply> become(const nlohmann::json& object) {
    replace(object);
    writes.clear();
    settle();
    // A delay of its own (kindlb.dev/fault-provisioning-delay) has passed by then.
    now += std::chrono::seconds(10);
    settle();
    return writes;
  }
  void replace(const nlohmann::json& object) {
    auto next = decoded(object);
    next.status = service.status;
    next.finalizers = service.finalizers;
    next.annotations[kObservedAnnotation] = service.annotations.at(kObservedAnnotation);
    service = next;
    endpoints_follow();
  }

 private:
  static Service decoded(const nlohmann::json& object) {
    auto service = kube::decode_service(object, "kind");
    REQUIRE_MESSAGE(service.ok(), service.error().text());
    return *service;
  }
  void endpoints_follow() {
    slices[0].ports.clear();
    for (const auto& port : service.spec.ports)
      slices[0].ports.push_back(
          {port.name, port.protocol, static_cast<std::uint16_t>(std::stoi(port.target_port))});
  }
};

/// How often a condition's time moved. A flip of its status moves it, too, and is not counted if
/// `flips` says so.
std::size_t moves(const std::vector<StatusApply>& writes, Condition before, bool flips) {
  std::size_t out = 0;
  for (const auto& write : writes) {
    const auto* now = find_condition(write.conditions, before.type);
    REQUIRE(now != nullptr);
    CHECK(now->last_transition >= before.last_transition);
    const bool flipped = now->status != before.status;
    if (now->last_transition != before.last_transition && (flips || !flipped)) ++out;
    before = *now;
  }
  return out;
}

Condition condition_of(const Life& life, const char* type) {
  const auto* found = find_condition(life.service.status.conditions, type);
  REQUIRE(found != nullptr);
  return *found;
}

/// Any change that concerns the load balancer is one observation: Provisioning's time moves with
/// the first write, and later only when its status flips.
void check_seen_once(const std::vector<StatusApply>& writes, const Condition& provisioning) {
  REQUIRE_FALSE(writes.empty());
  CHECK(find_condition(writes[0].conditions, kProvisioningCondition)->last_transition >
        provisioning.last_transition);
  const auto later = std::vector(writes.begin() + 1, writes.end());
  CHECK(moves(later, *find_condition(writes[0].conditions, kProvisioningCondition), false) == 0);
}

void check_change(EditedLife& life, const nlohmann::json& object, FieldClass kind) {
  const auto provisioning = condition_of(life, kProvisioningCondition);
  const auto serving = condition_of(life, kServingCondition);
  const auto writes = life.become(object);
  if (kind == FieldClass::Unrelated) {
    CHECK(writes.empty());
    return;
  }
  check_seen_once(writes, provisioning);
  CHECK(moves(writes, serving, true) == (kind == FieldClass::Visible ? 1 : 0));
  if (kind == FieldClass::Hidden) CHECK(writes.size() == 1);
}

void check_released(EditedLife& life, const nlohmann::json& object) {
  life.replace(object);
  CHECK(life.plan().remove_proxy);
  life.proxy_is_lost();
  const auto plan = life.plan();
  CHECK(plan.teardown == Teardown::TakeBack);
  CHECK_FALSE(plan.write.has_value());
}

void check_case(const FieldCase& c) {
  const auto before = patched(nlohmann::json::parse(kServed), c.before);
  const auto after = patched(before, c.change);
  REQUIRE(after != before);
  EditedLife life(before);
  if (c.kind == FieldClass::Owner) return check_released(life, after);
  check_change(life, after, c.kind);
  life.kindlb_restarts();
  CHECK(life.plan().empty());
  // The way back is a change like any other. Whether it is visible is another question: an address
  // that was asked for is kept when nobody asks for it any more.
  const auto provisioning = condition_of(life, kProvisioningCondition);
  const auto writes = life.become(before);
  if (c.kind == FieldClass::Unrelated)
    CHECK(writes.empty());
  else
    check_seen_once(writes, provisioning);
  CHECK(life.plan().empty());
}

std::string document(const std::string& name) {
  std::ifstream in(source_dir() + "/docs/" + name);
  REQUIRE_MESSAGE(in.good(), "no docs/", name);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// All `code` of a text.
std::set<std::string> quoted(const std::string& text) {
  std::set<std::string> out;
  for (std::size_t at = text.find('`'); at != std::string::npos; at = text.find('`', at + 1)) {
    const auto end = text.find('`', at + 1);
    if (end == std::string::npos) break;
    out.insert(text.substr(at + 1, end - at - 1));
    at = end;
  }
  return out;
}

std::string line_with(const std::string& text, const std::string& beginning) {
  const auto at = text.find("\n" + beginning);
  REQUIRE_MESSAGE(at != std::string::npos, "no line begins with ", beginning);
  return text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

std::set<std::string> joined(std::set<std::string> one, const std::set<std::string>& other) {
  one.insert(other.begin(), other.end());
  return one;
}

}  // namespace

TEST_CASE("each field of a Service moves the times that it should") {
  for (const auto& c : spec_field_cases()) {
    SUBCASE(c.name.c_str()) {
      check_case(c);
    }
  }
}

TEST_CASE("each annotation of a Service moves the times that it should") {
  for (const auto& c : annotation_cases()) {
    SUBCASE(c.name.c_str()) {
      check_case(c);
    }
  }
}

TEST_CASE("what else may change on a Service") {
  SUBCASE("labels") {
    check_case({"labels", FieldClass::Unrelated, R"({"metadata":{"labels":{"app":"x"}}})"});
  }
  SUBCASE("an annotation of others") {
    check_case({"annotation", FieldClass::Unrelated,
                R"({"metadata":{"annotations":{"example.com/team":"blue"}}})"});
  }
  SUBCASE("a mistyped annotation of ours") {
    check_case({"annotation", FieldClass::Hidden,
                R"({"metadata":{"annotations":{"kindlb.dev/data-path":"direct"}}})"});
  }
  SUBCASE("the default, spelled out as a newer API server does") {
    check_case({"defaults", FieldClass::Unrelated,
                R"({"spec":{"allocateLoadBalancerClusterIP":true,
                            "allocateLoadBalancerHCNodePort":true}})"});
  }
}

TEST_CASE("the table has the annotations of docs/reference.md") {
  const auto page = document("reference.md");
  const auto from = page.find("### On a Service");
  const auto section = page.substr(from, page.find("### In the sandbox") - from);
  std::set<std::string> listed;
  for (std::size_t at = section.find("\n| `"); at != std::string::npos;
       at = section.find("\n| `", at + 1))
    listed.insert(section.substr(at + 4, section.find('`', at + 4) - at - 4));
  listed.erase(kObservedAnnotation);  // not a request
  CHECK(listed == names_of(annotation_cases()));
}

TEST_CASE("docs/contract.md puts every field and annotation into the class of the table") {
  const auto page = document("contract.md");
  const std::pair<const char*, FieldClass> rows[] = {
      {"| yes, and clients see it |", FieldClass::Visible},
      {"| yes, but clients do not see it |", FieldClass::Hidden},
      {"| no |", FieldClass::Unrelated},
      {"| it decides whose Service it is |", FieldClass::Owner}};
  for (const auto& [beginning, kind] : rows) {
    CAPTURE(beginning);
    CHECK(quoted(line_with(page, beginning)) ==
          joined(names_of(spec_field_cases(), kind), names_of(annotation_cases(), kind)));
  }
}
