#include "watch/reflector.hpp"

#include "call.hpp"
#include "codec.hpp"
#include "kindlb/base/sleep.hpp"
#include "kindlb/core/line_splitter.hpp"
#include "paths.hpp"
#include "status.hpp"

#include <utility>

namespace kindlb::kube {

namespace {
using core::Error;
using core::ErrorKind;
using core::Result;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kListTimeout{30'000};
/// The headers of a watch arrive at once, unless the server is still filling its watch cache.
constexpr std::chrono::milliseconds kWatchStart{15'000};
/// etcd refuses objects beyond 1.5 MiB, and their JSON is a few times larger than what is stored.
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
}  // namespace

Reflector::Reflector(std::shared_ptr<http::Client> client,
                     std::unique_ptr<WatchedResource> resource, ReportState report_state)
    : client_(std::move(client)),
      resource_(std::move(resource)),
      report_state_(std::move(report_state)) {}

void Reflector::run(const std::stop_token& stop) {
  NextStep next;
  while (!stop.stop_requested()) {
    const auto attempt = next.step == Step::List ? list(stop) : watch(stop);
    if (stop.stop_requested()) return;
    next = policy_.after(next.step, attempt.result, random());
    if (next.pause.count() == 0) continue;
    // A version that expires once in a while is normal (etcd compacts every five minutes) and is
    // answered by a list without a pause. Whatever makes the policy pause is worth reporting.
    report(attempt.error.value_or(Error{ErrorKind::Unavailable, std::string("watch ") + name(),
                                        "the server closes every watch immediately"}));
    base::sleep_for(stop, next.pause);
  }
}

Reflector::Attempt Reflector::list(const std::stop_token& stop) {
  // Pages of one list share a snapshot: the continue token pins its version. When etcd compacts it
  // between two pages the server answers 410, and the list starts again from the first page.
  resource_->begin_list();
  std::string token;
  ListSize size;
  do {
    auto page = fetch_page(token, size, stop);
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

Result<Page> Reflector::fetch_page(const std::string& token, ListSize& size,
                                   const std::stop_token& stop) {
  const auto response =
      call(*client_, get(list_target(resource_->path(), token), kListTimeout), "list", stop);
  if (!response) return response.error();
  ++size.pages;
  size.bytes += response->body.size();
  auto page = decode_page(response->body, [&](const Json& item) {
    ++size.objects;
    report_unreadable(resource_->add_item(item));
  });
  if (const auto bounded = check_size(size); !bounded) return bounded.error();
  return page;
}

Reflector::Attempt Reflector::watch(const std::stop_token& stop) {
  // Each watch gets a new random timeout, so that the watches of many clients do not expire in
  // step.
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
  // Our own reason for ending the stream comes first: the client reports a stream that its sink
  // ended as a success.
  if (!read) return read;
  if (splitter.overflowed())
    return Error{ErrorKind::TooLarge, "watch", "an event is larger than 16 MiB"};
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
  // An unreadable object was reported and skipped above, and the version moves past it: watching
  // again from before it would deliver it again, forever.
  received = true;
  bookmarks_seen_ = bookmarks_seen_ || head->kind == EventKind::Bookmark;
  version_ = std::move(head->resource_version);
  return {};
}

void Reflector::report(const Result<void>& state) {
  if (state && healthy_) return;
  healthy_ = state.ok();
  report_state_(name(), state);
}

/// Report an object that cannot be decoded and go on: it must not hide all the others. healthy_
/// does not change, since the watch itself works.
void Reflector::report_unreadable(const Result<void>& read) {
  if (!read) report_state_(name(), read);
}

double Reflector::random() {
  return std::uniform_real_distribution<double>(0.0, 1.0)(random_engine_);
}

}  // namespace kindlb::kube
