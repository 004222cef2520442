// Many Services on few proxies (--services-per-proxy 0): a burst, the proxies' memory, and how long
// a change takes to be effective as the number of Services grows. Figures of one run are compared
// with each other.

#include "bench/process.hpp"
#include "bench/run.hpp"
#include "bench/stage.hpp"
#include "bench/witness.hpp"
#include "kindlb/docker/engine.hpp"
#include "kindlb/proxy/containers.hpp"
#include "support/paths.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
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
      : engine_(engine),
        settings_(std::move(settings)),
        stage_(make_stage(engine.networks(), {})),
        witness_(stage_->client()) {
    log_ = (std::filesystem::temp_directory_path() / fmt::format("shared_bench.{}.log", getpid()))
               .string();
  }
  ~Benchmark() { std::filesystem::remove(log_); }
  Benchmark(const Benchmark&) = delete;
  Benchmark& operator=(const Benchmark&) = delete;

  void run() {
    fmt::print("On {}, docker network {}.\n", stage_->description(), stage_->network());
    const auto own = burst("1");
    const auto shared = burst("0");
    fmt::print("{:<34} {:.2f}x the time, {:.2f}x the memory\n", "shared / one each",
               shared.first / own.first, shared.second / own.second);
    curve();
  }

 private:
  std::unique_ptr<Process> start(const std::string& per_proxy) {
    auto process = std::make_unique<Process>(
        std::vector<std::string>{test::program("kindlb"), "run", "--agent",
                                 test::program("kindlb-agent"), "--kubeconfig",
                                 stage_->kubeconfig_path(), "--network", stage_->network(),
                                 "--services-per-proxy", per_proxy, "--on-exit", "delete"},
        log_);
    if (process->wait_for_log("managing", seconds(60)) < milliseconds(0))
      throw std::runtime_error("kindlb did not come up:\n" + process->log_text());
    const auto deadline = steady_clock::now() + seconds(60);
    while (live() < 2 && steady_clock::now() < deadline)
      std::this_thread::sleep_for(milliseconds(50));
    std::this_thread::sleep_for(milliseconds(500));  // their channels open
    return process;
  }

  std::vector<proxy::Proxy> proxies() {
    auto all = proxy::list_proxies(engine_.containers());
    if (!all) throw std::runtime_error(all.error().text());
    std::erase_if(*all, [&](const proxy::Proxy& one) { return one.network != stage_->network(); });
    return *all;
  }

  int live() {
    int out = 0;
    for (const auto& one : proxies()) {
      const auto state = proxy::read_state(engine_.files(), one.id);
      out += state && state->envoy == protocol::EnvoyState::Live ? 1 : 0;
    }
    return out;
  }

  double memory() {
    double out = 0;
    for (const auto& one : proxies()) out += container_mb(one.id);
    return out;
  }

  std::string name_of(int i) const { return fmt::format("{}-{}", prefix_, i); }

  /// Creates Services up to that many; seconds until all answer.
  double grow(int count) {
    const auto begin = steady_clock::now();
    const auto first = created_;
    create(first, count);
    created_ = count;
    const auto asked = ms_since(begin);
    for (int i = first; i < count; ++i) {
      const auto sighting = witness_.wait_serving(name_of(i), seconds(180));
      if (!sighting) throw std::runtime_error(name_of(i) + " was never served");
      addresses_.push_back(sighting->ip);
      check_route(sighting->ip);
      if (http_get(sighting->ip).find(" 200 ") == std::string::npos) ++failed_;
    }
    const auto all = ms_since(begin);
    fmt::print(
        "{:<34} {:.2f} s until all answer ({:.2f} s of it creating them; failed first "
        "requests: {})\n",
        fmt::format("{} to {} Services", first, count), all / 1000, asked / 1000, failed_);
    return all / 1000;
  }

  /// As several people would: one after the other, they would not be created at once.
  void create(int from, int to) {
    constexpr int kHands = 4;
    std::vector<std::jthread> hands;
    for (int hand = 0; hand < kHands; ++hand)
      hands.emplace_back([=, this] {
        for (int i = from + hand; i < to; i += kHands) stage_->create_service(name_of(i));
      });
  }

  /// Once per network of 256: it takes a process.
  void check_route(const std::string& ip) {
    if (!checked_.insert(ip.substr(0, ip.rfind('.'))).second) return;
    if (!is_on_bridge(ip)) throw std::runtime_error(ip + " is not on a bridge of this machine");
  }

  void leave() {
    for (int i = 0; i < created_; ++i) stage_->delete_service(name_of(i));
    for (int i = 0; i < created_; ++i)
      if (!witness_.wait_gone(name_of(i), seconds(300)))
        throw std::runtime_error(name_of(i) + " was never released");
    created_ = 0;
    addresses_.clear();
  }

  std::pair<double, double> burst(const std::string& per_proxy) {
    prefix_ = "burst" + per_proxy;
    fmt::print("--services-per-proxy {}:\n", per_proxy);
    const auto kindlb = start(per_proxy);
    const auto time = grow(settings_.burst);
    std::this_thread::sleep_for(seconds(3));  // the pool refills
    const auto used = memory();
    fmt::print("{:<34} {:.0f} MB in {} containers\n",
               fmt::format("proxies of {} Services", settings_.burst), used, proxies().size());
    leave();
    return {time, used};
  }

  void curve() {
    prefix_ = "curve";
    fmt::print("--services-per-proxy 0:\n");
    const auto kindlb = start("0");
    double smallest = 0;
    for (const auto count : settings_.curve) {
      grow(count);
      std::this_thread::sleep_for(seconds(2));
      if (count >= settings_.memory_at && !std::exchange(weighed_, true))
        fmt::print("{:<34} {:.0f} MB in {} containers\n",
                   fmt::format("proxies of {} Services", count), memory(), proxies().size());
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
               proxies().size(), static_cast<double>(kindlb->resident_kb()) / 1024);
    leave();
  }

  std::vector<double> updates(const std::function<double(int)>& change) {
    std::vector<double> out;
    for (int i = 0; i < settings_.updates; ++i) out.push_back(change(i * 7 % created_));
    return out;
  }

  /// From the moment the API has taken the change until the address answers as it should.
  double until_effective(int i, const std::function<bool(const std::string&)>& is_so) {
    const auto begin = steady_clock::now();
    while (!is_so(http_get(addresses_.at(static_cast<std::size_t>(i))))) {
      if (ms_since(begin) > 10'000) throw std::runtime_error(name_of(i) + " does not change");
      std::this_thread::sleep_for(milliseconds(1));
    }
    return ms_since(begin);
  }

  double change_endpoints(int i) {
    const auto status = stage_->swap_backend(name_of(i));
    return until_effective(i, [&](const std::string& answer) { return answer == status; });
  }

  /// Shut, and open again; the time of the first.
  double change_ranges(int i) {
    stage_->patch_service(name_of(i), R"({"spec":{"loadBalancerSourceRanges":["192.0.2.0/24"]}})");
    const auto out = until_effective(
        i, [](const std::string& answer) { return answer.find(" 200 ") == std::string::npos; });
    stage_->patch_service(name_of(i), R"({"spec":{"loadBalancerSourceRanges":null}})");
    until_effective(
        i, [](const std::string& answer) { return answer.find(" 200 ") != std::string::npos; });
    return out;
  }

  docker::Engine& engine_;
  Settings settings_;
  std::unique_ptr<Stage> stage_;
  Witness witness_;
  std::string log_;
  std::string prefix_;
  int created_ = 0;
  int failed_ = 0;
  bool weighed_ = false;
  std::set<std::string> checked_;
  std::vector<std::string> addresses_;
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
