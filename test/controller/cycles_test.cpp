// A thousand Services come and go; nothing that kindlb holds may grow with them.

#include "controller/harness.hpp"

#include <dirent.h>
#include <malloc.h>

#include <fstream>

using namespace kindlb;
using namespace kindlb::test;

namespace {

constexpr int kAtOnce = 20;

std::size_t threads() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("Threads:")) return std::stoul(line.substr(8));
  return 0;
}

std::size_t descriptors() {
  std::size_t count = 0;
  auto* folder = ::opendir("/proc/self/fd");
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

std::string name_of(int nth) {
  return "default/s" + std::to_string(nth);
}

/// kAtOnce Services, served and gone again.
void cycle(FakeWorld& world, Kindlb& kindlb) {
  for (int i = 0; i < kAtOnce; ++i) world.add_service(a_service().named(name_of(i)).with_port(80));
  for (int i = 0; i < kAtOnce; ++i) REQUIRE(kindlb.wait_serving(name_of(i)));
  for (int i = 0; i < kAtOnce; ++i) {
    world.kube().remove(name_of(i));
    world.kube().remove_slice("default", "s" + std::to_string(i) + "-1");
  }
  REQUIRE(kindlb.wait_until(
      [&] { return world.kube().size() == 0 && kindlb.fleet().held_units().empty(); }));
  world.kube().forget_events();
}

struct Size {
  std::size_t threads = 0;
  std::size_t descriptors = 0;
  std::size_t heap = 0;
  std::size_t proxies = 0;
};

Size size_of(FakeWorld& world, Kindlb& kindlb) {
  REQUIRE(kindlb.wait_quiet());
  // Timers of what is over (no answer within 30 s, say) pass before anything is measured.
  kindlb.pass(std::chrono::seconds(31));
  return {threads(), descriptors(), ::mallinfo2().uordblks, world.host.size()};
}

}  // namespace

TEST_CASE("nothing accumulates over a thousand Services") {
  FakeWorld world;
  world.journal.keep(false);
  Kindlb kindlb(world, {.warm_proxies = 2});
  for (int i = 0; i < 100 / kAtOnce; ++i) cycle(world, kindlb);
  const auto early = size_of(world, kindlb);
  for (int i = 0; i < 900 / kAtOnce; ++i) cycle(world, kindlb);
  const auto late = size_of(world, kindlb);

  // Executors start their threads as they need them: eight at most, however many Services.
  CHECK(late.threads <= early.threads + 8);
  CHECK(late.descriptors == early.descriptors);
  CHECK(late.proxies == early.proxies);
  CHECK(late.proxies == 2);
  CHECK(kindlb.on_loop([&] { return kindlb.fleet().held_addresses("kind").empty(); }));
  MESSAGE("heap: ", early.heap, " bytes after 100, ", late.heap, " after 1,000");
  CHECK(late.heap <= early.heap + 128 * 1024);
}
