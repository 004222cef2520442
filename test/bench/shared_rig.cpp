#include "bench/shared_rig.hpp"

#include "support/paths.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <thread>

namespace kindlb::bench {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

namespace {

double seconds_since(Moment begin) {
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

}  // namespace

SharedRig::SharedRig(docker::Engine& engine, const std::string& benchmark)
    : engine_(engine),
      stage_(make_stage(engine.networks(), {})),
      witness_(stage_->client()),
      log_((std::filesystem::temp_directory_path() / fmt::format("{}.{}.log", benchmark, getpid()))
               .string()) {
  fmt::print("On {}, docker network {}.\n", stage_->description(), stage_->network());
}

SharedRig::~SharedRig() {
  std::filesystem::remove(log_);
}

std::unique_ptr<Process> SharedRig::start(const std::string& per_proxy, const std::string& prefix) {
  prefix_ = prefix;
  fmt::print("--services-per-proxy {}:\n", per_proxy);
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

std::vector<proxy::Proxy> SharedRig::proxies() {
  auto all = proxy::list_proxies(engine_.containers());
  if (!all) throw std::runtime_error(all.error().text());
  std::erase_if(*all, [&](const proxy::Proxy& one) { return one.network != stage_->network(); });
  return *all;
}

int SharedRig::live() {
  int out = 0;
  for (const auto& one : proxies()) {
    const auto state = proxy::read_state(engine_.files(), one.id);
    out += state && state->envoy == protocol::EnvoyState::Live ? 1 : 0;
  }
  return out;
}

std::string SharedRig::name_of(int i) const {
  return fmt::format("{}-{}", prefix_, i);
}

const std::string& SharedRig::address_of(int i) const {
  return addresses_.at(static_cast<std::size_t>(i));
}

double SharedRig::grow(int count) {
  const auto begin = steady_clock::now();
  const auto first = created_;
  create(first, count);
  created_ = count;
  const auto asked = seconds_since(begin);
  for (int i = first; i < count; ++i) {
    const auto sighting = witness_.wait_serving(name_of(i), seconds(180));
    if (!sighting) throw std::runtime_error(name_of(i) + " was never served");
    addresses_.push_back(sighting->ip);
    check_route(sighting->ip);
    if (http_get(sighting->ip).find(" 200 ") == std::string::npos) ++failed_;
  }
  const auto all = seconds_since(begin);
  fmt::print(
      "{:<34} {:.2f} s until all answer ({:.2f} s of it creating them; failed first "
      "requests: {})\n",
      fmt::format("{} to {} Services", first, count), all, asked, failed_);
  return all;
}

/// As several people would: one after the other, they would not be created at once.
void SharedRig::create(int from, int to) {
  constexpr int kHands = 4;
  std::vector<std::jthread> hands;
  for (int hand = 0; hand < kHands; ++hand)
    hands.emplace_back([=, this] {
      for (int i = from + hand; i < to; i += kHands) stage_->create_service(name_of(i));
    });
}

/// Once per network of 256: it takes a process.
void SharedRig::check_route(const std::string& ip) {
  if (!checked_.insert(ip.substr(0, ip.rfind('.'))).second) return;
  if (!is_on_bridge(ip)) throw std::runtime_error(ip + " is not on a bridge of this machine");
}

void SharedRig::leave() {
  for (int i = 0; i < created_; ++i) stage_->delete_service(name_of(i));
  for (int i = 0; i < created_; ++i)
    if (!witness_.wait_gone(name_of(i), seconds(300)))
      throw std::runtime_error(name_of(i) + " was never released");
  created_ = 0;
  addresses_.clear();
}

}  // namespace kindlb::bench
