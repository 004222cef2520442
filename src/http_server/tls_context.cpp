#include "kindlb/http_server/tls_context.hpp"

#include "transport.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace kindlb::http_server {

namespace {
using core::Error;
using core::ErrorKind;

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* thing) const {
    Free(thing);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>>;
using Context = std::unique_ptr<SSL_CTX, Deleter<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL, Deleter<SSL_free>>;
using Bio = std::unique_ptr<BIO, Deleter<BIO_free_all>>;

constexpr long kHour = 3600;
constexpr unsigned char kClientHello = 0x16;

bool extend(X509* certificate, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

/// Return a self-signed CA certificate, so that it is all a client has to trust. Null: OpenSSL
/// failed; ERR_get_error() has the reason.
Certificate make_certificate(EVP_PKEY* key, const std::string& host) {
  Certificate out(X509_new());
  std::uint64_t serial = 0;
  if (out == nullptr || RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) != 1)
    return nullptr;
  auto* name = X509_get_subject_name(out.get());
  const std::string common_name = "kindlb-sandbox";
  const bool complete =
      X509_set_version(out.get(), X509_VERSION_3) == 1 &&
      ASN1_INTEGER_set_uint64(X509_get_serialNumber(out.get()), serial >> 1U) == 1 &&
      X509_gmtime_adj(X509_getm_notBefore(out.get()), -kHour) != nullptr &&
      X509_gmtime_adj(X509_getm_notAfter(out.get()), 365L * 24 * kHour) != nullptr &&
      X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>(common_name.data()),
                                 static_cast<int>(common_name.size()), -1, 0) == 1 &&
      X509_set_issuer_name(out.get(), name) == 1 && X509_set_pubkey(out.get(), key) == 1 &&
      extend(out.get(), NID_basic_constraints, "critical,CA:TRUE") &&
      extend(out.get(), NID_key_usage, "critical,digitalSignature,keyCertSign") &&
      extend(out.get(), NID_ext_key_usage, "serverAuth") &&
      extend(out.get(), NID_subject_key_identifier, "hash") &&
      extend(out.get(), NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1,IP:::1,IP:" + host) &&
      X509_sign(out.get(), key, EVP_sha256()) > 0;
  return complete ? std::move(out) : nullptr;
}

std::string pem_of(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || PEM_write_bio_X509(bio.get(), certificate) != 1) return {};
  char* text = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

std::string base64_of(const std::string& text) {
  std::string out(4 * (text.size() / 3 + 1) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

/// TLS over the socket of a plain transport, which remains its owner.
class TlsTransport final : public Transport {
 public:
  TlsTransport(std::unique_ptr<Transport> plain, SSL_CTX* context)
      : plain_(std::move(plain)), session_(SSL_new(context)) {
    if (session_ == nullptr) return;
    SSL_set_fd(session_.get(), plain_->fd());
    SSL_set_accept_state(session_.get());
  }

  int fd() const override { return plain_->fd(); }
  IoResult receive(char* into, std::size_t size) override {
    if (session_ == nullptr) return {};
    std::size_t bytes = 0;
    ERR_clear_error();
    const int result = SSL_read_ex(session_.get(), into, size, &bytes);
    return to_result(result, bytes);
  }
  IoResult transmit(std::string_view text) override {
    if (session_ == nullptr) return {};
    std::size_t bytes = 0;
    ERR_clear_error();
    const int result = SSL_write_ex(session_.get(), text.data(), text.size(), &bytes);
    return to_result(result, bytes);
  }
  void finish() override {
    if (session_ != nullptr) SSL_shutdown(session_.get());
    plain_->finish();
  }

 private:
  IoResult to_result(int result, std::size_t bytes) {
    if (result == 1) return {IoState::Transferred, bytes};
    const int why = SSL_get_error(session_.get(), result);
    const bool retry = why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
    return {retry ? IoState::WouldBlock : IoState::Closed, 0};
  }

  std::unique_ptr<Transport> plain_;
  Session session_;
};

/// Plain HTTP or TLS, decided by the first byte: no HTTP method begins with 0x16, the record type
/// of a TLS handshake.
class DetectingTransport final : public Transport {
 public:
  DetectingTransport(int socket, std::shared_ptr<SSL_CTX> context)
      : transport_(make_plain_transport(socket)), context_(std::move(context)) {}

  int fd() const override { return transport_->fd(); }
  IoResult receive(char* into, std::size_t size) override {
    if (!detected_) {
      unsigned char first = 0;
      const auto got = recv(transport_->fd(), &first, 1, MSG_PEEK);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {IoState::WouldBlock, 0};
      detected_ = true;
      if (got == 1 && first == kClientHello)
        transport_ = std::make_unique<TlsTransport>(std::move(transport_), context_.get());
    }
    return transport_->receive(into, size);
  }
  IoResult transmit(std::string_view bytes) override { return transport_->transmit(bytes); }
  void finish() override { transport_->finish(); }

 private:
  std::unique_ptr<Transport> transport_;
  std::shared_ptr<SSL_CTX> context_;
  bool detected_ = false;
};

class OpenSslContext final : public TlsContext {
 public:
  OpenSslContext(Context context, std::string certificate)
      : context_(std::move(context)), certificate_(std::move(certificate)) {}

  const std::string& certificate() const override { return certificate_; }
  std::unique_ptr<Transport> make_transport(int socket) override {
    return std::make_unique<DetectingTransport>(socket, context_);
  }

 private:
  std::shared_ptr<SSL_CTX> context_;
  std::string certificate_;
};
}  // namespace

core::Result<std::shared_ptr<TlsContext>> TlsContext::make(const std::string& host) {
  const Key key(EVP_EC_gen("P-256"));
  const auto certificate = key == nullptr ? nullptr : make_certificate(key.get(), host);
  Context context(SSL_CTX_new(TLS_server_method()));
  if (certificate == nullptr || context == nullptr ||
      SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1 ||
      SSL_CTX_use_certificate(context.get(), certificate.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1)
    return Error{ErrorKind::Unavailable, "generate a TLS certificate for " + host,
                 ERR_error_string(ERR_get_error(), nullptr)};
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return std::shared_ptr<TlsContext>(
      std::make_shared<OpenSslContext>(std::move(context), base64_of(pem_of(certificate.get()))));
}

}  // namespace kindlb::http_server
