// The embedded API server under load: many Services, updates at a steady rate, watches that follow
// all of them; how late they hear, and whether the server's memory stays where it was.

#include "bench/process.hpp"
#include "bench/run.hpp"
#include "bench/stage.hpp"
#include "kindlb/http/client.hpp"
#include "support/paths.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace kindlb::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr std::string_view kStamp = "\"kindlb.dev/bench\":\"";
constexpr int kWriters = 4;

struct Settings {
  int services = 10'000;
  int rate = 1'000;
  int watchers = 10;
  int seconds = 30;
};

double ms(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

/// Values from many threads, and what they amount to.
class Sample {
 public:
  void add(double value) {
    const std::lock_guard lock(mutex_);
    values_.push_back(value);
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    if (values_.empty()) return "none";
    std::sort(values_.begin(), values_.end());
    const auto at = [&](double q) {
      return values_[static_cast<std::size_t>(q * static_cast<double>(values_.size() - 1))];
    };
    return fmt::format("median {:.1f} ms, 99 % {:.1f} ms, all {:.1f} ms", at(0.5), at(0.99),
                       values_.back());
  }

 private:
  std::mutex mutex_;
  std::vector<double> values_;
};

std::unique_ptr<http::Client> connect(const std::string& url) {
  auto client = http::make_client({.url = url});
  if (!client) throw std::runtime_error(client.error().text());
  return std::move(*client);
}

void must(const core::Result<http::Response>& answer, int status) {
  if (!answer) throw std::runtime_error(answer.error().text());
  if (answer->status != status) throw std::runtime_error(answer->body);
}

/// Follows all Services; tells of each event that carries a time how old it was.
class Follower {
 public:
  Follower(const std::string& url, const std::string& version, Sample& lag)
      : client_(connect(url)),
        thread_([this, version, &lag](const std::stop_token& stop) { run(version, lag, stop); }) {}

  std::int64_t seen() const { return seen_; }
  bool over() const { return over_; }

 private:
  void run(const std::string& version, Sample& lag, const std::stop_token& stop) {
    http::Request request{.target = "/api/v1/services?watch=1&resourceVersion=" + version};
    std::string rest;
    (void)client_->stream(
        request,
        [&](std::string_view chunk) {
          rest += chunk;
          std::size_t begin = 0;
          for (auto end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', begin)) {
            look(std::string_view(rest).substr(begin, end - begin), lag);
            begin = end + 1;
          }
          rest.erase(0, begin);
          return true;
        },
        stop);
    over_ = true;
  }

  void look(std::string_view line, Sample& lag) {
    ++seen_;
    const auto at = line.find(kStamp);
    if (at == std::string_view::npos || seen_ % 16 != 0) return;
    std::int64_t then = 0;
    const auto* number = line.data() + at + kStamp.size();
    std::from_chars(number, line.data() + line.size(), then);
    lag.add(ms(Clock::now().time_since_epoch() - Clock::duration(then)));
  }

  std::unique_ptr<http::Client> client_;
  std::atomic<std::int64_t> seen_{0};
  std::atomic<bool> over_{false};
  std::jthread thread_;
};

class Benchmark {
 public:
  explicit Benchmark(Settings settings) : settings_(settings) {
    auto pattern = (fs::temp_directory_path() / "sandbox_bench.XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = pattern;
    url_ = "http://" + kListen;
    server_ = std::make_unique<Process>(
        std::vector<std::string>{test::program("kindlb"), "sandbox", "--api-only", "--listen",
                                 kListen, "--kubeconfig-out", (folder_ / "kubeconfig").string()},
        (folder_ / "log").string());
    if (server_->wait_for_log("the API server listens", 30s) < 0ms)
      throw std::runtime_error("the sandbox did not come up:\n" + server_->log_text());
  }
  ~Benchmark() {
    server_.reset();
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Benchmark(const Benchmark&) = delete;
  Benchmark& operator=(const Benchmark&) = delete;

  void run() {
    fmt::print("{:<34} {:.1f} MB\n", "the server's memory, empty", resident_mb());
    create_all();
    const auto version = list_all();
    Sample lag;
    std::vector<std::unique_ptr<Follower>> followers;
    for (int i = 0; i < settings_.watchers; ++i)
      followers.push_back(std::make_unique<Follower>(url_, version, lag));
    update(lag, followers);
  }

 private:
  static std::string name_of(int i) { return fmt::format("bench-{:05}", i); }
  double resident_mb() const { return static_cast<double>(server_->resident_kb()) / 1024; }

  /// `body` for each number below `count`, on several connections.
  void share_out(int count, const std::function<void(http::Client&, int)>& body) {
    std::atomic<int> next{0};
    std::mutex mutex;
    std::string failure;
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < kWriters; ++t)
        threads.emplace_back([&] {
          try {
            const auto client = connect(url_);
            for (int i = next++; i < count; i = next++) body(*client, i);
          } catch (const std::exception& error) {
            const std::lock_guard lock(mutex);
            failure = error.what();
          }
        });
    }
    if (!failure.empty()) throw std::runtime_error(failure);
  }

  void create_all() {
    const auto begin = Clock::now();
    share_out(settings_.services, [](http::Client& client, int i) {
      must(client.send({.method = "POST",
                        .target = kServices,
                        .headers = {{"Content-Type", "application/json"}},
                        .body = fmt::format(
                            R"({{"metadata":{{"name":"{}"}},"spec":{{"type":"LoadBalancer",)"
                            R"("allocateLoadBalancerNodePorts":false,"selector":{{"app":"echo"}},)"
                            R"("ports":[{{"name":"http","port":80,"targetPort":8080}},)"
                            R"({{"name":"dns","port":53,"protocol":"UDP"}}]}}}})",
                            name_of(i))}),
           201);
    });
    fmt::print("{:<34} {:.1f} s, {:.1f} MB\n", fmt::format("{} Services", settings_.services),
               ms(Clock::now() - begin) / 1000, resident_mb());
  }

  /// The version to watch from.
  std::string list_all() {
    const auto client = connect(url_);
    const auto begin = Clock::now();
    const auto answer = client->send({.target = "/api/v1/services"});
    must(answer, 200);
    fmt::print("{:<34} {:.0f} ms, {:.1f} MB of JSON\n", "a list of all", ms(Clock::now() - begin),
               static_cast<double>(answer->body.size()) / (1 << 20));
    constexpr std::string_view kVersion = "\"resourceVersion\":\"";
    const auto at = answer->body.find(kVersion) + kVersion.size();
    return answer->body.substr(at, answer->body.find('"', at) - at);
  }

  void update(Sample& lag, const std::vector<std::unique_ptr<Follower>>& followers) {
    Sample answers;
    const int count = settings_.rate * settings_.seconds;
    std::vector<double> memory;
    const auto begin = Clock::now();
    std::jthread observer([&](const std::stop_token& stop) {
      for (int tenth = 1; tenth <= 10 && !stop.stop_requested(); ++tenth) {
        const auto until = begin + tenth * std::chrono::milliseconds(settings_.seconds * 100);
        while (Clock::now() < until && !stop.stop_requested()) std::this_thread::sleep_for(10ms);
        memory.push_back(resident_mb());
      }
    });
    share_out(count, [&](http::Client& client, int i) {
      const auto due = begin + i * std::chrono::nanoseconds(1s) / settings_.rate;
      std::this_thread::sleep_until(due);
      const auto sent = Clock::now();
      must(client.send({.method = "PATCH",
                        .target = fmt::format("{}/{}", kServices, name_of(i % settings_.services)),
                        .headers = {{"Content-Type", "application/merge-patch+json"}},
                        .body = fmt::format(R"({{"metadata":{{"annotations":{{{}{}"}}}}}})", kStamp,
                                            sent.time_since_epoch().count())}),
           200);
      answers.add(ms(Clock::now() - sent));
    });
    const auto took = Clock::now() - begin;
    observer = {};
    const auto deadline = Clock::now() + 20s;
    const auto behind = [&](const auto& follower) {
      return follower->seen() < count && !follower->over();
    };
    while (std::any_of(followers.begin(), followers.end(), behind) && Clock::now() < deadline)
      std::this_thread::sleep_for(10ms);
    report(count, took, answers, lag, followers, memory);
  }

  void report(int count, Clock::duration took, Sample& answers, Sample& lag,
              const std::vector<std::unique_ptr<Follower>>& followers,
              const std::vector<double>& memory) const {
    fmt::print("{:<34} {:.0f}/s for {:.1f} s\n",
               fmt::format("updates ({}/s wanted)", settings_.rate), count / (ms(took) / 1000),
               ms(took) / 1000);
    fmt::print("{:<34} {}\n", "an update is answered after", answers.text());
    fmt::print("{:<34} {}\n", fmt::format("{} watches hear of it after", settings_.watchers),
               lag.text());
    std::int64_t least = count;
    for (const auto& follower : followers) least = std::min(least, follower->seen());
    fmt::print("{:<34} {} of {}\n", "the slowest watch saw", least, count);
    if (memory.size() < 10) return;
    fmt::print("{:<34} {:.1f} MB, {:.1f} MB, {:.1f} MB\n", "memory after 20, 60, 100 % of it",
               memory[1], memory[5], memory[9]);
  }

  const std::string kListen = "127.0.0.1:18499";
  Settings settings_;
  fs::path folder_;
  std::string url_;
  std::unique_ptr<Process> server_;
};

}  // namespace

int run(int argc, char** argv) {
  Settings settings;
  CLI::App app("How the embedded API server fares; see the top of sandbox_bench.cpp");
  app.allow_extras();  // flags of the other benchmarks
  app.add_option("--services", settings.services, "Services to hold");
  app.add_option("--rate", settings.rate, "Updates per second");
  app.add_option("--watchers", settings.watchers, "Watches that follow");
  app.add_option("--seconds", settings.seconds, "How long");
  CLI11_PARSE(app, argc, argv);
  Benchmark(settings).run();
  return 0;
}

}  // namespace kindlb::bench
