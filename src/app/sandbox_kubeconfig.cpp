#include "app/sandbox_playground.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <tuple>

namespace kindlb::app {

namespace {
namespace fs = std::filesystem;
using core::Error;
using core::ErrorKind;
using core::Result;

Error not_writable(const std::string& path, const std::string& why) {
  return {ErrorKind::Invalid, "write the kubeconfig " + path,
          why + "; name another file with --kubeconfig-out"};
}

/// A sandbox that was killed leaves its file behind; any other is not ours to replace.
bool is_ours(const std::string& path) {
  std::ifstream in(path);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  return text.empty() || text.find("current-context: kindlb-sandbox") != std::string::npos;
}

/// The server saves while it runs; that it cannot is better said before.
Result<void> check_state_file(const std::string& path) {
  const auto folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : ".";
  if (path.empty() || ::access(folder.c_str(), W_OK) == 0) return {};
  return Error{ErrorKind::Invalid, "keep the state in " + path,
               std::string(std::strerror(errno)) +  // NOLINT(concurrency-mt-unsafe)
                   "; name another file with --state"};
}
}  // namespace

Result<std::unique_ptr<KubeconfigFile>> KubeconfigFile::reserve(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return not_writable(path, "it is a folder");
  if (fs::exists(path, ignored) && !is_ours(path))
    return not_writable(path, "it exists and is not the sandbox's");
  std::unique_ptr<KubeconfigFile> out(new KubeconfigFile(path));
  errno = 0;
  if (!std::ofstream(out->temporary()))
    return not_writable(path, std::strerror(errno));  // NOLINT(concurrency-mt-unsafe)
  return out;
}

Result<void> KubeconfigFile::publish(const std::string& text) const {
  std::error_code failure;
  {
    std::ofstream out(temporary());
    out << text;
    if (!out.flush()) failure = std::make_error_code(std::errc::io_error);
  }
  if (!failure) fs::rename(temporary(), path_, failure);
  if (failure) return not_writable(path_, failure.message());
  return {};
}

void KubeconfigFile::remove() const {
  std::error_code ignored;
  fs::remove(temporary(), ignored);
  fs::remove(path_, ignored);
}

std::string KubeconfigFile::full_path() const {
  std::error_code failure;
  const auto full = fs::absolute(path_, failure);
  return failure ? path_ : full.lexically_normal().string();
}

Result<apiserver::ServerOptions> server_options(const Options& options) {
  apiserver::ServerOptions out;
  const auto address = apiserver::parse_listen(options.sandbox.listen);
  if (!address)
    return Error{ErrorKind::Invalid, "listen on " + options.sandbox.listen,
                 "write an address and a port: 127.0.0.1:8474"};
  std::tie(out.host, out.port) = *address;
  const auto gates = apiserver::FeatureGates::parse(options.sandbox.feature_gates);
  if (!gates) return gates.error();
  out.gates = *gates;
  auto ranges = options.sandbox.service_ranges;
  if (ranges.empty()) ranges = {"10.96.0.0/16", "fd00:10:96::/112"};
  for (const auto& text : ranges) {
    const auto range = core::Cidr::parse(text);
    if (!range)
      return Error{ErrorKind::Invalid, "use --service-range " + text,
                   "write a prefix: 10.96.0.0/16"};
    out.service_ranges.push_back(*range);
  }
  if (const auto possible = check_state_file(options.sandbox.state); !possible)
    return possible.error();
  out.state_file = options.sandbox.state;
  out.endpoint_slices = true;
  out.tls = options.sandbox.tls;
  return out;
}

}  // namespace kindlb::app
