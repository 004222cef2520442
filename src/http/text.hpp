#pragma once
// Predicates on header text, shared by the libcurl path and by the hand-written upgrade. ASCII
// only, as HTTP is: no locale. Pure.

#include "kindlb/base/text.hpp"
#include "kindlb/http/client.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace kindlb::http {

inline char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

inline bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

/// Return the first header of that name, in any case; null when there is none.
inline const Header* find_header(const std::vector<Header>& headers, std::string_view name) {
  const auto found = std::ranges::find_if(
      headers, [&](const Header& header) { return equal_ignoring_case(header.name, name); });
  return found == headers.end() ? nullptr : &*found;
}

/// Return whether the text can stand in a request line or a header without ending it.
inline bool is_one_line(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return base::is_control(c) && c != '\t'; });
}

/// Return whether the text is an origin-form target: no blanks and no fragment.
inline bool is_target(std::string_view text) {
  return text.starts_with('/') && is_one_line(text) &&
         text.find_first_of(" \t#") == std::string_view::npos;
}

/// Return "GET /containers/json": for errors, without the query, which may be long.
inline std::string operation_of(const Request& request) {
  return request.method + " " + request.target.substr(0, request.target.find('?'));
}

}  // namespace kindlb::http
