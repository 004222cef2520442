#pragma once
// Envoy's log on its way to `docker logs`: passed on line by line, while the reasons of rejected
// configuration are kept. The admin interface has a reason for listeners only, so the log is the
// one place to learn why Envoy rejected a cluster, endpoints or a whole file. Reasons go into
// messages for users; no decision rests on the log's wording, which may change with Envoy's
// version. Pure, bounded in lines and length.

#include "kindlb/core/line_splitter.hpp"
#include "kindlb/protocol/protocol.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kindlb::agent {

class EnvoyLog {
 public:
  /// Take in bytes and return the lines they complete. A line beyond the limit is dropped.
  std::vector<std::string> feed(std::string_view bytes);
  /// Forget what has been logged so far: a new update is about to be written.
  void forget_rejections() { rejections_.clear(); }
  /// Return why Envoy rejected the unit, as far as the log since forget_rejections() tells: the
  /// reason for one of its resources, else that for a whole file. Empty if there is neither.
  std::string reason_for(const protocol::Unit& unit) const;

 private:
  struct Rejection {
    std::optional<std::string> resource;  ///< none: the whole file
    std::string text;
  };

  void record_rejection(std::string_view line);

  static constexpr std::size_t kMaxLine = 65'536;
  core::LineSplitter splitter_{kMaxLine};
  std::vector<Rejection> rejections_;
};

}  // namespace kindlb::agent
