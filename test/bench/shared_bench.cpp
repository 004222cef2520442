// Many Services on few proxies (--services-per-proxy 0): a burst, the proxies' memory, and how long
// a change takes to be effective as the number of Services grows. Figures of one run are compared
// with each other.

#include "bench/run.hpp"
#include "bench/shared_rig.hpp"
#include "kindlb/docker/engine.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace kindlb::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

struct Settings {
  int burst = 30;
  int memory_at = 100;
  int updates = 15;
  std::vector<int> curve = {5, 50, 100, 250, 500};
};

double ms_since(Moment begin) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - begin).count();
}

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return std::nan("");
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

/// Of a process, its share of shared pages included.
double pss_mb(long pid) {
  std::ifstream file(fmt::format("/proc/{}/smaps_rollup", pid));
  for (std::string word; file >> word;)
    if (word == "Pss:") {
      double kb = 0;
      file >> kb;
      return kb / 1024;
    }
  return 0;
}

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::array<char, 256> line{};
  std::string out;
  while (pipe && std::fgets(line.data(), static_cast<int>(line.size()), pipe.get()) != nullptr)
    out += line.data();
  return out;
}

/// kindlb's process in the container, and Envoy, which it started.
double container_mb(const std::string& id) {
  const auto pid = std::atol(output_of("docker inspect -f '{{.State.Pid}}' " + id).c_str());
  double out = pss_mb(pid);
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", pid));
  for (long child = 0; children >> child;) out += pss_mb(child);
  return out;
}

class Benchmark {
 public:
  Benchmark(docker::Engine& engine, Settings settings)
      : settings_(std::move(settings)), rig_(engine, "shared_bench") {}

  void run() {
    const auto own = burst("1");
    const auto shared = burst("0");
    fmt::print("{:<34} {:.2f}x the time, {:.2f}x the memory\n", "shared / one each",
               shared.first / own.first, shared.second / own.second);
    curve();
  }

 private:
  double memory() {
    double out = 0;
    for (const auto& one : rig_.proxies()) out += container_mb(one.id);
    return out;
  }

  std::pair<double, double> burst(const std::string& per_proxy) {
    const auto kindlb = rig_.start(per_proxy, "burst" + per_proxy);
    const auto time = rig_.grow(settings_.burst);
    std::this_thread::sleep_for(seconds(3));  // the pool refills
    const auto used = memory();
    fmt::print("{:<34} {:.0f} MB in {} containers\n",
               fmt::format("proxies of {} Services", settings_.burst), used, rig_.proxies().size());
    rig_.leave();
    return {time, used};
  }

  void curve() {
    const auto kindlb = rig_.start("0", "curve");
    double smallest = 0;
    for (const auto count : settings_.curve) {
      rig_.grow(count);
      std::this_thread::sleep_for(seconds(2));
      if (count >= settings_.memory_at && !std::exchange(weighed_, true))
        fmt::print("{:<34} {:.0f} MB in {} containers\n",
                   fmt::format("proxies of {} Services", count), memory(), rig_.proxies().size());
      const auto endpoints = updates([&](int i) { return change_endpoints(i); });
      const auto ranges = updates([&](int i) { return change_ranges(i); });
      if (smallest == 0) smallest = quantile(endpoints, 0.5);
      fmt::print(
          "{:<34} endpoints: median {:.1f} ms, p90 {:.1f} ({:.1f}x the smallest); source "
          "ranges: median {:.1f} ms, p90 {:.1f}\n",
          fmt::format("a change with {} Services", count), quantile(endpoints, 0.5),
          quantile(endpoints, 0.9), quantile(endpoints, 0.5) / smallest, quantile(ranges, 0.5),
          quantile(ranges, 0.9));
    }
    fmt::print("{:<34} {:.0f} MB in {} containers; kindlb {:.1f} MB\n", "at the end", memory(),
               rig_.proxies().size(), static_cast<double>(kindlb->resident_kb()) / 1024);
    rig_.leave();
  }

  std::vector<double> updates(const std::function<double(int)>& change) {
    std::vector<double> out;
    for (int i = 0; i < settings_.updates; ++i) out.push_back(change(i * 7 % rig_.count()));
    return out;
  }

  /// From the moment the API has taken the change until the address answers as it should.
  double until_effective(int i, const std::function<bool(const std::string&)>& is_so) {
    const auto begin = steady_clock::now();
    while (!is_so(http_get(rig_.address_of(i)))) {
      if (ms_since(begin) > 10'000) throw std::runtime_error(rig_.name_of(i) + " does not change");
      std::this_thread::sleep_for(milliseconds(1));
    }
    return ms_since(begin);
  }

  double change_endpoints(int i) {
    const auto status = rig_.stage().swap_backend(rig_.name_of(i));
    return until_effective(i, [&](const std::string& answer) { return answer == status; });
  }

  /// Shut, and open again; the time of the first.
  double change_ranges(int i) {
    rig_.stage().patch_service(rig_.name_of(i),
                               R"({"spec":{"loadBalancerSourceRanges":["192.0.2.0/24"]}})");
    const auto out = until_effective(
        i, [](const std::string& answer) { return answer.find(" 200 ") == std::string::npos; });
    rig_.stage().patch_service(rig_.name_of(i), R"({"spec":{"loadBalancerSourceRanges":null}})");
    until_effective(
        i, [](const std::string& answer) { return answer.find(" 200 ") != std::string::npos; });
    return out;
  }

  Settings settings_;
  SharedRig rig_;
  bool weighed_ = false;
};

}  // namespace

int run(int argc, char** argv) {
  Settings settings;
  CLI::App app("How shared proxies fare; see the top of shared_bench.cpp");
  app.allow_extras();  // flags of the other benchmarks
  app.add_option("--burst", settings.burst, "Services created at once");
  app.add_option("--updates", settings.updates, "Changes measured at each point of the curve");
  app.add_option("--curve", settings.curve, "Numbers of Services, growing")->delimiter(',');
  CLI11_PARSE(app, argc, argv);
  const auto endpoint = docker::find_endpoint("");
  if (!endpoint) throw std::runtime_error(endpoint.error().text());
  const auto engine = docker::connect(*endpoint);
  if (!engine) throw std::runtime_error(engine.error().text());
  Benchmark(**engine, settings).run();
  return 0;
}

}  // namespace kindlb::bench
