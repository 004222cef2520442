#include "kindlb/sandbox/kubeconfig_file.hpp"

#include "kindlb/base/errno_text.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace kindlb::sandbox {

namespace {
namespace fs = std::filesystem;
using core::Error;
using core::ErrorKind;
using core::Result;

Error not_writable(const std::string& path, const std::string& why) {
  return {ErrorKind::Invalid, "write the kubeconfig " + path,
          why + "; name another file with --kubeconfig-out"};
}

/// Whether the file is the leftover of a killed sandbox. Any other kubeconfig is never overwritten.
bool is_ours(const std::string& path) {
  std::ifstream in(path);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  return text.empty() || text.find("current-context: kindlb-sandbox") != std::string::npos;
}

}  // namespace

Result<std::unique_ptr<KubeconfigFile>> KubeconfigFile::reserve(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return not_writable(path, "it is a folder");
  if (fs::exists(path, ignored) && !is_ours(path))
    return not_writable(path, "the file exists and was not written by a sandbox");
  std::unique_ptr<KubeconfigFile> out(new KubeconfigFile(path));
  errno = 0;
  if (!std::ofstream(out->temporary())) return not_writable(path, base::errno_text());
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

}  // namespace kindlb::sandbox
