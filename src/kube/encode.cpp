#include "encode.hpp"

#include "codec.hpp"
#include "kindlb/core/hash.hpp"
#include "kindlb/json/json.hpp"
#include "kindlb/kube/manifest.hpp"
#include "time.hpp"

#include <algorithm>

namespace kindlb::kube {

namespace {
using Ordered = nlohmann::ordered_json;

/// The longest message that events.k8s.io/v1 accepts; core/v1 has no limit of its own.
constexpr std::size_t kMaxEventMessage = 1024;

Ordered metadata_of(const core::StatusApply& apply) {
  Ordered meta{{"name", apply.key.name}, {"namespace", apply.key.ns}, {"uid", apply.uid}};
  if (!apply.observed.empty())
    meta["annotations"] = Ordered{{core::kObservedAnnotation, apply.observed}};
  if (apply.finalizer) meta["finalizers"] = Ordered::array({core::kFinalizer});
  return meta;
}

Ordered port_of(const core::PortStatus& port) {
  Ordered out{{"port", port.port}, {"protocol", core::name_of(port.protocol)}};
  if (!port.error.empty()) out["error"] = port.error;
  return out;
}

Ordered ingress_of(const core::Ingress& ingress) {
  Ordered out = Ordered::object();
  if (!ingress.ip.empty()) out["ip"] = ingress.ip;
  if (!ingress.hostname.empty()) out["hostname"] = ingress.hostname;
  if (!ingress.ip_mode.empty()) out["ipMode"] = ingress.ip_mode;
  if (ingress.ports.empty()) return out;
  auto& ports = out["ports"] = Ordered::array();
  for (const auto& port : ingress.ports) ports.push_back(port_of(port));
  return out;
}

Ordered condition_of(const core::Condition& condition) {
  return {{"type", condition.type},
          {"status", name_of(condition.status)},
          {"lastTransitionTime", format_time(condition.last_transition)},
          {"reason", condition.reason},
          {"message", condition.message}};
}

Ordered status_of(const core::StatusApply& apply) {
  Ordered ingress = Ordered::array();
  for (const auto& entry : apply.ingress) ingress.push_back(ingress_of(entry));
  Ordered conditions = Ordered::array();
  for (const auto& condition : apply.conditions) conditions.push_back(condition_of(condition));
  return {{"loadBalancer", {{"ingress", ingress}}}, {"conditions", conditions}};
}

Ordered operation(const char* op, const std::string& path) {
  return {{"op", op}, {"path", path}};
}

Ordered operation(const char* op, const std::string& path, const Ordered& value) {
  return {{"op", op}, {"path", path}, {"value", value}};
}

/// Remove the elements at these ascending indices, from the back: operations of a JSON patch apply
/// one after the other, and each removal shifts what follows.
void remove_elements(Ordered& patch, const std::string& list, std::vector<std::size_t> indices) {
  std::reverse(indices.begin(), indices.end());
  for (const auto index : indices)
    patch.push_back(operation("remove", list + "/" + std::to_string(index)));
}

void remove_finalizer(Ordered& patch, const core::Service& service) {
  std::vector<std::size_t> ours;
  for (std::size_t i = 0; i < service.finalizers.size(); ++i)
    if (service.finalizers[i] == core::kFinalizer) ours.push_back(i);
  remove_elements(patch, "/metadata/finalizers", std::move(ours));
}

bool is_ours(const core::Condition& condition) {
  return condition.type == core::kServingCondition ||
         condition.type == core::kProvisioningCondition ||
         condition.type == core::kDegradedCondition;
}

/// Clear the ingress as a whole, also what another manager co-owns: addresses that no proxy serves
/// any more must not stay. Of the conditions only ours go; others belong to other controllers.
void clear_status(Ordered& patch, const core::Service& service) {
  if (service.annotations.count(core::kObservedAnnotation) != 0)
    patch.push_back(operation("remove", "/metadata/annotations/kindlb.dev~1observed"));
  if (!service.status.ingress.empty())
    patch.push_back(operation("add", "/status/loadBalancer", Ordered::object()));
  std::vector<std::size_t> ours;
  for (std::size_t i = 0; i < service.status.conditions.size(); ++i)
    if (is_ours(service.status.conditions[i])) ours.push_back(i);
  remove_elements(patch, "/status/conditions", std::move(ours));
}
}  // namespace

std::string encode_apply(const core::StatusApply& apply) {
  return json::dump_ordered({{"apiVersion", "v1"},
                             {"kind", "Service"},
                             {"metadata", metadata_of(apply)},
                             {"status", status_of(apply)}});
}

std::string encode_status(const core::StatusApply& apply) {
  return json::dump_ordered(status_of(apply));
}

std::string truncated(const std::string& text, std::size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0U) == 0x80U) --limit;
  return text.substr(0, limit);
}

std::string event_name(const core::Service& about, const core::EventNote& note) {
  core::Hasher hash;
  hash.add(about.uid).add(note.type == core::EventType::Warning ? 1U : 0U);
  hash.add(note.reason).add(note.message);
  return about.key.name + "." + hash.text();
}

std::string encode_event_count(std::uint64_t count, core::Timestamp now) {
  return json::dump_ordered({{"count", count}, {"lastTimestamp", format_time(now)}});
}

std::string encode_event(const core::Service& about, const core::EventNote& note,
                         core::Timestamp now) {
  const auto time = format_time(now);
  const bool warning = note.type == core::EventType::Warning;
  return json::dump_ordered(
      {{"apiVersion", "v1"},
       {"kind", "Event"},
       {"metadata", {{"name", event_name(about, note)}, {"namespace", about.key.ns}}},
       {"involvedObject",
        {{"apiVersion", "v1"},
         {"kind", "Service"},
         {"namespace", about.key.ns},
         {"name", about.key.name},
         {"uid", about.uid},
         {"resourceVersion", about.resource_version}}},
       {"type", warning ? "Warning" : "Normal"},
       {"reason", note.reason},
       {"message", truncated(note.message, kMaxEventMessage)},
       {"source", {{"component", core::kFieldManager}}},
       {"reportingComponent", core::kFieldManager},
       {"firstTimestamp", time},
       {"lastTimestamp", time},
       {"count", 1}});
}

core::Result<ReleaseStep> plan_release(std::string_view service_json, const ReleasePatch& wanted) {
  const auto service = decode_service(parse_json(service_json), wanted.key.cluster);
  if (!service) return service.error();
  if (service->uid != wanted.uid)
    return ReleaseStep{.gone = true, .patch = {}, .resource_version = {}};
  Ordered patch = Ordered::array();
  remove_finalizer(patch, *service);
  if (wanted.clear_status) clear_status(patch, *service);
  ReleaseStep step{.gone = false, .patch = {}, .resource_version = service->resource_version};
  if (patch.empty()) return step;
  const auto version = operation("test", "/metadata/resourceVersion", service->resource_version);
  patch.insert(patch.begin(), version);
  patch.insert(patch.begin(), operation("test", "/metadata/uid", service->uid));
  step.patch = json::dump_ordered(patch);
  return step;
}

}  // namespace kindlb::kube
