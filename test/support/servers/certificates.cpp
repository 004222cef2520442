#include "support/servers/certificates.hpp"

#include "kindlb/core/assert.hpp"
#include "kindlb/core/ip.hpp"
#include "support/servers/bio.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <memory>

namespace kindlb::test {

namespace {
struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* cert) const { X509_free(cert); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Cert = std::unique_ptr<X509, Free>;
using Extension = std::unique_ptr<X509_EXTENSION, Free>;

constexpr long kOneHour = 60 * 60;

std::string text_of(const Bio& bio) {
  BUF_MEM* memory = nullptr;
  BIO_get_mem_ptr(bio.get(), &memory);
  return {memory->data, memory->length};
}

std::string pem_of(X509* cert) {
  const Bio bio(BIO_new(BIO_s_mem()));
  KINDLB_ASSERT(PEM_write_bio_X509(bio.get(), cert) == 1);
  return text_of(bio);
}

std::string pem_of(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  KINDLB_ASSERT(PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) ==
                1);
  return text_of(bio);
}

Key new_key() {
  Key key(EVP_EC_gen("P-256"));
  KINDLB_ASSERT(key);
  return key;
}

void extend(X509* cert, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  KINDLB_ASSERT(extension && X509_add_ext(cert, extension.get(), -1) == 1);
}

/// Unsigned; valid from an hour ago, so that clocks need not agree, for a day.
Cert draft(EVP_PKEY* key, const std::string& common_name) {
  static std::atomic<long> serial{1};
  Cert cert(X509_new());
  X509_set_version(cert.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(cert.get()), serial++);
  X509_gmtime_adj(X509_getm_notBefore(cert.get()), -kOneHour);
  X509_gmtime_adj(X509_getm_notAfter(cert.get()), 24 * kOneHour);
  X509_set_pubkey(cert.get(), key);
  const std::vector<unsigned char> name(common_name.begin(), common_name.end());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(cert.get()), "CN", MBSTRING_UTF8, name.data(),
                             static_cast<int>(name.size()), -1, 0);
  return cert;
}

std::string prefixed(const std::string& name) {
  if (name.starts_with("IP:") || name.starts_with("DNS:")) return name;
  return (core::IpAddress::parse(name) ? "IP:" : "DNS:") + name;
}

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const auto& name : names) all += (all.empty() ? "" : ",") + prefixed(name);
  return all;
}
}  // namespace

Identity make_authority(const std::string& common_name) {
  const auto key = new_key();
  const auto cert = draft(key.get(), common_name);
  X509_set_issuer_name(cert.get(), X509_get_subject_name(cert.get()));
  extend(cert.get(), cert.get(), NID_basic_constraints, "critical,CA:TRUE");
  KINDLB_ASSERT(X509_sign(cert.get(), key.get(), EVP_sha256()) > 0);
  return {pem_of(cert.get()), pem_of(key.get())};
}

Identity issue(const Identity& authority, const std::string& common_name,
               const std::vector<std::string>& names) {
  const Cert issuer(PEM_read_bio_X509(reader(authority.cert_pem).get(), nullptr, nullptr, nullptr));
  const Key issuer_key(
      PEM_read_bio_PrivateKey(reader(authority.key_pem).get(), nullptr, nullptr, nullptr));
  KINDLB_ASSERT(issuer && issuer_key);
  const auto key = new_key();
  const auto cert = draft(key.get(), common_name);
  X509_set_issuer_name(cert.get(), X509_get_subject_name(issuer.get()));
  if (!names.empty()) extend(cert.get(), issuer.get(), NID_subject_alt_name, joined(names));
  KINDLB_ASSERT(X509_sign(cert.get(), issuer_key.get(), EVP_sha256()) > 0);
  return {pem_of(cert.get()), pem_of(key.get())};
}

}  // namespace kindlb::test
