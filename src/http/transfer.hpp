#pragma once
// One request on one CurlHandles. libcurl's callbacks, which must not throw or block, only append
// to buffers here; the caller's sink runs between two steps of libcurl, never inside it, and may
// therefore do anything. Lives for one call, on one thread; only the stop request comes from
// another.

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

/// Return how long curl_multi_poll may wait, in milliseconds: until `deadline`, rounded up
/// (rounding down would spin during the last millisecond), or a minute when there is none.
int poll_timeout(std::optional<Clock::time_point> deadline);

/// Invariant: while attached, libcurl holds pointers to this object (callbacks, error buffer), so
/// it can be neither copied nor moved, and its destructor takes the pointers back.
class Transfer {
 public:
  /// Borrow everything for the duration of the call. `sink` null: the body is collected.
  Transfer(CurlHandles& handles, const Destination& destination, const Request& request,
           const ChunkSink* sink);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// Send the request and return the answer; the handles are detached afterwards and can be reused.
  core::Result<Response> run(const std::stop_token& stop);

  /// Only connect, TLS handshake included, and leave the connection with the handles. They stay
  /// attached: detaching would close it.
  core::Result<void> connect(const std::stop_token& stop);

 private:
  /// Running: poll and step again. Finished: libcurl is done. StoppedBySink: the sink returned
  /// false.
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
