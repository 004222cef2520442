#include "apiserver/service_rig.hpp"

using namespace kindlb::test;

TEST_CASE("defaults of a load balancer") {
  ServiceRig rig;
  const auto made = rig.must_create(load_balancer());
  const auto& spec = made["spec"];
  CHECK(spec["sessionAffinity"] == "None");
  CHECK(spec["externalTrafficPolicy"] == "Cluster");
  CHECK(spec["internalTrafficPolicy"] == "Cluster");
  CHECK(spec["allocateLoadBalancerNodePorts"] == true);
  CHECK(spec["allocateLoadBalancerClusterIP"] == true);
  CHECK(spec["allocateLoadBalancerHCNodePort"] == true);
  CHECK(spec["ipFamilies"] == Json::array({"IPv4"}));
  CHECK(spec["ipFamilyPolicy"] == "SingleStack");
  CHECK(spec["ports"][0]["protocol"] == "TCP");
  CHECK(spec["ports"][0]["targetPort"] == 80);
  CHECK(spec["ports"][0]["nodePort"].get<int>() >= 30000);
  CHECK(spec["clusterIP"] == spec["clusterIPs"][0]);
  CHECK_FALSE(spec.contains("healthCheckNodePort"));
  CHECK(made["status"] == Json{{"loadBalancer", Json::object()}});
}

TEST_CASE("KEP-3622: a cluster IP only when asked for") {
  ServiceRig rig;
  const auto off = R"({"allocateLoadBalancerClusterIP":false})";
  SUBCASE("create with false: none") {
    const auto made = rig.must_create(load_balancer(off));
    CHECK_FALSE(made["spec"].contains("clusterIP"));
    CHECK_FALSE(made["spec"].contains("clusterIPs"));
    CHECK(rig.ips() == 0);
    SUBCASE("and an update that leaves it at that: still none") {
      const auto same = rig.must_update(with(made, R"({"sessionAffinity":"ClientIP"})"), made);
      CHECK_FALSE(same["spec"].contains("clusterIP"));
    }
    SUBCASE("set to true: allocated") {
      const auto now =
          rig.must_update(with(made, R"({"allocateLoadBalancerClusterIP":true})"), made);
      CHECK(now["spec"]["clusterIP"] == now["spec"]["clusterIPs"][0]);
      CHECK(rig.ips() == 1);
      SUBCASE("and there is no way back") {
        CHECK(why(rig.update(with(now, off), now)) ==
              "Service \"web\" is invalid: spec.allocateLoadBalancerClusterIP: Invalid value: "
              "false: may not be set to 'false' once a clusterIP is assigned");
        CHECK(rig.ips() == 1);
      }
    }
    SUBCASE("another type: it needs one, and the field goes") {
      const auto now = rig.must_update(with(made, R"({"type":"ClusterIP"})"), made);
      CHECK(now["spec"].contains("clusterIP"));
      CHECK_FALSE(now["spec"].contains("allocateLoadBalancerClusterIP"));
    }
  }
  SUBCASE("an explicit address is honoured") {
    const auto made = rig.must_create(
        load_balancer(R"({"allocateLoadBalancerClusterIP":false,"clusterIP":"10.96.0.9"})"));
    CHECK(made["spec"]["clusterIPs"] == Json::array({"10.96.0.9"}));
    CHECK(why(rig.update(with(made, R"({"sessionAffinity":"ClientIP"})"), made)) == "accepted");
  }
  SUBCASE("deletion gives it back whatever the field says") {
    const auto made = rig.must_create(
        load_balancer(R"({"allocateLoadBalancerClusterIP":false,"clusterIP":"10.96.0.9"})"));
    CHECK(rig.ips() == 1);
    rig.remove(made);
    CHECK(rig.ips() == 0);
  }
  SUBCASE("only for load balancers") {
    CHECK(why(rig.create(with(load_balancer(off), R"({"type":"NodePort"})"))) ==
          "Service \"web\" is invalid: spec.allocateLoadBalancerClusterIP: Forbidden: may only be "
          "used when `type` is 'LoadBalancer'");
    CHECK(rig.ips() == 0);
    CHECK(rig.ports() == 0);
  }
  SUBCASE("gate off: dropped on create, kept where it is set already") {
    const auto made = rig.must_create(load_balancer(off));
    rig.gates.service_lb_cluster_ip_control = false;
    CHECK(rig.must_create(load_balancer(off))["spec"].contains("clusterIP"));
    CHECK_FALSE(rig.must_create(load_balancer())["spec"].contains("allocateLoadBalancerClusterIP"));
    const auto kept = rig.must_update(made, made);
    CHECK(kept["spec"]["allocateLoadBalancerClusterIP"] == false);
    CHECK_FALSE(kept["spec"].contains("clusterIP"));
  }
}

TEST_CASE("KEP-4144: a health-check node port only when asked for") {
  ServiceRig rig;
  const auto local = load_balancer(R"({"externalTrafficPolicy":"Local"})");
  const auto off = with(local, R"({"allocateLoadBalancerHCNodePort":false})");
  SUBCASE("by default there is one") {
    const auto made = rig.must_create(local);
    const auto port = made["spec"]["healthCheckNodePort"];
    CHECK(port.get<int>() >= 30000);
    SUBCASE("and it cannot change") {
      CHECK(why(rig.update(with(made, R"({"healthCheckNodePort":30001})"), made)) ==
            "Service \"web\" is invalid: spec.healthCheckNodePort: Forbidden: field is immutable");
    }
    SUBCASE("leaving it out keeps it") {
      const auto now = rig.must_update(with(made, R"({"healthCheckNodePort":null})"), made);
      CHECK(now["spec"]["healthCheckNodePort"] == port);
    }
    SUBCASE("switching allocation off keeps it too") {
      const auto now =
          rig.must_update(with(made, R"({"allocateLoadBalancerHCNodePort":false})"), made);
      CHECK(now["spec"]["healthCheckNodePort"] == port);
      SUBCASE("until it is removed explicitly") {
        const auto held = rig.ports();
        const auto gone = rig.must_update(with(now, R"({"healthCheckNodePort":null})"), now);
        CHECK_FALSE(gone["spec"].contains("healthCheckNodePort"));
        CHECK(rig.ports() == held - 1);
        SUBCASE("and switching it on again allocates") {
          const auto back =
              rig.must_update(with(gone, R"({"allocateLoadBalancerHCNodePort":true})"), gone);
          CHECK(back["spec"]["healthCheckNodePort"].get<int>() >= 30000);
          CHECK(rig.ports() == held);
        }
      }
    }
    SUBCASE("policy Cluster gives it back") {
      const auto held = rig.ports();
      const auto now = rig.must_update(with(made, R"({"externalTrafficPolicy":"Cluster"})"), made);
      CHECK_FALSE(now["spec"].contains("healthCheckNodePort"));
      CHECK(rig.ports() == held - 1);
    }
  }
  SUBCASE("create with false: none") {
    const auto made = rig.must_create(off);
    CHECK_FALSE(made["spec"].contains("healthCheckNodePort"));
    CHECK(rig.ports() == 1);
    rig.remove(made);
    CHECK(rig.ports() == 0);
  }
  SUBCASE("an explicit one is reserved, also with false") {
    const auto made = rig.must_create(with(off, R"({"healthCheckNodePort":31000})"));
    CHECK(made["spec"]["healthCheckNodePort"] == 31000);
    const auto second = rig.create(with(off, R"({"healthCheckNodePort":31000})"));
    CHECK(second.error().code == 500);
  }
  SUBCASE("gate off: dropped on create, kept where it is set already") {
    const auto made = rig.must_create(off);
    rig.gates.service_lb_health_check_node_port_control = false;
    CHECK(rig.must_create(off)["spec"].contains("healthCheckNodePort"));
    CHECK_FALSE(rig.must_update(made, made)["spec"].contains("healthCheckNodePort"));
  }
}

TEST_CASE("KEP-1959: a load balancer's class") {
  ServiceRig rig;
  const auto classed = load_balancer(R"({"loadBalancerClass":"example.com/a"})");
  SUBCASE("cannot change, be added or go while the type is LoadBalancer") {
    const auto made = rig.must_create(classed);
    CHECK(why(rig.update(with(made, R"({"loadBalancerClass":"example.com/b"})"), made)) ==
          "Service \"web\" is invalid: spec.loadBalancerClass: Invalid value: \"example.com/b\": "
          "may not change once set");
    CHECK(why(rig.update(with(made, R"({"loadBalancerClass":null})"), made)) != "accepted");
    const auto plain = rig.must_create(load_balancer());
    CHECK(why(rig.update(with(plain, R"({"loadBalancerClass":"example.com/b"})"), plain)) !=
          "accepted");
  }
  SUBCASE("goes with the type, and may then be chosen anew") {
    const auto made = rig.must_create(classed);
    const auto other = rig.must_update(with(made, R"({"type":"NodePort"})"), made);
    CHECK_FALSE(other["spec"].contains("loadBalancerClass"));
    const auto back = rig.must_update(
        with(other, R"({"type":"LoadBalancer","loadBalancerClass":"example.com/b"})"), other);
    CHECK(back["spec"]["loadBalancerClass"] == "example.com/b");
  }
  SUBCASE("needs the type and a name like a label's") {
    CHECK(why(rig.create(with(classed, R"({"type":"ClusterIP"})"))) ==
          "Service \"web\" is invalid: spec.loadBalancerClass: Forbidden: may only be used when "
          "`type` is 'LoadBalancer'");
    CHECK(why(rig.create(with(classed, R"({"loadBalancerClass":"Bad Name"})")))
              .find("name part must consist of") != std::string::npos);
  }
  SUBCASE("gate off: dropped unless it was there") {
    const auto made = rig.must_create(classed);
    rig.gates.service_load_balancer_class = false;
    CHECK_FALSE(rig.must_create(classed)["spec"].contains("loadBalancerClass"));
    CHECK(rig.must_update(made, made)["spec"]["loadBalancerClass"] == "example.com/a");
  }
}

TEST_CASE("KEP-1435: protocols side by side") {
  ServiceRig rig;
  const auto mixed = load_balancer(
      R"({"ports":[{"name":"t","port":53},{"name":"u","port":53,"protocol":"UDP"}]})");
  const auto made = rig.must_create(mixed);
  CHECK(made["spec"]["ports"][0]["nodePort"] == made["spec"]["ports"][1]["nodePort"]);
  rig.gates.mixed_protocol_lb_service = false;
  CHECK(why(rig.create(mixed))
            .find("may not contain a mix of protocols when 'type' is "
                  "'LoadBalancer'") != std::string::npos);
  CHECK(why(rig.update(with(made, R"({"sessionAffinity":"ClientIP"})"), made)) == "accepted");
  const auto plain = rig.must_create(load_balancer(R"({"ports":[{"name":"t","port":53}]})"));
  CHECK(why(rig.update(with(plain, R"({"ports":[{"name":"t","port":53},
      {"name":"u","port":53,"protocol":"UDP"}]})"),
                       plain)) != "accepted");
  CHECK(why(rig.create(with(mixed, R"({"type":"NodePort"})"))) == "accepted");
}

TEST_CASE("KEP-4631: required features") {
  ServiceRig rig;
  const auto asked = load_balancer(R"({"requiredLoadBalancerFeatures":["Ports","IPFamilies"]})");
  const auto made = rig.must_create(asked);
  CHECK(made["spec"]["requiredLoadBalancerFeatures"] == Json::array({"Ports", "IPFamilies"}));
  CHECK_FALSE(rig.must_update(with(made, R"({"type":"NodePort"})"), made)["spec"].contains(
      "requiredLoadBalancerFeatures"));
  CHECK(why(rig.create(with(asked, R"({"requiredLoadBalancerFeatures":["Ports","Ports"]})"))) ==
        "Service \"web\" is invalid: spec.requiredLoadBalancerFeatures[1]: Duplicate value: "
        "\"Ports\"");
  CHECK(why(rig.create(with(asked, R"({"type":"ClusterIP"})"))) ==
        "Service \"web\" is invalid: spec.requiredLoadBalancerFeatures: Forbidden: may only be "
        "used when `type` is 'LoadBalancer'");
  rig.gates.load_balancer_status_improvements = false;
  CHECK_FALSE(rig.must_create(asked)["spec"].contains("requiredLoadBalancerFeatures"));
  CHECK(rig.must_update(made, made)["spec"].contains("requiredLoadBalancerFeatures"));
}

TEST_CASE("node ports") {
  ServiceRig rig;
  SUBCASE("none when switched off, but those asked for") {
    const auto made = rig.must_create(load_balancer(
        R"({"allocateLoadBalancerNodePorts":false,
            "ports":[{"name":"a","port":80},{"name":"b","port":81,"nodePort":30500}]})"));
    CHECK_FALSE(made["spec"]["ports"][0].contains("nodePort"));
    CHECK(made["spec"]["ports"][1]["nodePort"] == 30500);
  }
  SUBCASE("kept over updates that leave them out") {
    const auto made = rig.must_create(load_balancer());
    const auto now = rig.must_update(with(made, R"({"ports":[{"port":81}]})"), made);
    CHECK(now["spec"]["ports"][0]["nodePort"] == made["spec"]["ports"][0]["nodePort"]);
  }
  SUBCASE("one that is taken is refused, and nothing is lost by that") {
    rig.must_create(load_balancer(R"({"ports":[{"port":80,"nodePort":30500}]})"));
    const auto held = rig.ports();
    CHECK(why(rig.create(load_balancer(R"({"ports":[{"port":80,"nodePort":30500}]})"))) ==
          "Service \"web\" is invalid: spec.ports[0].nodePort: Invalid value: 30500: provided port "
          "is already allocated");
    CHECK(why(rig.create(load_balancer(R"({"ports":[{"port":80,"nodePort":80}]})"))) ==
          "Service \"web\" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is "
          "not in the valid range. The range of valid ports is 30000-32767");
    CHECK(rig.ports() == held);
    CHECK(rig.ips() == 1);
  }
  SUBCASE("given back with the type") {
    const auto made = rig.must_create(load_balancer());
    const auto now = rig.must_update(with(made, R"({"type":"ClusterIP"})"), made);
    CHECK_FALSE(now["spec"]["ports"][0].contains("nodePort"));
    CHECK(rig.ports() == 0);
  }
  SUBCASE("none are left") {
    for (int port = 30000; port <= 32767; ++port) rig.allocators.ports.allocate(port);
    CHECK(rig.create(load_balancer()).error().code == 500);
    CHECK(rig.ips() == 0);
  }
}
