#include "kindlb/http_server/listener.hpp"

#include <poll.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace kindlb::http_server {

namespace {
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using State = Wire::Moved::State;

constexpr auto kMoment = 2ms;
constexpr int kTurns = 100;

/// Of the request this thread works on. The library calls its handlers with nothing of ours.
thread_local bool hang_up = false;

/// Accepting is all that is left to do for the library's own threads.
class NoQueue final : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> work) override { work(); }
  void shutdown() override {}
};

/// One request's bytes and the way back, as the library wants to see them.
class GuestStream final : public httplib::Stream {
 public:
  GuestStream(Guest& guest, const LobbyLimits& limits, std::stop_token stop)
      : guest_(guest),
        deadline_(Clock::now() + limits.whole),
        // Framing of a body in chunks may be as long as the body.
        most_(limits.request.header + 2 * limits.request.body),
        stop_(std::move(stop)) {}
  ~GuestStream() override { guest_.input.erase(0, read_); }
  GuestStream(const GuestStream&) = delete;
  GuestStream& operator=(const GuestStream&) = delete;

  /// The status to refuse the request with, since it was too long or too slow; zero: it was not.
  int refused() const { return refused_; }
  bool is_readable() const override { return read_ < guest_.input.size() || is_open(*guest_.wire); }
  bool is_writable() const override { return is_open(*guest_.wire); }
  socket_t socket() const override { return guest_.wire->fd(); }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}

  ssize_t read(char* into, std::size_t size) override {
    const auto have = std::min(size, guest_.input.size() - read_);
    if (have == 0) return wait_and_read(into, size);
    std::copy_n(guest_.input.data() + read_, have, into);
    read_ += have;
    return static_cast<ssize_t>(have);
  }
  ssize_t write(const char* bytes, std::size_t size) override {
    if (refused_ != 0) return static_cast<ssize_t>(size);  // the lobby answers
    return send_all(*guest_.wire, {bytes, size}, stop_) ? static_cast<ssize_t>(size) : -1;
  }

 private:
  ssize_t wait_and_read(char* into, std::size_t size) {
    while (Clock::now() < deadline_ && received_ <= most_ && !stop_.stop_requested()) {
      const auto moved = guest_.wire->receive(into, size);
      received_ += moved.bytes;
      if (moved.state == State::Some) return static_cast<ssize_t>(moved.bytes);
      if (moved.state == State::Over) return 0;
      pollfd waiting{.fd = guest_.wire->fd(), .events = POLLIN, .revents = 0};
      poll(&waiting, 1, static_cast<int>(kStopCheck / 1ms));
    }
    refused_ = received_ > most_ ? 413 : 408;
    return -1;
  }

  Guest& guest_;
  Clock::time_point deadline_;
  std::size_t most_;
  std::stop_token stop_;
  std::size_t read_ = 0;
  std::size_t received_ = 0;
  int refused_ = 0;
};

/// Whether the next request comes right behind the last one, as a whole. Most clients ask again at
/// once, and the way through the lobby would cost them two changes of thread.
bool asks_again(Guest& guest, const ArrivalLimits& limits) {
  ArrivalGauge gauge(limits);
  if (!guest.input.empty()) return gauge.look(guest.input) == Arrival::Whole;
  pollfd waiting{.fd = guest.wire->fd(), .events = POLLIN, .revents = 0};
  if (poll(&waiting, 1, static_cast<int>(kMoment / 1ms)) <= 0) return false;
  std::array<char, 16 * 1024> chunk;
  const auto moved = guest.wire->receive(chunk.data(), chunk.size());
  guest.input.assign(chunk.data(), moved.bytes);
  return gauge.look(guest.input) == Arrival::Whole;
}

const char* phrase_of(int status) {
  switch (status) {
    case 408:
      return "Request Timeout";
    case 413:
      return "Payload Too Large";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Bad Request";
  }
}

std::string whole_refusal(int status, const std::string& body) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n"
      "Connection: close\r\n\r\n{}",
      status, phrase_of(status), body.size(), body);
}

/// What the library would do with it and must not: unpack bodies without a limit, answer with as
/// many copies of parts of a list as a header has room for, and look for a handler with a regular
/// expression that recurses at each byte of the path. The path is in `target` from here on.
void disarm(httplib::Request& request) {
  request.headers.erase("Content-Encoding");
  request.ranges.clear();
  request.target = std::exchange(request.path, "/");
}
}  // namespace

Front::Front(Options options)
    : options_(std::move(options)),
      workers_(options_.threads),
      lobby_(
          options_.limits,
          [this](Guest guest) {
            // A function can be copied, a guest cannot.
            workers_.submit([this, shared = std::make_shared<Guest>(std::move(guest))] {
              serve(std::move(*shared));
            });
          },
          [this](int status) { return whole_refusal(status, options_.refusal(status)); }) {
  new_task_queue = [] { return new NoQueue; };
}

bool Front::process_and_close_socket(socket_t socket) {
  lobby_.admit({.wire = options_.make_wire(socket), .input = {}});
  return true;
}

bool Front::answer(Guest& guest) {
  GuestStream stream(guest, options_.limits, stopping_.get_token());
  bool over = false;
  hang_up = false;
  const bool stays = process_request(stream, false, over, disarm) && !over && !hang_up;
  guest.refused = stream.refused();
  guest.been_served = true;
  return stays || guest.refused != 0;
}

void Front::serve(Guest guest) {
  // Not for ever: others may wait for this thread.
  for (int turn = 0; turn < kTurns; ++turn) {
    if (!answer(guest)) return;
    if (guest.refused != 0 || !asks_again(guest, options_.limits.request)) break;
  }
  lobby_.admit(std::move(guest));
}

void Front::hang_up_after_this() {
  hang_up = true;
}

void Front::close_all() {
  stopping_.request_stop();
  lobby_.stop();
  workers_.stop();
}

}  // namespace kindlb::http_server
