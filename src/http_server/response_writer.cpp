#include "response_writer.hpp"

#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/serializer.hpp>

namespace kindlb::http_server {

namespace {
namespace beast = boost::beast;

/// A body up to this size is sent together with the header, as one packet if it fits; copying a
/// larger one would cost more than the second system call.
constexpr std::size_t kMaxCopied = std::size_t{64} << 10U;

template <typename Buffers>
void append(std::string& out, const Buffers& buffers) {
  for (const auto buffer : beast::buffers_range_ref(buffers))
    out.append(static_cast<const char*>(buffer.data()), buffer.size());
}

/// How the client is told where the response ends.
struct Framing {
  bool chunked = false;     ///< else by Content-Length, or by the end of the connection
  bool keep_alive = false;  ///< the connection carries another request afterwards
  bool http_1_0 = false;
};

Framing framing_of(const Request& request, const Response& response) {
  const bool streams = response.producer != nullptr;
  return {.chunked = streams && !request.http_1_0,
          .keep_alive = request.keep_alive && !response.close && !(streams && request.http_1_0),
          .http_1_0 = request.http_1_0};
}

using HeaderMessage = beast::http::response<beast::http::empty_body>;

HeaderMessage to_message(const Response& response, const Framing& framing) {
  HeaderMessage out;
  out.version(11);
  out.result(static_cast<unsigned>(response.status));
  for (const auto& [name, value] : response.headers) out.insert(name, value);
  if (framing.chunked)
    out.chunked(true);
  else if (response.producer == nullptr)
    out.content_length(response.body.size());
  if (!framing.keep_alive)
    out.set(beast::http::field::connection, "close");
  else if (framing.http_1_0)
    out.set(beast::http::field::connection, "keep-alive");
  return out;
}

std::string header_text(const Response& response, const Framing& framing) {
  const auto message = to_message(response, framing);
  beast::http::response_serializer<beast::http::empty_body> serializer(message);
  serializer.split(true);  // no empty body behind it, which would be a last chunk
  std::string out;
  beast::error_code error;
  while (!error && !serializer.is_header_done())
    serializer.next(error, [&](beast::error_code&, const auto& buffers) {
      append(out, buffers);
      serializer.consume(beast::buffer_bytes(buffers));
    });
  return out;
}

std::string to_chunk(const std::string& piece) {
  std::string out;
  append(out, beast::http::make_chunk(boost::asio::buffer(piece)));
  return out;
}

std::string last_chunk() {
  std::string out;
  append(out, beast::http::make_chunk_last());
  return out;
}

bool stream_body(Transport& transport, const Producer& producer, bool chunked,
                 const std::stop_token& stop) {
  while (const auto piece = producer()) {
    if (stop.stop_requested()) return false;
    // Nothing happened: only check whether the client is still connected.
    const bool ok = piece->empty() ? is_open(transport)
                                   : send_all(transport, chunked ? to_chunk(*piece) : *piece, stop);
    if (!ok) return false;
  }
  return !chunked || send_all(transport, last_chunk(), stop);
}
}  // namespace

bool write_response(Transport& transport, const Request& request, const Response& response,
                    const std::stop_token& stop) {
  const auto framing = framing_of(request, response);
  const bool header_only = request.method == "HEAD";
  auto text = header_text(response, framing);
  const bool streams = response.producer != nullptr && !header_only;
  const auto body = header_only || streams ? std::string_view() : std::string_view(response.body);
  if (body.size() <= kMaxCopied) text += body;
  if (!send_all(transport, text, stop)) return false;
  if (body.size() > kMaxCopied && !send_all(transport, body, stop)) return false;
  if (streams && !stream_body(transport, response.producer, framing.chunked, stop)) return false;
  return framing.keep_alive;
}

std::string to_closing_text(const Response& response) {
  return header_text(response, Framing{}) + response.body;
}

Response plain_error(int status) {
  const auto reason =
      beast::http::obsolete_reason(beast::http::int_to_status(static_cast<unsigned>(status)));
  return {.status = status,
          .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
          .body = std::string(reason.data(), reason.size()) + "\n"};
}

}  // namespace kindlb::http_server
