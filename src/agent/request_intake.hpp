#pragma once
// Takes a request from its arrival to the queue for Envoy: the address check, what it needs in the
// network namespace, the announcement to neighbours, the start of its probes. From the queue on it
// is EnvoyUpdates' business; the state of requests is in Requests.
//
// Runs on the loop, which must outlive it as must the others; not thread-safe.

#include "network/address_checks.hpp"
#include "network/network_sync.hpp"
#include "requests.hpp"

#include <functional>

namespace kindlb::agent {

class RequestIntake {
 public:
  /// `queued`: there are requests for the next update.
  RequestIntake(Loop& loop, Requests& requests, AddressChecks& checks, NetworkSync& network,
                std::function<void()> queued)
      : loop_(loop),
        requests_(requests),
        checks_(checks),
        network_(network),
        queued_(std::move(queued)) {}

  /// REQUIRES: the unit is valid, with the listeners in use.
  void accept(ClientId client, protocol::Apply apply);
  void accept(ClientId client, const protocol::Release& release);

 private:
  void address_checked(RequestKey key, const AddressChecks::Problem& problem);
  void fail(RequestKey key, protocol::RejectStage stage, const std::string& text);
  void announce();
  void start_probes(RequestKey key);
  void probes_changed(RequestKey key);

  Loop& loop_;
  Requests& requests_;
  AddressChecks& checks_;
  NetworkSync& network_;
  std::function<void()> queued_;
};

}  // namespace kindlb::agent
