#pragma once
// The kubeconfig that a sandbox writes for kubectl.

#include "kindlb/core/result.hpp"

#include <memory>
#include <string>
#include <utility>

namespace kindlb::sandbox {

/// Made in two steps: a path that cannot be written is reported before anything is started, and
/// the file is complete when it appears, since it is written elsewhere and renamed. Removed on
/// destruction.
class KubeconfigFile {
 public:
  /// Fail if the path cannot be written, or holds a file that no sandbox wrote.
  static core::Result<std::unique_ptr<KubeconfigFile>> reserve(const std::string& path);
  ~KubeconfigFile() { remove(); }
  KubeconfigFile(const KubeconfigFile&) = delete;
  KubeconfigFile& operator=(const KubeconfigFile&) = delete;

  /// Let the file appear, complete, at its path.
  core::Result<void> publish(const std::string& text) const;
  /// Remove the file, published or not. May be called again, and from any thread.
  void remove() const;
  /// Return the absolute path, as another terminal needs it.
  std::string full_path() const;

 private:
  explicit KubeconfigFile(std::string path) : path_(std::move(path)) {}
  std::string temporary() const { return path_ + ".tmp"; }
  std::string path_;
};

}  // namespace kindlb::sandbox
