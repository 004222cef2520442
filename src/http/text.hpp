#pragma once
// Small questions about header text, asked by libcurl's path and by the hand-written one. Pure.

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

inline std::string_view find_header(const std::vector<Header>& headers, std::string_view name) {
  for (const auto& header : headers)
    if (equal_ignoring_case(header.name, name)) return header.value;
  return {};
}

/// Can it stand in a request line or a header without becoming another one?
inline bool is_one_line(std::string_view text) {
  return std::ranges::none_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7f;
  });
}

/// Request targets have no blanks either.
inline bool is_target(std::string_view text) {
  return text.starts_with('/') && is_one_line(text) &&
         text.find_first_of(" \t#") == std::string_view::npos;
}

/// "GET /containers/json": for errors, without the query.
inline std::string operation_of(const Request& request) {
  return request.method + " " + request.target.substr(0, request.target.find('?'));
}

}  // namespace kindlb::http
