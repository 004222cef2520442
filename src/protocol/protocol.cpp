#include "kindlb/protocol/protocol.hpp"

#include "json_fields.hpp"

#include <array>

namespace kindlb::protocol {
namespace codec {

template <>
struct EnumNames<EnvoyState> {
  static constexpr std::array kList{std::pair{EnvoyState::Starting, "starting"},
                                    std::pair{EnvoyState::Live, "live"},
                                    std::pair{EnvoyState::Down, "down"}};
};
template <>
struct EnumNames<ProbeResult> {
  static constexpr std::array kList{std::pair{ProbeResult::Reached, "reached"},
                                    std::pair{ProbeResult::Refused, "refused"},
                                    std::pair{ProbeResult::Unreachable, "unreachable"}};
};
template <>
struct EnumNames<RejectStage> {
  static constexpr std::array kList{
      std::pair{RejectStage::Invalid, "invalid"},      std::pair{RejectStage::Address, "address"},
      std::pair{RejectStage::Route, "route"},          std::pair{RejectStage::Filter, "filter"},
      std::pair{RejectStage::Envoy, "envoy"},          std::pair{RejectStage::Down, "down"},
      std::pair{RejectStage::Superseded, "superseded"}};
};

template <>
struct Fields<Resource> {
  static constexpr std::tuple kAll{required("name", &Resource::name),
                                   required("body", &Resource::body)};
};
template <>
struct Fields<Assignment> {
  static constexpr std::tuple kAll{required("cluster", &Assignment::cluster),
                                   required("file", &Assignment::file),
                                   required("body", &Assignment::body)};
};
template <>
struct Fields<core::Route> {
  static constexpr std::tuple kAll{required("to", &core::Route::to),
                                   required("via", &core::Route::via)};
};
template <>
struct Fields<core::Target> {
  static constexpr std::tuple kAll{required("address", &core::Target::address),
                                   required("port", &core::Target::port)};
};
template <>
struct Fields<core::Probe> {
  static constexpr std::tuple kAll{required("label", &core::Probe::label),
                                   required("targets", &core::Probe::targets),
                                   optional("any_answer", &core::Probe::any_answer)};
};
template <>
struct Fields<core::UdpRule> {
  static constexpr std::tuple kAll{required("at", &core::UdpRule::at),
                                   required("restricted", &core::UdpRule::restricted),
                                   optional("allowed", &core::UdpRule::allowed),
                                   optional("divert", &core::UdpRule::divert),
                                   optional("listener", &core::UdpRule::listener),
                                   optional("cluster", &core::UdpRule::cluster)};
};
template <>
struct Fields<Unit> {
  static constexpr std::tuple kAll{required("unit", &Unit::unit),
                                   required("owner", &Unit::owner),
                                   required("revision", &Unit::revision),
                                   optional("addresses", &Unit::addresses),
                                   optional("routes", &Unit::routes),
                                   optional("listeners", &Unit::listeners),
                                   optional("clusters", &Unit::clusters),
                                   optional("assignments", &Unit::assignments),
                                   optional("gates", &Unit::udp_rules),
                                   optional("gated_listeners", &Unit::listeners_behind_rules)};
};
template <>
struct Fields<UnitState> {
  static constexpr std::tuple kAll{required("unit", &UnitState::unit),
                                   required("owner", &UnitState::owner),
                                   required("revision", &UnitState::revision),
                                   required("acknowledged", &UnitState::acknowledged),
                                   optional("addresses", &UnitState::addresses),
                                   optional("watches", &UnitState::watches)};
};
template <>
struct Fields<ProbeOutcome> {
  static constexpr std::tuple kAll{required("label", &ProbeOutcome::label),
                                   required("result", &ProbeOutcome::result),
                                   optional("detail", &ProbeOutcome::detail)};
};
template <>
struct Fields<AgentState> {
  static constexpr std::tuple kAll{
      required("agent", &AgentState::agent), required("envoy", &AgentState::envoy),
      required("units", &AgentState::units), optional("watches", &AgentState::watches)};
};
template <>
struct Fields<Hello> {
  static constexpr const char* kType = "hello";
  static constexpr std::tuple kAll{
      required("protocol", &Hello::protocol), required("agent", &Hello::agent),
      required("envoy", &Hello::envoy), required("units", &Hello::units),
      optional("watches", &Hello::watches), optional("heartbeat_ms", &Hello::heartbeat),
      optional("network_problem", &Hello::network_problem)};
};
template <>
struct Fields<Prepare> {
  static constexpr const char* kType = "prepare";
  static constexpr std::tuple kAll{required("id", &Prepare::id),
                                   required("addresses", &Prepare::addresses)};
};
template <>
struct Fields<Apply> {
  static constexpr const char* kType = "apply";
  static constexpr std::tuple kAll{required("id", &Apply::id), required("unit", &Apply::unit),
                                   optional("probes", &Apply::probes),
                                   optional("probe_timeout_ms", &Apply::probe_timeout)};
};
template <>
struct Fields<Release> {
  static constexpr const char* kType = "release";
  static constexpr std::tuple kAll{required("id", &Release::id), required("unit", &Release::unit)};
};
template <>
struct Fields<Applied> {
  static constexpr const char* kType = "applied";
  static constexpr std::tuple kAll{required("id", &Applied::id), required("unit", &Applied::unit),
                                   required("revision", &Applied::revision),
                                   optional("probes", &Applied::probes)};
};
template <>
struct Fields<Rejected> {
  static constexpr const char* kType = "rejected";
  static constexpr std::tuple kAll{required("id", &Rejected::id), required("unit", &Rejected::unit),
                                   required("revision", &Rejected::revision),
                                   required("stage", &Rejected::stage),
                                   required("text", &Rejected::text)};
};
template <>
struct Fields<Status> {
  static constexpr const char* kType = "status";
  static constexpr std::tuple kAll{
      required("envoy", &Status::envoy), optional("restarts", &Status::restarts),
      optional("text", &Status::text), required("units", &Status::units),
      optional("network_problem", &Status::network_problem)};
};
template <>
struct Fields<Heartbeat> {
  static constexpr const char* kType = "heartbeat";
  static constexpr std::tuple kAll{};
};
template <>
struct Fields<Bye> {
  static constexpr const char* kType = "bye";
  static constexpr std::tuple kAll{optional("reason", &Bye::reason)};
};

}  // namespace codec

namespace {

using codec::Json;
using codec::parse_object;

/// Try the alternatives of Message in turn; nothing when none of them has that type name.
template <std::size_t Index = 0>
std::optional<Message> read_as(const std::string& type, const Json& object, std::string& why) {
  if constexpr (Index == std::variant_size_v<Message>) {
    why = "unknown type " + type;
    return std::nullopt;
  } else {
    using Alternative = std::variant_alternative_t<Index, Message>;
    if (type != codec::Fields<Alternative>::kType) return read_as<Index + 1>(type, object, why);
    Alternative out;
    if (codec::read(object, out, why)) return out;
    why = type + ": " + why;
    return std::nullopt;
  }
}

template <typename... Alternatives>
bool is_type_of(const std::variant<Alternatives...>& /*tag*/, const std::string& type) {
  return ((type == codec::Fields<Alternatives>::kType) || ...);
}

std::string type_of(const Json& object) {
  const auto found = object.find("type");
  if (found == object.end() || !found->is_string()) return {};
  return found->get<std::string>();
}

}  // namespace

std::optional<core::ServiceKey> parse_owner(const std::string& owner) {
  const auto first = owner.find('/');
  const auto second = owner.find('/', first + 1);
  if (first == std::string::npos || second == std::string::npos) return std::nullopt;
  return core::ServiceKey{owner.substr(0, first), owner.substr(first + 1, second - first - 1),
                          owner.substr(second + 1)};
}

std::string cluster_of(const std::string& owner) {
  return owner.substr(0, owner.find('/'));
}

std::string encode(const Message& message) {
  const auto body = std::visit(
      []<typename T>(const T& alternative) {
        Json out = codec::write(alternative);
        out["type"] = codec::Fields<T>::kType;
        return out;
      },
      message);
  return json::dump(body) + "\n";
}

std::optional<Message> decode(std::string_view line, std::string* why) {
  std::string reason;
  std::optional<Message> out;
  const Json object = parse_object(line, kMaxLine, reason);
  if (!object.is_discarded()) out = read_as(type_of(object), object, reason);
  if (why != nullptr) *why = std::move(reason);
  return out;
}

std::optional<std::uint64_t> refused_id(std::string_view line) {
  std::string why;
  const Json object = parse_object(line, kMaxLine, why);
  if (object.is_discarded() || !is_type_of(Message{}, type_of(object))) return std::nullopt;
  const auto found = object.find("id");
  std::uint64_t id = 0;
  if (found == object.end() || !codec::read(*found, id, why)) return std::nullopt;
  return id;
}

std::string encode_state(const AgentState& state) {
  return json::dump(codec::write(state)) + "\n";
}

std::optional<AgentState> decode_state(std::string_view text) {
  std::string why;
  const Json object = parse_object(text, kMaxLine, why);
  AgentState out;
  if (object.is_discarded() || !codec::read(object, out, why)) return std::nullopt;
  return out;
}

}  // namespace kindlb::protocol
