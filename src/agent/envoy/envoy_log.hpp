#pragma once
// Envoy's log on its way to `docker logs`: passed on line by line, while what Envoy says about a
// refused configuration is kept. The admin interface has those words for listeners only, so the log
// is the one place to learn why a cluster, endpoints or a whole file was refused. They go into
// messages; no decision rests on them. Pure.

#include "kindlb/core/line_splitter.hpp"
#include "kindlb/protocol/protocol.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace kindlb::agent {

class EnvoyLog {
 public:
  /// What Envoy logs is one line of ours per line of Envoy's; returns the complete lines.
  std::vector<std::string> feed(std::string_view bytes);
  /// Forgets the refusals so far: a new configuration is about to be tried.
  void forget_rejections() { rejections_.clear(); }
  /// Why the unit was refused, as far as the log since mark() tells; empty if it does not.
  std::string reason_for(const protocol::Unit& unit) const;

 private:
  struct Rejection {
    std::string resource;  ///< empty: the whole file
    std::string text;
  };

  void record_rejection(std::string_view line);

  static constexpr std::size_t kMaxLine = 65'536;
  core::LineSplitter splitter_{kMaxLine};
  std::vector<Rejection> rejections_;
};

}  // namespace kindlb::agent
