#pragma once
// The protocol between kindlb and the agent inside a proxy container, and the agent's state file:
// one JSON object per line, each with a "type". Shared by both programs. Pure values and codecs, no
// I/O; everything here may be used from any thread.
//
// Order and identity:
//  - The agent speaks first, with Hello, which lists the units it holds. Until then kindlb sends
//    nothing on that channel.
//  - Every request of kindlb (Prepare, Apply, Release) carries an id that kindlb never uses twice
//    while it runs; the agent answers with the same id. Answers may come in any order, so only
//    the id relates them to a request.
//  - A channel that breaks loses its requests and its answers. kindlb does not replay them: the
//    next Hello says what the agent holds, and what is missing is sent again under a new id.
//    This is safe because Apply carries a unit as a whole and Release is idempotent.
//  - Status is sent without being asked for, whenever Envoy's or the network's state changes.
//  - Heartbeat is sent without being asked for, at the interval that Hello announces.
//
// Compatibility: a kindlb adopts proxies whose agents are older or newer than itself. Therefore
//  - an unknown type is ignored, and so is an unknown field;
//  - a new field is optional, and its default means what an agent did before the field existed
//    (see Fields in json_fields.hpp);
//  - a known type that cannot be read is answered with Rejected/Invalid, never with silence;
//  - JSON names, the names of files in the volume and the meaning of a revision never change.
// Lines beyond kMaxLine are refused: neither side may make the other one buffer without limit.

#include "kindlb/core/ip.hpp"
#include "kindlb/core/proxy_config.hpp"
#include "kindlb/core/service.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kindlb::protocol {

inline constexpr int kProtocolVersion = 1;
inline constexpr std::chrono::milliseconds kHeartbeatInterval{2'000};
inline constexpr std::size_t kMaxLine = std::size_t{16} << 20U;

/// Envoy takes an inotify instance for every file it watches, and aborts when it gets none. The
/// kernel allows 128 per uid by default (fs.inotify.max_user_instances); two of them watch the
/// listeners' and the clusters' file. What remains is the number of endpoint files, which bounds
/// how many Services one proxy can hold.
inline constexpr std::size_t kFixedWatches = 2;
inline constexpr std::size_t kUsualWatches = 128 - kFixedWatches;

/// One Envoy resource as rendered: its name and its JSON text (an object with "@type").
struct Resource {
  std::string name;
  std::string body;

  bool operator==(const Resource&) const = default;
};

/// Endpoints of one cluster: Envoy wants them in a file of their own. `file` is the bare name that
/// the cluster's eds_config points at.
struct Assignment {
  std::string cluster;
  std::string file;
  std::string body;

  bool operator==(const Assignment&) const = default;
};

/// Everything one proxy needs to serve one Service. Always complete: an Apply replaces the unit's
/// former content, so that a lost or repeated Apply leaves no trace. Addresses and routes that
/// several units share stay until the last of these units is released.
struct Unit {
  std::string unit;      ///< the Service's uid
  std::string owner;     ///< "cluster/namespace/name"
  std::string revision;  ///< hash of the content, chosen by kindlb; opaque to the agent
  std::vector<core::Cidr> addresses;
  std::vector<core::Route> routes;
  std::vector<Resource> listeners;
  std::vector<Resource> clusters;
  std::vector<Assignment> assignments;
  /// For kernels with nf_tables: the rules for UDP ports, and the listeners that rely on them, used
  /// in place of `listeners`. Empty when no port needs them. An agent that does not know these
  /// fields, or whose kernel lacks nf_tables, uses `listeners`.
  std::vector<core::UdpRule> udp_rules;
  std::vector<Resource> listeners_behind_rules;

  bool operator==(const Unit&) const = default;
};

/// Return the Service that an owner text names ("cluster/namespace/name"); the inverse of
/// core::ServiceKey::text(). Nothing for any other text.
std::optional<core::ServiceKey> parse_owner(const std::string& owner);
/// Return the cluster an owner text names: everything before the first slash.
std::string cluster_of(const std::string& owner);

// kindlb -> agent --------------------------------------------------------------------------------

/// Check that these addresses are free, so that the Apply that follows need not wait for it.
/// Answered by Applied (without a unit) or Rejected/Address. Changes nothing, and need not be sent:
/// an Apply checks its addresses anyway.
struct Prepare {
  std::uint64_t id = 0;
  std::vector<core::Cidr> addresses;
};

/// Serve the unit as described. Answered with the same id by Applied, once Envoy has confirmed this
/// revision and every probe has ended, or by Rejected; then the unit's former content still serves.
/// An Apply for the same unit supersedes one under way, which is answered Rejected/Superseded.
struct Apply {
  std::uint64_t id = 0;
  Unit unit;
  std::vector<core::Probe> probes;  ///< each must be tried before Applied is sent
  std::chrono::milliseconds probe_timeout{3'000};
};

/// Remove the unit: listeners, addresses, routes, state. Answered by Applied, once Envoy has closed
/// its listeners; also for a unit that the agent does not hold.
struct Release {
  std::uint64_t id = 0;
  std::string unit;
};

// agent -> kindlb --------------------------------------------------------------------------------

enum class EnvoyState { Starting, Live, Down };

/// What an agent holds for one Service, as Hello, Status and the state file report it.
struct UnitState {
  std::string unit;
  std::string owner;
  std::string revision;
  bool acknowledged = false;  ///< Envoy has confirmed that revision since it last started
  std::vector<core::Cidr> addresses;
  std::size_t watches = 0;  ///< how many endpoint files Envoy watches for it

  bool operator==(const UnitState&) const = default;
};

/// The first message on every channel. `units` is all the agent holds: a unit that is not in it is
/// not served by this proxy, whatever was sent before.
struct Hello {
  int protocol = kProtocolVersion;
  std::string agent;  ///< its version
  EnvoyState envoy = EnvoyState::Starting;
  std::vector<UnitState> units;
  std::size_t watches = kUsualWatches;  ///< how many endpoint files its Envoy can watch
  /// The interval of its Heartbeats. 0: an agent that sends none, whose silence means nothing.
  std::chrono::milliseconds heartbeat{0};
  std::string network_problem;  ///< see Status
};

/// Tells that the agent is neither frozen nor cut off. It says nothing about Envoy, whose state
/// changes arrive as Status.
struct Heartbeat {};

enum class ProbeResult { Reached, Refused, Unreachable };

struct ProbeOutcome {
  std::string label;
  ProbeResult result = ProbeResult::Unreachable;
  std::string detail;  ///< "10.244.1.2:80: No route to host"

  bool operator==(const ProbeOutcome&) const = default;
};

struct Applied {
  std::uint64_t id = 0;
  std::string unit;
  std::string revision;
  std::vector<ProbeOutcome> probes;
};

enum class RejectStage {
  Invalid,     ///< the message itself
  Address,     ///< another host answers for it, or the kernel refused it
  Route,       ///< the kernel refused it
  Filter,      ///< the kernel refused the rules for datagrams
  Envoy,       ///< Envoy refused the configuration; text is Envoy's own
  Down,        ///< Envoy did not run or did not answer in time
  Superseded,  ///< a newer Apply took its place
};

struct Rejected {
  std::uint64_t id = 0;
  std::string unit;
  std::string revision;
  RejectStage stage = RejectStage::Invalid;
  std::string text;
};

/// Sent whenever Envoy's or the network's state changes. With Live, `units` says what this Envoy has
/// acknowledged.
struct Status {
  EnvoyState envoy = EnvoyState::Starting;
  std::uint32_t restarts = 0;  ///< of Envoy, since the container started
  std::string text;            ///< why: "killed by signal 9"
  std::vector<UnitState> units;
  /// What the proxy's network lacks although the agent has tried to restore it: "the network
  /// interface is gone". Empty: nothing.
  std::string network_problem;
};

/// The agent is about to exit.
struct Bye {
  std::string reason;
};

using Message =
    std::variant<Hello, Prepare, Apply, Release, Applied, Rejected, Status, Heartbeat, Bye>;

/// Return the message as one line, newline included.
std::string encode(const Message& message);
/// Parse one line. Nothing for an unknown type or a line that is not a message; `why` says which.
std::optional<Message> decode(std::string_view line, std::string* why = nullptr);
/// Return the id in a line of a known type that decode() refused, so that the sender can be
/// answered. Nothing for unknown types: those are ignored.
std::optional<std::uint64_t> refused_id(std::string_view line);

/// The agent's state file (kStateFile): what the agent holds and, per unit, whether Envoy has
/// acknowledged it. Replaced by a rename whenever one of these changes, and survives the
/// container's restart. A restarted kindlb adopts proxies by it (docs/contract.md §2: nothing is
/// written to a status that is right already), so a newer kindlb must be able to read what any
/// older agent wrote.
struct AgentState {
  std::string agent;
  EnvoyState envoy = EnvoyState::Starting;
  std::vector<UnitState> units;
  std::size_t watches = kUsualWatches;
};
std::string encode_state(const AgentState& state);
std::optional<AgentState> decode_state(std::string_view text);

/// Return the state as the target of a symbolic link (kSummaryLink). The engine returns a link's
/// target without opening an archive, so a restarted kindlb reads thirty of them in the time that
/// one file takes. Nothing when the state is too large for a link: then the file is read.
std::optional<std::string> encode_summary(const AgentState& state);
/// Parse a link's target: as encoded, or made absolute by the engine that resolved the link.
std::optional<AgentState> decode_summary(std::string_view target);

// Places inside the proxy container --------------------------------------------------------------
// Part of the protocol: an adopted proxy was made by another version of kindlb, and its agent keeps
// its files where that version put them.
inline constexpr const char* kStateDir = "/var/lib/kindlb";                ///< the volume
inline constexpr const char* kStateFile = "/var/lib/kindlb/state.json";    ///< AgentState
inline constexpr const char* kSummaryLink = "/var/lib/kindlb/summary";     ///< see encode_summary
inline constexpr const char* kAgentSocket = "/var/lib/kindlb/agent.sock";  ///< root only
inline constexpr const char* kXdsDir = "/var/lib/kindlb/xds";              ///< watched by Envoy
inline constexpr const char* kEndpointsDir = "/var/lib/kindlb/xds/eds";    ///< one file per cluster
inline constexpr const char* kBootstrapFile =
    "/etc/kindlb/bootstrap.json";  ///< baked into the image
inline constexpr const char* kAdminSocket =
    "@kindlb-admin";  ///< abstract: the namespace is Envoy's own
inline constexpr const char* kAgentPath = "/usr/local/bin/kindlb-agent";
inline constexpr const char* kEnvoyUidEnv = "KINDLB_ENVOY_UID";  ///< the uid Envoy runs as

}  // namespace kindlb::protocol
