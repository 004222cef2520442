#pragma once
// A test's hands. Each step gives the end of the test, or nothing when it goes on:
//   if (auto end = web.publish({})) return *end;

#include "environment.hpp"
#include "kindlb/core/ip.hpp"
#include "test.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kindlb::conformance {

using End = std::optional<Outcome>;

class Scene {
 public:
  Scene(World& world, const Test& test);
  ~Scene();  ///< removes the pods it started
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  World& world() { return world_; }
  const Test& test() const { return test_; }
  Ask ask(bool stated) const { return {test_.optional && !supported_, test_.features, stated}; }
  bool speaks() const { return world_.provider == Provider::Speaking; }
  /// For what no condition tells of: kube-proxy's "maximum lag", or all there is to go by.
  milliseconds patience() const {
    const auto& limits = world_.settings.limits;
    return speaks() ? limits.conditions : limits.provisioning;
  }

  /// The conditions that the Service has now.
  void sees(const std::string& state);
  /// Tells of a wait, and waits a moment. False when stopped meanwhile.
  bool waits(const std::string& what, milliseconds waited) const;
  void note(std::string line) { notes_.push_back(std::move(line)); }
  std::vector<std::string> take_notes() { return std::move(notes_); }

  /// What the test is about has worked: what goes wrong from now on is not for lack of it.
  void supported() { supported_ = true; }
  /// The end of a test that went wrong: without conditions, what is optional cannot be judged.
  Outcome fail(const std::string& why) const;
  /// Of the API: no fault of the provider's.
  Outcome fail(const core::Error& error) const;
  bool pause(milliseconds time) const { return conformance::pause(world_.stop, time); }
  /// Asks again and again. `what` is for people: "until <what>", "not <what> after 30 s".
  End until(const std::string& what, milliseconds limit, const std::function<bool()>& holds) const;

  // ---- pods of this test alone, with the label app=<the test's name>
  Json selector() const { return {{"app", test_.name}}; }
  /// Ready when it returns. `node` empty: wherever there is room.
  End start_pod(const std::string& name, const std::string& node = "");
  /// Gone when it returns.
  End remove_pod(const std::string& name);
  /// A pod on each of at most so many nodes; told to end, they go on answering for some seconds.
  End start_daemons(std::size_t most_nodes, int lingers);
  /// Replaces all of them, one after the other; each is replaced on its node before it ends.
  End roll_daemons(int round);
  /// Until those that were replaced have ended: what happens then is part of it.
  End await_replaced();

 private:
  std::string pod_path(const std::string& name) const;
  /// Those with the label of selector().
  std::string pods_path() const;
  End await_daemons(int round) const;

  World& world_;
  const Test& test_;
  bool supported_ = false;
  std::string seen_;
  std::vector<std::string> notes_;
  std::size_t daemons_ = 0;        ///< how many there must be
  std::vector<std::string> made_;  ///< paths, to remove at the end
};

}  // namespace kindlb::conformance
