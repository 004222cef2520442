#include "reconciler/store.hpp"

#include "support/builders.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>

using namespace kindlb;
using namespace kindlb::test;
using controller::Store;
using Keys = Store::Keys;

namespace {

core::Service versioned(const std::string& name, const std::string& version) {
  auto service = a_service().named(name).with_port(80).build();
  service.resource_version = version;
  return service;
}

core::ServiceKey key(const std::string& name) {
  return a_service().named(name).build().key;
}

std::string version_of(const Store& store, const std::string& name) {
  const auto* found = store.service(key(name));
  return found == nullptr ? "none" : found->resource_version;
}

}  // namespace

TEST_CASE("versions are compared as numbers") {
  CHECK(controller::is_older("9", "10"));
  CHECK_FALSE(controller::is_older("10", "9"));
  CHECK_FALSE(controller::is_older("10", "10"));
  CHECK_FALSE(controller::is_older("", "10"));
  CHECK_FALSE(controller::is_older("9", "x10"));
  CHECK_FALSE(controller::is_older("18446744073709551616", "1"));
}

TEST_CASE("a Service that is put is planned, unless it is older than the known one") {
  Store store;
  CHECK(store.put_service(versioned("default/web", "10")) == Keys{key("default/web")});
  SUBCASE("older") {
    CHECK(store.put_service(versioned("default/web", "9")).empty());
    CHECK(version_of(store, "default/web") == "10");
  }
  SUBCASE("newer") {
    CHECK(store.put_service(versioned("default/web", "11")).size() == 1);
    CHECK(version_of(store, "default/web") == "11");
  }
  SUBCASE("another uid, whose versions start anew") {
    auto other = versioned("default/web", "3");
    other.uid = "another";
    CHECK(store.put_service(other).size() == 1);
    CHECK(store.service(key("default/web"))->uid == "another");
  }
  SUBCASE("removed") {
    CHECK(store.remove_service(key("default/web")) == Keys{key("default/web")});
    CHECK(store.service(key("default/web")) == nullptr);
  }
}

TEST_CASE("a list replaces what was known, but not by what is older") {
  Store store;
  store.put_service(versioned("default/a", "10"));
  store.put_service(versioned("default/b", "10"));
  const auto keys =
      store.replace_services({versioned("default/a", "9"), versioned("default/c", "12")});
  CHECK(keys == Keys{key("default/a"), key("default/b"), key("default/c")});
  CHECK(version_of(store, "default/a") == "10");
  CHECK(version_of(store, "default/b") == "none");
  CHECK(version_of(store, "default/c") == "12");
}

TEST_CASE("synced once all three have been listed") {
  Store store;
  CHECK_FALSE(store.synced());
  store.replace_services({});
  store.replace_nodes({});
  CHECK_FALSE(store.synced());
  store.replace_slices({});
  CHECK(store.synced());
}

TEST_CASE("slices are found by their Service") {
  Store store;
  const auto web = versioned("default/web", "1");
  const core::EndpointSlice one = a_slice().of(web).called("web-1").ready("10.0.0.1", "a");
  CHECK(store.put_slice(one) == Keys{key("default/web")});
  CHECK(store.put_slice(one).empty());  // nothing new
  CHECK(store.put_slice(a_slice().of(web).called("web-2")).size() == 1);
  CHECK(store.slices_of(key("default/web")).size() == 2);
  CHECK(store.slices_of(key("default/other")).empty());

  SUBCASE("one moves to another Service: both are planned") {
    auto moved = one;
    moved.service = key("default/other");
    CHECK(store.put_slice(moved) == Keys{key("default/web"), key("default/other")});
    CHECK(store.slices_of(key("default/web")).size() == 1);
    CHECK(store.slices_of(key("default/other")).size() == 1);
  }
  SUBCASE("one goes") {
    CHECK(store.remove_slice("default", "web-1") == Keys{key("default/web")});
    CHECK(store.remove_slice("default", "web-1").empty());
    CHECK(store.slices_of(key("default/web")).size() == 1);
  }
  SUBCASE("all are listed anew: every Service is planned") {
    store.put_service(web);
    store.put_service(versioned("default/other", "1"));
    CHECK(store.replace_slices({}) == Keys{key("default/web"), key("default/other")});
    CHECK(store.slices_of(key("default/web")).empty());
  }
}

TEST_CASE("same slice name in two namespaces") {
  Store store;
  store.put_slice(a_slice().of(versioned("one/web", "1")).called("web-1"));
  store.put_slice(a_slice().of(versioned("two/web", "1")).called("web-1"));
  store.remove_slice("one", "web-1");
  CHECK(store.slices_of(key("one/web")).empty());
  CHECK(store.slices_of(key("two/web")).size() == 1);
}

TEST_CASE("a node that only sends its heartbeat plans nothing") {
  Store store;
  store.put_service(versioned("default/web", "1"));
  const auto node = a_node("a", "172.18.0.2");
  CHECK(store.put_node(node).size() == 1);
  CHECK(store.put_node(node).empty());
  auto unready = node;
  unready.ready = false;
  CHECK(store.put_node(unready).size() == 1);
  CHECK(store.remove_node("a").size() == 1);
  CHECK(store.remove_node("a").empty());
  CHECK(store.replace_nodes({node}).size() == 1);
  CHECK(store.nodes().size() == 1);
}
