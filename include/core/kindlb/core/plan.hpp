#pragma once
// One Service: what is known of it and of its proxy -> what to do next. Pure and total; planning
// against the world a plan produced yields the empty plan. Slow work is asked for, never done here,
// and what became of it is told by the next world.

#include "kindlb/core/addresses.hpp"
#include "kindlb/core/backends.hpp"
#include "kindlb/core/conditions.hpp"
#include "kindlb/core/eligibility.hpp"
#include "kindlb/core/policy.hpp"
#include "kindlb/core/proxy_config.hpp"
#include "kindlb/core/service.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::core {

/// Names a ProxyConfig's content. `shape` covers what clients can see (addresses, listeners,
/// policies); `flow` the rest (targets, routes), which changes without a word in status. A flow's
/// first letter tells the path, so that a restarted kindlb stays on the one in use.
struct Revision {
  std::string shape;
  std::string flow;

  std::string text() const { return shape.empty() ? "" : shape + "." + flow; }
  static Revision parse(const std::string& text);
  bool empty() const { return shape.empty(); }
  bool through_node_ports() const { return flow.starts_with('n'); }
  bool operator==(const Revision&) const = default;
};

Revision revision_of(const ProxyConfig& config);

enum class Reach { Unknown, Reached, Refused, Unreachable };

/// What is known of the proxy that holds this Service.
struct ProxyView {
  bool present = false;   ///< there is one, claimed for this Service
  bool coming = false;    ///< one is being claimed or created
  bool live = false;      ///< its Envoy runs
  std::string trouble;    ///< why it is not live, in the agent's words
  Revision acknowledged;  ///< confirmed by Envoy since it last started
  Revision sent;          ///< asked for and not answered yet
  Revision rejected;      ///< refused, with `rejection`
  std::string rejection;
  bool address_refused = false;  ///< the rejection is about the address: somebody else has it
  Reach reach = Reach::Unknown;  ///< of the endpoints, over the path of `acknowledged`
  std::string reach_detail;
  std::vector<IpAddress> addresses;  ///< those it holds for this Service

  bool operator==(const ProxyView&) const = default;
};

/// Work that failed outside the proxy (the engine refused a container, say).
struct Trouble {
  std::string message;
  bool operator==(const Trouble&) const = default;
};

/// What was last reported as served: to tell new semantics from former ones that came back.
struct LastReported {
  std::string hash;
  std::string shape;
  bool operator==(const LastReported&) const = default;
};

struct ServiceSnapshot {
  const Service* service = nullptr;
  Slices slices;
  const Nodes* nodes = nullptr;
  /// The docker network by family, with what others hold; empty while the network is unknown.
  std::map<IpFamily, AddressSpace> network;
  std::vector<IpAddress> reserved;  ///< chosen a moment ago, not yet in status
  ProxyView proxy;
  LastReported last_reported;  ///< empty after a restart
  std::optional<Trouble> trouble;
  bool direct_blocked = false;       ///< the direct path was tried and did not get through
  bool direct_proven = false;        ///< it was tried since, and did
  bool retry_direct = false;         ///< time to try it, without leaving the node ports
  std::chrono::milliseconds age{0};  ///< since this kindlb first saw the Service like this
  bool may_allocate = true;          ///< false until everybody who has an address has been seen
  Timestamp now{};
};

enum class Teardown { None, DropFinalizer, TakeBack };

struct Plan {
  std::optional<StatusApply> write;
  std::vector<EventNote> events;
  bool claim = false;                ///< get a proxy for this Service
  std::vector<IpAddress> addresses;  ///< to reserve for it
  bool unreserve = false;            ///< it needs none: what was reserved is free again
  std::vector<Cidr> prepare;         ///< to be checked for duplicates ahead of the apply
  std::optional<ProxyConfig> apply;  ///< to be sent to its proxy
  Revision revision;                 ///< of `apply`
  LastReported last_reported;        ///< set when everything is as asked
  std::vector<Probe> probes;         ///< to be tried with it
  bool may_fall_back = false;        ///< the probes go to pods; node ports are the other way
  bool on_fallback = false;          ///< through node ports, though pods might be reached directly
  bool direct_retried = false;       ///< the proxy has tried the direct way: its reach tells
  bool remove_proxy = false;
  Teardown teardown = Teardown::None;              ///< once no proxy is left
  std::optional<std::chrono::milliseconds> again;  ///< plan again after this, without an event

  bool empty() const {
    return !write && !claim && !apply && !remove_proxy && teardown == Teardown::None;
  }
};

/// How long a Service with a selector may have no EndpointSlice before it is taken to have none.
inline constexpr std::chrono::milliseconds kSliceGrace{3'000};

Plan plan_service(const ServiceSnapshot& snapshot, const Policy& policy);

/// The wish, without regard to how far it is fulfilled. Used by plan_service and by `kindlb plan`.
ProxyConfig wanted_config(const Service& service, const Verdict& verdict,
                          const std::map<IpFamily, Cidr>& addresses,
                          const std::map<IpFamily, Path>& paths);

/// What would become of a Service that nothing stands in the way of: for `kindlb plan`.
struct Prediction {
  Claim claim = Claim::NotOurs;
  Verdict verdict;                    ///< only meaningful for Claim::Ours, as the rest
  std::vector<EventNote> warnings;    ///< annotations that make no sense, and the like
  std::string failure;                ///< set: served in principle, but not here, and why
  std::optional<StatusApply> status;  ///< as it would be written once the work is done
  std::optional<ProxyConfig> config;  ///< what the proxy would be told
};

Prediction predict(const ServiceSnapshot& snapshot, const Policy& policy);

}  // namespace kindlb::core
