#pragma once
// One Service under test: created, changed, judged by its conditions, and queried through its load
// balancer. Used by its test's thread only. The destructor deletes the Service if this object has
// created it, without waiting; the clean-up of the run waits.

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
  Json spec = Json::object();                ///< fields that are valid for every type
  Json load_balancer_spec = Json::object();  ///< fields that only type LoadBalancer allows
  Json selector = nullptr;                   ///< null: the pods that the tests share
  std::size_t endpoint_families = 1;         ///< families that must have endpoints; 0: do not wait
  bool born_as_load_balancer = false;        ///< create() requests the load balancer at once
};

class ServiceUnderTest {
 public:
  explicit ServiceUnderTest(TestContext& context, const std::string& suffix = "");
  ~ServiceUnderTest();
  ServiceUnderTest(const ServiceUnderTest&) = delete;
  ServiceUnderTest& operator=(const ServiceUnderTest&) = delete;

  /// Create the Service with type ClusterIP and wait for endpoints. They are there before a load
  /// balancer is requested, so that it is fair to demand that it works at once. (It is not if the
  /// template has born_as_load_balancer.)
  EarlyEnd create(const ServiceTemplate& wanted);
  /// Wait for ready endpoints of that many families.
  EarlyEnd await_endpoints(std::size_t families);
  /// Change the type to LoadBalancer and declare the required features. `more`: further fields of
  /// the spec.
  EarlyEnd request_load_balancer(const Json& more = Json::object());
  /// Wait until the judge lets the test proceed: Serving=True, Provisioning=False, an address.
  EarlyEnd await_served();
  EarlyEnd become_load_balancer(const Json& more = Json::object());
  EarlyEnd publish(const ServiceTemplate& wanted);
  /// Merge into the spec, and wait until the provider reports that the change has taken effect.
  EarlyEnd change(const Json& spec, bool visible = true);
  /// Merge into the spec without waiting.
  EarlyEnd patch(const Json& spec);
  /// Return whether the API server keeps these fields of a Service of type LoadBalancer. Creates
  /// nothing.
  core::Result<bool> api_keeps(const Json& fields) const;
  /// Send the Service's manifest again, with these fields, as kubectl would: by server-side apply
  /// and by a strategic merge patch with kubectl's annotation. Neither may change anything else.
  EarlyEnd apply_again(const Json& fields);
  /// Delete the Service and wait until it is gone.
  EarlyEnd remove();
  /// Check that the status has the same addresses as when it was first served.
  EarlyEnd check_addresses_kept() const;
  /// Wait until the Service in the API satisfies `holds`.
  EarlyEnd await_state(const std::string& what,
                       const std::function<bool(const core::Service&)>& holds);

  core::Result<core::Service> fetch() const;
  /// Return the spec as it is in the API.
  core::Result<Json> fetch_spec() const;
  /// Return all versions up to the present one.
  core::Result<std::vector<ServiceVersion>> versions() const;
  /// Whether the provider could read the required features; see Requirements::declared.
  bool declared() const { return declared_; }

  /// Check that all addresses answer on that port: at once if the provider writes conditions, since
  /// Serving=True promises it; otherwise within the provisioning limit.
  EarlyEnd check_answers(const Port& port);
  /// Wait until they answer, within propagation_timeout(): for effects of kube-proxy.
  EarlyEnd await_answers(const Port& port);
  /// Wait until none of them answers, within the same limit.
  EarlyEnd await_closed(const Port& port);
  /// Send one request over a new connection to the first address.
  core::Result<std::string> query(const Port& port, const std::string& path = "/hostname");
  /// Open `count` connections one after the other, all of which must work; collect the names of the
  /// pods that answered.
  EarlyEnd collect_pod_names(std::size_t count, std::set<std::string>& into);
  /// Check that `count` connections in a row work, with the same limits as check_answers().
  EarlyEnd check_connections(std::size_t count);

  const std::vector<core::IpAddress>& addresses() const { return addresses_; }
  core::Target target(const Port& port) const { return {addresses_.front(), port.number}; }
  /// The API server's error, if create() or become_load_balancer() ended the test because of one.
  const std::optional<core::Error>& refusal() const { return refusal_; }

  /// Return the "ports" of a spec, with the workload's target ports.
  Json ports_of(const std::vector<Port>& ports) const;

 private:
  std::string path() const;
  Json load_balancer_fields(const Json& more) const;
  Json manifest(const Json& spec) const;
  /// Return the present version, or a later one, once the watch has recorded all up to it. Where
  /// the watch does not, it is recorded from here, and that some may be missing.
  core::Result<core::Service> current() const;
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
  bool created_ = false;  ///< by this object; a foreign Service of that name is left alone
  bool declared_ = false;
  std::optional<core::Error> refusal_;
  std::vector<std::string> ingress_points_;  ///< IPs and host names of the status
  std::vector<core::IpAddress> addresses_;   ///< the same, host names resolved
  std::chrono::steady_clock::time_point last_judged_;
};

}  // namespace kindlb::conformance
