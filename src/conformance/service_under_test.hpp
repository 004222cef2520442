#pragma once
// One Service under test: made, changed, judged by its conditions, and spoken to. Deleted with the
// object, if it was made.

#include "test_context.hpp"
#include "traffic.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace kindlb::conformance {

struct Port {
  const char* protocol = "TCP";
  std::uint16_t number = 80;
};
inline constexpr Port kWeb{"TCP", 80};

struct ServiceTemplate {
  std::vector<Port> ports{kWeb};
  Json spec = Json::object();                ///< fields of the spec that every type has
  Json load_balancer_spec = Json::object();  ///< those that only type LoadBalancer has
  Json selector = nullptr;                   ///< null: the pods that all tests share
  std::size_t endpoint_families = 1;         ///< of endpoints that must be there; 0: none need be
};

class ServiceUnderTest {
 public:
  explicit ServiceUnderTest(TestContext& context, const std::string& suffix = "");
  ~ServiceUnderTest();
  ServiceUnderTest(const ServiceUnderTest&) = delete;
  ServiceUnderTest& operator=(const ServiceUnderTest&) = delete;

  /// As ClusterIP, with endpoints: the load balancer is then expected to work at once.
  EarlyEnd create(const ServiceTemplate& wanted);
  /// Ready ones, of that many families.
  EarlyEnd await_endpoints(std::size_t families);
  /// Makes it of type LoadBalancer and states what is required. `more`: fields of the spec beside
  /// those of the wanted.
  EarlyEnd request_load_balancer(const Json& more = Json::object());
  /// Waits for the KEP's judgement: that it is served, and nobody is working on it any more.
  EarlyEnd await_served();
  EarlyEnd become_load_balancer(const Json& more = Json::object());
  EarlyEnd publish(const ServiceTemplate& wanted);
  /// Merges into the spec and waits until the provider has told that it has effect.
  EarlyEnd change(const Json& spec, bool visible = true);
  /// Merges into the spec, and that is all.
  EarlyEnd patch(const Json& spec);
  /// Deletes it and waits until it is gone.
  EarlyEnd remove();
  /// The addresses in the status are those that it was first served on.
  EarlyEnd check_addresses_kept() const;
  /// Waits until the Service as it is in the API fulfils the wanted.
  EarlyEnd await_state(const std::string& what,
                       const std::function<bool(const core::Service&)>& wanted);

  core::Result<core::Service> fetch() const;
  /// What requiredLoadBalancerFeatures said reached the provider.
  bool declared() const { return declared_; }

  /// All addresses answer on that port, at once if conditions promised it.
  EarlyEnd check_answers(const Port& port);
  /// They do before long: for what may be up to kube-proxy, of which no condition tells.
  EarlyEnd await_answers(const Port& port);
  /// None of them does after a while, for the same reason.
  EarlyEnd await_closed(const Port& port);
  /// One question over a connection of its own, to the first address.
  core::Result<std::string> query(const Port& port, const std::string& path = "/hostname");
  /// The names of those who answer `count` connections one after the other, all of which must work.
  EarlyEnd collect_pod_names(std::size_t count, std::set<std::string>& into);
  /// So many work one after the other: at once if conditions promised it, else before long.
  EarlyEnd check_connections(std::size_t count);

  const std::vector<core::IpAddress>& addresses() const { return addresses_; }
  core::Target target(const Port& port) const { return {addresses_.front(), port.number}; }
  /// Why the API did not take it, after create() or become_load_balancer() ended the test.
  const std::optional<core::Error>& refusal() const { return refusal_; }

  /// "ports" of a spec for these.
  Json ports_of(const std::vector<Port>& ports) const;

 private:
  std::string path() const;
  EarlyEnd await(const std::function<Judgement(const ObservedStatus&, const Waited&)>& judge);
  EarlyEnd find_addresses();
  EarlyEnd check_answers_within(milliseconds limit, const core::IpAddress& address,
                                const Port& port);
  core::Result<std::string> query_at(const core::IpAddress& address, const Port& port,
                                     const std::string& path);

  TestContext& context_;
  Environment& env_;
  const std::string name_;
  ServiceTemplate template_;
  bool created_ = false;  ///< by us: another's of that name is not ours to delete
  bool declared_ = false;
  std::optional<core::Error> refusal_;
  std::vector<std::string> ingress_points_;  ///< of the status; addresses_ are what they mean
  std::vector<core::IpAddress> addresses_;
  std::chrono::steady_clock::time_point last_judged_;
};

}  // namespace kindlb::conformance
