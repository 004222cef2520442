#include "envoy/update_batch.hpp"

#include "agent/fakes.hpp"

#include <doctest/doctest.h>

#include <list>

using namespace kindlb;
using namespace kindlb::agent;

namespace {

/// Requests with one cluster each, named as the unit.
class BatchQueue {
 public:
  BatchQueue& add(const std::string& unit, bool alone = false) {
    auto& request = requests_.emplace_back();
    request.key = requests_.size();
    request.unit = testing::unit_at(unit, "172.18.0.9");
    request.alone = alone;
    return *this;
  }
  std::vector<const Request*> all() const {
    std::vector<const Request*> out;
    for (const auto& request : requests_) out.push_back(&request);
    return out;
  }

 private:
  std::list<Request> requests_;
};

XdsSnapshot snapshot_of(const std::vector<protocol::Unit>& units) {
  XdsSnapshot out;
  std::string conflict;
  for (const auto& unit : units) add_unit(out, unit, conflict);
  return out;
}

std::string names_of(const std::vector<const Request*>& requests) {
  std::string out;
  for (const auto* request : requests) out += request->unit.unit;
  return out;
}

}  // namespace

TEST_CASE("which of the queued requests share the next update") {
  const auto published = snapshot_of({testing::unit_at("p", "172.18.0.1")});
  struct Case {
    const char* name;
    std::string queued;  ///< upper case: alone
    std::size_t limit;
    const char* batch;
  };
  const Case cases[] = {
      {"none", "", 100, ""},
      {"all", "abc", 100, "abc"},
      {"as many as Envoy can watch", "abc", 3, "ab"},
      {"one that is too many, to be rejected", "abc", 1, "a"},
      {"what is published already needs no watch", "pa", 2, "pa"},
      {"one that must be alone", "Abc", 100, "A"},
      {"it waits for those before it", "aBc", 100, "ac"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    BatchQueue queue;
    for (const char unit : c.queued) queue.add(std::string(1, unit), unit < 'a');
    CHECK(names_of(next_batch(queue.all(), {published, c.limit})) == c.batch);
  }
}

TEST_CASE("a changed cluster is watched twice, an unchanged one once") {
  const auto published =
      snapshot_of({testing::unit_at("a", "172.18.0.1"), testing::unit_at("b", "172.18.0.2")});
  CHECK_FALSE(watch_limit_problem(BatchQueue().add("a").all(), {published, 2}));
  CHECK_FALSE(watch_limit_problem(BatchQueue().add("a").all(), {published, 1}));
  Request changed;
  changed.unit = testing::unit_at("a", "172.18.0.1", "r2");
  CHECK_FALSE(watch_limit_problem({&changed}, {published, 3}));
  CHECK(watch_limit_problem({&changed}, {published, 2}) ==
        "Envoy would have to watch 3 endpoint files, but the kernel allows 2; raise the sysctl "
        "fs.inotify.max_user_instances on the Docker host");
}

TEST_CASE("requests that cannot be in a snapshot are found, and the others are not disturbed") {
  BatchQueue queue;
  queue.add("a").add("b").add("a");
  const auto others = snapshot_of({testing::unit_at("b", "172.18.0.2")});
  const auto found = find_unacceptable(queue.all(), others, {others, 100});
  REQUIRE(found.size() == 2);
  CHECK(found[0] == Unacceptable{2, "file b.json is used by another Service"});
  CHECK(found[1] == Unacceptable{3, "file a.json is used by another Service"});
  const auto alone = find_unacceptable(BatchQueue().add("a").all(), {}, {others, 1});
  REQUIRE(alone.size() == 1);
  CHECK(alone[0].why.starts_with("Envoy would have to watch 2 endpoint files"));
}
