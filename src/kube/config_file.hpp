#pragma once
// The files of a kubeconfig: itself, and the certificates, keys and tokens it names.

#include "kindlb/core/result.hpp"

#include <string>

namespace kindlb::kube {

/// The operation that errors about a kubeconfig name.
inline constexpr const char* kReadKubeconfig = "read kubeconfig";

/// Read the kubeconfig itself or a file it names, at most 8 MiB. Errors have the path in their
/// detail.
core::Result<std::string> read_config_file(const std::string& path);

}  // namespace kindlb::kube
