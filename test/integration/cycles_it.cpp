// Many Services come and go: kindlb and the engine are afterwards as they were before.
#include "integration/stage.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

namespace {

using namespace kindlb;
using it::Stage;
namespace fs = std::filesystem;

constexpr int kAtOnce = 5;
constexpr int kRounds = 10;
constexpr int kWarmUpRounds = 2;

struct Footprint {
  long threads = 0;
  long files = 0;
  long resident_kb = 0;
};

std::ostream& operator<<(std::ostream& out, const Footprint& f) {
  return out << f.threads << " threads, " << f.files << " files, " << f.resident_kb << " kB";
}

Footprint footprint_of(pid_t pid) {
  const auto folder = fs::path("/proc") / std::to_string(pid);
  Footprint out;
  std::ifstream status(folder / "status");
  for (std::string word; status >> word;) {
    if (word == "Threads:") status >> out.threads;
    if (word == "VmRSS:") status >> out.resident_kb;
  }
  out.files = std::distance(fs::directory_iterator(folder / "fd"), fs::directory_iterator());
  return out;
}

/// Creates, sees served, deletes, sees gone.
void cycle(Stage& stage, std::set<std::string>& used) {
  std::vector<std::string> names;
  for (int i = 0; i < kAtOnce; ++i) names.push_back("web-" + std::to_string(i));
  std::map<std::string, std::size_t> seen;
  for (const auto& name : names) {
    seen[name] = stage.diary().count(name);
    stage.create_web(name);
  }
  for (const auto& name : names) stage.await_serving(name, seen.at(name));
  for (const auto& proxy : stage.proxies()) used.insert(proxy.volume);
  for (const auto& name : names) stage.remove(name);
  for (const auto& name : names)
    REQUIRE_MESSAGE(stage.diary().wait_gone(name, it::kPatience), name << "\n" << stage.log());
}

/// Once only the warm pool is left.
Footprint quiet_footprint(Stage& stage) {
  stage.until("only the pool is left", [&] {
    const auto left = stage.proxies();
    return left.size() == 2 && left[0].role && left[1].role &&
           left[0].role->role == proxy::Role::Warm && left[1].role->role == proxy::Role::Warm;
  });
  return footprint_of(stage.pid());
}

}  // namespace

TEST_CASE("fifty Services come and go and leave nothing behind") {
  Stage stage;
  stage.start({"--warm-proxies", "2"});
  std::set<std::string> used;  // volumes
  Footprint early;
  for (int round = 1; round <= kRounds; ++round) {
    cycle(stage, used);
    if (round == kWarmUpRounds) early = quiet_footprint(stage);
  }
  const auto late = quiet_footprint(stage);
  INFO("after ", kAtOnce * kWarmUpRounds, ": ", early);
  INFO("after ", kAtOnce * kRounds, ": ", late);
  // Threads of the two executors are started when first needed; connections are kept for reuse.
  CHECK(late.threads <= early.threads + 2);
  CHECK(late.files <= early.files + 4);
  CHECK(late.resident_kb <= early.resident_kb + 2'048);

  std::set<std::string> kept;
  for (const auto& proxy : stage.proxies()) kept.insert(proxy.volume);
  for (const auto& volume : testing::must(stage.rig.engine().volumes().list({})))
    CHECK_MESSAGE((kept.contains(volume.name) || !used.contains(volume.name)), volume.name);
}
