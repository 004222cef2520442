#pragma once
// TLS with a certificate made at the start, for this run alone. There is nobody to keep out here:
// it is for clients that insist on https. Those that do not may speak plainly on the same port; the
// first byte tells them apart.

#include "kindlb/core/result.hpp"
#include "kindlb/http_server/transport.hpp"

#include <memory>
#include <string>

namespace kindlb::http_server {

/// Safe from any thread; outlived by none of its wires.
class TlsContext {
 public:
  virtual ~TlsContext() = default;
  /// `host`: the IP address that clients go to, besides the loopback's own.
  static core::Result<std::shared_ptr<TlsContext>> make(const std::string& host);

  /// What clients must trust: PEM, as a kubeconfig holds it (in base64).
  virtual const std::string& certificate() const = 0;
  /// Takes the socket over.
  virtual std::unique_ptr<Wire> make_wire(int socket) = 0;
};

}  // namespace kindlb::http_server
