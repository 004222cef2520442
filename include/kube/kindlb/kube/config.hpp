#pragma once
// A kubeconfig reduced to what is needed to connect: server, credentials, and the names of context
// and cluster. Certificates may be inline or in files (relative to the kubeconfig). Logins that
// need another program (exec and auth-provider plugins) or that API servers no longer support
// (basic authentication), impersonation and proxies are refused with a line that says what to use
// instead. Credentials are read once: a token file that is rotated later is not read again. Pure
// but for those files and, in load_kubeconfig, the environment.

#include "kindlb/core/result.hpp"
#include "kindlb/http/client.hpp"

#include <string>

namespace kindlb::kube {

struct ClusterAccess {
  std::string context;  ///< name of the context chosen
  std::string cluster;  ///< name of its cluster entry
  http::Endpoint endpoint;
};

/// Parse the first YAML (or JSON) document of a kubeconfig. `directory`: where relative file names
/// start. `context`: empty for current-context. Errors are Invalid and have the position in their
/// detail where there is one; NotFound or Denied when a file it names cannot be read.
core::Result<ClusterAccess> parse_kubeconfig(const std::string& yaml, const std::string& directory,
                                             const std::string& context);
/// The same with current-context, for a kubeconfig that was fetched from a node. It may not name
/// files: their content would be sent to the node, which is not to read this machine's files. Pure.
core::Result<ClusterAccess> parse_fetched_kubeconfig(const std::string& yaml);
/// Read `path`; when empty, the first existing file of $KUBECONFIG, else ~/.kube/config. Unlike
/// kubectl, several files are not merged.
core::Result<ClusterAccess> load_kubeconfig(const std::string& path, const std::string& context);

}  // namespace kindlb::kube
