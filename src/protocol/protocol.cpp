#include "kindlb/protocol/protocol.hpp"

#include "json_shape.hpp"

#include <array>

namespace kindlb::protocol {
namespace shape {

template <>
struct Words<EnvoyState> {
  static constexpr std::array kList{std::pair{EnvoyState::Starting, "starting"},
                                    std::pair{EnvoyState::Live, "live"},
                                    std::pair{EnvoyState::Down, "down"}};
};
template <>
struct Words<ProbeResult> {
  static constexpr std::array kList{std::pair{ProbeResult::Reached, "reached"},
                                    std::pair{ProbeResult::Refused, "refused"},
                                    std::pair{ProbeResult::Unreachable, "unreachable"}};
};
template <>
struct Words<RejectStage> {
  static constexpr std::array kList{
      std::pair{RejectStage::Invalid, "invalid"},      std::pair{RejectStage::Address, "address"},
      std::pair{RejectStage::Route, "route"},          std::pair{RejectStage::Filter, "filter"},
      std::pair{RejectStage::Envoy, "envoy"},          std::pair{RejectStage::Down, "down"},
      std::pair{RejectStage::Superseded, "superseded"}};
};

template <>
struct Shape<Resource> {
  template <typename Walker, typename T>
  static void list(Walker& walk, T& of) {
    walk.need("name", of.name);
    walk.need("body", of.body);
  }
};
template <>
struct Shape<Assignment> {
  template <typename Walker, typename T>
  static void list(Walker& walk, T& of) {
    walk.need("cluster", of.cluster);
    walk.need("file", of.file);
    walk.need("body", of.body);
  }
};
template <>
struct Shape<core::Route> {
  template <typename Walker, typename T>
  static void list(Walker& walk, T& of) {
    walk.need("to", of.to);
    walk.need("via", of.via);
  }
};
template <>
struct Shape<core::Target> {
  template <typename Walker, typename T>
  static void list(Walker& walk, T& of) {
    walk.need("address", of.address);
    walk.need("port", of.port);
  }
};
template <>
struct Shape<core::Probe> {
  template <typename Walker, typename T>
  static void list(Walker& walk, T& of) {
    walk.need("label", of.label);
    walk.need("targets", of.targets);
  }
};
template <>
struct Shape<core::UdpRule> {
  template <typename Walker, typename T>
  static void list(Walker& walk, T& of) {
    walk.need("at", of.at);
    walk.need("restricted", of.restricted);
    walk.may("allowed", of.allowed);
    walk.may("divert", of.divert);
    walk.may("listener", of.listener);
    walk.may("cluster", of.cluster);
  }
};
template <>
struct Shape<Unit> {
  template <typename Walker, typename T>
  static void list(Walker& walk, T& of) {
    walk.need("unit", of.unit);
    walk.need("owner", of.owner);
    walk.need("revision", of.revision);
    walk.may("addresses", of.addresses);
    walk.may("routes", of.routes);
    walk.may("listeners", of.listeners);
    walk.may("clusters", of.clusters);
    walk.may("assignments", of.assignments);
    walk.may("gates", of.udp_rules);
    walk.may("gated_listeners", of.listeners_behind_rules);
  }
};
template <>
struct Shape<UnitState> {
  template <typename Walker, typename T>
  static void list(Walker& walk, T& of) {
    walk.need("unit", of.unit);
    walk.need("owner", of.owner);
    walk.need("revision", of.revision);
    walk.need("acknowledged", of.acknowledged);
    walk.may("addresses", of.addresses);
    walk.may("watches", of.watches);
  }
};
template <>
struct Shape<ProbeOutcome> {
  template <typename Walker, typename T>
  static void list(Walker& walk, T& of) {
    walk.need("label", of.label);
    walk.need("result", of.result);
    walk.may("detail", of.detail);
  }
};
template <>
struct Shape<AgentState> {
  template <typename Walker, typename T>
  static void list(Walker& walk, T& of) {
    walk.need("agent", of.agent);
    walk.need("envoy", of.envoy);
    walk.need("units", of.units);
    walk.may("watches", of.watches);
  }
};
template <>
struct Shape<Hello> {
  static constexpr const char* kType = "hello";
  template <typename Walker, typename T>
  static void list(Walker& walk, T& of) {
    walk.need("protocol", of.protocol);
    walk.need("agent", of.agent);
    walk.need("envoy", of.envoy);
    walk.need("units", of.units);
    walk.may("watches", of.watches);
  }
};
template <>
struct Shape<Prepare> {
  static constexpr const char* kType = "prepare";
  template <typename Walker, typename T>
  static void list(Walker& walk, T& of) {
    walk.need("id", of.id);
    walk.need("addresses", of.addresses);
  }
};
template <>
struct Shape<Apply> {
  static constexpr const char* kType = "apply";
  template <typename Walker, typename T>
  static void list(Walker& walk, T& of) {
    walk.need("id", of.id);
    walk.need("unit", of.unit);
    walk.may("probes", of.probes);
    walk.may("probe_timeout_ms", of.probe_timeout);
  }
};
template <>
struct Shape<Release> {
  static constexpr const char* kType = "release";
  template <typename Walker, typename T>
  static void list(Walker& walk, T& of) {
    walk.need("id", of.id);
    walk.need("unit", of.unit);
  }
};
template <>
struct Shape<Applied> {
  static constexpr const char* kType = "applied";
  template <typename Walker, typename T>
  static void list(Walker& walk, T& of) {
    walk.need("id", of.id);
    walk.need("unit", of.unit);
    walk.need("revision", of.revision);
    walk.may("probes", of.probes);
  }
};
template <>
struct Shape<Rejected> {
  static constexpr const char* kType = "rejected";
  template <typename Walker, typename T>
  static void list(Walker& walk, T& of) {
    walk.need("id", of.id);
    walk.need("unit", of.unit);
    walk.need("revision", of.revision);
    walk.need("stage", of.stage);
    walk.need("text", of.text);
  }
};
template <>
struct Shape<Status> {
  static constexpr const char* kType = "status";
  template <typename Walker, typename T>
  static void list(Walker& walk, T& of) {
    walk.need("envoy", of.envoy);
    walk.may("restarts", of.restarts);
    walk.may("text", of.text);
    walk.need("units", of.units);
  }
};
template <>
struct Shape<Bye> {
  static constexpr const char* kType = "bye";
  template <typename Walker, typename T>
  static void list(Walker& walk, T& of) {
    walk.may("reason", of.reason);
  }
};

}  // namespace shape

namespace {

using shape::json;
using shape::parse_object;

/// Text from outside (Envoy's, a user's) may hold bytes that are not UTF-8: they are replaced.
std::string text_of(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Tries the alternatives of Message in turn; nothing when none of them has that type name.
template <std::size_t Index = 0>
std::optional<Message> read_as(const std::string& type, const json& object, std::string& why) {
  if constexpr (Index == std::variant_size_v<Message>) {
    why = "unknown type " + type;
    return std::nullopt;
  } else {
    using Alternative = std::variant_alternative_t<Index, Message>;
    if (type != shape::Shape<Alternative>::kType) return read_as<Index + 1>(type, object, why);
    Alternative out;
    if (shape::read(object, out, why)) return out;
    why = type + ": " + why;
    return std::nullopt;
  }
}

template <typename... Alternatives>
bool is_type_of(const std::variant<Alternatives...>& /*tag*/, const std::string& type) {
  return ((type == shape::Shape<Alternatives>::kType) || ...);
}

std::string type_of(const json& object) {
  const auto found = object.find("type");
  if (found == object.end() || !found->is_string()) return {};
  return found->get<std::string>();
}

}  // namespace

std::string encode(const Message& message) {
  const auto body = std::visit(
      []<typename T>(const T& alternative) {
        json out = shape::write(alternative);
        out["type"] = shape::Shape<T>::kType;
        return out;
      },
      message);
  return text_of(body) + "\n";
}

std::optional<Message> decode(std::string_view line, std::string* why) {
  std::string reason;
  std::optional<Message> out;
  const json object = parse_object(line, kMaxLine, reason);
  if (!object.is_discarded()) out = read_as(type_of(object), object, reason);
  if (why != nullptr) *why = std::move(reason);
  return out;
}

std::optional<std::uint64_t> refused_id(std::string_view line) {
  std::string why;
  const json object = parse_object(line, kMaxLine, why);
  if (object.is_discarded() || !is_type_of(Message{}, type_of(object))) return std::nullopt;
  const auto found = object.find("id");
  std::uint64_t id = 0;
  if (found == object.end() || !shape::read(*found, id, why)) return std::nullopt;
  return id;
}

std::string encode_state(const AgentState& state) {
  return text_of(shape::write(state)) + "\n";
}

std::optional<AgentState> decode_state(std::string_view text) {
  std::string why;
  const json object = parse_object(text, kMaxLine, why);
  AgentState out;
  if (object.is_discarded() || !shape::read(object, out, why)) return std::nullopt;
  return out;
}

namespace {

// A link's target is a path: components of at most 255 bytes, 4095 in all, none of them "..".
// Hexadecimal digits in short components are nothing else to any path resolver.
constexpr std::size_t kMaxTarget = 4'000;
constexpr std::size_t kComponent = 200;
constexpr std::string_view kSummaryPrefix = "s/";

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::optional<std::string> encode_summary(const AgentState& state) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out(kSummaryPrefix);
  std::size_t in_component = 0;
  for (const char c : encode_state(state)) {
    if (in_component == kComponent) {
      out += '/';
      in_component = 0;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 0xFU];
    in_component += 2;
  }
  if (out.size() > kMaxTarget) return std::nullopt;
  return out;
}

std::optional<AgentState> decode_summary(std::string_view target) {
  const auto start = target.starts_with(kSummaryPrefix) ? 0 : target.find("/s/");
  if (start == std::string_view::npos) return std::nullopt;
  target.remove_prefix(start + kSummaryPrefix.size() + (target[start] == '/' ? 1 : 0));
  std::string text;
  int high = -1;
  for (const char c : target) {
    if (c == '/') continue;
    const int value = hex_value(c);
    if (value < 0) return std::nullopt;
    if (high >= 0) text += static_cast<char>(high * 16 + value);
    high = high < 0 ? value : -1;
  }
  return decode_state(text);
}

}  // namespace kindlb::protocol
