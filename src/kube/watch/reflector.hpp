#pragma once
// One list-then-watch loop. Thin: what comes next is the policy's business, what an object means
// the feed's. Runs on the thread that calls run().

#include "codec.hpp"
#include "kindlb/http/client.hpp"
#include "kindlb/kube/api.hpp"
#include "watch/reflector_policy.hpp"
#include "watch/watched_resource.hpp"

#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>

namespace kindlb::kube {

class Reflector {
 public:
  /// The observer hears of the state of the watch; it must outlive this.
  Reflector(std::shared_ptr<http::Client> client, std::unique_ptr<WatchedResource> resource,
            Observer& observer);

  const char* name() const { return resource_->name(); }
  /// Until a stop is requested.
  void run(const std::stop_token& stop);

 private:
  struct Attempt {
    StepResult result;
    std::optional<core::Error> error;
  };

  Attempt list(const std::stop_token& stop);
  Attempt watch(const std::stop_token& stop);
  core::Result<Page> fetch_page(const std::string& token, const std::stop_token& stop);
  core::Result<void> follow(const WatchLimits& limits, bool& received, const std::stop_token& stop);
  core::Result<void> read_line(std::string_view line, bool& received);
  void report(const core::Result<void>& state);
  void report_unreadable(const core::Result<void>& read);
  double random();

  std::shared_ptr<http::Client> client_;
  std::unique_ptr<WatchedResource> resource_;
  Observer& observer_;
  ReflectorPolicy policy_;
  std::string version_;  ///< of the last list, event or bookmark
  bool bookmarks_seen_ = false;
  bool healthy_ = false;  ///< whether the observer was last told so
  std::minstd_rand random_engine_{std::random_device{}()};
};

}  // namespace kindlb::kube
