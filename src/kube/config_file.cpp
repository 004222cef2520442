#include "config_file.hpp"

#include "kindlb/base/environment.hpp"
#include "kindlb/kube/config.hpp"
#include "kindlb/yaml/file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <sstream>

namespace kindlb::kube {

namespace {
using core::Error;
using core::ErrorKind;
using core::Result;
namespace fs = std::filesystem;

constexpr std::size_t kMaxMiB = 8;

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// Return the first file of $KUBECONFIG that exists; if none does, the first, for the error
/// message.
std::string first_of_list(const std::string& list) {
  std::istringstream in(list);
  std::string first;
  for (std::string path; std::getline(in, path, ':');) {
    if (path.empty()) continue;
    if (exists(path)) return path;
    if (first.empty()) first = path;
  }
  return first;
}

std::string default_path() {
  auto path = first_of_list(base::environment("KUBECONFIG"));
  return path.empty() ? base::environment("HOME") + "/.kube/config" : path;
}
}  // namespace

Result<std::string> read_config_file(const std::string& path) {
  // yaml::read_file takes "-" for standard input, which no kubeconfig means.
  auto text = yaml::read_file(path == "-" ? "./-" : path, kMaxMiB);
  if (!text) return Error{text.error().kind, kReadKubeconfig, path + ": " + text.error().detail};
  return text;
}

Result<ClusterAccess> load_kubeconfig(const std::string& path, const std::string& context) {
  const auto file = path.empty() ? default_path() : path;
  const auto text = read_config_file(file);
  if (!text && text.error().kind == ErrorKind::NotFound)
    return Error{ErrorKind::NotFound, kReadKubeconfig,
                 text.error().detail + "; name the file with --kubeconfig or KUBECONFIG"};
  if (!text) return text.error();
  auto access = parse_kubeconfig(*text, fs::path(file).parent_path().string(), context);
  if (access) return access;
  auto error = access.error();
  error.operation = fmt::format("{} {}", kReadKubeconfig, file);
  return error;
}

}  // namespace kindlb::kube
