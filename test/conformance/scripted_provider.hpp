#pragma once
// A small cluster around a real API server: endpoints appear for Services with a selector, and a
// provider with a chosen behaviour looks after those of type LoadBalancer in one namespace. Its
// load balancers are listeners of this process, each Service with a loopback address of its own.

#include "conformance/pods.hpp"
#include "support/servers/kube_server.hpp"

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <memory>
#include <string>
#include <thread>

namespace kindlb::conformance {

enum class Behaviour {
  Absent,                   ///< does nothing
  Good,                     ///< serves, and says so
  WithoutConditions,        ///< serves, without conditions
  AffinityForever,          ///< the same, and affinity never ends
  Refusing,                 ///< Unsupported, whatever it is
  NoAffinity,               ///< serves, but degrades session affinity
  NeverReady,               ///< provisions for ever
  Broken,                   ///< Infrastructure
  FalseClaim,               ///< says that it serves, and nobody listens
  IgnoresChanges,           ///< serves, but does not tell that it saw a change
  SilentlyWithoutAffinity,  ///< says nothing of having no affinity
  AddressFirst,             ///< serves, but fills in the address one write before the conditions
  UnknownFirst,             ///< serves, but begins with Unknown, for one write
  TouchesOtherClasses,      ///< writes a condition to a Service of another class, and removes it
  HidesClients,             ///< serves, and its pods see another address than the client's
  AdmitsHiding,             ///< the same, and says so
};

class ScriptedProvider {
 public:
  ScriptedProvider(test::KubeServer& server, std::string ns, Behaviour behaviour);
  ~ScriptedProvider();
  ScriptedProvider(const ScriptedProvider&) = delete;
  ScriptedProvider& operator=(const ScriptedProvider&) = delete;

 private:
  struct LoadBalancer {
    core::IpAddress address;
    std::string spec;  ///< last acted on
    int changes = 0;
    std::map<std::uint16_t, std::unique_ptr<Pods>> listeners;
  };

  void run(const std::stop_token& stop);
  void pass();
  void put_endpoints(const std::string& service);
  void serve(const nlohmann::json& service);
  void release(const nlohmann::json& service);
  void touch(const nlohmann::json& service);
  void write_early(const std::string& path, const nlohmann::json& status);
  bool without_conditions() const;
  bool hides_clients() const;
  bool listens() const;
  nlohmann::json status_of(const LoadBalancer& load_balancer, const nlohmann::json& spec) const;
  void write(const nlohmann::json& service, const nlohmann::json& status, bool finalizer);

  test::Rest rest_;
  const std::string ns_;
  const Behaviour behaviour_;
  std::map<std::string, LoadBalancer> load_balancers_;  ///< by uid
  std::map<std::string, std::string> sliced_;  ///< uids of Services that have endpoints, by name
  unsigned addresses_ = 0;
  std::jthread thread_;
};

}  // namespace kindlb::conformance
