#pragma once
// One question to a Backend (support/backend.hpp) and its answer: "<its name> <the question>".

#include "support/traffic/sockets.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace kindlb::testing {

/// Over a connection of its own; or why there is no answer: "connect: Connection refused",
/// "closed".
std::string ask_tcp(const core::Target& target, const std::string& question,
                    const std::optional<core::IpAddress>& from = {},
                    std::chrono::milliseconds timeout = std::chrono::seconds(5));

/// One datagram from a socket of its own; empty: no answer within the limit.
std::string ask_udp(const core::Target& target, const std::string& question,
                    std::chrono::milliseconds limit = std::chrono::seconds(2),
                    const std::optional<core::IpAddress>& from = {});

}  // namespace kindlb::testing
