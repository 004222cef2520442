#include "slice_lag.hpp"

#include "kindlb/base/number.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace kindlb::core {

namespace {

bool has_ready_endpoint(const EndpointSlice& slice) {
  return std::any_of(slice.endpoints.begin(), slice.endpoints.end(),
                     [](const Endpoint& endpoint) { return endpoint.ready; });
}

/// Return the slices that must have followed.
Slices kept_slices(const Slices& all) {
  Slices out;
  for (const auto* slice : all)
    if (slice->by_controller && has_ready_endpoint(*slice)) out.push_back(slice);
  return out;
}

bool is_same_port(const EndpointPort& port, const ServicePort& wanted) {
  return port.name == wanted.name && port.protocol == wanted.protocol;
}

const EndpointPort* find_port(const EndpointSlice& slice, const ServicePort& wanted) {
  const auto found = std::find_if(slice.ports.begin(), slice.ports.end(),
                                  [&](const auto& port) { return is_same_port(port, wanted); });
  return found == slice.ports.end() ? nullptr : &*found;
}

/// Return whether the slices have a port that the Service does not: they are from before it went.
bool has_former_port(const Service& service, const Slices& slices) {
  const auto is_former = [&](const EndpointPort& port) {
    return std::none_of(service.spec.ports.begin(), service.spec.ports.end(),
                        [&](const ServicePort& one) { return is_same_port(port, one); });
  };
  return std::any_of(slices.begin(), slices.end(), [&](const EndpointSlice* slice) {
    return std::any_of(slice->ports.begin(), slice->ports.end(), is_former);
  });
}

/// An absent targetPort is the port's own number.
std::string target_port(const ServicePort& port) {
  return port.target_port.empty() ? std::to_string(port.port) : port.target_port;
}

std::string description_of(const ServicePort& port) {
  std::string out = port_label(port.protocol, port.port) + " (";
  if (!port.name.empty()) out += "name \"" + port.name + "\", ";
  return out + "targetPort " + target_port(port) + ")";
}

/// Every pod has a target port that is a number, whatever its containers declare: each slice must
/// have it.
SliceState state_by_number(const ServicePort& port, std::uint16_t number, const Slices& slices) {
  bool missing = false;
  std::set<std::uint16_t> stale;  // sorted: the message must not depend on the order of slices
  for (const auto* slice : slices) {
    const auto* found = find_port(*slice, port);
    missing = missing || found == nullptr;
    if (found != nullptr && found->port != number) stale.insert(found->port);
  }
  if (!missing && stale.empty()) return {};
  return {.lag = SliceLag::Certain,
          .port = description_of(port),
          .stale = stale.empty() ? "" : std::to_string(*stale.begin())};
}

/// A name stands for another number in each pod, and pods without it are in slices of their own. So
/// it is enough that one slice has the port.
SliceState state_by_name(const Service& service, const ServicePort& port, const Slices& slices) {
  const auto has_port = [&](const EndpointSlice* slice) {
    return find_port(*slice, port) != nullptr;
  };
  if (std::any_of(slices.begin(), slices.end(), has_port)) return {};
  return {.lag = has_former_port(service, slices) ? SliceLag::Certain : SliceLag::Possible,
          .port = description_of(port),
          .stale = {}};
}

SliceState state_of(const Service& service, const ServicePort& port, const Slices& slices) {
  const auto number = base::parse_number<std::uint16_t>(target_port(port));
  return number ? state_by_number(port, *number, slices) : state_by_name(service, port, slices);
}

}  // namespace

SliceState slice_state(const Service& service, const std::vector<ServicePort>& served,
                       const Slices& slices) {
  if (!service.spec.has_selector) return {};
  if (slices.empty()) return {.lag = SliceLag::Possible, .port = {}, .stale = {}};
  const auto kept = kept_slices(slices);
  SliceState out;
  if (kept.empty()) return out;
  for (const auto& port : served)
    if (auto state = state_of(service, port, kept); state.lag > out.lag) out = std::move(state);
  return out;
}

}  // namespace kindlb::core
