#include "options.hpp"

#include "kindlb/base/version.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace kindlb::http {

namespace {

// Small on purpose: there is a pair of buffers per open watch and per idle connection.
constexpr long kReceiveBuffer = 16L * 1024;
constexpr long kUploadBuffer = 16L * 1024;

/// Sets options one after the other and remembers the first failure.
class Setter {
 public:
  explicit Setter(CURL* easy) : easy_(easy) {}

  template <typename T>
  Setter& operator()(CURLoption option, T value) {
    if (code_ == CURLE_OK) code_ = curl_easy_setopt(easy_, option, value);
    return *this;
  }
  Setter& blob(CURLoption option, const std::string& pem) {
    if (pem.empty()) return *this;
    // libcurl's blob is not const, but with NOCOPY it only reads.
    curl_blob borrowed{
        .data = const_cast<char*>(pem.data()), .len = pem.size(), .flags = CURL_BLOB_NOCOPY};
    return (*this)(option, &borrowed);
  }
  CURLcode code() const { return code_; }

 private:
  CURL* easy_;
  CURLcode code_ = CURLE_OK;
};

void set_transport(Setter& set, const Endpoint& endpoint) {
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_NOPROXY, "*");  // a local engine or cluster is never behind an http_proxy
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_TCP_NODELAY, 1L);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_TCP_KEEPIDLE, 30L);
  set(CURLOPT_TCP_KEEPINTVL, 10L);
  set(CURLOPT_QUICK_EXIT, 1L);  // a stop does not wait for a slow name server
  set(CURLOPT_BUFFERSIZE, kReceiveBuffer);
  set(CURLOPT_UPLOAD_BUFFERSIZE, kUploadBuffer);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(endpoint.connect_timeout.count()));
  set(CURLOPT_USERAGENT, ("kindlb/" + base::version()).c_str());
}

void set_tls(Setter& set, const Tls& tls) {
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(CURLOPT_SSL_VERIFYPEER, tls.insecure ? 0L : 1L);
  set(CURLOPT_SSL_VERIFYHOST, tls.insecure ? 0L : 2L);
  if (!tls.ca_pem.empty()) {
    set(CURLOPT_CAPATH,
        static_cast<char*>(nullptr));  // this CA instead of the system's, not besides
    set.blob(CURLOPT_CAINFO_BLOB, tls.ca_pem);
  }
  set.blob(CURLOPT_SSLCERT_BLOB, tls.cert_pem);
  set.blob(CURLOPT_SSLKEY_BLOB, tls.key_pem);
}

/// False: out of memory.
bool append(HeaderList& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  if (longer == nullptr) return false;
  static_cast<void>(list.release());  // part of `longer` now
  list.reset(longer);
  return true;
}

bool has_body(const Request& request) {
  constexpr std::array<std::string_view, 3> kMethods = {"POST", "PUT", "PATCH"};
  return !request.body.empty() || std::ranges::find(kMethods, request.method) != kMethods.end();
}

bool fill_headers(HeaderList& list, const Endpoint& endpoint, const Request& request) {
  bool ok = append(list, "Expect:");  // no round trip to ask whether a body may follow
  if (find_header(request.headers, "Content-Type") == nullptr)
    ok = ok && append(list, "Content-Type:");
  if (!endpoint.bearer_token.empty())
    ok = ok && append(list, "Authorization: Bearer " + endpoint.bearer_token);
  for (const auto& [name, value] : request.headers)
    // "Name:" would remove a header, "Name;" sends it empty.
    ok = ok && append(list, value.empty() ? name + ";" : name + ": " + value);
  return ok;
}

bool is_token(std::string_view name) {
  return !name.empty() && is_one_line(name) &&
         name.find_first_of(" \t:;,\"/") == std::string_view::npos;
}

bool is_pem(std::string_view text, std::string_view kind) {
  const auto begin = text.find("-----BEGIN ");
  const auto label = text.find(kind, begin == std::string_view::npos ? text.size() : begin);
  return label != std::string_view::npos && text.find("-----END ", label) != std::string_view::npos;
}

/// Return why the TLS credentials cannot work. Only their PEM form is checked here, so that a wrong
/// file is reported at start-up; libcurl parses the content when it connects.
std::optional<core::Error> validate(const Tls& tls) {
  const auto bad = [](std::string_view what) {
    return core::Error{core::ErrorKind::Invalid, "use TLS credentials", std::string(what)};
  };
  if (!tls.ca_pem.empty() && !is_pem(tls.ca_pem, "CERTIFICATE-----"))
    return bad("the CA certificate is not PEM text (-----BEGIN CERTIFICATE-----)");
  if (tls.cert_pem.empty() != tls.key_pem.empty())
    return bad("client certificate and key must be given together");
  if (tls.cert_pem.empty()) return std::nullopt;
  if (!is_pem(tls.cert_pem, "CERTIFICATE-----"))
    return bad("the client certificate is not PEM text (-----BEGIN CERTIFICATE-----)");
  if (!is_pem(tls.key_pem, "PRIVATE KEY-----"))
    return bad("the client key is not PEM text (-----BEGIN ... PRIVATE KEY-----)");
  return std::nullopt;
}

}  // namespace

core::Result<Destination> make_destination(Endpoint endpoint) {
  auto route = parse_route(endpoint);
  if (!route) return route.error();
  if (auto invalid = validate(endpoint.tls)) return *invalid;
  if (!is_one_line(endpoint.bearer_token))
    return core::Error{core::ErrorKind::Invalid, "use a bearer token",
                       "the token must be one line"};
  Destination destination{std::move(endpoint), *std::move(route), nullptr};
  if (!destination.route.connect_to.empty() &&
      !append(destination.connect_to, destination.route.connect_to))
    return core::Error{core::ErrorKind::Unavailable, "set up libcurl", "out of memory"};
  return destination;
}

CURLcode apply_connection(CURL* easy, const Destination& destination) {
  Setter set(easy);
  set_transport(set, destination.endpoint);
  if (destination.route.base_url.starts_with("https:")) set_tls(set, destination.endpoint.tls);
  if (destination.connect_to) set(CURLOPT_CONNECT_TO, destination.connect_to.get());
  if (!destination.route.unix_path.empty())
    set(CURLOPT_UNIX_SOCKET_PATH, destination.route.unix_path.c_str());
  return set.code();
}

RequestOptions apply_request(CURL* easy, const Destination& destination, const Request& request) {
  RequestOptions options;
  if (!fill_headers(options.headers, destination.endpoint, request)) {
    options.code = CURLE_OUT_OF_MEMORY;
    return options;
  }
  Setter set(easy);
  const std::string url = destination.route.base_url + request.target;
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_HTTPHEADER, options.headers.get());
  if (has_body(request)) {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(CURLOPT_POSTFIELDS, request.body.c_str());
  }
  if (request.method == "HEAD") set(CURLOPT_NOBODY, 1L);
  set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  options.code = set.code();
  return options;
}

std::optional<core::Error> validate(const Request& request) {
  const auto bad = [](std::string_view what) {
    return core::Error{core::ErrorKind::Invalid, "write a request",
                       std::string(what) + " contains characters that HTTP does not allow there"};
  };
  if (!is_token(request.method)) return bad("the method");
  if (!is_target(request.target)) return bad("the target");
  for (const auto& [name, value] : request.headers)
    if (!is_token(name) || !is_one_line(value)) return bad("a header");
  return std::nullopt;
}

}  // namespace kindlb::http
