#pragma once
// Where `kindlb conformance` writes its results besides standard output.

#include "kindlb/app/options.hpp"
#include "kindlb/conformance/report.hpp"
#include "kindlb/core/result.hpp"

#include <string>
#include <vector>

namespace kindlb::app {

class ResultFiles {
 public:
  explicit ResultFiles(const ConformanceOptions& options);

  /// Better now than after the tests. Leaves no file where there was none: it would look like
  /// results.
  core::Result<void> check() const;
  /// Results of an earlier run are none of this one, should it not get as far as having some.
  void remove_old() const;
  /// For who does not wait for what may be added later. Not to pipes and the like, which would get
  /// everything twice; what cannot be written is told by write().
  void write_early(const conformance::Report& report);
  /// What is not there yet; the errors of those that cannot be written.
  std::vector<core::Error> write(const conformance::Report& report);

 private:
  struct File {
    std::string path;
    std::string (*text_of)(const conformance::Report&);
    std::string written;
  };
  static bool put(File& file, const conformance::Report& report);

  std::vector<File> files_;
};

}  // namespace kindlb::app
