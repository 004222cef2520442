// `kindlb plan`: reads manifests and prints what kindlb would do with their Services. Standard
// output has the result and nothing else; notes about the input go to standard error. Exit code 1
// is an answer (--exit-code); everything that prevents an answer is 2.

#include "commands.hpp"
#include "kindlb/base/environment.hpp"
#include "kindlb/base/errno_text.hpp"
#include "kindlb/base/number.hpp"
#include "kindlb/base/text.hpp"
#include "kindlb/forecast/cluster_facts.hpp"
#include "kindlb/forecast/forecast.hpp"
#include "kindlb/kube/manifest.hpp"
#include "kindlb/yaml/file.hpp"
#include "startup.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace kindlb::app {

namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorKind;
using core::Result;

bool is_manifest(const fs::path& path) {
  const auto extension = path.extension();
  return extension == ".yaml" || extension == ".yml" || extension == ".json";
}

/// Return the manifests in a folder, sorted by name. Other files and sub-folders are ignored.
Result<std::vector<std::string>> files_in(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (is_manifest(it->path()) && it->is_regular_file(error)) out.push_back(it->path().string());
  if (error) return Error{ErrorKind::Denied, folder, error.message()};
  if (out.empty())
    return Error{ErrorKind::NotFound, folder, "the folder has no .yaml, .yml or .json file"};
  std::ranges::sort(out);
  return out;
}

/// "-" is standard input. A folder that is named must have manifests; an empty one is a mistake.
Result<void> read_manifests(const std::string& name, kube::ManifestReader& into) {
  std::error_code ignored;
  std::vector<std::string> files = {name};
  if (name != "-" && fs::is_directory(name, ignored)) {
    auto found = files_in(name);
    if (!found.ok()) return found.error();
    files = std::move(*found);
  }
  for (const auto& file : files) {
    const auto text = yaml::read_file(file);
    if (!text.ok()) return text.error();
    if (auto added = into.add(*text, file == "-" ? "<stdin>" : file); !added.ok()) return added;
  }
  return {};
}

Result<forecast::ClusterFacts> read_facts(const std::string& file) {
  if (file.empty()) return forecast::default_facts();
  const auto text = yaml::read_file(file);
  if (!text.ok()) return text.error();
  return forecast::parse_facts(*text, file);
}

/// The time that the plan assumes, in conditions for example; $SOURCE_DATE_EPOCH makes the output
/// reproducible.
core::Timestamp now() {
  if (const auto fixed = base::parse_number<long>(base::environment("SOURCE_DATE_EPOCH")))
    return core::Timestamp(std::chrono::seconds(*fixed));
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

std::string formatted(const std::vector<forecast::ServiceForecast>& forecasts, PlanFormat format) {
  switch (format) {
    case PlanFormat::Json:
      return forecast::forecast_json(forecasts);
    case PlanFormat::Yaml:
      return forecast::forecast_yaml(forecasts);
    case PlanFormat::Text:
      break;
  }
  return forecast::forecast_text(forecasts);
}

/// What --exit-code reports: everything but "served as asked" and "not ours".
bool has_problem(const forecast::ServiceForecast& service) {
  return service.decision == forecast::Decision::Degrade ||
         service.decision == forecast::Decision::Refuse || !service.prediction.failure.empty();
}

}  // namespace

int plan(const Options& options) {
  const auto facts = read_facts(options.plan.cluster);
  if (!facts.ok()) return report_error(facts.error());
  kube::ManifestReader reader("plan");
  for (const auto& name : options.plan.files)
    if (const auto read = read_manifests(name, reader); !read.ok())
      return report_error(read.error());
  for (const auto& note : reader.found().notes)
    std::fprintf(stderr, "kindlb: %s\n", base::printable(note).c_str());
  if (reader.found().services.empty()) std::fprintf(stderr, "kindlb: the input has no Service\n");
  const auto forecasts = forecast::forecast_services(reader.take(), *facts, options.policy, now());
  if (!forecasts.ok()) return report_error(forecasts.error());
  const auto text = formatted(*forecasts, options.plan.format);
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written)  // exit code 2: 1 is an answer of --exit-code
    return report_error({ErrorKind::Unavailable, "standard output", base::errno_text()});
  return options.plan.exit_code && std::ranges::any_of(*forecasts, has_problem) ? 1 : 0;
}

}  // namespace kindlb::app
