#include "kindlb/kube/config.hpp"

#include "config_file.hpp"
#include "kindlb/base/text.hpp"
#include "kindlb/core/base64.hpp"
#include "kindlb/yaml/fields.hpp"
#include "kindlb/yaml/node.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace kindlb::kube {

namespace {
using core::Error;
using core::ErrorKind;
using core::Result;
using yaml::Node;
namespace fs = std::filesystem;

Error invalid(std::string detail) {
  return {ErrorKind::Invalid, kReadKubeconfig, std::move(detail)};
}

/// The errors of the YAML module carry ":LINE:COLUMN" as their operation when the file has no name;
/// the operation of a kubeconfig error names the file, so the position moves into the detail.
Error at_position(const Error& error) {
  const auto colon = error.operation.rfind(':');
  if (colon == std::string::npos || colon == 0)
    return invalid("this is not a kubeconfig: " + error.detail);
  return invalid(fmt::format("line {}, column {}: {}", error.operation.substr(1, colon - 1),
                             error.operation.substr(colon + 1), error.detail));
}

/// One kubeconfig being read. A value of the wrong kind gives its default and is remembered in
/// faults_; since reading goes on until the first Result that is an error, a remembered fault
/// always came before that error and is the one to report.
class KubeconfigReader {
 public:
  explicit KubeconfigReader(std::optional<fs::path> folder) : folder_(std::move(folder)) {}

  Result<ClusterAccess> read(const Node& root, const std::string& wanted_context) {
    auto access = access_of(root, wanted_context);
    if (!faults_.none()) return at_position(faults_.error(""));
    return access;
  }

 private:
  /// Remember that the value is of the wrong kind. The value itself may be a secret: it is not
  /// shown.
  void expected(const char* what, const Node& instead) {
    const char* const found = instead.kind == yaml::Kind::Map    ? "a map"
                              : instead.kind == yaml::Kind::List ? "a list"
                                                                 : "text";
    faults_.add(instead.place, fmt::format("expected {}, not {}", what, found));
  }
  /// Null when absent or null.
  const Node* find(const Node& map, std::string_view key);
  std::string text_of(const Node& map, std::string_view key);
  bool flag_of(const Node& map, std::string_view key);
  std::vector<const Node*> entries_of(const Node& root, const char* section);
  std::string names_in(const Node& root, const char* section);

  Result<const Node*> entry(const Node& root, const char* section, const char* kind,
                            const std::string& name);
  Result<std::string> file_of(const Node& map, const std::string& key, const std::string& instead);
  Result<std::string> pem_of(const Node& map, const std::string& key);
  Result<std::string> url_of(const Node& cluster);
  Result<std::string> token_of(const Node& user);
  Result<std::string> context_name(const Node& root, const std::string& wanted);
  Result<void> refuse_unsupported_login(const Node& user);
  Result<void> fill_cluster(const Node& cluster, http::Endpoint& out);
  Result<void> fill_user(const Node& user, http::Endpoint& out);
  Result<ClusterAccess> access_of(const Node& root, const std::string& wanted);

  std::optional<fs::path> folder_;  ///< where relative file names start; absent: no file is read
  yaml::Faults faults_;
};

const Node* KubeconfigReader::find(const Node& map, std::string_view key) {
  if (map.kind != yaml::Kind::Map && map.kind != yaml::Kind::Null) expected("a map", map);
  const auto* const value = map.find(key);
  return value == nullptr || value->kind == yaml::Kind::Null ? nullptr : value;
}

std::string KubeconfigReader::text_of(const Node& map, std::string_view key) {
  const auto* const value = find(map, key);
  if (value == nullptr) return {};
  if (value->kind != yaml::Kind::Scalar) expected("text", *value);
  return value->text;
}

/// Quoted booleans count too: kubectl refuses them, but nothing is gained by refusing.
bool KubeconfigReader::flag_of(const Node& map, std::string_view key) {
  const auto* const value = find(map, key);
  if (value == nullptr) return false;
  auto unquoted = *value;
  unquoted.plain = true;
  const auto resolved =
      unquoted.kind == yaml::Kind::Scalar ? yaml::resolve(unquoted) : yaml::Scalar(nullptr);
  if (const auto* const flag = std::get_if<bool>(&resolved)) return *flag;
  faults_.add(value->place, "expected true or false");
  return false;
}

/// The elements of a list such as `contexts`; none when absent.
std::vector<const Node*> KubeconfigReader::entries_of(const Node& root, const char* section) {
  std::vector<const Node*> entries;
  const auto* const list = find(root, section);
  if (list == nullptr) return entries;
  if (list->kind != yaml::Kind::List) expected("a list", *list);
  if (list->kind == yaml::Kind::List)
    for (const auto& item : list->items) entries.push_back(&item);
  return entries;
}

/// "dev, test", or "none": what a message offers instead.
std::string KubeconfigReader::names_in(const Node& root, const char* section) {
  std::vector<std::string> names;
  for (const auto* const item : entries_of(root, section)) names.push_back(text_of(*item, "name"));
  return names.empty() ? "none" : base::joined(names);
}

/// The body (under `kind`) of the entry called `name` in the list `section`.
Result<const Node*> KubeconfigReader::entry(const Node& root, const char* section, const char* kind,
                                            const std::string& name) {
  for (const auto* const item : entries_of(root, section))
    if (text_of(*item, "name") == name)
      if (const auto* const body = find(*item, kind)) return body;
  return invalid(
      fmt::format("there is no {} '{}'; known: {}", kind, name, names_in(root, section)));
}

/// Return the content of the file that `key` names; empty if it names none. No file is read
/// anywhere else. `instead`: the key that takes the content itself.
Result<std::string> KubeconfigReader::file_of(const Node& map, const std::string& key,
                                              const std::string& instead) {
  const auto file = text_of(map, key);
  if (file.empty()) return std::string();
  if (!folder_)
    return invalid(fmt::format(
        "{} names a file of this machine, which only a kubeconfig of this machine may do; a "
        "node's has the content itself, in {}",
        key, instead));
  return read_config_file((*folder_ / file).string());  // an absolute name replaces the folder
}

/// `<key>-data` decoded, else the content of the file `<key>` names, else empty.
Result<std::string> KubeconfigReader::pem_of(const Node& map, const std::string& key) {
  const auto inlined = text_of(map, key + "-data");
  if (!inlined.empty()) {
    auto pem = core::decode_base64(inlined);
    if (!pem)
      return invalid(
          fmt::format("{0}-data is not base64; encode the PEM file with `base64 -w0`, or "
                      "name the file in {0}",
                      key));
    return std::move(*pem);
  }
  return file_of(map, key, key + "-data");
}

Result<std::string> KubeconfigReader::url_of(const Node& cluster) {
  auto url = text_of(cluster, "server");
  while (url.ends_with('/')) url.pop_back();
  if (url.empty())
    return invalid("the cluster has no server; set it to a URL such as https://127.0.0.1:6443");
  const auto scheme_end = url.find("://");
  const auto scheme = url.substr(0, scheme_end);
  if (scheme_end == std::string::npos || (scheme != "https" && scheme != "http"))
    return invalid(fmt::format("server '{}' must be an https:// or http:// URL", url));
  if (url.find_first_of("/?#@", scheme_end + 3) != std::string::npos)
    return invalid(fmt::format(
        "server '{}' must have only a scheme, a host and a port, as in https://127.0.0.1:6443",
        url));
  return url;
}

Result<void> KubeconfigReader::fill_cluster(const Node& cluster, http::Endpoint& out) {
  if (find(cluster, "proxy-url") != nullptr)
    return invalid(
        "proxy-url is not supported; use a server address that kindlb can reach directly");
  auto url = url_of(cluster);
  if (!url) return url.error();
  out.url = std::move(*url);
  out.tls.server_name = text_of(cluster, "tls-server-name");
  out.tls.insecure = flag_of(cluster, "insecure-skip-tls-verify");
  if (out.tls.insecure) return {};  // a CA that will not be looked at need not be readable
  auto ca = pem_of(cluster, "certificate-authority");
  if (!ca) return ca.error();
  out.tls.ca_pem = std::move(*ca);
  return {};
}

/// Refuse logins that need another program, that API servers no longer support, or that impersonate
/// another user. Silently going on without them would end in a 401 that explains nothing.
Result<void> KubeconfigReader::refuse_unsupported_login(const Node& user) {
  static constexpr std::array kUnsupported{"exec", "auth-provider", "username", "password", "as"};
  for (const char* key : kUnsupported)
    if (find(user, key) != nullptr)
      return invalid(
          fmt::format("the user authenticates with '{}', which kindlb does not support; use a "
                      "kubeconfig with a token or a client certificate, such as the output of "
                      "`kubectl config view --minify --flatten --raw` for an admin context",
                      key));
  return {};
}

/// Return the bearer token. A token file wins over an inline token, as in kubectl. It is read once.
Result<std::string> KubeconfigReader::token_of(const Node& user) {
  if (text_of(user, "tokenFile").empty()) return std::string(base::trimmed(text_of(user, "token")));
  auto text = file_of(user, "tokenFile", "token");
  if (!text) return text.error();
  return std::string(base::trimmed(*text));
}

Result<void> KubeconfigReader::fill_user(const Node& user, http::Endpoint& out) {
  if (auto usable = refuse_unsupported_login(user); !usable) return usable;
  auto cert = pem_of(user, "client-certificate");
  if (!cert) return cert.error();
  auto key = pem_of(user, "client-key");
  if (!key) return key.error();
  if (cert->empty() != key->empty())
    return invalid("client-certificate and client-key must be given together");
  auto token = token_of(user);
  if (!token) return token.error();
  if (token->find_first_of("\r\n") != std::string::npos)
    return invalid("the token must be one line");
  out.tls.cert_pem = std::move(*cert);
  out.tls.key_pem = std::move(*key);
  out.bearer_token = std::move(*token);
  return {};
}

Result<std::string> KubeconfigReader::context_name(const Node& root, const std::string& wanted) {
  auto name = wanted.empty() ? text_of(root, "current-context") : wanted;
  if (!name.empty()) return name;
  return invalid("there is no current-context; choose a context by name; known: " +
                 names_in(root, "contexts"));
}

Result<ClusterAccess> KubeconfigReader::access_of(const Node& root, const std::string& wanted) {
  auto name = context_name(root, wanted);
  if (!name) return name.error();
  const auto context = entry(root, "contexts", "context", *name);
  if (!context) return context.error();
  ClusterAccess access{
      .context = std::move(*name), .cluster = text_of(**context, "cluster"), .endpoint = {}};
  const auto cluster = entry(root, "clusters", "cluster", access.cluster);
  if (!cluster) return cluster.error();
  if (auto filled = fill_cluster(**cluster, access.endpoint); !filled) return filled.error();
  const auto user_name = text_of(**context, "user");
  if (user_name.empty()) return access;
  const auto user = entry(root, "users", "user", user_name);
  if (!user) return user.error();
  if (auto filled = fill_user(**user, access.endpoint); !filled) return filled.error();
  return access;
}

Result<ClusterAccess> read_kubeconfig(const std::string& yaml, std::optional<fs::path> folder,
                                      const std::string& context) {
  const auto documents = yaml::parse(yaml, "");
  if (!documents) return at_position(documents.error());
  if (documents->empty() || documents->front().kind != yaml::Kind::Map)
    return invalid("this is not a kubeconfig: expected a map with clusters, contexts and users");
  return KubeconfigReader(std::move(folder)).read(documents->front(), context);
}
}  // namespace

Result<ClusterAccess> parse_kubeconfig(const std::string& yaml, const std::string& directory,
                                       const std::string& context) {
  return read_kubeconfig(yaml, directory, context);
}

Result<ClusterAccess> parse_fetched_kubeconfig(const std::string& yaml) {
  return read_kubeconfig(yaml, std::nullopt, "");
}

}  // namespace kindlb::kube
