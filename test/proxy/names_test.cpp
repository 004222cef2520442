#include "kindlb/proxy/containers.hpp"
#include "kindlb/proxy/image.hpp"

#include <doctest/doctest.h>

#include <set>

namespace {

using namespace kindlb;
using proxy::parse_name;
using proxy::ProxyName;
using proxy::Role;

constexpr const char* kUid = "6f1b1f6e-8f5c-4c3e-9d56-2f5d9b8c7a10";

bool engine_accepts(const std::string& name) {
  const std::string letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  return name.size() > 1 && name.size() <= 128 && letters.find(name[0]) != std::string::npos &&
         name.find_first_not_of(letters + "_.-") == std::string::npos;
}

}  // namespace

TEST_CASE("a warm name says so, and gives its tag back") {
  const auto tag = proxy::random_tag();
  CHECK(parse_name(proxy::warm_name(tag)) == ProxyName{Role::Warm, tag, "", 0});
  CHECK(engine_accepts(proxy::warm_name(tag)));
}

TEST_CASE("a claimed name says so, and gives the Service's tag back") {
  struct Case {
    const char* name;
    core::ServiceKey owner;
  };
  const Case cases[] = {
      {"usual", {"kind", "default", "web"}},
      {"looks warm", {"warm", "0123abcd", "0123abcd"}},
      {"looks shared", {"shared", "kind", "1"}},
      {"too long", {std::string(63, 'c'), std::string(63, 'n'), std::string(63, 's')}},
      {"characters the engine refuses", {"a/b", "n s", "\xc3\xa9${x}\n"}},
      {"empty parts", {"", "", ""}},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const auto name = proxy::claimed_name(c.owner, kUid);
      CHECK(parse_name(name) == ProxyName{Role::Claimed, proxy::service_tag(kUid), "", 0});
      CHECK(engine_accepts(name));
    }
  }
}

TEST_CASE("claimed names are readable and differ by uid") {
  const core::ServiceKey owner{"kind", "default", "web"};
  CHECK(proxy::claimed_name(owner, kUid).starts_with("kindlb-kind-default-web-"));
  CHECK(proxy::claimed_name(owner, kUid) != proxy::claimed_name(owner, "other"));
}

TEST_CASE("a shared name says so, and gives its cluster and number back") {
  struct Case {
    const char* name;
    std::string cluster;
    unsigned number;
    std::string seen;  ///< of the cluster
  };
  const Case cases[] = {
      {"usual", "kind", 1, "kind"},
      {"a cluster with dashes", "my-kind-2", 12, "my-kind-2"},
      {"a number that could be a tag's", "kind", 999'999, "kind"},
      {"characters the engine refuses", "a/b@c", 3, "a_b_c"},
      {"too long", std::string(200, 'c'), 3, std::string(112, 'c')},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const auto name = proxy::shared_name(c.cluster, c.number);
      CHECK(parse_name(name) == ProxyName{Role::Shared, "", c.seen, c.number});
      CHECK(engine_accepts(name));
    }
  }
}

TEST_CASE("a Service's name is never taken for a shared one") {
  // The tag of some uid has digits only.
  const auto name = proxy::claimed_name({"shared", "kind", "web"}, kUid);
  CHECK(parse_name(name)->role == Role::Claimed);
  CHECK(parse_name("kindlb-shared-kind-web-12345678")->role == Role::Claimed);
}

TEST_CASE("names that are not ours are refused") {
  for (const char* name :
       {"", "kindlb", "kindlb-", "kindlb-0123abcd", "kind-control-plane", "kindlb-warm-",
        "kindlb-warm-0123abc", "kindlb-warm-0123abcg", "kindlb-warm-0123ABCD",
        "kindlb-web_0123abcd", "warm-0123abcd", "kindlb-shared-kind-0", "kindlb-shared-kind-01",
        "kindlb-shared-1", "kindlb-shared--1", "kindlb-shared-kind-1x", "kindlb-shared-kind-"}) {
    SUBCASE(name) {
      CHECK_FALSE(parse_name(name).has_value());
    }
  }
}

TEST_CASE("volume names and their tags") {
  CHECK(proxy::parse_volume_name(proxy::volume_name("0123abcd")) == "0123abcd");
  for (const char* name : {"", "kindlb-", "kindlb-data", "x-0123abcd", "kindlb-0123abcde"})
    CHECK_FALSE(proxy::parse_volume_name(name).has_value());
}

TEST_CASE("image references and their hashes") {
  CHECK(proxy::image_hash(proxy::image_reference("0123abcd")) == "0123abcd");
  CHECK(proxy::image_hash("envoyproxy/envoy:v1") == "");
}

TEST_CASE("random tags are tags and differ") {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) seen.insert(proxy::random_tag());
  CHECK(seen.size() == 100);
  for (const auto& tag : seen) CHECK(tag.size() == 8);
}
