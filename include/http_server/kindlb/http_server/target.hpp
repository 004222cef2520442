#pragma once
// The target of a request, taken apart (RFC 3986, section 3). Pure.

#include <map>
#include <string>
#include <string_view>

namespace kindlb::http_server {

struct Target {
  std::string path;                          ///< decoded
  std::map<std::string, std::string> query;  ///< decoded; the last value of each name

  bool operator==(const Target&) const = default;
};

/// Parse "/a%20b?x=1&y=2". Never fails: a percent sign that encodes nothing stands for itself.
Target parse_target(std::string_view target);

}  // namespace kindlb::http_server
