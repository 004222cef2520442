#include "kindlb/conformance/runner.hpp"

#include "kindlb/base/random_name.hpp"
#include "service_under_test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <thread>

namespace kindlb::conformance {

namespace {
using core::Error;
using core::ErrorKind;
using core::Result;
using Clock = std::chrono::steady_clock;

std::vector<const Test*> chosen_tests(const std::string& focus) {
  std::vector<const Test*> out;
  for (const auto& info : list_tests(focus))
    out.push_back(&*std::ranges::find(all_tests(), info.name, &Test::name));
  return out;
}

/// For a field of another type than the API defines. Tests read JSON with throwing accessors, since
/// they only read from the API server, and this is where the exception ends.
std::string malformed_answer(const Json::exception& problem) {
  return fmt::format("malformed answer from the API server: {}", problem.what());
}

/// Forwards one call at a time.
class SerializedListener final : public Listener {
 public:
  explicit SerializedListener(Listener& listener) : listener_(listener) {}

  void message(const std::string& line) override {
    const std::lock_guard lock(mutex_);
    listener_.message(line);
  }
  void tests_started(std::size_t tests) override {
    const std::lock_guard lock(mutex_);
    listener_.tests_started(tests);
  }
  void status_changed(const std::string& test, const std::string& state) override {
    const std::lock_guard lock(mutex_);
    listener_.status_changed(test, state);
  }
  void waiting(const std::string& test, const std::string& what, milliseconds waited) override {
    const std::lock_guard lock(mutex_);
    listener_.waiting(test, what, waited);
  }
  void test_finished(const TestResult& result) override {
    const std::lock_guard lock(mutex_);
    listener_.test_finished(result);
  }
  void tests_finished(const Report& report) override {
    const std::lock_guard lock(mutex_);
    listener_.tests_finished(report);
  }

 private:
  std::mutex mutex_;
  Listener& listener_;
};

/// One run. run() uses `parallel` threads, each of which takes test after test; everything they
/// share is in env_, which is complete before they start.
class Run {
 public:
  Run(kube::Objects& objects, const Settings& settings, Listener& listener, std::stop_token stop)
      : listener_(listener),
        env_{.objects = objects,
             .settings = settings,
             .listener = listener_,
             .stop = std::move(stop),
             .run = base::random_name(6)} {
    env_.ns = settings.namespace_prefix + "-" + env_.run;
  }

  Result<Report> run();

 private:
  Result<Provider> find_provider();
  Result<Report> run_prepared();
  void run_tests(const std::vector<const Test*>& tests, Report& report);
  TestResult run_test(const Test& test);
  Outcome outcome_of(const Test& test, TestContext& context);
  void judge_conditions(TestContext& context, Outcome& outcome);
  void clean_up(Report& report);

  SerializedListener listener_;
  Environment env_;
  std::atomic<bool> versions_missed_ = false;
};

/// Create a plain Service and watch what happens to it.
Result<Provider> Run::find_provider() {
  static const Test kProbe{.name = "probe", .title = "which provider?"};
  TestContext context(env_, kProbe);
  ServiceUnderTest probe(context);
  if (auto end = probe.create({}))
    return Error{ErrorKind::Timeout, "create a Service", end->reason};
  const auto& wanted_class = env_.settings.load_balancer_class;
  Json spec{{"type", "LoadBalancer"}};
  if (!wanted_class.empty()) spec["loadBalancerClass"] = wanted_class;
  if (auto end = probe.patch(spec))
    return Error{ErrorKind::Unavailable, "create a Service", end->reason};
  const auto begin = Clock::now();
  std::optional<Clock::time_point> addressed;
  auto found = Provider::Unknown;
  ObservedStatus observed;  // the last one that could be read: a failed request proves nothing
  const auto& limits = env_.settings.limits;
  while (found == Provider::Unknown) {
    const auto service = probe.fetch();
    if (service) observed = observed_status(*service);
    if (service) context.report_status(describe(observed));
    if (observed.has_address && !addressed) addressed = Clock::now();
    found = judge_provider(observed, elapsed_since(begin),
                           addressed ? elapsed_since(*addressed) : milliseconds{0}, limits);
    // If the API server does not answer, there may be a provider all the same.
    if (found == Provider::None && !service) return service.error();
    if (found == Provider::Unknown &&
        !context.report_and_wait("waiting for a provider to react", elapsed_since(begin)))
      return Error{ErrorKind::Cancelled, "look for a provider", "stopped"};
  }
  return found;
}

/// What does not depend on the provider is decided before the test touches the cluster.
Outcome Run::outcome_of(const Test& test, TestContext& context) {
  if (env_.stop.stop_requested()) return {Verdict::Stopped, "stopped before it started"};
  if (env_.provider == Provider::None) return {Verdict::Fail, describe(Provider::None)};
  if (test.own_pods && !env_.own_pods())
    return {Verdict::Skip, "starts and stops pods, which is not possible with --workload-selector"};
  if (test.own_pods && env_.nodes.size() < test.nodes)
    return {Verdict::Skip, fmt::format("needs {} schedulable nodes; the cluster has {}", test.nodes,
                                       env_.nodes.size())};
  try {
    return test.body(context);
  } catch (const Json::exception& problem) {
    return {Verdict::Fail, malformed_answer(problem)};
  }
}

TestResult Run::run_test(const Test& test) {
  const auto begin = Clock::now();
  TestContext context(env_, test);
  TestResult result{.name = test.name, .title = test.title, .outcome = outcome_of(test, context)};
  // A stop cancels requests, so whatever a step failed with may be due to the stop.
  if (result.outcome.verdict == Verdict::Fail && env_.stop.stop_requested())
    result.outcome = {Verdict::Stopped, "stopped"};
  judge_conditions(context, result.outcome);
  result.took = elapsed_since(begin);
  result.notes = context.take_notes();
  return result;
}

/// A test that works may still have shown wrong conditions on the way. It fails then, and its
/// reason shows that the rest of it was fine.
void Run::judge_conditions(TestContext& context, Outcome& outcome) {
  if (env_.provider != Provider::WithConditions || outcome.verdict == Verdict::Stopped) return;
  if (context.missed_versions()) {
    context.note("versions of its Service may have been missed, and violations in them");
    versions_missed_ = true;
  }
  for (const auto& rule : context.broken_rules()) {
    const auto words = "the conditions broke a rule: " + rule;
    if (outcome.verdict == Verdict::Fail)
      context.note(words);
    else
      outcome = {Verdict::Fail,
                 words + (outcome.verdict == Verdict::Pass
                              ? "; apart from that, the test passed"
                              : "; apart from that, it was skipped: " + outcome.reason)};
  }
}

/// Results keep the order of the catalogue, whatever the order in which tests end. The vector is
/// sized before the threads start, and each element has one writer.
void Run::run_tests(const std::vector<const Test*>& tests, Report& report) {
  report.results.resize(tests.size());
  listener_.tests_started(tests.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (auto index = next++; index < tests.size(); index = next++) {
      report.results[index] = run_test(*tests[index]);
      listener_.test_finished(report.results[index]);
    }
  };
  std::vector<std::jthread> threads;
  const auto count = std::min<std::size_t>(std::max(env_.settings.parallel, 1U), tests.size());
  for (std::size_t i = 0; i < count; ++i) threads.emplace_back(work);
}

/// Runs to its end even after a stop, so that Ctrl-C leaves nothing behind. A second Ctrl-C ends
/// the process (app/stop_signal).
void Run::clean_up(Report& report) {
  listener_.message("cleaning up: removing the Services" +
                    std::string(env_.own_pods() ? " and the namespace " + env_.ns : ""));
  const auto done = remove_run(env_.objects, {env_.run, env_.own_pods() ? "" : env_.ns},
                               [this](const std::string& line) { listener_.message(line); }, {});
  if (done) {
    listener_.message("cleaned up");
    return;
  }
  report.remarks.push_back("not everything could be removed: " + done.error().detail +
                           "; run kindlb conformance --remove-leftovers later");
}

Result<Report> Run::run_prepared() {
  if (const auto prepared = prepare(env_); !prepared) return prepared.error();
  Report report;
  // One for all tests: a label selects the Services of this run, and nothing else is received.
  ServiceWatch watch(env_.objects, env_.path("services") + "?labelSelector=" +
                                       http::url_escaped(kRunLabel + ("=" + env_.run)));
  env_.watch = &watch;
  listener_.message(fmt::format("looking for a provider, for {} s at most",
                                env_.settings.limits.conditions.count() / 1000));
  const auto provider = find_provider();
  if (!provider) return provider.error();
  report.provider = env_.provider = *provider;
  report.remarks.push_back(describe(*provider));
  listener_.message(describe(*provider));
  run_tests(chosen_tests(env_.settings.focus), report);
  if (versions_missed_)
    report.remarks.push_back(
        "the watch of the Services was interrupted (" +
        (watch.last_failure().empty() ? "its version expired" : watch.last_failure()) +
        "): versions may have been missed, and violations in them");
  if (env_.drops_features)
    report.remarks.push_back(
        "this API server drops spec.requiredLoadBalancerFeatures: " +
        (env_.settings.features_annotation.empty()
             ? std::string("the provider could not know what is required, so a test is skipped "
                           "where it degrades")
             : "required features were declared in " + env_.settings.features_annotation +
                   " alone"));
  return report;
}

/// Results are published before the clean-up, which may take minutes and may be interrupted; the
/// clean-up runs whatever happened before, also if the preparation failed half-way.
Result<Report> Run::run() {
  const auto begin = Clock::now();
  if (chosen_tests(env_.settings.focus).empty())
    return Error{ErrorKind::Invalid, "use --focus " + env_.settings.focus,
                 "no test has a matching name; --list prints the names"};
  Result<Report> report = Report{};
  try {
    report = run_prepared();
  } catch (const Json::exception& problem) {
    report = Error{ErrorKind::Protocol, "prepare the tests", malformed_answer(problem)};
  }
  if (report) {
    report->took = elapsed_since(begin);
    listener_.tests_finished(*report);
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
