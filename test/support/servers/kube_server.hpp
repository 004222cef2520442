#pragma once
// A private Kubernetes API: etcd and kube-apiserver as children, on free ports of the loopback,
// with certificates made for the run and everything in a folder of its own. No controllers run:
// tests write EndpointSlices and Nodes themselves, and a deleted namespace stays terminating.
// Stopped and removed on destruction; the children also die with the test. Throws
// std::runtime_error when it cannot start, with one line for a missing binary, else with the logs.

#include "kindlb/http/client.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace kindlb::test {

class Child;

class KubeServer {
 public:
  /// `flags`: of kube-apiserver, besides those that every test needs.
  explicit KubeServer(std::vector<std::string> flags = {});
  ~KubeServer();
  KubeServer(const KubeServer&) = delete;
  KubeServer& operator=(const KubeServer&) = delete;

  const std::string& url() const { return url_; }
  /// The admin's, with an inline client certificate like kind's, or with a token.
  const std::string& kubeconfig() const { return cert_kubeconfig_; }
  const std::string& token_kubeconfig() const { return token_kubeconfig_; }
  /// A file that holds kubeconfig(), for kubectl.
  std::string kubeconfig_path() const;
  /// A new client that logs in as admin.
  std::shared_ptr<http::Client> client() const;
  /// The last lines of both logs.
  std::string log_tail() const;

 private:
  void write_credentials();
  bool try_start();
  bool wait_until_ready();
  std::string read_log(const std::string& name) const;

  const std::vector<std::string> flags_;
  std::filesystem::path folder_;
  std::filesystem::path etcd_binary_;
  std::filesystem::path apiserver_binary_;
  std::string url_;
  std::string cert_kubeconfig_;
  std::string token_kubeconfig_;
  std::vector<std::string> kubeconfig_templates_;
  std::unique_ptr<Child> etcd_;
  std::unique_ptr<Child> apiserver_;
};

/// Path of a binary in $KUBEBUILDER_ASSETS or PATH; empty when it is in neither.
std::string find_kube_binary(const std::string& name);

/// Of the kube-apiserver that a KubeServer starts: 36 for v1.36.3.
int kube_minor_version();
/// Whether it keeps ipMode in a Service's status. v1.29 does with a feature gate, which is off.
inline bool kube_keeps_ip_mode() {
  return kube_minor_version() >= 30;
}

/// Writes and reads as a test wants them: JSON text in, JSON text out. Throws on any answer that is
/// not 2xx, except from status().
class Rest {
 public:
  explicit Rest(std::shared_ptr<http::Client> client) : client_(std::move(client)) {}

  std::string create(const std::string& path, const std::string& json) const;
  std::string get(const std::string& path) const;
  /// `type`: "merge", "json", "strategic" or "apply".
  std::string patch(const std::string& path, const std::string& type,
                    const std::string& json) const;
  void remove(const std::string& path) const;
  /// HTTP status of a GET.
  int status(const std::string& path) const;

 private:
  http::Response send(http::Request request) const;

  std::shared_ptr<http::Client> client_;
};

}  // namespace kindlb::test
