#pragma once
// TLS with a self-signed certificate generated at start-up and valid for this process only. It
// exists for clients that insist on https; it authenticates nobody. A listener accepts TLS and
// plain HTTP on the same port: the first byte of a connection tells them apart.

#include "kindlb/core/result.hpp"

#include <memory>
#include <string>

namespace kindlb::http_server {

class Transport;

/// Thread-safe. A transport keeps what it needs of the context alive.
class TlsContext {
 public:
  virtual ~TlsContext() = default;
  /// Generate a key and a certificate for `host`, an IP address, and for localhost.
  static core::Result<std::shared_ptr<TlsContext>> make(const std::string& host);

  /// The certificate as a kubeconfig's `certificate-authority-data`: PEM in base64.
  virtual const std::string& certificate() const = 0;
  /// Take ownership of an accepted socket.
  virtual std::unique_ptr<Transport> make_transport(int socket) = 0;
};

}  // namespace kindlb::http_server
