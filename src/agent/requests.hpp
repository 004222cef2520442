#pragma once
// The requests in flight: every Apply and Release that is not over yet, and how far each has come.
// It moves requests from stage to stage, answers them and watches their deadlines. What happens at
// a stage is done by RequestIntake (until the queue) and EnvoyUpdates (from there on).
//
// Invariants
// - Each request gets exactly one answer, also when it is superseded or times out.
// - At most one request per unit is not answered: a newer one supersedes it.
// - A request ends only through end(), which cancels its timer and its probes. Others hold its key,
//   never a pointer, across turns of the loop, and look it up again: it may be gone.
// Runs on the loop, which must outlive it; not thread-safe.

#include "control_server.hpp"
#include "kindlb/protocol/protocol.hpp"
#include "loop.hpp"
#include "network/probes.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::agent {

using RequestKey = std::uint64_t;  ///< never 0, grows with arrival

/// An Apply or Release under way.
struct Request {
  /// Checking: waiting for AddressChecks; nothing has been changed for it yet.
  /// Announcing: address, routes and rules are installed; neighbours are told this turn.
  /// Queued: waiting for its update. Probes run from here on.
  /// Applying: part of the update that Envoy is deciding about.
  /// Probing: committed; only the answer waits, for the probes.
  enum class Stage { Checking, Announcing, Queued, Applying, Probing };
  enum class Kind { Apply, Release };

  RequestKey key = 0;
  Kind kind = Kind::Apply;
  ClientId client = 0;
  std::uint64_t id = 0;  ///< of the message, repeated in the answer
  protocol::Unit unit;   ///< of a Release: only the name
  std::vector<core::Probe> probes;
  std::chrono::milliseconds probe_timeout{};
  Stage stage = Stage::Checking;
  /// Superseded while Applying: Envoy's decision is awaited, but no second answer is sent.
  bool answered = false;
  bool alone = false;    ///< must not share an update: it was part of one that failed
  unsigned crashes = 0;  ///< of Envoy while this was Applying
  std::unique_ptr<ProbeSet> probing;
  std::optional<std::vector<protocol::ProbeOutcome>> outcomes;  ///< once all probes have ended
  Loop::TimerId deadline = 0;  ///< until Applying; then the update's deadline counts
};

class Requests {
 public:
  struct Events {
    std::function<void(ClientId, const protocol::Message&)> answer;
    /// No update has taken the request within kTimeout: Envoy is down, or busy with other updates.
    std::function<void(RequestKey)> timed_out;
    /// A request has ended while Applying, so Envoy did not accept it whole. It may have opened
    /// some of the unit's listeners.
    std::function<void(const protocol::Unit&)> refused;
  };

  static constexpr std::chrono::seconds kTimeout{10};

  Requests(Loop& loop, Events events) : loop_(loop), events_(std::move(events)) {}
  ~Requests();
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  /// Add a request for a unit, at Checking. Older ones for the unit are answered, and end unless
  /// Envoy is deciding about them. The unit's listeners are those in use.
  const Request& add(ClientId client, protocol::Apply apply);
  /// At Queued: a Release needs no address check and touches no network before Envoy has let go of
  /// the listeners.
  const Request& add(ClientId client, const protocol::Release& release);

  /// Return nullptr if it is over. Valid until it ends.
  const Request* find(RequestKey key) const;
  /// REQUIRES: it is not over.
  const Request& at(RequestKey key) const;
  /// Return the Applies whose needs the network holds in addition to those of the committed units,
  /// in order of arrival: from Announcing to Applying.
  std::vector<const Request*> installed() const;
  /// Return those that wait for an update, in order of arrival.
  std::vector<const Request*> queued() const;

  // Stages, in their order. REQUIRES for each: the request is not over.
  void start_announcing(RequestKey key);
  /// Move every request at Announcing on to Queued; return which.
  std::vector<RequestKey> end_announcing();
  void set_probing(RequestKey key, std::unique_ptr<ProbeSet> probing);
  void start_applying(RequestKey key);
  /// Envoy serves the unit: only the probes are awaited.
  void await_probes(RequestKey key);
  /// End a request at Probing if it has been answered, or if its probes have ended: then it is
  /// answered first.
  void finish_if_probed(RequestKey key);
  /// All probes have ended. Does nothing if the request is over.
  void probed(RequestKey key, std::vector<protocol::ProbeOutcome> outcomes);

  /// Try a request again in an update of its own, after a shared update failed or Envoy crashed.
  /// One that has been answered meanwhile ends instead.
  void requeue_alone(RequestKey key);
  /// Count a crash of Envoy while the request was Applying; return how many there were.
  unsigned count_crash(RequestKey key);
  /// Envoy has not seen the request after all: back from Applying to Queued.
  void withdraw(RequestKey key);

  /// Answer, unless that was done before.
  void reject(RequestKey key, protocol::RejectStage stage, const std::string& text);
  void answer_applied(RequestKey key);
  void end(RequestKey key);

 private:
  Request& add(ClientId client, std::uint64_t id, protocol::Unit unit);
  void supersede(const std::string& unit);
  void start_deadline(Request& request);

  Loop& loop_;
  Events events_;
  std::map<RequestKey, Request> requests_;  ///< in order of arrival
  RequestKey last_ = 0;
};

}  // namespace kindlb::agent
