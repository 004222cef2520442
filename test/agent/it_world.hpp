#pragma once
// The world of agent_it: a docker network and image of its own, containers on it, and the channel
// to an agent, all through the docker command. Everything is removed when its object goes.

#include "kindlb/core/ip.hpp"
#include "kindlb/core/line_splitter.hpp"
#include "kindlb/protocol/protocol.hpp"

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::agent::it {

struct Output {
  int status = -1;
  std::string text;  ///< standard output, without the last newline
};
Output run(const std::vector<std::string>& command);
/// Runs and fails the test if the command does.
std::string must_run(const std::vector<std::string>& command);

bool wait_until(const std::function<bool()>& condition, std::chrono::milliseconds limit);

/// Network and image, made once per run.
class World {
 public:
  static World& get();
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// An address nobody was given yet, from the top of the network downwards.
  core::Cidr new_address(core::IpFamily family = core::IpFamily::V4);
  std::string new_name(const std::string& what);
  const std::string& network() const { return name_; }
  const std::string& image() const { return image_; }

 private:
  World();
  void build_image();

  std::string name_;
  std::string image_;
  std::vector<core::Cidr> subnets_;
  unsigned addresses_ = 0;
  unsigned names_ = 0;
};

class Container {
 public:
  Container(const std::vector<std::string>& options, const std::vector<std::string>& arguments,
            const std::string& what);
  ~Container();
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;

  const std::string& name() const { return name_; }
  core::IpAddress address(core::IpFamily family = core::IpFamily::V4) const;
  std::string logs() const;
  pid_t pid() const;  ///< of its first process, on the host

 private:
  std::string name_;
};

/// An HTTP server that answers with its name; also a client.
class Peer : public Container {
 public:
  explicit Peer(const std::string& name, const std::string& extra_address = "");
  /// The answer, or nothing within the time.
  std::optional<std::string> fetch(const core::IpAddress& from, int port, int milliseconds) const;
};

/// A proxy as kindlb runs it.
class Proxy : public Container {
 public:
  /// `security`: a value for docker's --security-opt. `volume`: the option that gives the agent
  /// its state directory.
  explicit Proxy(const std::string& security = "no-new-privileges",
                 const std::string& volume = "--volume=/var/lib/kindlb");
  pid_t envoy_pid() const;  ///< on the host; 0 if there is none
  /// Of this run: what a killed one left behind must not use up the uid's share of the kernel.
  static std::string envoy_uid();
};

/// One `kindlb-agent connect`.
class Channel {
 public:
  explicit Channel(const Proxy& proxy);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void send_line(const std::string& line);
  void send(const protocol::Message& message) { send_line(protocol::encode(message)); }
  /// The next message of that kind; others before it are dropped. Fails the test after `limit`.
  template <typename T>
  T expect(std::chrono::milliseconds limit = std::chrono::seconds(15)) {
    const auto until = std::chrono::steady_clock::now() + limit;
    while (true) {
      auto message = next(std::chrono::duration_cast<std::chrono::milliseconds>(
          until - std::chrono::steady_clock::now()));
      if (auto* wanted = std::get_if<T>(&message)) return std::move(*wanted);
    }
  }
  protocol::Message next(std::chrono::milliseconds limit);
  /// True if the agent closed the channel within the time.
  bool is_closed(std::chrono::milliseconds limit);

 private:
  bool fill(std::chrono::milliseconds limit);

  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
  core::LineSplitter splitter_{protocol::kMaxLine};
  std::deque<std::string> lines_;
};

/// A unit with one TCP listener on port 80 of `address`.
struct UnitOptions {
  std::string unit;
  core::Cidr address;
  core::Target endpoint;
  std::string revision = "r1";
  std::string bind;             ///< another address to listen on
  std::string listener_fields;  ///< more JSON for the listener: ,"x":1
  std::string cluster_fields;
  std::string endpoint_address;  ///< instead of the endpoint's
};
protocol::Unit make_unit(const UnitOptions& options);
/// With a probe of the endpoint.
protocol::Apply an_apply(std::uint64_t id, const UnitOptions& options);

core::Target backend_of(const Peer& peer);
/// A channel whose agent has a live Envoy.
std::unique_ptr<Channel> ready_channel(const Proxy& proxy);

}  // namespace kindlb::agent::it
