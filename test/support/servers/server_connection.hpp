#pragma once
// The server's end of one connection, with or without TLS. For http_server.cpp only.

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>

namespace kindlb::test {

/// A context that serves with these PEM texts; `client_ca` not empty: asks for a certificate of it.
std::shared_ptr<SSL_CTX> make_tls_context(const std::string& cert, const std::string& key,
                                          const std::string& client_ca);

class ServerConnection {
 public:
  /// Borrows `fd`. `context` null: no TLS.
  ServerConnection(int fd, SSL_CTX* context);

  bool handshake();  ///< false: the client refused us, or we it
  bool send(std::string_view bytes);
  std::string receive();  ///< empty: closed

  std::string server_name() const;
  std::string client_name() const;

 private:
  struct FreeSsl {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  int fd_;
  std::unique_ptr<SSL, FreeSsl> ssl_;
};

}  // namespace kindlb::test
