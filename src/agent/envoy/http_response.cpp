#include "envoy/http_response.hpp"

#include "kindlb/base/number.hpp"
#include "kindlb/base/text.hpp"

#include <algorithm>
#include <optional>

namespace kindlb::agent {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::size_t kMaxLine = 16'384;

}  // namespace

HttpResponse::State HttpResponse::feed(std::string_view bytes) {
  buffer_ += bytes;
  while (step()) {
  }
  if (!malformed_ && part_ == Part::Done) return State::Complete;
  return malformed_ ? State::Malformed : State::Incomplete;
}

bool HttpResponse::step() {
  if (malformed_) return false;
  switch (part_) {
    case Part::Head:
      return read_head();
    case Part::Body:
      return read_body();
    case Part::ChunkSize:
      return read_chunk_size();
    case Part::ChunkData:
      return read_chunk();
    case Part::Trailer:
      return read_trailer();
    case Part::Done:
      return false;
  }
  return false;
}

bool HttpResponse::fail() {
  malformed_ = true;
  return false;
}

/// Without Content-Length and chunked encoding the body counts as empty.
bool HttpResponse::read_head() {
  const auto end = buffer_.find("\r\n\r\n");
  if (end == std::string::npos) return buffer_.size() > kMaxLine ? fail() : false;
  const std::string head = buffer_.substr(0, end);
  buffer_.erase(0, end + 4);
  std::size_t line_end = head.find(kLineEnd);
  const auto status_line = std::string_view(head).substr(0, line_end);
  const auto code = status_line.starts_with("HTTP/1.") && status_line.size() >= 12
                        ? base::parse_number<int>(status_line.substr(9, 3))
                        : std::nullopt;
  if (!code) return fail();
  status_ = *code;
  while (line_end != std::string::npos) {
    const auto begin = line_end + kLineEnd.size();
    line_end = head.find(kLineEnd, begin);
    const auto size = line_end == std::string::npos ? line_end : line_end - begin;
    if (!read_header(std::string_view(head).substr(begin, size))) return fail();
  }
  part_ = chunked_ ? Part::ChunkSize : Part::Body;
  return true;
}

bool HttpResponse::read_header(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return false;
  const auto name = base::lowered(line.substr(0, colon));
  const auto value = base::lowered(base::trimmed(line.substr(colon + 1)));
  if (name == "transfer-encoding") chunked_ = value == "chunked";
  if (name == "connection" && value == "close") keep_alive_ = false;
  if (name != "content-length") return true;
  const auto length = base::parse_number<std::size_t>(value);
  left_ = length.value_or(0);
  return length && *length <= limit_;
}

bool HttpResponse::read_body() {
  const auto size = std::min(left_, buffer_.size());
  body_.append(buffer_, 0, size);
  buffer_.erase(0, size);
  left_ -= size;
  if (left_ == 0) part_ = Part::Done;
  return false;
}

/// The limit is checked before a chunk is buffered, for this one and for the sum: the addition of
/// two sizes below the limit cannot overflow.
bool HttpResponse::read_chunk_size() {
  const auto end = buffer_.find(kLineEnd);
  if (end == std::string::npos) return buffer_.size() > kMaxLine ? fail() : false;
  const auto line = std::string_view(buffer_).substr(0, end);
  const auto size =
      base::parse_number<std::size_t>(base::trimmed(line.substr(0, line.find(';'))), 16);
  if (!size || *size > limit_ || body_.size() + *size > limit_) return fail();
  buffer_.erase(0, end + kLineEnd.size());
  left_ = *size;
  part_ = left_ == 0 ? Part::Trailer : Part::ChunkData;
  return true;
}

bool HttpResponse::read_chunk() {
  if (buffer_.size() < left_ + kLineEnd.size()) return false;
  if (std::string_view(buffer_).substr(left_, kLineEnd.size()) != kLineEnd) return fail();
  body_.append(buffer_, 0, left_);
  buffer_.erase(0, left_ + kLineEnd.size());
  part_ = Part::ChunkSize;
  return true;
}

bool HttpResponse::read_trailer() {
  const auto end = buffer_.find(kLineEnd);
  if (end == std::string::npos) return buffer_.size() > kMaxLine ? fail() : false;
  buffer_.erase(0, end + kLineEnd.size());
  if (end == 0) part_ = Part::Done;
  return part_ != Part::Done;
}

}  // namespace kindlb::agent
