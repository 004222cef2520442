#pragma once
// The judge: decides from a Service's status, and from how long it has been that way, whether a
// test waits, proceeds, is skipped or fails. It holds KEP-4631's rules (sections "e2e tests" and
// "Service Lifecycle") and nothing else: no clock, no cluster, no I/O, so every rule has a row in a
// table test and any thread may call it. docs/conformance.md lists the rules for users, and the
// choices made where the KEP leaves one.

#include "kindlb/core/service.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::conformance {

using std::chrono::milliseconds;

/// What is known about the cluster's load-balancer provider. Determined once per run, with a plain
/// Service, because the rules for the tests depend on it.
enum class Provider {
  Unknown,            ///< not determined yet
  None,               ///< no reaction to a Service within Limits::conditions
  WithoutConditions,  ///< provisions load balancers, but writes no conditions
  WithConditions,     ///< writes LoadBalancerServing or LoadBalancerProvisioning
};

/// The part of a Service that the rules look at.
struct ObservedStatus {
  std::vector<core::Condition> conditions;  ///< those whose type begins with "LoadBalancer"
  bool has_address = false;                 ///< .status.loadBalancer.ingress is not empty
  bool has_finalizer = false;  ///< service.kubernetes.io/load-balancer-cleanup: a provider took it

  bool operator==(const ObservedStatus&) const = default;
};
ObservedStatus observed_status(const core::Service& service);

/// What a test requires of the provider.
struct Requirements {
  /// A refusal (Serving=False/Unsupported) skips the test. Otherwise it fails the test, because the
  /// KEP requires every provider to pass it.
  bool optional = false;
  /// The features under test, by their names in requiredLoadBalancerFeatures.
  std::vector<std::string> features;
  /// The provider could read that these features are required: the API server kept the field, or an
  /// annotation carries them. A provider that does not know cannot be blamed for degrading.
  bool declared = false;
};

/// How long things may take. The KEP gives conditions 30 s; how long provisioning takes depends on
/// the cloud, so its limit is generous.
struct Limits {
  milliseconds conditions{30'000};     ///< until conditions appear or reflect a change
  milliseconds provisioning{600'000};  ///< until it is served, from the request on
};

/// How long the test has waited when a status is judged.
struct Waited {
  milliseconds total{0};  ///< since the Service was created or changed
  /// Since the status last changed. A provider may need two writes for one step, so a state that is
  /// only valid between them is tolerated while it is this young.
  milliseconds unchanged{0};
};

/// Ends the reason of an optional test that is skipped because the provider writes no conditions.
inline constexpr const char* kCannotTell =
    "; without conditions, unsupported cannot be told from broken";

enum class Step { Wait, Proceed, Skip, Fail };

struct Judgement {
  Step step = Step::Wait;
  std::string reason;  ///< what the test waits for, or why it ends; empty for Proceed

  bool operator==(const Judgement&) const = default;
};

/// Determine the kind of provider from a Service that requires nothing special. `with_address`: how
/// long it has had an address. Unknown: look again later.
Provider judge_provider(const ObservedStatus& observed, milliseconds elapsed,
                        milliseconds with_address, const Limits& limits);

/// Judge a Service that was turned into type LoadBalancer.
Judgement judge_creation(const Requirements& required, Provider provider,
                         const ObservedStatus& observed, const Waited& waited,
                         const Limits& limits);

/// A change of load-balancer-related fields.
struct Change {
  ObservedStatus before;  ///< as read just before the change
  bool visible = true;    ///< clients can tell the difference, so Serving's time must move, too
};
/// Judge a Service after a change, for a provider that writes conditions; without them there is
/// nothing to go by. Never skips: a test is skipped at its beginning or not at all, so what was
/// served before a change must be served after it.
Judgement judge_change(const Requirements& required, const Change& change,
                       const ObservedStatus& observed, const Waited& waited, const Limits& limits);

/// What the pods behind a Service with externalTrafficPolicy Local see of a client's address.
enum class ClientAddress {
  Preserved,
  Translated,  ///< another public address: the network on the way may have done that
  Lost,        ///< an address of the cluster's side
};
/// Judge whether the provider is honest about it: it must report LoadBalancerDegraded if the
/// address is lost. The opposite is no violation, since Degraded only says that the load balancer
/// "may not fully implement the semantics": Proceed then has a reason, which is a remark.
Judgement judge_local(ClientAddress seen, const ObservedStatus& observed);

/// One version of a Service under test, as it was observed.
struct ObservedVersion {
  ObservedStatus status;
  /// The provider under test has to look after it: type LoadBalancer of its class, not deleted.
  bool concerns_provider = true;
  /// No version was missed since the one observed before. Rules about a step from one version to
  /// the next do not apply where the step was not seen.
  bool follows = true;
};
/// Return the KEP's rules that single versions of a Service break, each once, in the order in which
/// they were broken. Only for a provider that writes conditions. There is no grace here: a version
/// that lived for a millisecond misleads whoever reads it. A version is not judged if its
/// conditions and addresses are those of the one before: then it is about something else.
std::vector<std::string> judge_versions(const std::vector<ObservedVersion>& versions);

/// "Serving=False/Provisioning, Provisioning=True/Provisioning", for progress and reasons.
std::string describe(const ObservedStatus& observed);

}  // namespace kindlb::conformance
