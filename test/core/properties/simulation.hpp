#pragma once
// A cluster, an engine and a kindlb in a few hundred bytes: Services in an API, proxies that
// answer, and random events, all from one seed. Plans are carried out piece by piece, and kindlb
// may die after any of them, which makes it forget everything but the API and the proxies. Every
// promise that is seen broken is noted in `broken`.

#include "kindlb/core/plan.hpp"
#include "kindlb/core/recovery.hpp"
#include "support/builders.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kindlb::test {

/// xorshift64*: the same numbers on every machine.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {}
  std::uint32_t below(std::uint32_t limit) { return next() % limit; }
  bool one_in(std::uint32_t n) { return below(n) == 0; }

 private:
  std::uint32_t next() {
    state_ ^= state_ >> 12U;
    state_ ^= state_ << 25U;
    state_ ^= state_ >> 27U;
    return static_cast<std::uint32_t>((state_ * 0x2545f4914f6cdd1dU) >> 32U);
  }
  std::uint64_t state_;
};

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed);

  /// One random event: an edit, a fault, a change of the cluster, a crash.
  void random_event();
  /// Plans and delivers until every plan is empty; false if that does not end.
  bool settle();
  /// Checks that every Service got what its present form asks for.
  void check_outcome();
  /// The plan for the same facts in another order must be the same; tried with one Service.
  void check_order();

  const std::vector<std::string>& broken() const { return broken_; }
  std::size_t plans() const { return plans_; }

 private:
  struct Container {
    bool live = true;
    std::string trouble;
    core::ProxyConfig config;
    core::Revision acknowledged;
    std::vector<core::IpAddress> addresses;
  };
  /// What kindlb knows and forgets when it dies.
  struct Memory {
    core::ServiceMemory kept;
    bool coming = false;
    core::Plan sent;  ///< its apply is on the way to the proxy
    core::Revision rejected;
    core::Reach reach = core::Reach::Unknown;
  };
  struct Subject {
    std::optional<core::Service> object;
    std::vector<core::EndpointSlice> slices;
    bool slices_lag = false;  ///< they still have the ports of an earlier spec
    std::optional<Container> container;
    Memory memory;
    bool engine_fails = false;   ///< the next claim
    bool envoy_rejects = false;  ///< the next apply
  };

  Subject& random_subject();
  void choose_policy();
  void create(Subject& subject);
  void edit(Subject& subject);
  void edit_ports(core::Service& service);
  void edit_request(core::Service& service);
  void edit_annotation(core::Service& service);
  void move_endpoints(Subject& subject);
  /// The EndpointSlice controller has seen the Service as it is.
  void update_slices(Subject& subject);
  /// Lets the EndpointSlice controller catch up with everything; false if it had.
  bool update_all_slices();
  void inject_fault(Subject& subject);
  void change_nodes();
  void crash();

  std::map<core::IpFamily, core::AddressSpace> network_for(const Subject& subject) const;
  core::Verdict verdict_on(const Subject& subject) const;
  core::ServiceSnapshot view(const Subject& subject) const;
  core::ProxyView proxy_view(const Subject& subject) const;
  std::set<core::IpAddress> taken_by_others(const Subject& subject) const;
  core::Plan plan(const Subject& subject);
  /// True if there was something to do.
  bool step(Subject& subject);
  void carry_out(Subject& subject, const core::Plan& plan);
  void write(Subject& subject, const core::Plan& plan);
  /// The conditions as kindlb reported them, whatever the API server kept.
  std::vector<core::Condition> reported_conditions(const Subject& subject) const;
  void tear_down(Subject& subject, core::Teardown how);
  /// What was under way gets its answer; true if there was something.
  bool deliver(Subject& subject);
  void answer_apply(Subject& subject);
  /// What the back-off does: forgets a failure, and tries the other way when pods were out of
  /// reach. False if there was no failure.
  bool retry(Subject& subject);
  bool anything_pending() const;

  void check_plan(const Subject& subject, const core::Plan& plan);
  void check_kept(const Subject& subject, const core::Verdict& verdict, const core::Plan& plan);
  void check_write(const Subject& subject, const core::StatusApply& write);
  void check_serving(const Subject& subject, const core::StatusApply& write);
  void check_claim(const Subject& subject, const core::StatusApply& write);
  void check_times(const Subject& subject, const core::StatusApply& write);
  void check_addresses();
  void check_refused(const Subject& subject);
  void check_served(const Subject& subject, const core::Verdict& verdict);
  void check_unserved(const Subject& subject, const core::Verdict& verdict);
  void expect(bool holds, const char* promise);
  /// There is a way to the endpoints for sure, and an address for each family.
  bool can_be_served(const Subject& subject, const core::Verdict& verdict) const;
  bool way_exists(const core::Service& service) const;
  bool has_room(const Subject& subject, const core::Verdict& verdict) const;

  Dice dice_;
  core::Policy policy_;
  Drops drops_;  ///< what the API server does not keep
  core::Nodes nodes_;
  std::map<core::IpFamily, core::AddressSpace> network_ = {
      {core::IpFamily::V4,
       {.subnet = cidr("172.18.0.0/28"),
        .taken = {ip("172.18.0.1"), ip("172.18.0.2"), ip("172.18.0.3")},
        .pools = {}}}};
  std::vector<Subject> subjects_;
  core::Verdict verdict_;  ///< on the Service whose plan is being carried out
  core::Timestamp now_ = at(1000);
  bool direct_works_ = true;
  bool may_crash_ = true;
  unsigned births_ = 0;
  std::size_t plans_ = 0;
  std::vector<std::string> broken_;
};

}  // namespace kindlb::test
