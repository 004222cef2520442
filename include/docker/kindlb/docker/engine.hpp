#pragma once
// The Docker Engine API, typed, as far as a load balancer needs it: one small interface per kind of
// object, and Engine, which has them all. Take the interfaces that you call; pass an Engine on only
// where most of them are needed. Nothing here knows what a proxy is, and the structs hold the few
// fields that are used.
//
// Each call blocks; all may be made from many threads at once. The engine's own error text is kept
// in Error::detail, its meaning in Error::kind (404 NotFound, 409 Conflict, ...). The API version
// is negotiated: the highest both sides support. Where a parameter is called `id`, the engine
// accepts a name too.

#include "kindlb/core/result.hpp"
#include "kindlb/docker/container_files.hpp"
#include "kindlb/docker/containers.hpp"
#include "kindlb/docker/execs.hpp"
#include "kindlb/docker/images.hpp"
#include "kindlb/docker/networks.hpp"
#include "kindlb/docker/system.hpp"
#include "kindlb/docker/volumes.hpp"
#include "kindlb/http/client.hpp"

#include <memory>
#include <string>

namespace kindlb::docker {

/// Owns its parts. It stays usable when the daemon restarts: calls fail with Unavailable until it
/// is back, and connections are made anew.
class Engine {
 public:
  virtual ~Engine() = default;

  virtual Containers& containers() = 0;
  virtual ContainerFiles& files() = 0;
  virtual Execs& execs() = 0;
  virtual Networks& networks() = 0;
  virtual Images& images() = 0;
  virtual Volumes& volumes() = 0;
  virtual System& system() = 0;
};

/// Return where the engine listens: `host` if not empty, else DOCKER_HOST (unix://, tcp:// with
/// DOCKER_TLS_VERIFY and DOCKER_CERT_PATH, as the docker CLI), else the default socket. Contexts of
/// the docker CLI are not read. Invalid with a line that says what to do otherwise.
core::Result<http::Endpoint> find_endpoint(const std::string& host);

/// Connect and negotiate the API version. Unavailable: no engine there; Denied: no permission on
/// the socket; Invalid: an engine too old (API below 1.40) or too new to have a version in common.
core::Result<std::unique_ptr<Engine>> connect(const http::Endpoint& endpoint);

}  // namespace kindlb::docker
