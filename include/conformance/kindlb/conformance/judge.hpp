#pragma once
// What a Service's status means for a test: KEP-4631's rules ("e2e tests", and "Service Lifecycle")
// as functions of what was seen and for how long. Pure: no clock, no cluster. The rules, and where
// the KEP leaves a choice, are in docs/conformance.md.

#include "kindlb/core/service.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::conformance {

using std::chrono::milliseconds;

/// What is known of whoever provides load balancers.
enum class Provider {
  Unknown,            ///< nothing yet
  None,               ///< nobody took up a Service within the time the KEP gives
  WithoutConditions,  ///< provisions, but writes no conditions
  WithConditions,     ///< writes LoadBalancerServing or LoadBalancerProvisioning
};

/// The part of a Service's status that counts.
struct ObservedStatus {
  std::vector<core::Condition> conditions;
  bool has_address = false;    ///< .status.loadBalancer.ingress has entries
  bool has_finalizer = false;  ///< the clean-up finalizer: somebody is at work

  bool operator==(const ObservedStatus&) const = default;
};
ObservedStatus observed_status(const core::Service& service);

/// What a test asks of the provider.
struct Requirements {
  /// A refusal (Unsupported) skips; otherwise it fails, since every provider must do this.
  bool optional = false;
  /// Features, by their names in requiredLoadBalancerFeatures, that the test is about.
  std::vector<std::string> features;
  /// The provider was told that they are required.
  bool declared = false;
};

/// How long things may take.
struct Limits {
  milliseconds conditions{30'000};     ///< until conditions appear, or tell of a change
  milliseconds provisioning{600'000};  ///< until it serves, once they have appeared
};

/// For how long, when a ObservedStatus is judged.
struct Waited {
  milliseconds total{0};  ///< since the Service was made or changed
  milliseconds unchanged{
      0};  ///< since the ObservedStatus became what it is: two writes may make one step
};

enum class Step { Wait, Proceed, Skip, Fail };

struct Judgement {
  Step step = Step::Wait;
  std::string reason;  ///< what is waited for, or why it ends; empty for Go

  bool operator==(const Judgement&) const = default;
};

/// Who provides, from a Service that asks for nothing special. `with_address`: for how long it has
/// had an address. Unknown: look again.
Provider judge_provider(const ObservedStatus& observed, milliseconds elapsed,
                        milliseconds with_address, const Limits& limits);

/// After a Service has become one of type LoadBalancer.
Judgement judge_creation(const Requirements& required, Provider provider,
                         const ObservedStatus& observed, const Waited& waited,
                         const Limits& limits);

/// A change of load-balancer-related fields, made when `before` was seen.
struct Change {
  ObservedStatus before;
  bool visible = true;  ///< clients can tell the difference: Serving's time must move too
};
/// For a provider that writes conditions; the others cannot be asked. Nothing is optional any more:
/// a test skips once, at its beginning.
Judgement judge_change(const Requirements& required, const Change& change,
                       const ObservedStatus& observed, const Waited& waited, const Limits& limits);

/// "Serving=False/Provisioning, Provisioning=True/Provisioning", for people.
std::string describe(const ObservedStatus& observed);

}  // namespace kindlb::conformance
