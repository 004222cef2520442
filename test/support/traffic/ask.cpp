#include "support/traffic/ask.hpp"

#include <array>

namespace kindlb::testing {

std::string ask_tcp(const core::Target& target, const std::string& question,
                    const std::optional<core::IpAddress>& from, std::chrono::milliseconds timeout) {
  const auto socket = dial(SOCK_STREAM, target, timeout, from);
  if (!socket) return error_text("connect");
  if (::send(socket.fd(), question.data(), question.size(), MSG_NOSIGNAL) < 0)
    return error_text("send");
  std::string answer;
  std::array<char, 1024> buffer;
  while (!answer.ends_with(" " + question)) {
    const auto got = ::recv(socket.fd(), buffer.data(), buffer.size(), 0);
    if (got < 0) return error_text("recv");
    if (got == 0) return "closed";
    answer.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return answer;
}

std::string ask_udp(const core::Target& target, const std::string& question,
                    std::chrono::milliseconds limit, const std::optional<core::IpAddress>& from) {
  const auto socket = dial(SOCK_DGRAM, target, limit, from);
  if (!socket || ::send(socket.fd(), question.data(), question.size(), 0) < 0) return {};
  std::string answer(65'536, '\0');
  const auto got = ::recv(socket.fd(), answer.data(), answer.size(), 0);
  answer.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return answer;
}

}  // namespace kindlb::testing
