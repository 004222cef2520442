#include "service/endpoint_slices.hpp"

#include "kindlb/core/ip.hpp"
#include "object_meta.hpp"
#include "verbs/selectors.hpp"

#include <algorithm>

namespace kindlb::apiserver {

namespace {
/// podIPs, or podIP for pods that have only the older field.
std::vector<std::string> addresses_of(const Json& pod) {
  std::vector<std::string> out;
  for (const auto& entry : list_at(pod, {"status", "podIPs"}))
    out.push_back(text_at(entry, {"ip"}));
  if (out.empty()) out.push_back(text_at(pod, {"status", "podIP"}));
  return out;
}

/// The pod's address of this family; empty: none.
std::string address_of(const Json& pod, const std::string& family) {
  for (const auto& text : addresses_of(pod)) {
    const auto address = core::IpAddress::parse(text);
    if (address && family == core::name_of(address->family())) return text;
  }
  return {};
}

bool is_ready(const Json& pod) {
  for (const auto& condition : list_at(pod, {"status", "conditions"}))
    if (text_at(condition, {"type"}) == "Ready") return text_at(condition, {"status"}) == "True";
  return false;
}

Json endpoint_of(const Json& pod, const std::string& address, bool publish_unready) {
  const bool terminating = is_terminating(pod);
  // serving ignores termination, ready does not: traffic drains to serving endpoints if no other is
  // ready (KEP-1672).
  const bool ready = is_ready(pod);
  Json out{{"addresses", {address}},
           {"conditions",
            {{"ready", publish_unready || (ready && !terminating)},
             {"serving", ready},
             {"terminating", terminating}}},
           {"targetRef",
            {{"kind", "Pod"},
             {"namespace", text_at(pod, {"metadata", "namespace"})},
             {"name", text_at(pod, {"metadata", "name"})},
             {"uid", text_at(pod, {"metadata", "uid"})}}}};
  if (const auto node = text_at(pod, {"spec", "nodeName"}); !node.empty()) out["nodeName"] = node;
  return out;
}

/// Resolve targetPort; a name is looked up in the containers of the pods. Zero: no pod has it.
std::int64_t target_of(const Json& port, const std::vector<ObjectPtr>& pods) {
  const auto* target = find(port, {"targetPort"});
  if (target == nullptr) return number_at(port, {"port"});
  if (target->is_number()) return target->get<std::int64_t>();
  for (const auto& pod : pods)
    for (const auto& container : list_at(pod->value, {"spec", "containers"}))
      for (const auto& offered : list_at(container, {"ports"}))
        if (text_at(offered, {"name"}) == target->get<std::string>())
          return number_at(offered, {"containerPort"});
  return 0;
}

Json ports_of(const Json& service, const std::vector<ObjectPtr>& pods) {
  Json out = Json::array();
  for (const auto& port : list_at(service, {"spec", "ports"})) {
    const auto number = target_of(port, pods);
    if (number == 0) continue;
    out.push_back({{"name", text_at(port, {"name"})},
                   {"protocol", text_at(port, {"protocol"})},
                   {"port", number}});
  }
  return out;
}

std::string suffix(const std::string& family) {
  return family == "IPv6" ? "-ipv6" : "-ipv4";
}

Json slice_of(const Json& service, const std::string& family, const std::vector<ObjectPtr>& pods) {
  const auto name = text_at(service, {"metadata", "name"});
  Json endpoints = Json::array();
  for (const auto& pod : pods)
    if (const auto address = address_of(pod->value, family); !address.empty())
      endpoints.push_back(
          endpoint_of(pod->value, address, bool_at(service, {"spec", "publishNotReadyAddresses"})));
  return {{"metadata",
           {{"name", name + suffix(family)},
            {"namespace", text_at(service, {"metadata", "namespace"})},
            {"labels",
             {{"kubernetes.io/service-name", name},
              {"endpointslice.kubernetes.io/managed-by", kSliceManager}}},
            {"ownerReferences",
             {{{"apiVersion", "v1"},
               {"kind", "Service"},
               {"name", name},
               {"uid", text_at(service, {"metadata", "uid"})},
               {"controller", true},
               {"blockOwnerDeletion", true}}}}}},
          {"addressType", family},
          {"endpoints", endpoints},
          {"ports", ports_of(service, pods)}};
}
}  // namespace

std::vector<Json> desired_slices(const Json& service, const std::vector<ObjectPtr>& pods) {
  const auto& wanted = map_at(service, {"spec", "selector"});
  if (wanted.empty() || text_at(service, {"spec", "type"}) == "ExternalName") return {};
  const auto selector = LabelSelector::of_map(wanted);
  std::vector<ObjectPtr> chosen;
  for (const auto& pod : pods)
    if (selector.matches(map_at(pod->value, {"metadata", "labels"}))) chosen.push_back(pod);
  std::vector<Json> out;
  for (const auto& family : texts_at(service, {"spec", "ipFamilies"}))
    out.push_back(slice_of(service, family, chosen));
  return out;
}

std::vector<std::string> slice_names(const std::string& service) {
  return {service + suffix("IPv4"), service + suffix("IPv6")};
}

bool is_up_to_date(const Json& stored, const Json& wanted) {
  return list_at(stored, {"endpoints"}) == list_at(wanted, {"endpoints"}) &&
         list_at(stored, {"ports"}) == list_at(wanted, {"ports"}) &&
         list_at(stored, {"metadata", "ownerReferences"}) ==
             list_at(wanted, {"metadata", "ownerReferences"});
}

}  // namespace kindlb::apiserver
