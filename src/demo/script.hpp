#pragma once
// `kindlb demo --script conditions`: the life of one Service as its conditions show it (KEP-4631),
// step by step, for a talk. steps.cpp is the script, script.cpp plays it.

#include "kindlb/demo/demo.hpp"
#include "kindlb/docker/networks.hpp"
#include "kindlb/http/client.hpp"
#include "screen.hpp"
#include "watch.hpp"

#include <functional>
#include <string>
#include <vector>

namespace kindlb::demo {

/// One step: it is announced, acts on the API, waits until the Service has reached a state, shows
/// the message of a condition, and probes the Service if it must answer.
struct Step {
  std::string title;
  std::string explanation;  ///< what to see, and why
  std::string command;      ///< what a user would type, for the audience
  std::function<core::Result<void>(http::Client&)> act;
  std::function<bool(const core::Service&)> reached;  ///< the step is over
  std::string condition;  ///< type of the condition whose message is shown at the end; may be empty
  bool answers = false;   ///< the Service must answer at the end
};

/// The steps of the script. The Service is called "story".
std::vector<Step> condition_steps();

/// Play the steps; return the exit code of the process, 1 if a step did not end as it should.
int run_script(const std::vector<Step>& steps, const Settings& settings, Screen& screen,
               Watch& watch, http::Client& api, const docker::Network& network,
               const std::stop_token& stop);

}  // namespace kindlb::demo
