#include "watch/watched_resource.hpp"

#include "codec.hpp"
#include "paths.hpp"

#include <functional>
#include <optional>
#include <utility>

namespace kindlb::kube {

namespace {
using core::Result;

/// What differs between the kinds. `decode` gives nothing for an object that is valid but does not
/// concern us.
template <typename T>
struct Kind {
  const char* name;
  const char* path;
  std::function<Result<std::optional<T>>(const Json&)> decode;
  std::function<void(std::vector<T>)> listed;
  std::function<void(T)> changed;
  std::function<void(const ObjectName&)> deleted;
};

template <typename T>
class TypedResource final : public WatchedResource {
 public:
  explicit TypedResource(Kind<T> kind) : kind_(std::move(kind)) {}

  const char* name() const override { return kind_.name; }
  const char* path() const override { return kind_.path; }

  void begin_list() override { items_.clear(); }

  Result<void> add_item(const Json& item) override {
    auto read = kind_.decode(item);
    if (!read) return read.error();
    if (*read) items_.push_back(std::move(**read));
    return {};
  }

  void finish_list() override { kind_.listed(std::exchange(items_, {})); }

  Result<void> changed(const Json& object) override {
    auto read = kind_.decode(object);
    if (!read) return read.error();
    if (!*read) return deleted(object);
    kind_.changed(std::move(**read));
    return {};
  }

  Result<void> deleted(const Json& object) override {
    const auto name = decode_name(object);
    if (!name) return name.error();
    kind_.deleted(*name);
    return {};
  }

 private:
  Kind<T> kind_;
  std::vector<T> items_;
};

/// For kinds of which every object is relevant. Services of another class are among them: whether a
/// Service is ours is decided in core, from the whole object.
template <typename T>
Result<std::optional<T>> always(Result<T> read) {
  if (!read) return read.error();
  return std::optional<T>(std::move(*read));
}

template <typename T>
std::unique_ptr<WatchedResource> watch_resource(Kind<T> kind) {
  return std::make_unique<TypedResource<T>>(std::move(kind));
}

std::unique_ptr<WatchedResource> services(const std::string& cluster, Observer& observer) {
  return watch_resource<core::Service>({
      .name = "services",
      .path = kServicesPath,
      .decode = [cluster](const Json& json) { return always(decode_service(json, cluster)); },
      .listed = [&](auto all) { observer.services_listed(std::move(all)); },
      .changed = [&](auto one) { observer.service_changed(std::move(one)); },
      .deleted =
          [&observer, cluster](const ObjectName& object) {
            observer.service_deleted({cluster, object.ns, object.name});
          },
  });
}

std::unique_ptr<WatchedResource> slices(const std::string& cluster, Observer& observer) {
  return watch_resource<core::EndpointSlice>({
      .name = "endpointslices",
      .path = kSlicesPath,
      .decode = [cluster](const Json& json) { return decode_slice(json, cluster); },
      .listed = [&](auto all) { observer.slices_listed(std::move(all)); },
      .changed = [&](auto one) { observer.slice_changed(std::move(one)); },
      .deleted = [&](const ObjectName& object) { observer.slice_deleted(object.ns, object.name); },
  });
}

std::unique_ptr<WatchedResource> nodes(Observer& observer) {
  return watch_resource<core::Node>({
      .name = "nodes",
      .path = kNodesPath,
      .decode = [](const Json& json) { return always(decode_node(json)); },
      .listed = [&](auto all) { observer.nodes_listed(std::move(all)); },
      .changed = [&](auto one) { observer.node_changed(std::move(one)); },
      .deleted = [&](const ObjectName& object) { observer.node_deleted(object.name); },
  });
}
}  // namespace

std::vector<std::unique_ptr<WatchedResource>> make_watched_resources(const std::string& cluster,
                                                                     Observer& observer) {
  std::vector<std::unique_ptr<WatchedResource>> resources;
  resources.push_back(services(cluster, observer));
  resources.push_back(slices(cluster, observer));
  resources.push_back(nodes(observer));
  return resources;
}

}  // namespace kindlb::kube
