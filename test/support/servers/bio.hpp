#pragma once
// OpenSSL's view of a text in memory.

#include <openssl/bio.h>

#include <memory>
#include <string>

namespace kindlb::test {

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Bio = std::unique_ptr<BIO, FreeBio>;

/// Read from `pem`, which must outlive the result.
inline Bio reader(const std::string& pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

}  // namespace kindlb::test
