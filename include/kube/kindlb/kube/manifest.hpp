#pragma once
// Objects from files instead of from an API server: YAML or JSON, several documents, lists. What an
// API server would fill into a fresh Service can be filled in here too. No I/O.

#include "kindlb/core/result.hpp"
#include "kindlb/core/service.hpp"

#include <map>
#include <string>
#include <vector>

namespace kindlb::kube {

/// What was read, each kind in the order of the input.
struct Manifests {
  std::vector<core::Service> services;
  std::vector<core::EndpointSlice> slices;
  std::vector<core::Node> nodes;
  std::vector<std::string> notes;  ///< what was passed over: "f.yaml:3:1: ConfigMap a/b ..."
};

/// Collects the objects of several files; an object that comes twice is an error that names both
/// places. Errors have FILE:LINE:COLUMN as their operation.
class ManifestReader {
 public:
  /// `cluster` is the one in the keys of what is read.
  explicit ManifestReader(std::string cluster) : cluster_(std::move(cluster)) {}

  core::Result<void> add(const std::string& text, const std::string& file);
  const Manifests& found() const { return found_; }
  Manifests take() { return std::move(found_); }

 private:
  friend class DocumentReader;

  std::string cluster_;
  Manifests found_;
  std::map<std::string, std::string> places_;  ///< by kind, namespace and name
};

/// As an API server does for Services that leave it open: the target port, the families (of a
/// cluster that has `families`, the primary one first), node ports and the health-check node port.
/// Real API servers pick node ports at random; these are the lowest that are free.
void fill_defaults(std::vector<core::Service>& services,
                   const std::vector<core::IpFamily>& families);

/// The status in a write as JSON, in the shape the API shows it.
std::string encode_status(const core::StatusApply& apply);

}  // namespace kindlb::kube
