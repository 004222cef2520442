#include "kindlb/kube/manifest.hpp"

#include "codec.hpp"
#include "kindlb/core/hash.hpp"
#include "kindlb/json/json.hpp"
#include "kindlb/yaml/json.hpp"
#include "kindlb/yaml/node.hpp"
#include "validation.hpp"

#include <string_view>
#include <utility>

namespace kindlb::kube {

namespace {

using core::Result;
using yaml::Node;

constexpr std::string_view kCore = "v1";
constexpr std::string_view kDiscovery = "discovery.k8s.io/v1";

std::string text_at(const Node& node, std::string_view path) {
  const auto& found = yaml::nearest(node, path);
  return found.kind == yaml::Kind::Scalar ? found.text : "";
}

/// Manifests have no uid. Derive one from the name, in the usual form, so that the same manifest
/// always gives the same plan.
std::string stable_uid(const std::string& ns, const std::string& name) {
  const auto first = core::Hasher().add(ns).add(name).text();
  const auto second = core::Hasher().add(name).add(ns).add("uid").text();
  return first.substr(0, 8) + "-" + first.substr(8, 4) + "-" + first.substr(12) + "-" +
         second.substr(0, 4) + "-" + second.substr(4);
}

/// Fill in namespace and uid where they are missing; objects dumped from a live cluster keep
/// theirs. Values of a wrong type stay as they are: the codec reports them.
void fill_metadata(Json& object, bool namespaced) {
  auto& meta = object["metadata"];
  if (meta.is_null()) meta = Json::object();
  if (!meta.is_object()) return;
  const auto missing = [&](const char* key) {
    return !meta.contains(key) || meta[key].is_null() || meta[key] == "";
  };
  if (namespaced && missing("namespace")) meta["namespace"] = "default";
  if (!missing("uid") || missing("name") || !meta["name"].is_string()) return;
  const auto ns = meta.contains("namespace") ? meta["namespace"] : Json("");
  if (ns.is_string()) meta["uid"] = stable_uid(ns.get<std::string>(), meta["name"]);
}

/// Return the object as an API server would hand it out.
Json object_of(const Node& node, bool namespaced) {
  auto object = yaml::to_json(node);
  fill_metadata(object, namespaced);
  return object;
}

/// Return a hint for the two usual mistakes: an unquoted word that YAML reads as a number or
/// boolean ("not a string"), and a quoted number ("not a port number").
std::string quoting_advice(const Node& field, const std::string& what) {
  if (field.kind != yaml::Kind::Scalar) return {};
  if (!field.plain && what.ends_with("not a port number"))
    return "; \"" + field.text + "\" is a string: write it without quotes";
  if (!field.plain || what.find("string") == std::string::npos) return {};
  const bool flag = std::holds_alternative<bool>(yaml::resolve(field));
  return "; " + field.text + " is a " + (flag ? "boolean" : "number") + " in YAML: write \"" +
         field.text + "\"";
}

}  // namespace

/// Reads the documents of one file into a ManifestReader. Lives for one add().
class DocumentReader {
 public:
  DocumentReader(ManifestReader& into, const std::string& file) : into_(into), file_(file) {}

  Result<void> read(const Node& document) {
    if (document.kind == yaml::Kind::Null) return {};
    if (document.kind != yaml::Kind::Map)
      return at(document, "expected a Kubernetes object, not " + yaml::describe(document));
    const auto kind = text_at(document, "kind");
    if (kind.empty()) return at(document, "this is not a Kubernetes object: 'kind' is missing");
    if (kind.ends_with("List") && document.find("items") != nullptr)
      return read_list(document, kind.substr(0, kind.size() - 4));
    return read_object(document, kind, text_at(document, "apiVersion"));
  }

 private:
  Result<void> read_list(const Node& list, const std::string& kind) {
    const auto& items = *list.find("items");
    if (items.kind == yaml::Kind::Null) return {};
    if (items.kind != yaml::Kind::List) return at(items, "items: not a list");
    for (const auto& item : items.items) {
      // The items of a typed list do not repeat their kind.
      const bool typed = !kind.empty() && item.find("kind") == nullptr;
      const auto result = typed ? read_object(item, kind, text_at(list, "apiVersion")) : read(item);
      if (!result.ok()) return result.error();
    }
    return {};
  }

  Result<void> read_object(const Node& node, const std::string& kind, const std::string& version) {
    if (kind == "Service" && version == kCore) return read_service(node);
    if (kind == "EndpointSlice" && version == kDiscovery) return read_slice(node);
    if (kind == "Node" && version == kCore) return read_node(node);
    if (version.empty()) return at(node, kind + ": 'apiVersion' is missing");
    note(node, version + " " + kind + " " + text_at(node, "metadata.name") + " is ignored");
    return {};
  }

  Result<void> read_service(const Node& node) {
    const auto json = object_of(node, true);
    Problem problem;
    auto service = kube::read_service(json, into_.cluster_, problem);
    if (problem.text) return error_in(node, problem);
    if (const auto invalid = validate(service))
      return error_in(node, {invalid->path + ": " + invalid->message, invalid->path});
    if (auto once = remember(node, "Service", service.key.ns, service.key.name); !once.ok())
      return once;
    into_.found_.services.push_back(std::move(service));
    return {};
  }

  Result<void> read_slice(const Node& node) {
    const auto json = object_of(node, true);
    Problem problem;
    auto slice = kube::read_slice(json, into_.cluster_, problem);
    if (problem.text) return error_in(node, problem);
    if (!slice) {
      note(node,
           "EndpointSlice " + text_at(node, "metadata.name") +
               " is ignored: it has no label kubernetes.io/service-name, or its addressType is "
               "neither IPv4 nor IPv6");
      return {};
    }
    if (auto once = remember(node, "EndpointSlice", slice->service.ns, slice->name); !once.ok())
      return once;
    into_.found_.slices.push_back(std::move(*slice));
    return {};
  }

  Result<void> read_node(const Node& node) {
    const auto json = object_of(node, false);
    Problem problem;
    auto read = kube::read_node(json, problem);
    if (problem.text) return error_in(node, problem);
    if (auto once = remember(node, "Node", "", read.name); !once.ok()) return once;
    into_.found_.nodes.push_back(std::move(read));
    return {};
  }

  Result<void> remember(const Node& node, const std::string& kind, const std::string& ns,
                        const std::string& name) {
    const auto full = (ns.empty() ? "" : ns + "/") + name;
    const auto [entry, fresh] =
        into_.places_.emplace(kind + " " + full, yaml::fault(file_, node.place, "").operation);
    if (fresh) return {};
    return at(node, kind + " " + full + " is also at " + entry->second);
  }

  core::Error error_in(const Node& object, const Problem& problem) const {
    const auto& field = yaml::nearest(object, problem.path);
    const auto what = problem.text.value_or("");
    return yaml::fault(file_, field.place, what + quoting_advice(field, what));
  }

  core::Error at(const Node& node, std::string what) const {
    return yaml::fault(file_, node.place, std::move(what));
  }

  void note(const Node& node, std::string what) {
    const auto located = yaml::fault(file_, node.place, std::move(what));
    into_.found_.notes.push_back(located.operation + ": " + located.detail);
  }

  ManifestReader& into_;
  const std::string& file_;
};

Result<void> ManifestReader::add(const std::string& text, const std::string& file) {
  const auto documents = yaml::parse(text, file);
  if (!documents.ok()) return documents.error();
  DocumentReader reader(*this, file);
  for (const auto& document : *documents)
    if (auto result = reader.read(document); !result.ok()) return result;
  return {};
}

}  // namespace kindlb::kube
