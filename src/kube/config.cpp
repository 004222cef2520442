#include "kindlb/kube/config.hpp"

#include "kindlb/base/text.hpp"
#include "kindlb/core/base64.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace kindlb::kube {

namespace {
using core::Error;
using core::ErrorKind;
using core::Result;
namespace fs = std::filesystem;

constexpr const char* kOperation = "read kubeconfig";
constexpr std::size_t kMaxFile = std::size_t{8} << 20U;

Error invalid(std::string detail) {
  return {ErrorKind::Invalid, kOperation, std::move(detail)};
}

ErrorKind kind_of_errno(int code) {
  if (code == ENOENT || code == ENOTDIR) return ErrorKind::NotFound;
  return code == EACCES || code == EPERM ? ErrorKind::Denied : ErrorKind::Invalid;
}

Result<std::string> read_file(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return invalid(path.string() + " is a directory");
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return Error{kind_of_errno(errno), kOperation, path.string() + ": " + std::strerror(errno)};
  std::string text;
  std::array<char, 4096> chunk{};
  while (in.read(chunk.data(), chunk.size()), in.gcount() > 0) {
    text.append(chunk.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > kMaxFile) return invalid(path.string() + " is larger than 8 MiB");
  }
  return text;
}

/// The value under `key`; empty when absent or null. yaml-cpp throws when it is a map or a list.
std::string text_of(const YAML::Node& map, const char* key) {
  const YAML::Node value = map[key];
  return value && !value.IsNull() ? value.as<std::string>() : std::string();
}

bool has(const YAML::Node& map, const char* key) {
  const YAML::Node value = map[key];
  return value && !value.IsNull();
}

bool flag_of(const YAML::Node& map, const char* key) {
  return has(map, key) && map[key].as<bool>();
}

std::vector<std::string> names_in(const YAML::Node& list) {
  std::vector<std::string> names;
  for (const auto& item : list) names.push_back(text_of(item, "name"));
  return names;
}

std::string listing(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

/// The body (under `kind`) of the entry called `name` in the list `section`.
Result<YAML::Node> entry(const YAML::Node& root, const char* section, const char* kind,
                         const std::string& name) {
  const YAML::Node list = root[section];
  if (list)
    for (const auto& item : list)
      if (text_of(item, "name") == name && has(item, kind)) return YAML::Node(item[kind]);
  return invalid(fmt::format("there is no {} '{}'; known: {}", kind, name,
                             listing(list ? names_in(list) : std::vector<std::string>{})));
}

/// `<key>-data` decoded, else the content of the file `<key>` names, else empty.
Result<std::string> pem_of(const YAML::Node& map, const std::string& key, const fs::path& folder) {
  const auto inlined = text_of(map, (key + "-data").c_str());
  if (!inlined.empty()) {
    auto pem = core::decode_base64(inlined);
    if (!pem) return invalid(key + "-data is not base64");
    return std::move(*pem);
  }
  const auto file = text_of(map, key.c_str());
  if (file.empty()) return std::string();
  return read_file(folder / file);  // an absolute name replaces the folder
}

Result<std::string> url_of(const YAML::Node& cluster) {
  auto url = text_of(cluster, "server");
  while (url.ends_with('/')) url.pop_back();
  const auto scheme_end = url.find("://");
  const auto scheme = url.substr(0, scheme_end);
  if (scheme_end == std::string::npos || (scheme != "https" && scheme != "http"))
    return invalid(fmt::format("server '{}' must be an https:// or http:// URL", url));
  if (url.find_first_of("/?#@", scheme_end + 3) != std::string::npos)
    return invalid(fmt::format("server '{}' must be a scheme, a host and a port only", url));
  return url;
}

Result<void> fill_cluster(const YAML::Node& cluster, const fs::path& folder, http::Endpoint& out) {
  if (has(cluster, "proxy-url"))
    return invalid("proxy-url is not supported: name a server that is reached directly");
  auto url = url_of(cluster);
  if (!url) return url.error();
  out.url = std::move(*url);
  out.tls.server_name = text_of(cluster, "tls-server-name");
  out.tls.insecure = flag_of(cluster, "insecure-skip-tls-verify");
  if (out.tls.insecure) return {};  // a CA that will not be looked at need not be readable
  auto ca = pem_of(cluster, "certificate-authority", folder);
  if (!ca) return ca.error();
  out.tls.ca_pem = std::move(*ca);
  return {};
}

/// Ways to log in that need another program or that the API server no longer has.
Result<void> refuse_unsupported_login(const YAML::Node& user) {
  static constexpr std::array kUnsupported{"exec", "auth-provider", "username", "password", "as"};
  for (const char* key : kUnsupported)
    if (has(user, key))
      return invalid(
          fmt::format("the user logs in by '{}', which kindlb does not do; give it a kubeconfig "
                      "with a token or a client certificate, such as `kubectl config view "
                      "--minify --flatten --raw` of an admin context prints",
                      key));
  return {};
}

/// A token file wins over an inline token, as in kubectl. It is read once.
Result<std::string> token_of(const YAML::Node& user, const fs::path& folder) {
  const auto file = text_of(user, "tokenFile");
  if (file.empty()) return std::string(base::trimmed(text_of(user, "token")));
  auto text = read_file(folder / file);
  if (!text) return text.error();
  return std::string(base::trimmed(*text));
}

Result<void> fill_user(const YAML::Node& user, const fs::path& folder, http::Endpoint& out) {
  if (auto usable = refuse_unsupported_login(user); !usable) return usable;
  auto cert = pem_of(user, "client-certificate", folder);
  if (!cert) return cert.error();
  auto key = pem_of(user, "client-key", folder);
  if (!key) return key.error();
  if (cert->empty() != key->empty())
    return invalid("client-certificate and client-key must be given together");
  auto token = token_of(user, folder);
  if (!token) return token.error();
  if (token->find_first_of("\r\n") != std::string::npos)
    return invalid("the token has more than one line");
  out.tls.cert_pem = std::move(*cert);
  out.tls.key_pem = std::move(*key);
  out.bearer_token = std::move(*token);
  return {};
}

Result<std::string> chosen_context(const YAML::Node& root, const std::string& wanted) {
  auto name = wanted.empty() ? text_of(root, "current-context") : wanted;
  if (!name.empty()) return name;
  const YAML::Node contexts = root["contexts"];
  return invalid("there is no current-context; choose a context by name; known: " +
                 listing(contexts ? names_in(contexts) : std::vector<std::string>{}));
}

Result<ClusterAccess> access_of(const YAML::Node& root, const fs::path& folder,
                                const std::string& wanted) {
  if (!root.IsMap()) return invalid("this is not a kubeconfig: it has no keys at the top");
  auto name = chosen_context(root, wanted);
  if (!name) return name.error();
  const auto context = entry(root, "contexts", "context", *name);
  if (!context) return context.error();
  ClusterAccess access{
      .context = std::move(*name), .cluster = text_of(*context, "cluster"), .endpoint = {}};
  const auto cluster = entry(root, "clusters", "cluster", access.cluster);
  if (!cluster) return cluster.error();
  if (auto filled = fill_cluster(*cluster, folder, access.endpoint); !filled) return filled.error();
  const auto user_name = text_of(*context, "user");
  if (user_name.empty()) return access;
  const auto user = entry(root, "users", "user", user_name);
  if (!user) return user.error();
  if (auto filled = fill_user(*user, folder, access.endpoint); !filled) return filled.error();
  return access;
}

std::string explain(const YAML::Exception& error) {
  if (error.mark.is_null()) return "this is not a kubeconfig: " + error.msg;
  const auto* const what = dynamic_cast<const YAML::RepresentationException*>(&error) != nullptr
                               ? "the value here is of another shape than a kubeconfig has"
                               : error.msg.c_str();
  return fmt::format("line {}, column {}: {}", error.mark.line + 1, error.mark.column + 1, what);
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): at start-up
  return value == nullptr ? std::string() : value;
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// From $KUBECONFIG: the first file that exists; none of them: the first, for the error message.
std::string first_of_list(const std::string& list) {
  std::istringstream in(list);
  std::string first;
  for (std::string path; std::getline(in, path, ':');) {
    if (path.empty()) continue;
    if (exists(path)) return path;
    if (first.empty()) first = path;
  }
  return first;
}

std::string default_path() {
  auto path = first_of_list(environment("KUBECONFIG"));
  return path.empty() ? environment("HOME") + "/.kube/config" : path;
}
}  // namespace

Result<ClusterAccess> parse_kubeconfig(const std::string& yaml, const std::string& directory,
                                       const std::string& context) {
  try {
    return access_of(YAML::Load(yaml), directory, context);
  } catch (const YAML::Exception& error) {  // the only place where yaml-cpp's exceptions end
    return invalid(explain(error));
  }
}

Result<ClusterAccess> load_kubeconfig(const std::string& path, const std::string& context) {
  const auto file = path.empty() ? default_path() : path;
  const auto text = read_file(file);
  if (!text) return text.error();
  auto access = parse_kubeconfig(*text, fs::path(file).parent_path().string(), context);
  if (access) return access;
  auto error = access.error();
  error.operation = fmt::format("{} {}", kOperation, file);
  return error;
}

}  // namespace kindlb::kube
