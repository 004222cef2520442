#pragma once
// Where a benchmark plays: a real cluster somebody points at, or a private API server with a
// backend of our own on a docker network of our own. Everything made is removed on destruction.

#include "kindlb/docker/networks.hpp"
#include "kindlb/http/client.hpp"

#include <memory>
#include <string>

namespace kindlb::bench {

/// Where the Services of a benchmark are.
inline constexpr const char* kServices = "/api/v1/namespaces/default/services";

struct StageOptions {
  std::string kubeconfig;  ///< empty: a private API server
  std::string network = "kind";
  std::string selector = "app=web";
  int target_port = 8080;
};

class Stage {
 public:
  virtual ~Stage() = default;
  virtual std::string description() const = 0;
  virtual std::string kubeconfig_path() const = 0;
  virtual std::string network() const = 0;
  virtual std::shared_ptr<http::Client> client() const = 0;
  /// Of type LoadBalancer, port 80, in namespace default. From any thread.
  virtual void create_service(const std::string& name) = 0;
  virtual void delete_service(const std::string& name) = 0;
  /// A merge patch of the Service.
  virtual void patch_service(const std::string& name, const std::string& patch) = 0;
  /// Puts the other of two backends behind the Service, which answers with this status line. Only
  /// on a stage of our own.
  virtual std::string swap_backend(const std::string& name) = 0;
};

/// Throws std::runtime_error with one line when it cannot be set up.
std::unique_ptr<Stage> make_stage(docker::Networks& networks, const StageOptions& options);

/// Whether packets to this address stay on a bridge of this machine (ip route get): no load is sent
/// anywhere else.
bool is_on_bridge(const std::string& ip);

/// The status line of GET / on port 80, or why there is none.
std::string http_get(const std::string& ip);

}  // namespace kindlb::bench
