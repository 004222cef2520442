#pragma once
// A kubeconfig reduced to what connects: server, credentials, and the names they go by.
// Certificates may be inline or in files (relative to the kubeconfig); exec and auth-provider
// plugins are refused with a line that says what to do instead.

#include "kindlb/core/result.hpp"
#include "kindlb/http/client.hpp"

#include <string>

namespace kindlb::kube {

struct ClusterAccess {
  std::string context;  ///< name of the context chosen
  std::string cluster;  ///< name of its cluster entry
  http::Endpoint endpoint;
};

/// `directory`: where relative file names start. `context`: empty for current-context.
core::Result<ClusterAccess> parse_kubeconfig(const std::string& yaml, const std::string& directory,
                                             const std::string& context);
/// Reads `path`; empty: $KUBECONFIG (the first file of the list that exists), else ~/.kube/config.
core::Result<ClusterAccess> load_kubeconfig(const std::string& path, const std::string& context);

}  // namespace kindlb::kube
