#pragma once
// Where `kindlb conformance` writes its results besides standard output.

#include "kindlb/conformance/report.hpp"
#include "kindlb/core/result.hpp"

#include <string>
#include <vector>

namespace kindlb::conformance {

class ResultFiles {
 public:
  /// Empty paths are files that nobody asked for.
  ResultFiles(const std::string& junit, const std::string& json);

  /// Better now than after the tests. Leaves no file where there was none: it would look like
  /// results.
  core::Result<void> check() const;
  /// Results of an earlier run are none of this one, should it not get as far as having some.
  void remove_old() const;
  /// For who does not wait for what may be added later. Not to pipes and the like, which would get
  /// everything twice; what cannot be written is told by write().
  void write_early(const Report& report);
  /// What is not there yet; the errors of those that cannot be written.
  std::vector<core::Error> write(const Report& report);

 private:
  struct File {
    std::string path;
    std::string (*text_of)(const Report&);
    std::string written;
  };
  static bool put(File& file, const Report& report);

  std::vector<File> files_;
};

}  // namespace kindlb::conformance
