#pragma once
// One list-then-watch loop, after client-go's reflector: list everything, watch from the list's
// resourceVersion on, and list again whenever the watch cannot be trusted to be complete. Thin:
// what to do next is decided by ReflectorPolicy, what an object means by WatchedResource.

#include "codec.hpp"
#include "kindlb/http/client.hpp"
#include "watch/reflector_policy.hpp"
#include "watch/watched_resource.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>

namespace kindlb::kube {

/// Told about failures of a watch and about its recovery, as Observer::watch_state() is.
using ReportState = std::function<void(const char* resource, const core::Result<void>& state)>;

/// Runs on the thread that calls run(); nothing else may be called meanwhile. Invariant: version_
/// is the version of the last thing the observer has been given (a whole list, an event, a
/// bookmark), so a watch from there misses nothing and repeats nothing.
class Reflector {
 public:
  Reflector(std::shared_ptr<http::Client> client, std::unique_ptr<WatchedResource> resource,
            ReportState report_state);

  const char* name() const { return resource_->name(); }
  /// List and watch until a stop is requested, which also interrupts a silent watch or a pause.
  void run(const std::stop_token& stop);

 private:
  struct Attempt {
    StepResult result;
    std::optional<core::Error> error;
  };

  Attempt list(const std::stop_token& stop);
  Attempt watch(const std::stop_token& stop);
  core::Result<Page> fetch_page(const std::string& token, ListSize& size,
                                const std::stop_token& stop);
  core::Result<void> follow(const WatchLimits& limits, bool& received, const std::stop_token& stop);
  core::Result<void> read_line(std::string_view line, bool& received);
  void report(const core::Result<void>& state);
  void report_unreadable(const core::Result<void>& read);
  double random();

  std::shared_ptr<http::Client> client_;
  std::unique_ptr<WatchedResource> resource_;
  const ReportState report_state_;
  ReflectorPolicy policy_;
  std::string version_;          ///< resourceVersion of the last list, event or bookmark
  bool bookmarks_seen_ = false;  ///< the server sends them: silence then means a dead connection
  bool healthy_ = false;         ///< what was last reported
  std::minstd_rand random_engine_{std::random_device{}()};
};

}  // namespace kindlb::kube
