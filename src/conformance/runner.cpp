#include "kindlb/conformance/runner.hpp"

#include "service_under_test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <random>
#include <thread>

namespace kindlb::conformance {

namespace {
using core::Error;
using core::ErrorKind;
using core::Result;
using Clock = std::chrono::steady_clock;

std::string new_run() {
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::random_device random;
  std::string out;
  for (int i = 0; i < 6; ++i) out += kLetters[random() % kLetters.size()];
  return out;
}

std::vector<const Test*> chosen_tests(const std::string& focus) {
  std::vector<const Test*> out;
  for (const auto& info : list_tests(focus))
    out.push_back(&*std::ranges::find(all_tests(), info.name, &Test::name));
  return out;
}

/// A field is not what the API says it is.
std::string strange_answer(const Json::exception& problem) {
  return fmt::format("an answer of the API server: {}", problem.what());
}

/// Passes everything on, one at a time.
class OneAtATime final : public Listener {
 public:
  explicit OneAtATime(Listener& listener) : listener_(listener) {}

  void say(const std::string& line) override {
    const std::lock_guard lock(mutex_);
    listener_.say(line);
  }
  void begins(std::size_t tests) override {
    const std::lock_guard lock(mutex_);
    listener_.begins(tests);
  }
  void sees(const std::string& test, const std::string& state) override {
    const std::lock_guard lock(mutex_);
    listener_.sees(test, state);
  }
  void waits(const std::string& test, const std::string& what, milliseconds waited) override {
    const std::lock_guard lock(mutex_);
    listener_.waits(test, what, waited);
  }
  void finished(const TestResult& result) override {
    const std::lock_guard lock(mutex_);
    listener_.finished(result);
  }
  void judged(const Report& report) override {
    const std::lock_guard lock(mutex_);
    listener_.judged(report);
  }

 private:
  std::mutex mutex_;
  Listener& listener_;
};

/// Threads take test after test.
class Run {
 public:
  Run(kube::Objects& objects, const Settings& settings, Listener& listener, std::stop_token stop)
      : listener_(listener),
        world_{.objects = objects,
               .settings = settings,
               .listener = listener_,
               .stop = std::move(stop),
               .run = new_run()} {
    world_.ns = settings.namespace_prefix + "-" + world_.run;
  }

  Result<Report> run();

 private:
  Result<Provider> find_provider();
  Result<Report> run_prepared();
  void run_tests(const std::vector<const Test*>& tests, Report& report);
  TestResult run_test(const Test& test);
  Outcome outcome_of(const Test& test, Scene& scene);
  void clean_up(Report& report);

  OneAtATime listener_;
  World world_;
};

/// A Service that asks for nothing special shows who is there.
Result<Provider> Run::find_provider() {
  static const Test kProbe{.name = "probe", .title = "who provides?"};
  Scene scene(world_, kProbe);
  Balancer probe(scene);
  if (auto end = probe.create({})) return Error{ErrorKind::Timeout, "make a Service", end->reason};
  const auto& wanted_class = world_.settings.load_balancer_class;
  Json spec{{"type", "LoadBalancer"}};
  if (!wanted_class.empty()) spec["loadBalancerClass"] = wanted_class;
  if (auto end = probe.patch(spec))
    return Error{ErrorKind::Unavailable, "make a Service", end->reason};
  const auto begin = Clock::now();
  std::optional<Clock::time_point> addressed;
  auto found = Provider::Unknown;
  Sight sight;  // the last one: an API that stutters takes nothing back
  const auto& limits = world_.settings.limits;
  while (found == Provider::Unknown) {
    const auto service = probe.look();
    if (service) sight = sight_of(*service);
    if (service) scene.sees(describe(sight));
    if (sight.has_address && !addressed) addressed = Clock::now();
    found = judge_provider(sight, elapsed_since(begin),
                           addressed ? elapsed_since(*addressed) : milliseconds{0}, limits);
    // An API that does not answer tells nothing of providers.
    if (found == Provider::None && !service) return service.error();
    if (found == Provider::Unknown && !scene.waits("nobody has taken it up", elapsed_since(begin)))
      return Error{ErrorKind::Cancelled, "look for a provider", "stopped"};
  }
  return found;
}

Outcome Run::outcome_of(const Test& test, Scene& scene) {
  if (world_.stop.stop_requested()) return {Verdict::Stopped, "stopped before it began"};
  if (world_.provider == Provider::None) return {Verdict::Fail, describe(Provider::None)};
  if (test.own_pods && !world_.own_pods())
    return {Verdict::Skip, "starts and ends pods, and --workload-selector names pods of others"};
  if (test.own_pods && world_.nodes.size() < test.nodes)
    return {Verdict::Skip, fmt::format("needs {} nodes that take pods, the cluster has {}",
                                       test.nodes, world_.nodes.size())};
  try {
    return test.body(scene);
  } catch (const Json::exception& problem) {
    return {Verdict::Fail, strange_answer(problem)};
  }
}

TestResult Run::run_test(const Test& test) {
  const auto begin = Clock::now();
  Scene scene(world_, test);
  TestResult result{.name = test.name, .title = test.title, .outcome = outcome_of(test, scene)};
  // Whatever a step ended with, it may have been because of the stop.
  if (result.outcome.verdict == Verdict::Fail && world_.stop.stop_requested())
    result.outcome = {Verdict::Stopped, "stopped"};
  result.took = elapsed_since(begin);
  result.notes = scene.take_notes();
  return result;
}

void Run::run_tests(const std::vector<const Test*>& tests, Report& report) {
  report.results.resize(tests.size());
  listener_.begins(tests.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (auto index = next++; index < tests.size(); index = next++) {
      report.results[index] = run_test(*tests[index]);
      listener_.finished(report.results[index]);
    }
  };
  std::vector<std::jthread> threads;
  const auto count = std::min<std::size_t>(std::max(world_.settings.parallel, 1U), tests.size());
  for (std::size_t i = 0; i < count; ++i) threads.emplace_back(work);
}

/// Not stopped by the stop: Ctrl-C leaves nothing behind.
void Run::clean_up(Report& report) {
  listener_.say("cleaning up: the Services" +
                std::string(world_.own_pods() ? " and namespace " + world_.ns : ""));
  const auto done = remove_run(world_.objects, {world_.run, world_.own_pods() ? "" : world_.ns},
                               [this](const std::string& line) { listener_.say(line); }, {});
  if (done) {
    listener_.say("cleaned up");
    return;
  }
  report.remarks.push_back("not everything could be removed: " + done.error().detail +
                           "; kindlb conformance --remove-leftovers tries again");
}

Result<Report> Run::run_prepared() {
  if (const auto prepared = prepare(world_); !prepared) return prepared.error();
  Report report;
  listener_.say(fmt::format("looking for a provider, for at most {} s",
                            world_.settings.limits.conditions.count() / 1000));
  const auto provider = find_provider();
  if (!provider) return provider.error();
  report.provider = world_.provider = *provider;
  report.remarks.push_back(describe(*provider));
  listener_.say(describe(*provider));
  run_tests(chosen_tests(world_.settings.focus), report);
  if (world_.drops_features)
    report.remarks.push_back(
        "this API server drops spec.requiredLoadBalancerFeatures: " +
        (world_.settings.features_annotation.empty()
             ? std::string("the provider was not told what is required, and what it marks as "
                           "degraded is skipped")
             : "what is required was said in " + world_.settings.features_annotation + " alone"));
  return report;
}

Result<Report> Run::run() {
  const auto begin = Clock::now();
  if (chosen_tests(world_.settings.focus).empty())
    return Error{ErrorKind::Invalid, "use --focus " + world_.settings.focus,
                 "no test has such a name; --list shows them"};
  Result<Report> report = Report{};
  try {
    report = run_prepared();
  } catch (const Json::exception& problem) {
    report = Error{ErrorKind::Protocol, "prepare the tests", strange_answer(problem)};
  }
  if (report) {
    report->took = elapsed_since(begin);
    listener_.judged(*report);
  }
  Report last;
  clean_up(report ? *report : last);
  if (!report) {
    auto error = report.error();
    for (const auto& remark : last.remarks) error.detail += "; " + remark;
    return error;
  }
  return report;
}
}  // namespace

Result<Report> run(kube::Objects& objects, const Settings& settings, Listener& listener,
                   std::stop_token stop) {
  return Run(objects, settings, listener, std::move(stop)).run();
}

}  // namespace kindlb::conformance
