#pragma once
// The engine itself: its version, and what happens on it. See engine.hpp for what holds for all
// calls.

#include "kindlb/core/result.hpp"
#include "kindlb/docker/labels.hpp"

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

namespace kindlb::docker {

/// What the engine reports about itself, and the version we use with it.
struct EngineInfo {
  std::string version;      ///< "20.10.24"
  std::string api_version;  ///< the negotiated one: "1.41"
  std::string os;           ///< "linux"
};

/// A change of a container or a network.
struct Event {
  std::string type;    ///< "container", "network", ...
  std::string action;  ///< "start", "die", "destroy", "rename", ...
  std::string id;
  Labels attributes;  ///< labels and the name ("name")
  std::int64_t time_nano = 0;
};

/// Thread-safe; lives as long as its Engine.
class System {
 public:
  virtual ~System() = default;

  /// Ask the engine for its version anew: it may have been upgraded since connect().
  virtual core::Result<EngineInfo> info() = 0;
  /// Block and call `on_event` for each event from now on, until a stop is requested or the
  /// connection breaks; always ends with an Error. `on_open` is called once the engine has accepted
  /// the subscription: list after it, and nothing that changes later is missed. Up to a second of
  /// the past may be repeated first.
  virtual core::Result<void> events(const std::function<void()>& on_open,
                                    const std::function<void(const Event&)>& on_event,
                                    std::stop_token stop) = 0;
};

}  // namespace kindlb::docker
