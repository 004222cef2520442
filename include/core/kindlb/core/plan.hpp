#pragma once
// Plan one Service: from a snapshot of what is known of it and of its proxy to what to do next.
// Pure and total. Slow work is requested in the plan, never done here; its outcome arrives with the
// next snapshot.
//
// Invariants (checked by test/core/properties against a simulated cluster that may crash anywhere):
// - Convergence: planning against the state that a plan produced yields the empty plan.
// - Finalizer before effect: no proxy is claimed before the finalizer, kindlb.dev/observed and the
//   first conditions have been accepted by the API server, so that nothing leaks when the Service
//   is deleted (docs/contract.md §1).
// - Adoption before allocation: a new address is allocated only once `may_allocate` says that all
//   Services and proxies have been seen. Until then only addresses that a Service already holds are
//   used, so a restarted kindlb cannot give one Service's address to another.
// - No interruption: an update keeps the previous configuration in service until the new one is
//   acknowledged by Envoy and probed (§2, meaning of Serving=True).

#include "kindlb/core/addresses.hpp"
#include "kindlb/core/backends.hpp"
#include "kindlb/core/conditions.hpp"
#include "kindlb/core/eligibility.hpp"
#include "kindlb/core/path_fallback.hpp"
#include "kindlb/core/policy.hpp"
#include "kindlb/core/proxy_config.hpp"
#include "kindlb/core/service.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::core {

/// How a configuration reaches the endpoints. Unknown: no configuration, or a text that does not
/// say it.
enum class PathKind { Unknown, Direct, NodePorts };

/// Identify a ProxyConfig's content by two hashes and its path. `shape` covers what clients can see
/// (addresses, listeners, policies): a change of it is new semantics and moves Serving's transition
/// time. `flow` covers the rest (targets, routes), which changes with the endpoints and never
/// touches status. The agent keeps the text, so a restarted kindlb knows which path is in use.
struct Revision {
  std::string shape;
  PathKind path = PathKind::Unknown;
  std::string flow;

  /// "shape.dflow" (direct) or "shape.nflow" (node ports). Agents of other versions hold such
  /// texts: whatever they hold survives parse() and text().
  std::string text() const;
  static Revision parse(const std::string& text);
  bool empty() const { return shape.empty(); }
  bool through_node_ports() const { return path == PathKind::NodePorts; }
  bool operator==(const Revision&) const = default;
};

Revision revision_of(const ProxyConfig& config);

/// What is known of the proxy that serves this Service. The three revisions form its state machine:
/// `sent` until the agent answers, then `acknowledged` or `rejected`; at most one is in flight.
struct ProxyView {
  bool present = false;   ///< one is assigned to this Service
  bool coming = false;    ///< one is being assigned or created
  bool live = false;      ///< its Envoy runs
  std::string trouble;    ///< why it is not live; with `coming`: why the former one is replaced
  Revision acknowledged;  ///< confirmed by Envoy since it last started
  Revision sent;          ///< in flight: not answered yet
  Revision rejected;      ///< refused, with `rejection`
  Revision retried;       ///< refused before, with `rejection`, and tried again
  std::string rejection;
  bool address_refused = false;  ///< rejected because another host answers for the address
  Reach reach = Reach::Unknown;  ///< of the endpoints, over the path of `acknowledged`
  std::string reach_detail;
  std::vector<IpAddress> addresses;  ///< those it holds for this Service

  bool operator==(const ProxyView&) const = default;
};

/// Work that failed outside the proxy, for example a container that the Docker engine refused.
struct Trouble {
  std::string message;
  bool operator==(const Trouble&) const = default;
};

/// What was last reported as served, in memory only. Distinguishes new semantics, which move
/// Serving's transition time, from unchanged ones that are served again after a failure.
struct LastReported {
  std::string hash;
  std::string shape;
  bool operator==(const LastReported&) const = default;
};

/// What passes over one Service leave to the next. Only what cannot be observed, so that losing it
/// in a restart costs time, never an address.
struct ServiceMemory {
  std::vector<IpAddress> reserved;  ///< chosen by an earlier plan, perhaps not in the status yet
  LastReported last_reported;       ///< empty after a restart
  std::optional<Trouble> trouble;
  PathState path;
  std::optional<Report> report;  ///< absent after a restart

  bool operator==(const ServiceMemory&) const = default;
};

/// Everything plan_service decides on. Borrowed pointers must outlive the call.
struct ServiceSnapshot {
  const Service* service = nullptr;
  Slices slices;
  const Nodes* nodes = nullptr;
  /// The docker network by family, with the addresses in use; empty while it is not known yet.
  std::map<IpFamily, AddressSpace> network;
  ProxyView proxy;
  ServiceMemory memory;
  std::chrono::milliseconds age{0};  ///< since this process first saw the Service with this spec
  bool may_allocate = true;          ///< false until all holders of addresses have been listed
  bool nodes_running = true;         ///< all nodes of the cluster, as the engine tells
  Timestamp now{};
};

/// How to end responsibility for a Service: drop the finalizer of a deleted one, or remove all
/// fields we own from one that lives on with another type or class.
enum class Teardown { None, DropFinalizer, TakeBack };

/// What to do next. Carried out in this order: start_proxy, write, claim, apply, remove_proxy,
/// teardown; a crash after any of them is recovered by the next plan.
struct Plan {
  /// Start the proxy's container if it is stopped. Only while all nodes run: before that, a proxy
  /// could be given a node's address and break the cluster (docs/contract.md §5).
  bool start_proxy = false;
  std::optional<StatusApply> write;
  std::optional<Report> report;   ///< what the Service is reported to be: in force with the answer
                                  ///< to `write`, or at once if there is nothing to write
  std::vector<EventNote> events;  ///< after `write`, if there is one
  bool claim = false;             ///< assign a proxy to this Service
  std::vector<IpAddress> addresses;  ///< reserve these for it
  bool unreserve = false;            ///< release what was reserved for it
  std::vector<Cidr> prepare;         ///< start duplicate address detection ahead of `apply`
  std::optional<ProxyConfig> apply;  ///< send this to its proxy
  Revision revision;                 ///< of `apply`
  LastReported last_reported;        ///< set in phase Serving
  std::vector<Probe> probes;         ///< run these with `apply`
  bool may_fall_back = false;        ///< the probes use the direct path, and node ports are allowed
  bool on_fallback = false;          ///< served through node ports; the direct path may be retried
  bool direct_retried = false;       ///< the proxy's `reach` is that of a direct retry
  bool remove_proxy = false;
  Teardown teardown = Teardown::None;              ///< only when no proxy is left
  std::optional<std::chrono::milliseconds> again;  ///< plan again after this delay

  bool empty() const {
    return !write && events.empty() && !claim && !apply && !remove_proxy &&
           teardown == Teardown::None;
  }
};

/// How long the EndpointSlices may take to follow a change of the Service (KEP-4631, test plan:
/// KubeProxyEndpointLagTimeout). The controller creates one even when no pod matches, so that no
/// slice at all means "not seen yet" as well.
inline constexpr std::chrono::milliseconds kSliceGrace{30'000};

/// Return what to do next for one Service.
Plan plan_service(const ServiceSnapshot& snapshot, const Policy& policy);

/// Return what to do next to release a Service as if it were no longer ours (`--on-exit delete`).
Plan plan_drain(const ServiceSnapshot& snapshot);

/// Build the complete proxy configuration for a verdict, independent of what the proxy has already.
ProxyConfig wanted_config(const Service& service, const Verdict& verdict,
                          const std::map<IpFamily, Cidr>& addresses,
                          const std::map<IpFamily, Path>& paths);

/// The outcome for a Service if all infrastructure works: the substance of `kindlb plan`.
struct Prediction {
  Claim claim = Claim::NotOurs;
  Verdict verdict;                    ///< this and the rest only for Claim::Ours
  std::vector<EventNote> warnings;    ///< about annotations that were ignored
  std::string failure;                ///< set: why a supported Service cannot be served here
  std::optional<StatusApply> status;  ///< as written once the work is done
  std::optional<ProxyConfig> config;  ///< as sent to the proxy
};

/// Predict the end state without a cluster: the same verdict, addresses and conditions that
/// plan_service reaches once a proxy has acknowledged everything.
Prediction predict(const ServiceSnapshot& snapshot, const Policy& policy);

}  // namespace kindlb::core
