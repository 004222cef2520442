#pragma once
// Base64 as used in kubeconfig files and by the Docker Engine API: the standard alphabet, padded,
// possibly wrapped over lines.

#include <optional>
#include <string>
#include <string_view>

namespace kindlb::core {

/// Decode `text`, ignoring white space. Return nothing when it is not base64.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace kindlb::core
