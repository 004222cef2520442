#include "storage/store.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

using namespace kindlb::apiserver;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {
Json object(const std::string& ns, const std::string& name, int value) {
  return {{"metadata", {{"namespace", ns}, {"name", name}}}, {"spec", value}};
}

ObjectPtr put(Store& store, const std::string& ns, const std::string& name, int value) {
  return *store.write(services(), {ns, name}, [&](const ObjectPtr&) -> ApiResult<Edit> {
    return Edit{Edit::Kind::Put, object(ns, name, value), {}};
  });
}

ObjectPtr drop(Store& store, const std::string& ns, const std::string& name) {
  return *store.write(services(), {ns, name}, [](const ObjectPtr&) -> ApiResult<Edit> {
    return Edit{Edit::Kind::Remove, {}, {}};
  });
}

std::vector<std::string> names(const Listing& listing) {
  std::vector<std::string> out;
  for (const auto& each : listing.objects)
    out.push_back(text_at(each->value, {"metadata", "namespace"}) + "/" +
                  text_at(each->value, {"metadata", "name"}));
  return out;
}
}  // namespace

TEST_CASE("every change has a version of its own, and the object carries it") {
  Store store;
  const auto first = put(store, "a", "x", 1);
  const auto second = put(store, "a", "x", 2);
  CHECK(first->revision < second->revision);
  CHECK(text_at(second->value, {"metadata", "resourceVersion"}) ==
        std::to_string(second->revision));
  CHECK(Json::parse(second->text) == second->value);
  CHECK(store.get(services(), {"a", "x"}) == second);
}

TEST_CASE("a refused edit changes nothing") {
  Store store;
  put(store, "a", "x", 1);
  const auto before = store.revision();
  const auto result = store.write(services(), {"a", "x"}, [](const ObjectPtr&) -> ApiResult<Edit> {
    return bad_request("no");
  });
  CHECK_FALSE(static_cast<bool>(result));
  CHECK(store.revision() == before);
}

TEST_CASE("lists are in order and of one namespace or all") {
  Store store;
  put(store, "b", "x", 1);
  put(store, "a", "z", 1);
  put(store, "a", "y", 1);
  CHECK(names(store.list(services(), "")) == std::vector<std::string>{"a/y", "a/z", "b/x"});
  CHECK(names(store.list(services(), "a")) == std::vector<std::string>{"a/y", "a/z"});
  CHECK(store.list(pods(), "").objects.empty());
}

TEST_CASE("a list of an earlier version shows what was then") {
  Store store(8);
  put(store, "a", "x", 1);
  const auto then = store.revision();
  put(store, "a", "x", 2);
  put(store, "a", "y", 1);
  drop(store, "a", "x");
  const auto old = store.list_at(services(), "", then);
  REQUIRE(old.has_value());
  CHECK(names(*old) == std::vector<std::string>{"a/x"});
  CHECK(old->objects[0]->value["spec"] == 1);
  CHECK_FALSE(store.list_at(services(), "", store.revision() + 1).has_value());
  for (int i = 0; i < 8; ++i) put(store, "a", "z", i);
  CHECK_FALSE(store.list_at(services(), "", then).has_value());
}

TEST_CASE("changes are told from any version in the window; before it they have expired") {
  Store store(3);
  put(store, "a", "x", 1);
  const auto from = store.revision();
  put(store, "a", "x", 2);
  drop(store, "a", "x");
  auto news = store.wait(services(), from, Clock::now());
  REQUIRE(news.changes.size() == 2);
  CHECK(news.changes[0].before->value["spec"] == 1);
  CHECK(news.changes[0].after->value["spec"] == 2);
  CHECK(news.changes[1].after == nullptr);
  CHECK(news.changes[1].last->revision == store.revision());
  CHECK(news.up_to == store.revision());
  for (int i = 0; i < 3; ++i) put(store, "a", "z", i);
  CHECK(store.wait(services(), from, Clock::now()).expired);
  CHECK(store.wait(services(), store.revision() + 1, Clock::now()).expired);
}

TEST_CASE("changes can be had in pieces") {
  Store store;
  const auto from = store.revision();
  for (int i = 0; i < 5; ++i) put(store, "a", "x", i);
  const auto first = store.wait(services(), from, Clock::now(), 2);
  REQUIRE(first.changes.size() == 2);
  CHECK(first.up_to == first.changes.back().revision);
  const auto rest = store.wait(services(), first.up_to, Clock::now(), 3);
  REQUIRE(rest.changes.size() == 3);
  CHECK(rest.changes.front().after->value["spec"] == 2);
  CHECK(rest.up_to == store.revision());
}

TEST_CASE("who waits learns of a change at once, and of nothing at the deadline") {
  Store store;
  const auto from = store.revision();
  CHECK(store.wait(services(), from, Clock::now() + 10ms).changes.empty());
  std::jthread writer([&] { put(store, "a", "x", 1); });
  const auto begin = Clock::now();
  std::size_t seen = 0;
  auto at = from;
  while (seen == 0 && Clock::now() < begin + 10s) {
    const auto news = store.wait(services(), at, Clock::now() + 5s);
    seen += news.changes.size();
    at = news.up_to;
  }
  CHECK(seen == 1);
}

TEST_CASE("a restored store continues where it was and remembers no history") {
  Store store;
  store.restore({{&services(), object("a", "x", 7)}}, 100);
  CHECK(store.revision() == 100);
  CHECK(store.get(services(), {"a", "x"})->value["spec"] == 7);
  CHECK(store.wait(services(), 50, Clock::now()).expired);
  CHECK(put(store, "a", "y", 1)->revision == 101);
}

TEST_CASE("neither an object nor the history grows without end") {
  Store store(4096, 32'000);
  const auto put_text = [&](std::size_t size) {
    return store.write(services(), {"a", "x"}, [&](const ObjectPtr&) -> ApiResult<Edit> {
      auto value = object("a", "x", 1);
      value["text"] = std::string(size, 'x');
      return Edit{Edit::Kind::Put, std::move(value), {}};
    });
  };
  const auto from = store.revision();
  for (int i = 0; i < 40; ++i) REQUIRE(static_cast<bool>(put_text(1000)));
  CHECK(store.wait(services(), from, Clock::now()).expired);
  CHECK_FALSE(store.wait(services(), store.revision() - 20, Clock::now()).expired);
  const auto before = store.revision();
  const auto refused = put_text(2U << 20U);
  REQUIRE_FALSE(static_cast<bool>(refused));
  CHECK(refused.error().code == 413);
  CHECK(store.revision() == before);
}
