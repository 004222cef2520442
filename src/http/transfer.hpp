#pragma once
// One request on one handles: libcurl's callbacks only append here; sinks run between two steps of
// libcurl, never inside it. Lives for one call, on one thread; only the stop request comes from
// elsewhere.

#include "curl_handles.hpp"
#include "kindlb/http/client.hpp"
#include "options.hpp"

#include <array>
#include <chrono>
#include <optional>
#include <stop_token>
#include <string>

namespace kindlb::http {

using Clock = std::chrono::steady_clock;

/// How long curl_multi_poll may wait: until `deadline`, rounded up, or a minute without one.
int poll_timeout(std::optional<Clock::time_point> deadline);

class Transfer {
 public:
  /// `sink` null: the body is collected.
  Transfer(CurlHandles& handles, const Destination& destination, const Request& request,
           const ChunkSink* sink);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  core::Result<Response> run(const std::stop_token& stop);

  /// Only connects, and leaves the connection with the handles, still attached.
  core::Result<void> connect(const std::stop_token& stop);

 private:
  enum class Step { Running, Finished, StoppedBySink };

  static std::size_t on_header(char* bytes, std::size_t size, std::size_t count,
                               void* self) noexcept;
  static std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* self) noexcept;
  bool take_header(std::string_view line);
  bool take_body(std::string_view bytes);

  std::optional<core::Error> prepare(bool connect_only);
  std::optional<core::Error> drive(const std::stop_token& stop);
  core::Result<Step> step();
  bool deliver();
  std::optional<Clock::time_point> deadline() const;
  std::optional<core::Error> outcome();

  bool streams() const { return sink_ != nullptr && response_.status / 100 == 2; }
  core::Error error(core::ErrorKind kind, std::string detail) const;
  core::Error curl_failure(CURLcode code) const;

  CurlHandles& handles_;
  const Destination& destination_;
  const Request& request_;
  const ChunkSink* sink_;
  HeaderList header_list_;

  Response response_;
  std::size_t header_bytes_ = 0;
  bool headers_complete_ = false;
  bool opened_ = false;
  bool too_large_ = false;
  std::string chunk_;  // received since the sink was last called
  const Clock::time_point started_ = Clock::now();
  Clock::time_point last_received_ = started_;
  std::array<char, CURL_ERROR_SIZE> error_text_{};
};

}  // namespace kindlb::http
