#pragma once
// What kindlb and the agent inside a proxy container say to each other: one JSON object per line,
// each with a "type". Unknown types and unknown fields are ignored, lines beyond kMaxLine refused.
// The agent speaks first, with Hello. Shared by both programs; no I/O here.

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
inline constexpr std::size_t kMaxLine = std::size_t{16} << 20U;

/// Envoy takes an inotify instance for every file it watches, and aborts when it gets none. The
/// kernel allows 128 per uid unless told otherwise; two of them are for listeners and clusters.
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

/// Everything one Service wants of a proxy, complete: an Apply replaces the unit's former content.
struct Unit {
  std::string unit;      ///< the Service's uid
  std::string owner;     ///< "cluster/namespace/name"
  std::string revision;  ///< hash of the content, chosen by kindlb; opaque to the agent
  std::vector<core::Cidr> addresses;
  std::vector<core::Route> routes;
  std::vector<Resource> listeners;
  std::vector<Resource> clusters;
  std::vector<Assignment> assignments;
  /// Where the kernel can filter: the rules for datagrams, and the listeners that rely on them in
  /// the place of `listeners`. Empty when no port needs them.
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
/// Answered by Applied (without a unit) or Rejected/Address.
struct Prepare {
  std::uint64_t id = 0;
  std::vector<core::Cidr> addresses;
};

/// Make the unit true. Answered by Applied or Rejected with the same id. An Apply for the same unit
/// supersedes one still being probed; that one is answered Rejected/Superseded.
struct Apply {
  std::uint64_t id = 0;
  Unit unit;
  std::vector<core::Probe> probes;  ///< each must be tried before Applied is sent
  std::chrono::milliseconds probe_timeout{3'000};
};

/// Take the unit away: listeners, addresses, routes, state. Answered by Applied.
struct Release {
  std::uint64_t id = 0;
  std::string unit;
};

// agent -> kindlb --------------------------------------------------------------------------------

enum class EnvoyState { Starting, Live, Down };

struct UnitState {
  std::string unit;
  std::string owner;
  std::string revision;
  bool acknowledged = false;  ///< Envoy has confirmed that revision since it last started
  std::vector<core::Cidr> addresses;
  std::size_t watches = 0;  ///< how many endpoint files Envoy watches for it

  bool operator==(const UnitState&) const = default;
};

struct Hello {
  int protocol = kProtocolVersion;
  std::string agent;  ///< its version
  EnvoyState envoy = EnvoyState::Starting;
  std::vector<UnitState> units;
  std::size_t watches = kUsualWatches;  ///< how many endpoint files its Envoy can watch
};

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
  Address,     ///< in use by somebody else, or the kernel refused it
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

/// Sent whenever Envoy's state changes. After Live, `units` tells what it acknowledged.
struct Status {
  EnvoyState envoy = EnvoyState::Starting;
  std::uint32_t restarts = 0;  ///< of Envoy, since the container started
  std::string text;            ///< why: "killed by signal 9"
  std::vector<UnitState> units;
};

/// The agent is about to end.
struct Bye {
  std::string reason;
};

using Message = std::variant<Hello, Prepare, Apply, Release, Applied, Rejected, Status, Bye>;

/// One line, newline included.
std::string encode(const Message& message);
/// Nothing for an unknown type or a line that is not a message of ours; `why` then says which.
std::optional<Message> decode(std::string_view line, std::string* why = nullptr);
/// The id in a line of a known type that decode refused, so that whoever waits for its answer can
/// be told. Nothing for unknown types: those are ignored.
std::optional<std::uint64_t> refused_id(std::string_view line);

/// The agent's state file (kStateFile): a JSON object with the units and, per unit, whether Envoy
/// acknowledged it. Written whenever one of these changes; survives the container's restart.
struct AgentState {
  std::string agent;
  EnvoyState envoy = EnvoyState::Starting;
  std::vector<UnitState> units;
  std::size_t watches = kUsualWatches;
};
std::string encode_state(const AgentState& state);
std::optional<AgentState> decode_state(std::string_view text);

/// The same as the target of a symbolic link (kSummaryLink), which the engine tells without opening
/// an archive: a restarted kindlb learns of thirty proxies in the time reading one file takes.
/// Nothing when the state is too large for a link.
std::optional<std::string> encode_summary(const AgentState& state);
/// `target`: as encoded, or made absolute by whoever resolved the link.
std::optional<AgentState> decode_summary(std::string_view target);

// Places inside the proxy container
// ----------------------------------------------------------------
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
