#pragma once
// `kindlb demo --script conditions`: the life of one Service as its conditions tell it (KEP-4631),
// a step at a time, for a talk.

#include "kindlb/demo/demo.hpp"
#include "kindlb/docker/engine.hpp"
#include "kindlb/http/client.hpp"
#include "screen.hpp"
#include "watch.hpp"

#include <functional>
#include <string>
#include <vector>

namespace kindlb::demo {

struct Step {
  std::string title;
  std::string explanation;  ///< what to see, and why
  std::string command;      ///< as a person would type it
  std::function<core::Result<void>(http::Client&)> act;
  std::function<bool(const core::Service&)> reached;  ///< and at rest
  std::string condition;  ///< whose message is shown at the end; may be empty
  bool answers = false;   ///< a client is answered at the end
};

/// The steps of the script. The Service is called "story".
std::vector<Step> condition_steps();

/// The process's exit code; 1 when a step does not end as it should.
int run_script(const std::vector<Step>& steps, const Settings& settings, Screen& screen,
               Watch& watch, http::Client& api, const docker::Network& network,
               const std::stop_token& stop);

}  // namespace kindlb::demo
