#include "apiserver/service_rig.hpp"

using namespace kindlb::test;

TEST_CASE("families of a Service on a cluster with both") {
  ServiceRig rig(true);
  struct Case {
    const char* name;
    const char* spec;
    Json families;
    const char* policy;
  };
  const Case cases[] = {
      {"nothing said", "{}", {"IPv4"}, "SingleStack"},
      {"the other family", R"({"ipFamilies":["IPv6"]})", {"IPv6"}, "SingleStack"},
      {"both preferred",
       R"({"ipFamilyPolicy":"PreferDualStack"})",
       {"IPv4", "IPv6"},
       "PreferDualStack"},
      {"both required, other order",
       R"({"ipFamilyPolicy":"RequireDualStack","ipFamilies":["IPv6","IPv4"]})",
       {"IPv6", "IPv4"},
       "RequireDualStack"},
      {"inferred from an address", R"({"clusterIP":"fd00:10:96::9"})", {"IPv6"}, "SingleStack"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const auto made = rig.must_create(load_balancer(c.spec));
      CHECK(made["spec"]["ipFamilies"] == c.families);
      CHECK(made["spec"]["ipFamilyPolicy"] == c.policy);
      CHECK(made["spec"]["clusterIPs"].size() == c.families.size());
      CHECK(made["spec"]["clusterIPs"][0] == made["spec"]["clusterIP"]);
    }
  }
}

TEST_CASE("a second family comes and goes") {
  ServiceRig rig(true);
  const auto made = rig.must_create(load_balancer());
  const auto both = rig.must_update(with(made, R"({"ipFamilyPolicy":"RequireDualStack"})"), made);
  REQUIRE(both["spec"]["clusterIPs"].size() == 2);
  CHECK(both["spec"]["clusterIPs"][0] == made["spec"]["clusterIPs"][0]);
  CHECK(rig.allocators.ips[1].allocated() == 1);
  const auto one = rig.must_update(with(both, R"({"ipFamilyPolicy":"SingleStack"})"), both);
  CHECK(one["spec"]["clusterIPs"] == made["spec"]["clusterIPs"]);
  CHECK(one["spec"]["ipFamilies"] == Json::array({"IPv4"}));
  CHECK(rig.allocators.ips[1].allocated() == 0);
}

TEST_CASE("what the families and addresses must not be") {
  struct Case {
    const char* name;
    const char* spec;
    const char* why;
  };
  const Case cases[] = {
      {"both on a cluster with one", R"({"ipFamilyPolicy":"RequireDualStack"})",
       "spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": this cluster is not configured "
       "for dual-stack services"},
      {"a family it has not", R"({"ipFamilies":["IPv6"]})",
       "spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured on this cluster"},
      {"an unknown family", R"({"ipFamilies":["IPX"]})",
       "spec.ipFamilies[0]: Unsupported value: \"IPX\": supported values: \"IPv4\", \"IPv6\""},
      {"an unknown policy", R"({"ipFamilyPolicy":"Both"})",
       "spec.ipFamilyPolicy: Unsupported value: \"Both\": supported values: \"PreferDualStack\", "
       "\"RequireDualStack\", \"SingleStack\""},
      {"no address", R"({"clusterIP":"ten"})",
       "spec.clusterIPs[0]: Invalid value: \"ten\": must be a valid IP address, (e.g. 10.9.8.7 or "
       "2001:db8::ffff)"},
      {"plural without singular", R"({"clusterIPs":["10.96.0.5"]})",
       "spec.clusterIPs: Invalid value: [\"10.96.0.5\"]: must be empty when `clusterIP` is not "
       "specified"},
      {"headless load balancer", R"({"clusterIP":"None"})",
       "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for LoadBalancer "
       "services"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      check_invalid(c.spec, c.why);
    }
  }
}

TEST_CASE("a cluster IP does not change, and goes only with ExternalName") {
  ServiceRig rig;
  const auto made = rig.must_create(load_balancer());
  CHECK(why(rig.update(with(made, R"({"clusterIP":"10.96.0.77"})"), made))
            .find("may not change once set") != std::string::npos);
  CHECK(rig.ips() == 1);
  const auto named =
      rig.must_update(with(made, R"({"type":"ExternalName","externalName":"example.com"})"), made);
  CHECK_FALSE(named["spec"].contains("clusterIP"));
  CHECK_FALSE(named["spec"].contains("ipFamilies"));
  CHECK(rig.ips() == 0);
  const auto back = rig.must_update(with(named, R"({"type":"ClusterIP"})"), named);
  CHECK(back["spec"].contains("clusterIP"));
}

TEST_CASE("the range runs out") {
  ServiceRig rig;
  std::size_t made = 0;
  while (made < 1000 && rig.create(load_balancer(R"({"allocateLoadBalancerNodePorts":false})")))
    ++made;
  CHECK(made == 254);
}
