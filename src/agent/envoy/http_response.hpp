#pragma once
// Reads one HTTP/1.1 answer from chunks of bytes: fixed length or chunked, bounded. Not a general
// client: it has to understand Envoy's admin interface. Pure.

#include <cstddef>
#include <string>
#include <string_view>

namespace kindlb::agent {

class HttpResponse {
 public:
  enum class State { Incomplete, Complete, Malformed };

  explicit HttpResponse(std::size_t limit) : limit_(limit) {}

  State feed(std::string_view bytes);
  int status() const { return status_; }
  const std::string& body() const { return body_; }
  bool keep_alive() const { return keep_alive_; }

 private:
  enum class Part { Head, Body, ChunkSize, ChunkData, Trailer, Done };

  bool step();  ///< false: more bytes are needed, or it is over
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
  std::size_t left_ = 0;  ///< of the body or chunk
  int status_ = 0;
  bool chunked_ = false;
  bool malformed_ = false;
  bool keep_alive_ = true;
};

}  // namespace kindlb::agent
