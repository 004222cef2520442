#include "transfer.hpp"

#include "curl_error.hpp"
#include "kindlb/base/text.hpp"
#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace kindlb::http {

using core::ErrorKind;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t kMaxHeaderBytes = std::size_t{64} << 10U;
constexpr std::size_t kKeptChunkCapacity = std::size_t{64} << 10U;

/// "HTTP/1.1 200 OK" -> 200; 0: not a status line.
int status_of(std::string_view line) {
  const auto blank = line.find(' ');
  if (!line.starts_with("HTTP/") || blank == std::string_view::npos) return 0;
  const std::string_view digits = line.substr(blank + 1, 3);
  int status = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), status);
  return status;
}

}  // namespace

int poll_timeout(std::optional<Clock::time_point> deadline) {
  constexpr milliseconds kLongest{60'000};
  if (!deadline) return static_cast<int>(kLongest.count());
  const auto left = std::chrono::ceil<milliseconds>(*deadline - Clock::now());
  return static_cast<int>(std::clamp(left, milliseconds{0}, kLongest).count());
}

Transfer::Transfer(CurlHandles& handles, const Destination& destination, const Request& request,
                   const ChunkSink* sink)
    : handles_(handles), destination_(destination), request_(request), sink_(sink) {}

Transfer::~Transfer() {
  // The handles outlive us and must not keep pointers to our buffers.
  curl_easy_setopt(handles_.easy(), CURLOPT_ERRORBUFFER, nullptr);
}

core::Result<Response> Transfer::run(const std::stop_token& stop) {
  if (auto failure = prepare(false)) return *failure;
  auto failure = drive(stop);
  handles_.detach();
  if (failure) return *std::move(failure);
  return std::move(response_);
}

core::Result<void> Transfer::connect(const std::stop_token& stop) {
  if (auto failure = prepare(true)) return *failure;
  if (auto failure = drive(stop)) return *failure;
  return {};
}

std::optional<core::Error> Transfer::prepare(bool connect_only) {
  if (auto invalid = validate(request_)) return invalid;
  CURL* easy = handles_.easy();
  curl_easy_reset(easy);  // keeps the connection, forgets the last call's options
  CURLcode code = apply_connection(easy, destination_);
  if (code == CURLE_OK) {
    auto options = apply_request(easy, destination_, request_);
    code = options.code;
    header_list_ = std::move(options.headers);
  }
  if (code != CURLE_OK) return curl_failure(code);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error_text_.data());
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Transfer::on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
  if (connect_only) curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
  return std::nullopt;
}

std::optional<core::Error> Transfer::drive(const std::stop_token& stop) {
  if (const CURLMcode code = handles_.attach(); code != CURLM_OK)
    return error(ErrorKind::Unavailable, curl_multi_strerror(code));
  // Cancellation: the stop request may arrive at any moment. Before the poll, the loop condition
  // sees it; during the poll, the wakeup ends the poll; in between, the wakeup is remembered by
  // libcurl and ends the next poll at once. The callback is deregistered before the handles can go
  // back to the pool, so a late stop never wakes another call.
  const std::stop_callback wakeup_on_stop(stop, [this] { handles_.wakeup(); });
  while (!stop.stop_requested()) {
    const auto progress = step();
    if (!progress) return progress.error();
    if (*progress == Step::StoppedBySink) return std::nullopt;
    if (*progress == Step::Finished) return outcome();

    const auto until = deadline();
    if (until && Clock::now() >= *until)
      return error(ErrorKind::Timeout,
                   headers_complete_ && streams()
                       ? fmt::format("nothing received for {} ms", request_.idle_timeout.count())
                       : fmt::format("no answer within {} ms", request_.timeout.count()));
    curl_multi_poll(handles_.multi(), nullptr, 0, poll_timeout(until), nullptr);
  }
  return error(ErrorKind::Cancelled, "a stop was requested");
}

core::Result<Transfer::Step> Transfer::step() {
  int running = 0;
  if (const CURLMcode code = curl_multi_perform(handles_.multi(), &running); code != CURLM_OK)
    return error(ErrorKind::Unavailable, curl_multi_strerror(code));
  if (!deliver()) return Step::StoppedBySink;
  return running == 0 ? Step::Finished : Step::Running;
}

/// Pass what has arrived to the sink; false: the sink wants no more.
bool Transfer::deliver() {
  if (!headers_complete_ || !streams()) return true;
  if (!std::exchange(opened_, true) && request_.on_open) request_.on_open();
  if (chunk_.empty()) return true;
  last_received_ = Clock::now();
  const bool more = (*sink_)(chunk_);
  chunk_.clear();
  if (chunk_.capacity() > kKeptChunkCapacity) chunk_.shrink_to_fit();
  return more;
}

/// Until the headers of a stream are complete, and for everything else, the request's timeout
/// counts; afterwards only silence does. Deadlines are ours, not libcurl's: CURLOPT_TIMEOUT_MS
/// covers a whole transfer, and a watch may last for hours.
std::optional<Clock::time_point> Transfer::deadline() const {
  if (!headers_complete_ || !streams()) return started_ + request_.timeout;
  if (request_.idle_timeout == milliseconds::zero()) return std::nullopt;
  return last_received_ + request_.idle_timeout;
}

std::optional<core::Error> Transfer::outcome() {
  int left = 0;
  const CURLMsg* message = curl_multi_info_read(handles_.multi(), &left);
  if (message == nullptr || message->msg != CURLMSG_DONE)
    return error(ErrorKind::Unavailable, "the transfer ended without a result");
  if (too_large_)
    return error(ErrorKind::TooLarge,
                 fmt::format("the answer is larger than {} bytes", request_.max_body));
  if (message->data.result != CURLE_OK) return curl_failure(message->data.result);
  return std::nullopt;
}

std::size_t Transfer::on_header(char* bytes, std::size_t size, std::size_t count,
                                void* self) noexcept {
  const std::size_t length = size * count;
  return static_cast<Transfer*>(self)->take_header({bytes, length}) ? length : 0;
}

std::size_t Transfer::on_body(char* bytes, std::size_t size, std::size_t count,
                              void* self) noexcept {
  const std::size_t length = size * count;
  return static_cast<Transfer*>(self)->take_body({bytes, length}) ? length : 0;
}

/// Called once per header line, the status line and the final empty line included, and again from
/// the start for the real answer after a 1xx. False makes libcurl abort the transfer.
bool Transfer::take_header(std::string_view line) {
  header_bytes_ += line.size();
  if (header_bytes_ > kMaxHeaderBytes) {
    too_large_ = true;
    return false;
  }
  if (headers_complete_) return true;  // a trailer after the body
  const std::string_view text = base::trimmed(line);
  if (const int status = status_of(text); status != 0) {
    response_ = Response{.status = status, .headers = {}, .body = {}};
  } else if (text.empty()) {
    headers_complete_ = response_.status >= 200;  // 1xx is followed by the real answer
    last_received_ = Clock::now();
  } else if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    response_.headers.push_back({std::string(base::trimmed(text.substr(0, colon))),
                                 std::string(base::trimmed(text.substr(colon + 1)))});
  }
  return true;
}

bool Transfer::take_body(std::string_view bytes) {
  std::string& into = streams() ? chunk_ : response_.body;
  if (!streams() && into.size() + bytes.size() > request_.max_body) {
    too_large_ = true;
    return false;
  }
  into.append(bytes);
  return true;
}

core::Error Transfer::error(ErrorKind kind, std::string detail) const {
  return {kind, operation_of(request_),
          fmt::format("{}: {}", destination_.route.display_name, detail)};
}

core::Error Transfer::curl_failure(CURLcode code) const {
  return curl_error(handles_.easy(), code, operation_of(request_), destination_.route.display_name,
                    error_text_.data());
}

}  // namespace kindlb::http
