#pragma once
// Objects from manifests instead of from an API server: YAML or JSON, several documents, Lists.
// What an API server would default or allocate for a fresh Service can be filled in here too, and
// what it would refuse is refused with FILE:LINE:COLUMN. No I/O. Not thread-safe.

#include "kindlb/core/result.hpp"
#include "kindlb/core/service.hpp"

#include <map>
#include <string>
#include <vector>

namespace kindlb::kube {

/// The objects that were read, each kind in the order of the input.
struct Manifests {
  std::vector<core::Service> services;
  std::vector<core::EndpointSlice> slices;
  std::vector<core::Node> nodes;
  std::vector<std::string> notes;  ///< what was ignored: "f.yaml:3:1: ConfigMap a/b ..."
};

/// Collects the objects of several files. An object that occurs twice is an error that names both
/// positions. Errors have FILE:LINE:COLUMN as their operation; after one, found() holds what was
/// read before it.
class ManifestReader {
 public:
  /// `cluster`: the name put into every ServiceKey.
  explicit ManifestReader(std::string cluster) : cluster_(std::move(cluster)) {}

  core::Result<void> add(const std::string& text, const std::string& file);
  const Manifests& found() const { return found_; }
  Manifests take() { return std::move(found_); }

 private:
  friend class DocumentReader;

  std::string cluster_;
  Manifests found_;
  std::map<std::string, std::string> places_;  ///< FILE:LINE:COLUMN by kind, namespace and name
};

/// Fill in what an API server defaults or allocates where a Service leaves it open: the target
/// port, the families (of a cluster that has `families`, the primary one first), node ports and the
/// health-check node port. API servers pick node ports at random; here the lowest free ones are
/// taken, so that the same input gives the same plan.
void fill_defaults(std::vector<core::Service>& services,
                   const std::vector<core::IpFamily>& families);

/// Return the status that `apply` writes as JSON, in the shape the API shows it.
std::string encode_status(const core::StatusApply& apply);

}  // namespace kindlb::kube
