#include "support/servers/server_connection.hpp"

#include "kindlb/core/assert.hpp"
#include "support/servers/bio.hpp"

#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <array>

namespace kindlb::test {

namespace {

X509* read_cert(const std::string& pem) {
  X509* cert = PEM_read_bio_X509(reader(pem).get(), nullptr, nullptr, nullptr);
  KINDLB_ASSERT(cert != nullptr);
  return cert;
}

}  // namespace

std::shared_ptr<SSL_CTX> make_tls_context(const std::string& cert, const std::string& key,
                                          const std::string& client_ca) {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  X509* own = read_cert(cert);
  SSL_CTX_use_certificate(context.get(), own);
  X509_free(own);
  EVP_PKEY* own_key = PEM_read_bio_PrivateKey(reader(key).get(), nullptr, nullptr, nullptr);
  SSL_CTX_use_PrivateKey(context.get(), own_key);
  EVP_PKEY_free(own_key);
  KINDLB_ASSERT(SSL_CTX_check_private_key(context.get()) == 1);
  if (client_ca.empty()) return context;
  X509* ca = read_cert(client_ca);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), ca);
  X509_free(ca);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return context;
}

ServerConnection::ServerConnection(int fd, SSL_CTX* context) : fd_(fd) {
  if (context == nullptr) return;
  ssl_.reset(SSL_new(context));
  SSL_set_fd(ssl_.get(), fd);
}

bool ServerConnection::handshake() {
  return !ssl_ || SSL_accept(ssl_.get()) == 1;
}

bool ServerConnection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ssl_ ? SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                           : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string ServerConnection::receive() {
  std::array<char, 16384> buffer{};
  const auto count = ssl_ ? SSL_read(ssl_.get(), buffer.data(), static_cast<int>(buffer.size()))
                          : ::recv(fd_, buffer.data(), buffer.size(), 0);
  return count <= 0 ? std::string() : std::string(buffer.data(), static_cast<std::size_t>(count));
}

std::string ServerConnection::server_name() const {
  const char* name = ssl_ ? SSL_get_servername(ssl_.get(), TLSEXT_NAMETYPE_host_name) : nullptr;
  return name == nullptr ? std::string() : std::string(name);
}

std::string ServerConnection::client_name() const {
  X509* cert = ssl_ ? SSL_get0_peer_certificate(ssl_.get()) : nullptr;
  if (cert == nullptr) return {};
  std::array<char, 256> name{};
  X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, name.data(),
                            static_cast<int>(name.size()));
  return name.data();
}

}  // namespace kindlb::test
