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

struct Wish {
  std::vector<Port> ports{kWeb};
  Json any = Json::object();       ///< fields of the spec that every type has
  Json balancer = Json::object();  ///< those that only type LoadBalancer has
  Json selector = nullptr;         ///< null: the pods that all tests share
  std::size_t families = 1;        ///< of endpoints that must be there; 0: none need be
};

class Balancer {
 public:
  explicit Balancer(Scene& scene, const std::string& suffix = "");
  ~Balancer();
  Balancer(const Balancer&) = delete;
  Balancer& operator=(const Balancer&) = delete;

  /// As ClusterIP, with endpoints: the load balancer is then expected to work at once.
  End create(const Wish& wish);
  /// Ready ones, of that many families.
  End await_endpoints(std::size_t families);
  /// Makes it of type LoadBalancer and states what is required. `more`: fields of the spec beside
  /// those of the wish.
  End request(const Json& more = Json::object());
  /// Waits for the KEP's judgement: that it is served, and nobody is working on it any more.
  End await_service();
  End become_balancer(const Json& more = Json::object());
  End publish(const Wish& wish);
  /// Merges into the spec and waits until the provider has told that it has effect.
  End change(const Json& spec, bool visible = true);
  /// Merges into the spec, and that is all.
  End patch(const Json& spec);
  /// Deletes it and waits until it is gone.
  End remove();
  /// The addresses in the status are those that it was first served on.
  End keeps_addresses() const;
  /// Waits until the Service as it is in the API fulfils the wish.
  End shows(const std::string& what, const std::function<bool(const core::Service&)>& wish);

  core::Result<core::Service> look() const;
  /// What requiredLoadBalancerFeatures said reached the provider.
  bool stated() const { return stated_; }

  /// All addresses answer on that port, at once if conditions promised it.
  End answers(const Port& port);
  /// They do before long: for what may be up to kube-proxy, of which no condition tells.
  End answers_soon(const Port& port);
  /// None of them does after a while, for the same reason.
  End falls_silent(const Port& port);
  /// One question over a connection of its own, to the first address.
  core::Result<std::string> ask(const Port& port, const std::string& path = "/hostname");
  /// The names of those who answer `count` connections one after the other, all of which must work.
  End names(std::size_t count, std::set<std::string>& into);
  /// So many work one after the other: at once if conditions promised it, else before long.
  End all_answer(std::size_t count);

  const std::vector<core::IpAddress>& addresses() const { return addresses_; }
  core::Target target(const Port& port) const { return {addresses_.front(), port.number}; }
  /// Why the API did not take it, after create() or become_balancer() ended the test.
  const std::optional<core::Error>& refusal() const { return refusal_; }

  /// "ports" of a spec for these.
  Json ports_of(const std::vector<Port>& ports) const;

 private:
  std::string path() const;
  End await(const std::function<Judgement(const Sight&, const Waited&)>& judge);
  End find_addresses();
  End answers_within(milliseconds limit, const core::IpAddress& address, const Port& port);
  core::Result<std::string> ask_at(const core::IpAddress& address, const Port& port,
                                   const std::string& path);

  Scene& scene_;
  World& world_;
  const std::string name_;
  Wish wish_;
  bool made_ = false;  ///< by us: another's of that name is not ours to delete
  bool stated_ = false;
  std::optional<core::Error> refusal_;
  std::vector<std::string> points_;  ///< of the status; addresses_ are what they mean
  std::vector<core::IpAddress> addresses_;
  std::chrono::steady_clock::time_point settled_;
};

}  // namespace kindlb::conformance
