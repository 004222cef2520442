// How long from creating a Service to its first HTTP answer, with a warm proxy and without; a
// burst; kindlb's memory; and what a restart costs. Ratios are of figures taken in the same run.

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
#include <map>
#include <stdexcept>
#include <thread>
#include <vector>

namespace kindlb::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

struct Settings {
  StageOptions stage;
  int count = 10;
  int cold = 3;
  int burst = 30;
  int warm = 2;
};

double ms_between(Moment begin, Moment end) {
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return std::nan("");
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

/// Times of Services created one after the other, in milliseconds.
struct Series {
  std::vector<double> slice;
  std::vector<double> serving;
  std::vector<double> answer;
  int failed_first_requests = 0;

  void print(const char* name) const {
    fmt::print(
        "{:<28} median {:7.1f} ms   p90 {:7.1f}   max {:7.1f}   (n={}; EndpointSlice "
        "{:.1f}, Serving=True {:.1f}; failed first requests: {})\n",
        name, quantile(answer, 0.5), quantile(answer, 0.9), quantile(answer, 1.0), answer.size(),
        quantile(slice, 0.5), quantile(serving, 0.5), failed_first_requests);
  }
};

class Benchmark {
 public:
  Benchmark(docker::Engine& engine, Settings settings)
      : engine_(engine),
        settings_(std::move(settings)),
        stage_(make_stage(engine.networks(), settings_.stage)),
        witness_(stage_->client()) {
    log_ = (std::filesystem::temp_directory_path() / fmt::format("serve_bench.{}.log", getpid()))
               .string();
  }
  ~Benchmark() { std::filesystem::remove(log_); }
  Benchmark(const Benchmark&) = delete;
  Benchmark& operator=(const Benchmark&) = delete;

  void run() {
    fmt::print("On {}, docker network {}.\n", stage_->description(), stage_->network());
    const auto warm = one_by_one(settings_.warm, settings_.count);
    warm.print("create -> answer, warm");
    const auto cold = one_by_one(0, settings_.cold);
    cold.print("create -> answer, cold");
    fmt::print("{:<28} {:.1f}x\n", "cold / warm",
               quantile(cold.answer, 0.5) / quantile(warm.answer, 0.5));
    fmt::print("{:<28} {:.2f}x   (1.00x: as fast as Kubernetes tells who is behind a Service)\n",
               "warm / EndpointSlice", quantile(warm.answer, 0.5) / quantile(warm.slice, 0.5));
    burst_and_restart();
  }

 private:
  std::unique_ptr<Process> start(int warm, bool keep = false) {
    const auto program = test::program("kindlb");
    const auto agent = test::program("kindlb-agent");
    std::vector<std::string> arguments = {program,          "run",
                                          "--agent",        agent,
                                          "--kubeconfig",   stage_->kubeconfig_path(),
                                          "--network",      stage_->network(),
                                          "--warm-proxies", std::to_string(warm),
                                          "--on-exit",      keep ? "keep" : "delete"};
    auto process = std::make_unique<Process>(arguments, log_);
    if (process->wait_for_log("managing", seconds(60)) < milliseconds(0))
      throw std::runtime_error("kindlb did not come up:\n" + process->log_text());
    return process;
  }

  std::vector<proxy::Proxy> proxies() {
    auto all = proxy::list_proxies(engine_.containers());
    if (!all) throw std::runtime_error(all.error().text());
    std::erase_if(*all, [&](const proxy::Proxy& one) { return one.network != stage_->network(); });
    return *all;
  }

  /// Until that many warm proxies have a live Envoy.
  void wait_warm(int wanted) {
    const auto deadline = steady_clock::now() + seconds(60);
    for (;;) {
      int ready = 0;
      for (const auto& one : proxies()) {
        if (!one.role || one.role->role != proxy::Role::Warm) continue;
        const auto state = proxy::read_state(engine_.files(), one.id);
        ready += state && state->envoy == protocol::EnvoyState::Live ? 1 : 0;
      }
      if (ready >= wanted) break;
      if (steady_clock::now() > deadline) throw std::runtime_error("no warm proxies in 60 s");
      std::this_thread::sleep_for(milliseconds(50));
    }
    // The channel to a proxy opens right after its Envoy is live; give that its moment.
    std::this_thread::sleep_for(milliseconds(500));
  }

  Series one_by_one(int warm, int count) {
    const auto kindlb = start(warm);
    Series series;
    for (int i = 0; i < count; ++i) {
      wait_warm(warm);
      measure(fmt::format("bench-{}-{}", warm, i), series);
    }
    return series;
  }

  void measure(const std::string& name, Series& series) {
    const auto begin = steady_clock::now();
    stage_->create_service(name);
    const auto sighting = witness_.wait_serving(name, seconds(60));
    if (!sighting) throw std::runtime_error(name + " was never served");
    request(name, sighting->ip, series);
    series.answer.push_back(ms_between(begin, steady_clock::now()));
    series.serving.push_back(ms_between(begin, *sighting->serving));
    if (const auto slice = witness_.sighting(name).slice)
      series.slice.push_back(ms_between(begin, *slice));
    stage_->delete_service(name);
    if (!witness_.wait_gone(name, seconds(60)))
      throw std::runtime_error(name + " was never released");
  }

  void request(const std::string& name, const std::string& ip, Series& series) {
    if (!is_on_bridge(ip)) throw std::runtime_error(ip + " is not on a bridge of this machine");
    for (int attempt = 0; attempt < 100; ++attempt) {
      const auto answer = http_get(ip);
      if (answer.find(" 200 ") != std::string::npos) return;
      if (attempt == 0) {
        ++series.failed_first_requests;
        fmt::print(stderr, "{}: first request failed: {}\n", name, answer);
      }
      std::this_thread::sleep_for(milliseconds(5));
    }
    throw std::runtime_error(name + " never answered at " + ip);
  }

  std::string burst_name(int i) const { return fmt::format("burst-{}", i); }

  void burst_and_restart() {
    auto kindlb = start(settings_.warm, true);
    Series series;
    const auto begin = steady_clock::now();
    for (int i = 0; i < settings_.burst; ++i) stage_->create_service(burst_name(i));
    for (int i = 0; i < settings_.burst; ++i) {
      const auto sighting = witness_.wait_serving(burst_name(i), seconds(180));
      if (!sighting) throw std::runtime_error(burst_name(i) + " was never served");
      request(burst_name(i), sighting->ip, series);
    }
    fmt::print("{:<28} {:.1f} s until all answer; failed first requests: {}\n",
               fmt::format("{} created at once", settings_.burst),
               ms_between(begin, steady_clock::now()) / 1000, series.failed_first_requests);
    std::this_thread::sleep_for(seconds(12));  // let it settle: the pool refills, pages go back
    fmt::print("{:<28} {:.1f} MB VmRSS\n", fmt::format("kindlb with {} Services", settings_.burst),
               static_cast<double>(kindlb->resident_kb()) / 1024);
    restart(kindlb);
    for (int i = 0; i < settings_.burst; ++i) stage_->delete_service(burst_name(i));
    for (int i = 0; i < settings_.burst; ++i)
      if (!witness_.wait_gone(burst_name(i), seconds(180)))
        throw std::runtime_error(burst_name(i) + " was never released");
    kindlb.reset();
    kindlb = start(0);  // with --on-exit delete: takes the warm proxies along
  }

  std::map<std::string, std::string> snapshot() {
    std::map<std::string, std::string> out;
    for (int i = 0; i < settings_.burst; ++i)
      out[burst_name(i)] = witness_.sighting(burst_name(i)).resource_version;
    for (const auto& one : proxies())
      if (one.role && one.role->role == proxy::Role::Claimed) out[one.id] = one.name;
    return out;
  }

  void restart(std::unique_ptr<Process>& kindlb) {
    const auto before = snapshot();
    const auto stopped = kindlb->stop();
    kindlb.reset();
    kindlb = start(settings_.warm, true);
    const auto settled = kindlb->wait_for_log("managing", seconds(60));
    std::this_thread::sleep_for(seconds(2));  // writes would come now, if any
    const auto after = snapshot();
    std::size_t same = 0;
    for (const auto& [name, value] : before) {
      const auto found = after.find(name);
      same += found != after.end() && found->second == value ? 1U : 0U;
    }
    fmt::print(
        "{:<28} stopped in {} ms, in charge again {} ms after its start; {} of {} Services "
        "and proxies untouched\n",
        "restart", stopped.count(), settled.count(), same, before.size());
  }

  docker::Engine& engine_;
  Settings settings_;
  std::unique_ptr<Stage> stage_;
  Witness witness_;
  std::string log_;
};

}  // namespace

int run(int argc, char** argv) {
  Settings settings;
  CLI::App app("How fast Services are served; see the top of serve_bench.cpp");
  app.allow_extras();  // flags of the other benchmarks
  app.add_option("--kubeconfig", settings.stage.kubeconfig,
                 "A real cluster; without it a private API server is used");
  app.add_option("--network", settings.stage.network, "With --kubeconfig: its docker network");
  app.add_option("--selector", settings.stage.selector, "With --kubeconfig: of ready HTTP pods");
  app.add_option("--target-port", settings.stage.target_port, "With --kubeconfig: their port");
  app.add_option("--count", settings.count, "Services created one by one, warm");
  app.add_option("--cold", settings.cold, "The same without warm proxies");
  app.add_option("--burst", settings.burst, "Services created at once");
  CLI11_PARSE(app, argc, argv);
  const auto endpoint = docker::find_endpoint("");
  if (!endpoint) throw std::runtime_error(endpoint.error().text());
  const auto engine = docker::connect(*endpoint);
  if (!engine) throw std::runtime_error(engine.error().text());
  Benchmark(**engine, settings).run();
  return 0;
}

}  // namespace kindlb::bench
