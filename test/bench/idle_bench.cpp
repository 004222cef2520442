// What an idle kindlb costs: many Services on shared proxies (--services-per-proxy 0) that nobody
// touches, the processor time that kindlb, its agents and their Envoys use meanwhile, and what is
// written to the API. Fails if kindlb uses 0.3 % of a core or more, or if anything is written.

#include "bench/run.hpp"
#include "bench/shared_rig.hpp"
#include "kindlb/docker/engine.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

namespace kindlb::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr double kLimitPercent = 0.3;
/// Without a write for this long, all is settled: a Service that had to wait for its EndpointSlice
/// is looked at once more 30 s after its creation.
constexpr seconds kQuiet{40};
constexpr seconds kSettleLimit{180};
/// Created at a time.
constexpr int kStep = 250;

struct Settings {
  int services = 1000;
  int seconds = 60;
};

/// The processes of one proxy container.
struct ProxyPids {
  std::vector<pid_t> agent;  ///< with the relay of its channel
  std::vector<pid_t> envoy;
};

/// All that is compared before and after. Times in seconds, of agents and Envoys per proxy.
struct Reading {
  Moment taken;
  double kindlb = 0;
  std::vector<double> agents;
  std::vector<double> envoys;
  Writes writes;
  std::optional<double> requests;  ///< see write_requests
};

std::string name_of_process(std::int64_t pid) {
  std::ifstream file(fmt::format("/proc/{}/comm", pid));
  std::string out;
  std::getline(file, out);
  return out;
}

double cpu_seconds_of(const std::vector<pid_t>& pids) {
  double out = 0;
  for (const auto pid : pids) out += cpu_seconds(pid);
  return out;
}

bool has_label(std::string_view line, std::string_view name, std::string_view value) {
  return line.find(fmt::format("{}=\"{}\"", name, value)) != std::string_view::npos;
}

/// Return whether the metric counts writes of what kindlb writes. Others write, too: the API server
/// renews a Lease of its own.
bool counts_writes(std::string_view line) {
  if (!line.starts_with("apiserver_request_total{")) return false;
  constexpr std::array kVerbs = {"APPLY", "PATCH", "POST", "PUT", "DELETE", "DELETECOLLECTION"};
  const auto is_verb = [&](const char* verb) { return has_label(line, "verb", verb); };
  return (has_label(line, "resource", "services") || has_label(line, "resource", "events")) &&
         std::ranges::any_of(kVerbs, is_verb);
}

/// Return how many requests to write a Service or an Event the API server has had, by its own
/// count, refused ones included. Nothing: it does not tell.
std::optional<double> write_requests(http::Client& client) {
  const auto answer = client.send({.target = "/metrics"});
  if (!answer || answer->status != 200) return std::nullopt;
  std::optional<double> out;
  std::istringstream lines(answer->body);
  for (std::string line; std::getline(lines, line);)
    if (counts_writes(line))
      out = out.value_or(0) + std::strtod(line.c_str() + line.rfind(' '), nullptr);
  return out;
}

std::vector<double> differences(const std::vector<double>& before,
                                const std::vector<double>& after) {
  std::vector<double> out;
  for (std::size_t i = 0; i < before.size(); ++i) out.push_back(after.at(i) - before[i]);
  return out;
}

double percent(double used, double elapsed) {
  return 100 * used / elapsed;
}

std::string share_text(const std::vector<double>& used, double elapsed) {
  const auto all = percent(std::accumulate(used.begin(), used.end(), 0.0), elapsed);
  return fmt::format("{:.3f} % of a core; per proxy {:.3f} %, at most {:.3f} % (n={})", all,
                     all / static_cast<double>(used.size()),
                     percent(*std::max_element(used.begin(), used.end()), elapsed), used.size());
}

/// Print what was used between two readings, and note what is not as wanted.
void judge_usage(const Reading& before, const Reading& after, std::vector<std::string>& failures) {
  const auto elapsed = std::chrono::duration<double>(after.taken - before.taken).count();
  const auto kindlb = percent(after.kindlb - before.kindlb, elapsed);
  fmt::print("{:<34} {:.3f} % of a core (wanted: < {})\n", "kindlb", kindlb, kLimitPercent);
  fmt::print("{:<34} {}\n", "agents, with their channels",
             share_text(differences(before.agents, after.agents), elapsed));
  fmt::print("{:<34} {}\n", "Envoys",
             share_text(differences(before.envoys, after.envoys), elapsed));
  if (kindlb >= kLimitPercent)
    failures.push_back(
        fmt::format("kindlb used {:.3f} % of a core, not less than {} %", kindlb, kLimitPercent));
}

/// The same for what was written.
void judge_writes(const Reading& before, const Reading& after, std::vector<std::string>& failures) {
  const auto seen = after.writes.count - before.writes.count;
  const bool counts = before.requests && after.requests;
  const auto counted = counts ? *after.requests - *before.requests : 0;
  fmt::print("{:<34} {} seen by a watch of Services, {} (wanted: 0)\n", "writes to the API", seen,
             counts ? fmt::format("{:.0f} requests counted by the server", counted)
                    : "requests not counted: the server has no such metric");
  if (seen > 0)
    failures.push_back(fmt::format("a watch has seen {} writes of Services, the last one of {}",
                                   seen, after.writes.service));
  if (counted > 0)
    failures.push_back(fmt::format(
        "the API server has counted {:.0f} requests that write Services or Events", counted));
}

class Benchmark {
 public:
  Benchmark(docker::Engine& engine, Settings settings)
      : engine_(engine), settings_(settings), rig_(engine, "idle_bench") {}

  /// Return whether all was as wanted.
  bool run() {
    check_room();
    const auto kindlb = rig_.start("0", "idle");
    while (rig_.count() < settings_.services)
      rig_.grow(std::min(rig_.count() + kStep, settings_.services));
    settle();
    const auto failures = measure(*kindlb);
    for (const auto& failure : failures) fmt::print("FAILED: {}\n", failure);
    rig_.leave();
    return failures.empty();
  }

 private:
  /// The cluster's own ranges are known to suffice: 65,534 addresses and 2,768 node ports. What
  /// network the engine hands out depends on its default-address-pools.
  void check_room() {
    const auto network = engine_.networks().inspect(rig_.stage().network());
    if (!network) throw std::runtime_error(network.error().text());
    const auto length = network->subnets.front().cidr.length;
    const auto room = (1L << (32 - length)) - 3;  // without the first, the last and the gateway
    const auto wanted = settings_.services + settings_.services / 50 + 10;  // with containers
    if (room < wanted)
      throw std::runtime_error(
          fmt::format("the docker network (/{}) has room for {} addresses, and {} are needed: see "
                      "default-address-pools of the engine",
                      length, room, wanted));
  }

  void settle() {
    const auto begin = steady_clock::now();
    while (steady_clock::now() - rig_.witness().writes().last < kQuiet) {
      if (steady_clock::now() - begin > kSettleLimit)
        throw std::runtime_error(fmt::format("still written after {} s: {}", kSettleLimit.count(),
                                             rig_.witness().writes().service));
      std::this_thread::sleep_for(milliseconds(100));
    }
  }

  std::vector<ProxyPids> list_processes() {
    std::vector<ProxyPids> out;
    for (const auto& one : rig_.proxies()) {
      const auto processes = engine_.containers().processes(one.id);
      if (!processes) throw std::runtime_error(processes.error().text());
      auto& pids = out.emplace_back();
      for (const auto& process : *processes) {
        const bool agent = name_of_process(process.pid) == "kindlb-agent";
        (agent ? pids.agent : pids.envoy).push_back(static_cast<pid_t>(process.pid));
      }
      if (pids.agent.empty() || pids.envoy.empty())
        throw std::runtime_error("proxy " + one.name + " lacks its agent or its Envoy");
    }
    return out;
  }

  Reading read(const Process& kindlb, const std::vector<ProxyPids>& proxies) {
    Reading out{.taken = steady_clock::now(), .kindlb = cpu_seconds(kindlb.pid())};
    for (const auto& proxy : proxies) {
      out.agents.push_back(cpu_seconds_of(proxy.agent));
      out.envoys.push_back(cpu_seconds_of(proxy.envoy));
    }
    out.writes = rig_.witness().writes();
    out.requests = write_requests(*rig_.stage().client());
    return out;
  }

  /// Return what is not as wanted.
  std::vector<std::string> measure(const Process& kindlb) {
    const auto proxies = list_processes();
    fmt::print("idle for {} s with {} Services on {} proxies:\n", settings_.seconds,
               settings_.services, proxies.size());
    const auto before = read(kindlb, proxies);
    std::this_thread::sleep_until(before.taken + seconds(settings_.seconds));
    const auto after = read(kindlb, proxies);
    if (kindlb.resident_kb() < 0) throw std::runtime_error("kindlb has ended meanwhile");
    if (rig_.proxies().size() != proxies.size())
      throw std::runtime_error("a proxy came or went while all should have been idle");
    std::vector<std::string> failures;
    judge_usage(before, after, failures);
    judge_writes(before, after, failures);
    return failures;
  }

  docker::Engine& engine_;
  Settings settings_;
  SharedRig rig_;
};

}  // namespace

int run(int argc, char** argv) {
  Settings settings;
  CLI::App app("What an idle kindlb costs; see the top of idle_bench.cpp");
  app.allow_extras();  // flags of the other benchmarks
  app.add_option("--idle-services", settings.services, "Services on shared proxies")
      ->check(CLI::PositiveNumber);
  app.add_option("--idle-seconds", settings.seconds, "How long nobody touches them")
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  const auto endpoint = docker::find_endpoint("");
  if (!endpoint) throw std::runtime_error(endpoint.error().text());
  const auto engine = docker::connect(*endpoint);
  if (!engine) throw std::runtime_error(engine.error().text());
  return Benchmark(**engine, settings).run() ? 0 : 1;
}

}  // namespace kindlb::bench
