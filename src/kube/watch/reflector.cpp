#include "watch/reflector.hpp"

#include "call.hpp"
#include "codec.hpp"
#include "kindlb/core/line_splitter.hpp"
#include "paths.hpp"
#include "status.hpp"

#include <condition_variable>
#include <mutex>
#include <utility>

namespace kindlb::kube {

namespace {
using core::Error;
using core::ErrorKind;
using core::Result;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kListTimeout{30'000};
/// Headers of a watch come at once, unless the server is still filling its cache.
constexpr std::chrono::milliseconds kWatchStart{15'000};
/// etcd keeps no object beyond 1.5 MiB, and JSON is a few times larger than what is stored.
constexpr std::size_t kMaxLine = std::size_t{16} << 20U;

http::Request get(std::string target, std::chrono::milliseconds timeout) {
  auto request = make_request("GET", std::move(target));
  request.timeout = timeout;
  return request;
}

StepResult::End end_of(const Result<void>& result) {
  if (result) return StepResult::End::Done;
  return result.error().kind == ErrorKind::Expired ? StepResult::End::Expired
                                                   : StepResult::End::Failed;
}

/// Sleeps unless and until a stop is requested.
void pause(std::chrono::milliseconds duration, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, duration, [] { return false; });
}
}  // namespace

Reflector::Reflector(std::shared_ptr<http::Client> client,
                     std::unique_ptr<WatchedResource> resource, Observer& observer)
    : client_(std::move(client)), resource_(std::move(resource)), observer_(observer) {}

void Reflector::run(const std::stop_token& stop) {
  NextStep next;
  while (!stop.stop_requested()) {
    const auto attempt = next.step == Step::List ? list(stop) : watch(stop);
    if (stop.stop_requested()) return;
    next = policy_.after(next.step, attempt.result, random());
    if (next.pause.count() == 0) continue;
    // A version that expired once is daily business; whatever makes us pause is not.
    report(attempt.error.value_or(Error{ErrorKind::Unavailable, std::string("watch ") + name(),
                                        "the server ends every watch at once"}));
    pause(next.pause, stop);
  }
}

Reflector::Attempt Reflector::list(const std::stop_token& stop) {
  resource_->begin_list();
  std::string token;
  do {
    auto page = fetch_page(token, stop);
    if (!page) {
      const Result<void> failure = with_operation(page.error(), std::string("list ") + name());
      return {{.end = end_of(failure)}, failure.error()};
    }
    version_ = std::move(page->resource_version);
    token = std::move(page->continue_token);
  } while (!token.empty());
  resource_->finish_list();
  report({});
  return {};
}

Result<Page> Reflector::fetch_page(const std::string& token, const std::stop_token& stop) {
  const auto response =
      call(*client_, get(list_target(resource_->path(), token), kListTimeout), "list", stop);
  if (!response) return response.error();
  return decode_page(response->body,
                     [&](const Json& item) { report_unreadable(resource_->add_item(item)); });
}

Reflector::Attempt Reflector::watch(const std::stop_token& stop) {
  const auto started = Clock::now();
  bool received = false;
  const auto ended = follow(watch_limits(bookmarks_seen_, random()), received, stop);
  const auto lasted = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - started);
  Attempt attempt{{.end = end_of(ended), .received = received, .lasted = lasted}, std::nullopt};
  if (!ended) attempt.error = with_operation(ended.error(), std::string("watch ") + name());
  return attempt;
}

Result<void> Reflector::follow(const WatchLimits& limits, bool& received,
                               const std::stop_token& stop) {
  auto request =
      get(watch_target(resource_->path(), version_, static_cast<int>(limits.server.count())),
          kWatchStart);
  request.idle_timeout = limits.silence;
  core::LineSplitter splitter(kMaxLine);
  Result<void> read;
  const auto on_line = [&](std::string_view line) {
    read = read_line(line, received);
    return read.ok();
  };
  const auto response = client_->stream(
      request, [&](std::string_view chunk) { return splitter.feed(chunk, on_line); }, stop);
  if (!read) return read;
  if (splitter.overflowed()) return Error{ErrorKind::TooLarge, "watch", "an event above 16 MiB"};
  if (!response) return response.error();
  if (response->status != 200) return error_of(*response, "watch");
  return {};
}

Result<void> Reflector::read_line(std::string_view line, bool& received) {
  auto head = decode_event(line, [&](EventKind kind, const Json& object) {
    report_unreadable(kind == EventKind::Deleted ? resource_->deleted(object)
                                                 : resource_->changed(object));
  });
  if (!head) return head.error();
  received = true;
  bookmarks_seen_ = bookmarks_seen_ || head->kind == EventKind::Bookmark;
  version_ = std::move(head->resource_version);
  return {};
}

void Reflector::report(const Result<void>& state) {
  if (state && healthy_) return;
  healthy_ = state.ok();
  observer_.watch_state(name(), state);
}

/// One object that cannot be read must not hide all the others: it is told and passed over.
void Reflector::report_unreadable(const Result<void>& read) {
  if (!read) observer_.watch_state(name(), read);
}

double Reflector::random() {
  return std::uniform_real_distribution<double>(0.0, 1.0)(random_engine_);
}

}  // namespace kindlb::kube
