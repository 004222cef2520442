// What a served Service reports besides True: notes, Degraded, and when Serving's time moves.
#include "core/plan/plan_support.hpp"

using namespace kindlb::core;
using namespace kindlb::test;

namespace {}  // namespace

TEST_CASE("what people may not have meant is noted in Serving's message") {
  struct Case {
    const char* name;
    ServiceBuilder asks;
    const char* words;
  };
  const Case cases[] = {
      {"a range that cannot be parsed",
       web().with_source_range("office").with_source_range("10.0.0.0/8"),
       "Entry \"office\" of spec.loadBalancerSourceRanges"},
      {"ranges of the other family", web().with_source_range("fc00::/7"),
       "no client is admitted over IPv4"},
      {"ranges without one of two families",
       web().with_families({IpFamily::V4, IpFamily::V6}).with_source_range("10.0.0.0/8"),
       "no client is admitted over IPv6"},
      {"ranges by annotation",
       web().annotated("service.beta.kubernetes.io/load-balancer-source-ranges", "x"),
       "service.beta.kubernetes.io/load-balancer-source-ranges"},
      {"PROXY protocol beside UDP",
       web().with_port(53, Protocol::Udp).annotated("kindlb.dev/proxy-protocol", "v2"),
       "kindlb.dev/proxy-protocol applies to TCP"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      Life life(c.asks);
      life.has_ipv6();
      life.settle();
      CHECK(life.serving() == "True/Serving");
      CHECK(life.degraded() == "absent");
      CHECK(mentions(life.message(), "Serving 172.18.255.254"));
      CHECK(mentions(life.message(), c.words));
    }
  }
}

TEST_CASE("a way to the pods that the profile lacks is not dropped in silence") {
  Life life(web().annotated("kindlb.dev/datapath", "direct"));
  life.policy.capabilities.direct_path = false;
  life.settle();
  CHECK(mentions(life.message(), "kindlb.dev/datapath requests the direct path"));
}

TEST_CASE("what is as people meant is not noted") {
  Life life(web().with_source_range("10.0.0.0/8").annotated("kindlb.dev/proxy-protocol", "v1"));
  life.settle();
  CHECK(life.message() == "Serving 172.18.255.254 (TCP/80).");
}

TEST_CASE("a note goes with its cause, even when that changes nothing for the proxy") {
  Life life(web().with_source_range("10.0.0.0/8").with_source_range("office"));
  life.settle();
  const auto served_since = life.since(kServingCondition);
  REQUIRE(mentions(life.message(), "office"));
  SUBCASE("the cause is gone") {
    life.service.spec.source_ranges.pop_back();
    life.settle();
    CHECK(life.message() == "Serving 172.18.255.254 (TCP/80).");
  }
  SUBCASE("there is another one") {
    life.service.spec.source_ranges.back() = "home";
    life.settle();
    CHECK_FALSE(mentions(life.message(), "office"));
    CHECK(mentions(life.message(), "\"home\""));
  }
  CHECK(life.since(kServingCondition) == served_since);
  CHECK(life.step().empty());
}

TEST_CASE("an update the proxy refused and that was taken back moves no Serving time") {
  auto life = settled();
  const auto served_since = life.since(kServingCondition);
  const auto before = life.service.spec;
  life.add_port(443);
  life.step();
  life.proxy_rejects(life.step(), "cannot bind");
  life.step();
  REQUIRE(mentions(life.message(), "cannot bind"));
  life.service.spec = before;
  life.settle();
  CHECK(life.serving() == "True/Serving");
  CHECK(life.provisioning() == "False/Complete");
  CHECK(life.message() == "Serving 172.18.255.254 (TCP/80).");
  CHECK(life.since(kServingCondition) == served_since);
}

TEST_CASE("an update that took effect moves Serving's time, and so does its way back") {
  auto life = settled();
  const auto before = life.service.spec;
  auto last = life.since(kServingCondition);
  SUBCASE("one more port") {
    life.add_port(443);
  }
  SUBCASE("source ranges") {
    life.service.spec.source_ranges = {"10.0.0.0/8"};
  }
  SUBCASE("affinity") {
    life.service.spec.affinity = Affinity::ClientIp;
  }
  SUBCASE("PROXY protocol") {
    life.annotate("kindlb.dev/proxy-protocol", "v2");
  }
  life.settle();
  CHECK(life.since(kServingCondition) > last);
  last = life.since(kServingCondition);
  life.service.spec = before;
  life.service.annotations.erase("kindlb.dev/proxy-protocol");
  life.settle();
  CHECK(life.since(kServingCondition) > last);
}

TEST_CASE("what was reported is remembered once status has it, and forgotten by a restart") {
  auto life = settled();
  CHECK(life.last_reported ==
        LastReported{observed_hash(life.service, life.policy), life.proxy.acknowledged.shape});
  life.kindlb_restarts();
  CHECK(life.last_reported == LastReported{});
  CHECK(life.step().empty());
  CHECK(life.last_reported.shape == life.proxy.acknowledged.shape);
}

TEST_CASE("Degraded stays until the update takes effect") {
  Life life(web().with_affinity());
  life.policy.capabilities.session_affinity = false;
  life.settle();
  REQUIRE(life.degraded() == "True/SessionAffinityNotSupported");
  SUBCASE("it goes") {
    life.service.spec.affinity = Affinity::None;
    life.add_port(443);
    life.step();
    CHECK(life.degraded() == "True/SessionAffinityNotSupported");
    life.settle();
    CHECK(life.degraded() == "absent");
  }
  SUBCASE("one more comes") {
    life.add_port(443);
    life.service.spec.ports.back().protocol = Protocol::Sctp;
    life.service.spec.ports.push_back(web().build().spec.ports[0]);
    life.service.spec.ports.back().port = 81;
    life.step();
    CHECK(life.degraded() == "True/SessionAffinityNotSupported");
    life.settle();
    CHECK(life.degraded() == "True/Multiple");
  }
  SUBCASE("the update is refused by the proxy") {
    life.add_port(443);
    life.service.spec.affinity = Affinity::None;
    life.step();
    life.proxy_rejects(life.step(), "no");
    life.step();
    CHECK(life.degraded() == "True/SessionAffinityNotSupported");
  }
}

TEST_CASE("falling back to node ports is allowed only with datapath auto") {
  struct Case {
    const char* name;
    const char* annotation;
    Datapath flag;
    bool direct;
    bool may_fall_back;
  };
  const Case cases[] = {
      {"auto", "", Datapath::Auto, true, true},
      {"direct by flag", "", Datapath::Direct, true, false},
      {"node ports by flag", "", Datapath::NodePort, false, false},
      {"auto by annotation", "auto", Datapath::NodePort, true, true},
      {"direct by annotation", "direct", Datapath::Auto, true, false},
      {"node ports by annotation", "nodeport", Datapath::Auto, false, false},
      {"nonsense by annotation", "tunnel", Datapath::Auto, true, true},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      auto asks = web();
      if (*c.annotation != '\0') asks.annotated("kindlb.dev/datapath", c.annotation);
      Life life(asks);
      life.policy.datapath = c.flag;
      life.step();
      life.proxy_claimed();
      const auto plan = life.step();
      REQUIRE(plan.apply.has_value());
      CHECK(plan.apply->direct == c.direct);
      CHECK(plan.may_fall_back == c.may_fall_back);
      CHECK(plan.apply->backends[0].targets[0] ==
            (c.direct ? target("10.244.0.5", 8080) : target("172.18.0.2", 30080)));
    }
  }
}

TEST_CASE("another datapath is an update: reported, sent, reached") {
  auto life = settled();
  life.annotate("kindlb.dev/datapath", "nodeport");
  life.step();
  CHECK(life.serving() == "True/Serving");
  CHECK(life.provisioning() == "True/Provisioning");
  const auto sent = life.step();
  REQUIRE(sent.apply.has_value());
  CHECK_FALSE(sent.apply->direct);
  CHECK(sent.probes.size() == 1);
  life.proxy_confirms(sent);
  life.settle();
  CHECK(life.provisioning() == "False/Complete");
}
