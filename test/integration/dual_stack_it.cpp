// IPv4, IPv6 and both: what is reported is what answers.
#include "integration/served.hpp"
#include "support/traffic/ask.hpp"

#include <doctest/doctest.h>

namespace {

using namespace kindlb;
using core::IpFamily;
using it::mixed_spec;
using it::Served;
using it::shared_stage;
using testing::ask_tcp;
using testing::ask_udp;

void check_answers(const Served& served, IpFamily family, const std::string& backend) {
  CAPTURE(core::name_of(family));
  const auto target = served.target(80, family);
  CHECK(ask_tcp(target, "hello") == backend + " hello");
  CHECK(ask_udp(target, "hello") == backend + " hello");
  const std::string large(9'000, 'x');
  CHECK(ask_udp(target, large) == backend + " " + large);
}

std::vector<IpFamily> families(const core::Service& service) {
  std::vector<IpFamily> out;
  for (const auto& ingress : service.status.ingress)
    out.push_back(core::IpAddress::parse(ingress.ip)->family());
  return out;
}

}  // namespace

TEST_CASE("a dual-stack Service answers on both addresses, in its own order") {
  Served served(shared_stage());
  served.add("four", IpFamily::V4);
  served.add("six", IpFamily::V6);
  std::vector<IpFamily> order = {IpFamily::V4, IpFamily::V6};
  std::string more = it::kDualStack;
  SUBCASE("IPv4 first") {}
  SUBCASE("IPv6 first") {
    more += R"(,"ipFamilies":["IPv6","IPv4"])";
    order = {IpFamily::V6, IpFamily::V4};
  }
  const auto service = served.create(mixed_spec(more));
  CHECK(families(service) == order);
  check_answers(served, IpFamily::V4, "four");
  check_answers(served, IpFamily::V6, "six");
}

TEST_CASE("an IPv6-only Service has one address and answers on it") {
  Served served(shared_stage());
  served.add("six", IpFamily::V6);
  const auto service = served.create(mixed_spec(R"(,"ipFamilies":["IPv6"])"));
  CHECK(families(service) == std::vector{IpFamily::V6});
  check_answers(served, IpFamily::V6, "six");
}

TEST_CASE("a second family is added and taken away under the first one's connections") {
  Served served(shared_stage());
  served.add("four", IpFamily::V4);
  served.add("six", IpFamily::V6);
  const auto before = served.create(mixed_spec());
  REQUIRE(families(before) == std::vector{IpFamily::V4});
  const auto lasting = testing::dial(SOCK_STREAM, served.target(), std::chrono::seconds(5));
  REQUIRE(lasting);
  const auto say = [&](const std::string& text) {
    std::string answer(text.size() + 5, '\0');
    if (::send(lasting.fd(), text.data(), text.size(), MSG_NOSIGNAL) < 0) return false;
    return ::recv(lasting.fd(), answer.data(), answer.size(), MSG_WAITALL) > 0 &&
           answer == "four " + text;
  };
  CHECK(say("first"));

  const auto both = served.patch(R"({"spec":{"ipFamilyPolicy":"RequireDualStack"}})");
  CHECK(families(both) == std::vector{IpFamily::V4, IpFamily::V6});
  CHECK(both.status.ingress[0] == before.status.ingress[0]);
  check_answers(served, IpFamily::V6, "six");
  CHECK(say("second"));

  const auto v6 = served.target(80, IpFamily::V6);
  const auto after = served.patch(
      R"({"spec":{"ipFamilyPolicy":"SingleStack","ipFamilies":["IPv4"],"clusterIPs":null}})");
  CHECK(after.status.ingress == before.status.ingress);
  CHECK(say("third"));
  CHECK(ask_tcp(v6, "hello", {}, std::chrono::seconds(1)) != "six hello");
}
