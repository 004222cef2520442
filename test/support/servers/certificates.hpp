#pragma once
// Keys and certificates made for one test run. Elliptic curves, because they are made at once.

#include <string>
#include <vector>

namespace kindlb::test {

struct Identity {
  std::string cert_pem;
  std::string key_pem;
};

/// A self-signed certificate that may sign others.
Identity make_authority(const std::string& common_name);
/// For servers and clients alike. `names`: what the certificate is good for besides, such as
/// "IP:127.0.0.1" and "DNS:localhost"; without a prefix it is found out.
Identity issue(const Identity& authority, const std::string& common_name,
               const std::vector<std::string>& names = {});

}  // namespace kindlb::test
