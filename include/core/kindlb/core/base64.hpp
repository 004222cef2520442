#pragma once
// Base64 as kubeconfigs and the engine carry it: the standard alphabet, padded, possibly broken
// over lines.

#include <optional>
#include <string>
#include <string_view>

namespace kindlb::core {

/// Nothing when the text is not base64. White space between characters is ignored.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace kindlb::core
