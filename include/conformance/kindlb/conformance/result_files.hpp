#pragma once
// The files that `kindlb conformance` writes its results to (--junit, --json).

#include "kindlb/conformance/report.hpp"
#include "kindlb/core/result.hpp"

#include <string>
#include <vector>

namespace kindlb::conformance {

/// Written twice at most: early, before the clean-up, which may take minutes or be killed, and
/// again if the clean-up added remarks. Used from one thread at a time.
class ResultFiles {
 public:
  /// An empty path means no such file.
  ResultFiles(const std::string& junit, const std::string& json);

  /// Fail if a file cannot be written, before hours of tests rather than after. Leave no new file
  /// behind, which could be mistaken for results.
  core::Result<void> check() const;
  /// Remove the results of an earlier run, so that they cannot be taken for this one's if it ends
  /// without any.
  void remove_old() const;
  /// Write the results as they are before the clean-up. Skips pipes and devices, which would get
  /// everything twice, and ignores errors, which write() reports.
  void write_early(const Report& report);
  /// Write what has changed since write_early(); return an error for each file that failed.
  std::vector<core::Error> write(const Report& report);

 private:
  struct File {
    std::string path;
    std::string (*text_of)(const Report&);
    std::string written;  ///< the content, to see whether it has changed
  };
  static bool put(File& file, const Report& report);

  std::vector<File> files_;
};

}  // namespace kindlb::conformance
