#include "channel.hpp"

#include <array>
#include <chrono>

namespace kindlb::proxy {

namespace {

constexpr std::size_t kMaxStderr = 2048;
/// The stream is writable and the bytes are few, so this passes only if the engine hangs.
constexpr std::chrono::milliseconds kWriteDeadline{200};

}  // namespace

std::optional<std::string> Channel::receive(const OnMessage& on_message) {
  std::array<char, 8192> buffer;
  while (!abandoned) {
    const auto got = stream_->read(buffer);
    if (!got) return with_stderr(got.error().detail);
    if (*got == 0) return std::nullopt;
    if (auto broken = demultiplex({buffer.data(), *got}, on_message)) return with_stderr(*broken);
  }
  return std::nullopt;
}

std::optional<std::string> Channel::demultiplex(std::string_view chunk,
                                                const OnMessage& on_message) {
  const auto on_line = [&](std::string_view line) { return handle_line(line, on_message); };
  const auto on_payload = [&](docker::StdStream stream, std::string_view payload) {
    if (stream == docker::StdStream::Err)
      append_stderr(payload);
    else
      (void)lines_.feed(payload, on_line);
  };
  if (!demux_.feed(chunk, on_payload)) return "the engine sent a malformed stream";
  if (lines_.overflowed()) return "the agent sent a line that is too long";
  return std::nullopt;
}

bool Channel::handle_line(std::string_view line, const OnMessage& on_message) {
  // A line that cannot be decoded comes from a newer agent: the protocol says to ignore it.
  auto message = protocol::decode(line);
  if (message && !abandoned) on_message(*std::move(message));
  return !abandoned;
}

std::optional<std::string> Channel::transmit(std::string_view bytes) {
  const auto written = stream_->write(bytes, kWriteDeadline);
  if (written) return std::nullopt;
  return with_stderr(written.error().detail);
}

void Channel::append_stderr(std::string_view text) {
  stderr_.append(text.substr(0, kMaxStderr - std::min(kMaxStderr, stderr_.size())));
}

std::string Channel::with_stderr(const std::string& reason) const {
  const auto end = stderr_.find_last_not_of(" \r\n");
  return end == std::string::npos ? reason : stderr_.substr(0, end + 1) + " (" + reason + ")";
}

}  // namespace kindlb::proxy
