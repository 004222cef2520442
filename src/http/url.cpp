#include "kindlb/http/url.hpp"

#include "kindlb/base/number.hpp"

namespace kindlb::http {

namespace {
constexpr std::string_view kUnreserved =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
}  // namespace

std::string url_escaped(std::string_view text, std::string_view keep) {
  if (text == "." || text == "..") return text.size() == 1 ? "%2E" : "%2E%2E";
  std::string out;
  for (const char c : text) {
    if (kUnreserved.find(c) != std::string_view::npos || keep.find(c) != std::string_view::npos)
      out += c;
    else
      base::append_hex(out += '%', c, base::kUpperHex);
  }
  return out;
}

}  // namespace kindlb::http
