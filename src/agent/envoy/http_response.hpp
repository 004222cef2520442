#pragma once
// Incremental parser of one HTTP/1.1 response with Content-Length or chunked encoding, bounded in
// size. It understands what Envoy's admin interface sends, not all of RFC 9112: a body that ends
// with the connection is not supported. kindlb's own HTTP code is built on libcurl, which the agent
// does not link: every proxy image carries the agent, and it must stay small. Pure.

#include <cstddef>
#include <string>
#include <string_view>

namespace kindlb::agent {

class HttpResponse {
 public:
  enum class State { Incomplete, Complete, Malformed };

  /// `limit`: the largest body accepted, in bytes.
  explicit HttpResponse(std::size_t limit) : limit_(limit) {}

  /// Take in the next bytes. Once Complete or Malformed, it stays so.
  State feed(std::string_view bytes);
  /// Status code, body and keep-alive are meaningful once feed() has returned Complete.
  int status() const { return status_; }
  const std::string& body() const { return body_; }
  bool keep_alive() const { return keep_alive_; }

 private:
  enum class Part { Head, Body, ChunkSize, ChunkData, Trailer, Done };

  /// Parse one part of the message from buffer_. False: more bytes are needed, or it has ended. The
  /// read_ functions return the same.
  bool step();
  bool read_head();
  bool read_header(std::string_view line);
  bool read_body();
  bool read_chunk_size();
  bool read_chunk();
  bool read_trailer();
  bool fail();

  std::size_t limit_;
  std::string buffer_;
  std::string body_;
  Part part_ = Part::Head;
  std::size_t left_ = 0;  ///< bytes of the body or chunk still to come
  int status_ = 0;
  bool chunked_ = false;
  bool malformed_ = false;
  bool keep_alive_ = true;
};

}  // namespace kindlb::agent
