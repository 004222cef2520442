#pragma once
// Cuts the bytes that a client sends into requests, within limits. Boost.Beast parses; this class
// feeds it, keeps what belongs to the next request, and says with which HTTP status a request is to
// be rejected. It reads from no socket and knows no time.
//
// A connection has one parser for its whole life. Not thread-safe: it belongs to whoever holds the
// connection. Bytes behind a complete request are kept until it is taken; those behind a rejected
// one are dropped.

#include "kindlb/http_server/limits.hpp"
#include "kindlb/http_server/message.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace kindlb::http_server {

enum class ParserState {
  Empty,     ///< nothing of the next request has arrived
  Header,    ///< the header is incomplete
  Body,      ///< the header is complete, the body is not
  Complete,  ///< take() returns the request
  Rejected,  ///< what follows cannot be told apart from it: answer error_status() and disconnect
};

class RequestParser {
 public:
  /// REQUIRES: limits.header is at most 64 KiB, as Beast holds no longer field.
  explicit RequestParser(const RequestLimits& limits);
  ~RequestParser();
  RequestParser(RequestParser&&) noexcept;
  RequestParser& operator=(RequestParser&&) noexcept;

  /// Parse what arrived. The bytes are copied.
  void feed(std::string_view bytes);
  ParserState state() const { return state_; }
  /// The status to answer a Rejected request with; zero in other states.
  int error_status() const { return error_status_; }
  /// How many bytes are held: of the current request, and those behind it.
  std::size_t buffered() const { return consumed_ + input_.size(); }
  /// Return whether the client waits for "100 Continue" before it sends the body; true once.
  bool take_expectation();
  /// Return the request, and go on to the next one with the bytes behind it.
  /// REQUIRES: state() is Complete.
  Request take();

 private:
  struct BeastParser;

  void parse();
  void parse_header();
  void accept_header();
  void parse_body();
  void finish();
  void reject(int status);

  RequestLimits limits_;
  std::string input_;         ///< received, but not consumed by the current request
  std::size_t searched_ = 0;  ///< no end of the header begins before this offset of input_
  std::size_t consumed_ = 0;  ///< bytes of the current request that were removed from input_
  std::unique_ptr<BeastParser> beast_;  ///< from the end of the header to the end of the body
  Request request_;
  ParserState state_ = ParserState::Empty;
  int error_status_ = 0;
  bool expects_continue_ = false;
};

}  // namespace kindlb::http_server
