// `kindlb conformance`: KEP-4631's tests against any provider.

#include "app/conformance_console.hpp"
#include "app/startup.hpp"
#include "app/stop_signal.hpp"
#include "kindlb/app/commands.hpp"
#include "kindlb/conformance/runner.hpp"
#include "kindlb/kube/config.hpp"
#include "kindlb/kube/objects.hpp"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <utility>

namespace kindlb::app {

namespace {
using core::Error;
using core::ErrorKind;
using core::Result;

/// For the Services' provider to let go of them, and the namespace to go.
constexpr std::chrono::minutes kCleanUpPatience{7};

struct Cluster {
  std::string url;
  std::string version;
  std::shared_ptr<kube::Objects> objects;
};

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
  const auto found = version->find("gitVersion");
  if (found != version->end() && found->is_string()) out.version = found->get<std::string>();
  return out;
}

int list(const std::string& focus, bool json) {
  const auto tests = conformance::list_tests(focus);
  const auto text = json ? conformance::to_json(tests) : conformance::to_table(tests);
  std::fputs(text.c_str(), stdout);
  return 0;
}

/// Better now than after the tests. Leaves no file where there was none: it would look like
/// results.
Result<void> check_file(const std::string& path) {
  std::error_code ignored;
  const bool there = std::filesystem::exists(path, ignored);
  if (path.empty() || std::ofstream(path, std::ios::app).good()) {
    if (!there) std::filesystem::remove(path, ignored);
    return {};
  }
  return Error{ErrorKind::Invalid, "write " + path, "cannot be written; is its folder there?"};
}

Result<void> write_file(const std::string& path, const std::string& text) {
  if (path.empty()) return {};
  std::ofstream out(path);
  out << text;
  if (!out.flush()) return Error{ErrorKind::Invalid, "write " + path, "cannot be written"};
  return {};
}

/// After a crash nobody else would ever tell.
void tell_leftovers(kube::Objects& objects) {
  const auto found = conformance::find_leftovers(objects);
  if (!found || found->empty()) return;
  std::fprintf(stderr, "Another run goes on here, or one left this behind:\n");
  for (const auto& one : *found) std::fprintf(stderr, "  %s\n", one.c_str());
  std::fprintf(stderr, "  (kindlb conformance --remove-leftovers removes it)\n");
}

int remove_leftovers(kube::Objects& objects, const std::stop_token& stop) {
  ConformanceConsole console;
  const auto found = conformance::find_leftovers(objects);
  if (!found) return complain(found.error());
  for (const auto& one : *found) std::printf("removing %s\n", one.c_str());
  std::fflush(stdout);
  const auto done = conformance::remove_leftovers(objects, console, stop);
  if (!done) return complain(done.error());
  std::printf(found->empty() ? "Nothing of earlier runs is here.\n" : "Removed.\n");
  return 0;
}

Result<void> write_files(const conformance::Report& report, const ConformanceOptions& options) {
  const auto junit = write_file(options.junit_file, to_junit(report));
  const auto json = write_file(options.json_file, to_json(report));
  return junit ? json : junit;
}

/// The console goes before the results come. The files are written once before all is removed, for
/// who does not wait for that; whether they can be is told at the end.
Result<conformance::Report> run_tests(const Cluster& cluster, const ConformanceOptions& options,
                                      StopSignal& stop) {
  const auto complete = [&](conformance::Report report) {
    report.server = cluster.url;
    report.version = cluster.version;
    return report;
  };
  ConformanceConsole console(
      [&](const conformance::Report& report) { (void)write_files(complete(report), options); });
  const std::stop_callback told(stop.token(), [] {
    std::fputs(isatty(STDERR_FILENO) != 0 ? "\n" : "", stderr);  // after "^C"
    std::fputs("  stopping: what the tests made is removed, unless Ctrl-C comes again\n", stderr);
  });
  stop.at_last([] {
    std::fputs("  left behind; kindlb conformance --remove-leftovers removes it\n", stderr);
  });
  auto report = conformance::run(*cluster.objects, options.settings, console, stop.token());
  stop.at_last({});
  if (!report) return report;
  return complete(std::move(*report));
}

int show(const conformance::Report& report, const ConformanceOptions& options) {
  const auto text = options.json ? to_json(report) : to_table(report);
  std::fputs(text.c_str(), stdout);
  if (const auto done = write_files(report, options); !done) return complain(done.error());
  return exit_code(report);
}
}  // namespace

int conformance(const Options& options) {
  const auto& wanted = options.conformance;
  if (wanted.list) return list(wanted.settings.focus, wanted.json);
  for (const auto* file : {&wanted.junit_file, &wanted.json_file})
    if (const auto good = check_file(*file); !good) return complain(good.error());
  StopSignal stop(kCleanUpPatience, 1);
  const auto cluster = connect(options, stop.token());
  if (!cluster) return complain(cluster.error());
  if (wanted.remove_leftovers) return remove_leftovers(*cluster->objects, stop.token());
  tell_leftovers(*cluster->objects);
  const auto report = run_tests(*cluster, wanted, stop);
  if (!report) return complain(report.error());
  return show(*report, wanted);
}

}  // namespace kindlb::app
