#include "request_parser.hpp"

#include "kindlb/core/assert.hpp"

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <algorithm>
#include <utility>

namespace kindlb::http_server {

namespace {
namespace beast = boost::beast;

constexpr std::string_view kHeaderEnd = "\r\n\r\n";

/// Return false as soon as `input` cannot become a request, without waiting for the end of a line
/// that may never come: TLS on a plain port, or another protocol.
bool starts_with_method(std::string_view input) {
  return std::all_of(input.begin(), input.begin() + std::min<std::ptrdiff_t>(3, std::ssize(input)),
                     [](char c) { return c >= 'A' && c <= 'Z'; });
}

std::string text_of(beast::string_view view) {
  return {view.data(), view.size()};
}

int status_of(const beast::error_code& error) {
  return error == beast::http::error::body_limit ? 413 : 400;
}
}  // namespace

/// Parses step by step, not eagerly: Boost 1.74 would go on after a body that is too large.
struct RequestParser::BeastParser : beast::http::request_parser<beast::http::string_body> {
  explicit BeastParser(const RequestLimits& limits) {
    header_limit(static_cast<std::uint32_t>(limits.header + kHeaderEnd.size()));
    body_limit(limits.body);
  }

  /// Consume a prefix of `input`. That more is needed is no error.
  beast::error_code consume(std::string_view& input) {
    // Beast asserts that the last chunk does not come in smaller pieces than the shortest one.
    const std::size_t least = chunked() ? std::string_view("0\r\n\r\n").size() : 1;
    beast::error_code error;
    while (!error && !is_done() && input.size() >= least)
      input.remove_prefix(put(boost::asio::const_buffer(input.data(), input.size()), error));
    return error == beast::http::error::need_more ? beast::error_code() : error;
  }
};

RequestParser::RequestParser(const RequestLimits& limits) : limits_(limits) {
  KINDLB_ASSERT(limits.header <= std::size_t{64} << 10U);
}

RequestParser::~RequestParser() = default;
RequestParser::RequestParser(RequestParser&&) noexcept = default;
RequestParser& RequestParser::operator=(RequestParser&&) noexcept = default;

void RequestParser::feed(std::string_view bytes) {
  if (state_ == ParserState::Rejected) return;
  input_ += bytes;
  parse();
}

bool RequestParser::take_expectation() {
  return std::exchange(expects_continue_, false);
}

Request RequestParser::take() {
  KINDLB_ASSERT(state_ == ParserState::Complete);
  auto out = std::exchange(request_, {});
  searched_ = 0;
  consumed_ = 0;
  expects_continue_ = false;
  state_ = ParserState::Empty;
  parse();
  return out;
}

void RequestParser::parse() {
  if (state_ == ParserState::Empty && !input_.empty()) state_ = ParserState::Header;
  if (state_ == ParserState::Header) parse_header();
  if (state_ == ParserState::Body) parse_body();
}

/// Give Beast the header as a whole. It would take it in pieces, but as fields it needs twenty
/// times the memory of its bytes, for as long as a slow client pleases.
void RequestParser::parse_header() {
  if (!starts_with_method(input_)) return reject(400);
  const auto end = input_.find(kHeaderEnd, searched_);
  searched_ = input_.size() < kHeaderEnd.size() ? 0 : input_.size() - kHeaderEnd.size() + 1;
  if (std::min(end, input_.size()) > limits_.header) return reject(431);
  if (end == std::string::npos) return;
  consumed_ = end + kHeaderEnd.size();
  beast_ = std::make_unique<BeastParser>(limits_);
  beast::error_code error;
  beast_->put(boost::asio::const_buffer(input_.data(), consumed_), error);
  if (error) return reject(status_of(error));
  input_.erase(0, consumed_);
  accept_header();
}

void RequestParser::accept_header() {
  auto& message = beast_->get();
  if (message.method() == beast::http::verb::unknown) return reject(400);
  if (message.target().size() > limits_.target) return reject(414);
  for (const auto& field : message)
    request_.headers.push_back({text_of(field.name_string()), text_of(field.value())});
  if (request_.headers.size() > limits_.fields) return reject(431);
  // Another coding would hide where the body ends (RFC 9112, section 6.3).
  if (message.count(beast::http::field::transfer_encoding) > 0 && !beast_->chunked())
    return reject(400);
  request_.method = text_of(message.method_string());
  request_.target = text_of(message.target());
  request_.http_1_0 = message.version() < 11;
  request_.keep_alive = beast_->keep_alive();
  expects_continue_ = beast::iequals(message[beast::http::field::expect], "100-continue");
  message.clear();  // held twice otherwise; trailers go the same way
  state_ = ParserState::Body;
  if (beast_->is_done()) finish();
}

void RequestParser::parse_body() {
  std::string_view rest(input_);
  const auto error = beast_->consume(rest);
  const auto taken = input_.size() - rest.size();
  consumed_ += taken;
  input_.erase(0, taken);
  expects_continue_ = expects_continue_ && taken == 0;
  if (error) return reject(status_of(error));
  if (beast_->is_done()) return finish();
  // What Beast leaves is the beginning of a chunk's header or of the trailers.
  if (input_.size() > limits_.header) return reject(431);
  // The framing of a chunked body may be as large as the body itself.
  if (consumed_ > limits_.header + 2 * limits_.body) return reject(413);
}

void RequestParser::finish() {
  request_.body = std::move(beast_->get().body());
  beast_.reset();
  state_ = ParserState::Complete;
}

void RequestParser::reject(int status) {
  *this = RequestParser(limits_);  // frees what the request held
  state_ = ParserState::Rejected;
  error_status_ = status;
}

}  // namespace kindlb::http_server
