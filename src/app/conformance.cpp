// `kindlb conformance`: KEP-4631's tests against any provider. Result files are checked before the
// first test and written before the clean-up: a run may take an hour, and a second Ctrl-C during
// the clean-up must not cost the results.

#include "commands.hpp"
#include "kindlb/base/text.hpp"
#include "kindlb/conformance/console.hpp"
#include "kindlb/conformance/result_files.hpp"
#include "kindlb/conformance/runner.hpp"
#include "kindlb/json/json.hpp"
#include "kindlb/kube/config.hpp"
#include "kindlb/kube/objects.hpp"
#include "startup.hpp"
#include "stop_signal.hpp"

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <utility>

namespace kindlb::app {

namespace {
using core::Error;
using core::Result;

/// How long the clean-up after Ctrl-C may take: the provider has to release its Services, and then
/// the namespace has to be deleted.
constexpr std::chrono::minutes kTestCleanupTimeout{7};

struct Cluster {
  std::string url;
  std::string version;
  std::shared_ptr<kube::Objects> objects;
};

/// By default every client may read /version, so an error here is about the connection.
Result<Cluster> connect(const Options& options, const std::stop_token& stop) {
  const auto access = kube::load_kubeconfig(options.kubeconfig, options.context);
  if (!access) return access.error();
  auto client = http::make_client(access->endpoint);
  if (!client) return client.error();
  Cluster out{access->endpoint.url, "", kube::make_objects(std::move(*client))};
  const auto version = out.objects->get("/version", stop);
  if (!version)
    return Error{version.error().kind,
                 "reach the cluster of context " + access->context + " at " + out.url,
                 version.error().detail + "; is it running, and is this its kubeconfig?"};
  out.version = json::text_at(*version, {"gitVersion"});
  return out;
}

int list(const std::string& focus, bool json) {
  const auto tests = conformance::list_tests(focus);
  const auto text = json ? conformance::to_json(tests) : conformance::to_table(tests);
  std::fputs(text.c_str(), stdout);
  return 0;
}

/// After a crash, this is the only place where leftovers come to light.
void report_leftovers(kube::Objects& objects) {
  const auto found = conformance::find_leftovers(objects);
  if (!found || found->empty()) return;
  std::fprintf(stderr, "Found objects of another run, which is still going on or was killed:\n");
  for (const auto& one : *found) std::fprintf(stderr, "  %s\n", base::printable(one).c_str());
  std::fprintf(stderr, "  (kindlb conformance --remove-leftovers removes them)\n");
}

int remove_leftovers(kube::Objects& objects, const std::stop_token& stop) {
  conformance::Console console;
  const auto found = conformance::find_leftovers(objects);
  if (!found) return report_error(found.error());
  for (const auto& one : *found) std::printf("removing %s\n", base::printable(one).c_str());
  std::fflush(stdout);
  const auto done = conformance::remove_leftovers(objects, console, stop);
  if (!done) return report_error(done.error());
  std::printf(found->empty() ? "Earlier runs have left nothing behind.\n" : "Removed.\n");
  return 0;
}

/// Returns after the console is gone, so that results can be printed.
Result<conformance::Report> run_tests(const Cluster& cluster, const conformance::Settings& settings,
                                      conformance::ResultFiles& files, StopSignal& stop) {
  const auto complete = [&](conformance::Report report) {
    report.server = cluster.url;
    report.version = cluster.version;
    return report;
  };
  conformance::Console console(
      [&](const conformance::Report& report) { files.write_early(complete(report)); });
  const std::stop_callback on_stop(stop.token(), [] {
    std::fputs(isatty(STDERR_FILENO) != 0 ? "\n" : "", stderr);  // after "^C"
    std::fputs("  stopping: removing what the tests created; press Ctrl-C again to skip that\n",
               stderr);
  });
  stop.before_forced_exit([] {
    std::fputs("  exited without clean-up; run kindlb conformance --remove-leftovers\n", stderr);
  });
  auto report = conformance::run(*cluster.objects, settings, console, stop.token());
  stop.before_forced_exit({});
  if (!report) return report;
  return complete(std::move(*report));
}

/// A result file that cannot be written turns any result into 2: CI must not take it for a success.
int show(const conformance::Report& report, bool json, conformance::ResultFiles& files) {
  const auto text = json ? to_json(report) : to_table(report);
  std::fputs(text.c_str(), stdout);
  auto code = exit_code(report);
  for (const auto& error : files.write(report)) code = report_error(error);
  return code;
}
}  // namespace

int conformance(const Options& options) {
  const auto& wanted = options.conformance;
  if (wanted.list) return list(wanted.settings.focus, wanted.json);
  conformance::ResultFiles files(wanted.junit_file, wanted.json_file);
  if (const auto good = files.check(); !good) return report_error(good.error());
  if (!wanted.remove_leftovers) files.remove_old();
  StopSignal stop(kTestCleanupTimeout, 1);
  const auto cluster = connect(options, stop.token());
  if (!cluster) return report_error(cluster.error());
  if (wanted.remove_leftovers) return remove_leftovers(*cluster->objects, stop.token());
  report_leftovers(*cluster->objects);
  const auto report = run_tests(*cluster, wanted.settings, files, stop);
  if (!report) return report_error(report.error());
  return show(*report, wanted.json, files);
}

}  // namespace kindlb::app
