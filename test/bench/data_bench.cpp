// How long a change in the API takes until clients notice it at the proxy, and what a proxy of ours
// does compared with a hand-written static Envoy on the same machine, in the same run, in turns.

#include "bench/process.hpp"
#include "bench/rates.hpp"
#include "bench/run.hpp"
#include "bench/stage.hpp"
#include "bench/static_envoy.hpp"
#include "bench/witness.hpp"
#include "kindlb/docker/engine.hpp"
#include "support/paths.hpp"
#include "support/servers/kube_server.hpp"
#include "support/traffic/ask.hpp"
#include "support/traffic/backend.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <thread>

namespace kindlb::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr const char* kService = "/api/v1/namespaces/default/services/data";
constexpr const char* kSlice =
    "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/data"
    "?fieldManager=bench&force=true";

struct Settings {
  int changes = 30;
  int rounds = 7;
  seconds round{2};
};

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values.at(static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5));
}

void print_times(const char* what, const std::vector<double>& times, double limit) {
  fmt::print(
      "{:<34} median {:6.1f} ms   p90 {:6.1f}   max {:6.1f}   (n={}; wanted: median <= {})\n", what,
      quantile(times, 0.5), quantile(times, 0.9), quantile(times, 1.0), times.size(), limit);
}

class Benchmark {
 public:
  Benchmark(docker::Engine& engine, Settings settings)
      : engine_(engine),
        settings_(settings),
        stage_(make_stage(engine.networks(), {})),
        rest_(stage_->client()),
        witness_(stage_->client()),
        gateway_(find_gateway()),
        one_(gateway_, "one"),
        two_(gateway_, "two"),
        log_(std::filesystem::temp_directory_path() / fmt::format("data_bench.{}.log", getpid())) {}
  ~Benchmark() { std::filesystem::remove(log_); }
  Benchmark(const Benchmark&) = delete;
  Benchmark& operator=(const Benchmark&) = delete;

  void run() {
    const Process kindlb({test::program("kindlb"), "run", "--agent", test::program("kindlb-agent"),
                          "--kubeconfig", stage_->kubeconfig_path(), "--network", stage_->network(),
                          "--warm-proxies", "1", "--on-exit", "delete"},
                         log_.string());
    if (kindlb.wait_for_log("managing", seconds(60)) < milliseconds(0))
      throw std::runtime_error("kindlb did not come up:\n" + kindlb.log_text());
    serve();
    fmt::print("From sending the write to the API until a client sees its effect:\n");
    print_times("endpoint change -> answers", endpoint_changes(), 50);
    print_times("port added -> accepts", port_changes(), 80);
    print_times("source ranges changed -> obeyed", range_changes(), 80);
    compare();
  }

 private:
  core::IpAddress find_gateway() {
    const auto facts = engine_.networks().inspect(stage_->network());
    if (!facts || facts->subnets.empty() || !facts->subnets.front().gateway)
      throw std::runtime_error("the docker network has no gateway to put a backend on");
    return *facts->subnets.front().gateway;
  }

  void put_endpoint(std::uint16_t port) {
    rest_.patch(
        kSlice, "apply",
        fmt::format(
            R"({{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","addressType":"IPv4",)"
            R"("metadata":{{"name":"data","labels":{{"kubernetes.io/service-name":"data"}}}},)"
            R"("ports":[{{"name":"a","port":{0}}},{{"name":"b","port":{0}}}],)"
            R"("endpoints":[{{"addresses":["{1}"],"conditions":{{"ready":true}}}}]}})",
            port, gateway_.text()));
  }

  void serve() {
    put_endpoint(one_.port());
    rest_.create("/api/v1/namespaces/default/services",
                 R"({"metadata":{"name":"data"},"spec":{"type":"LoadBalancer",)"
                 R"("ports":[{"name":"a","port":80}]}})");
    const auto sighting = witness_.wait_serving("data", seconds(60));
    if (!sighting) throw std::runtime_error("the Service was never served");
    if (!is_on_bridge(sighting->ip))
      throw std::runtime_error(sighting->ip + " is not on a bridge of this machine");
    address_ = *core::IpAddress::parse(sighting->ip);
  }

  /// How long from calling `write` until `effective` holds, in milliseconds.
  template <typename Write, typename Effective>
  static double time_of(Write write, Effective effective) {
    const auto begin = steady_clock::now();
    write();
    while (!effective()) {
      if (steady_clock::now() - begin > seconds(20)) throw std::runtime_error("no effect in 20 s");
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
    const auto taken = steady_clock::now() - begin;
    // Let the status be written and everything come to rest: changes one by one are measured.
    std::this_thread::sleep_for(milliseconds(150));
    return std::chrono::duration<double, std::milli>(taken).count();
  }

  bool is_answered(std::uint16_t port, const std::string& by = "") const {
    const auto answer = testing::ask_tcp({address_, port}, "x", {}, seconds(2));
    return by.empty() ? answer.ends_with(" x") : answer == by + " x";
  }

  std::vector<double> endpoint_changes() {
    std::vector<double> out;
    for (int i = 0; i < settings_.changes; ++i) {
      const auto& next = i % 2 == 0 ? two_ : one_;
      out.push_back(time_of([&] { put_endpoint(next.port()); },
                            [&] { return is_answered(80, next.name()); }));
    }
    return out;
  }

  void patch(const std::string& spec) {
    rest_.patch(kService, "merge", fmt::format(R"({{"spec":{{{}}}}})", spec));
  }

  std::vector<double> port_changes() {
    std::vector<double> out;
    for (int i = 0; i < settings_.changes; ++i) {
      out.push_back(
          time_of([&] { patch(R"("ports":[{"name":"a","port":80},{"name":"b","port":81}])"); },
                  [&] { return is_answered(81); }));
      time_of([&] { patch(R"("ports":[{"name":"a","port":80}])"); },
              [&] { return !is_answered(81); });
    }
    return out;
  }

  std::vector<double> range_changes() {
    std::vector<double> out;
    for (int i = 0; i < settings_.changes; ++i) {
      const bool admitted = i % 2 == 1;
      out.push_back(time_of(
          [&] {
            patch(admitted ? R"("loadBalancerSourceRanges":null)"
                           : R"("loadBalancerSourceRanges":["192.0.2.0/24"])");
          },
          [&] { return is_answered(80) == admitted; }));
    }
    if (settings_.changes % 2 == 1) patch(R"("loadBalancerSourceRanges":null)");
    return out;
  }

  void compare() {
    const RateBackend backend(gateway_);
    time_of([&] { put_endpoint(backend.port()); },
            [&] {
              return answers_rate_questions({address_, 80});
            });
    const StaticEnvoy hand_written(engine_.containers(), stage_->network(), backend.target());
    const core::Target ours{address_, 80};
    fmt::print("One proxy against a hand-written static Envoy, {} rounds in turns, medians:\n",
               settings_.rounds);
    print_ratio("new connections a second", "1/s", 1.0, ours, hand_written.target(),
                [&](const core::Target& to) { return connection_rate(to, settings_.round); });
    print_ratio("one connection's throughput", "Gbit/s", 1e9, ours, hand_written.target(),
                [&](const core::Target& to) { return throughput(to, settings_.round); });
  }

  template <typename Measure>
  void print_ratio(const char* what, const char* unit, double scale, const core::Target& ours,
                   const core::Target& theirs, Measure measure) {
    std::vector<double> mine;
    std::vector<double> static_one;
    std::vector<double> ratios;
    for (int i = 0; i < settings_.rounds; ++i) {
      const bool first = i % 2 == 0;  // whoever comes second finds the caches warm
      const auto a = measure(first ? ours : theirs);
      const auto b = measure(first ? theirs : ours);
      mine.push_back(first ? a : b);
      static_one.push_back(first ? b : a);
      ratios.push_back(mine.back() / static_one.back());
    }
    fmt::print("{:<34} {:8.2f} against {:8.2f} {}: ratio {:.2f} (of rounds: {:.2f} .. {:.2f})\n",
               what, quantile(mine, 0.5) / scale, quantile(static_one, 0.5) / scale, unit,
               quantile(ratios, 0.5), quantile(ratios, 0.0), quantile(ratios, 1.0));
  }

  docker::Engine& engine_;
  Settings settings_;
  std::unique_ptr<Stage> stage_;
  test::Rest rest_;
  Witness witness_;
  core::IpAddress gateway_;
  testing::Backend one_;
  testing::Backend two_;
  std::filesystem::path log_;
  core::IpAddress address_;
};

}  // namespace

int run(int argc, char** argv) {
  Settings settings;
  int seconds_per_round = 2;
  CLI::App app("How fast changes take effect, and what a proxy can do; see data_bench.cpp");
  app.allow_extras();  // flags of the other benchmarks
  app.add_option("--changes", settings.changes, "Changes of each kind");
  app.add_option("--rounds", settings.rounds, "Rounds of each comparison");
  app.add_option("--round-seconds", seconds_per_round, "How long one of them takes");
  CLI11_PARSE(app, argc, argv);
  settings.round = seconds(seconds_per_round);
  const auto endpoint = docker::find_endpoint("");
  if (!endpoint) throw std::runtime_error(endpoint.error().text());
  const auto engine = docker::connect(*endpoint);
  if (!engine) throw std::runtime_error(engine.error().text());
  Benchmark(**engine, settings).run();
  return 0;
}

}  // namespace kindlb::bench
