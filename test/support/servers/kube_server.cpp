#include "support/servers/kube_server.hpp"

#include "kindlb/kube/config.hpp"
#include "support/servers/certificates.hpp"
#include "support/servers/child.hpp"

#include <openssl/evp.h>
#include <stdlib.h>

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace kindlb::test {

namespace {
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kAttempts = 3;
constexpr std::chrono::seconds kStartLimit{60};
constexpr const char* kToken = "token-of-the-admin";

void write(const fs::path& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
}

std::string require_binary(const std::string& name) {
  auto path = find_kube_binary(name);
  if (path.empty())
    throw std::runtime_error(name +
                             " is neither in KUBEBUILDER_ASSETS nor in PATH: run "
                             "scripts/setup-kube.sh");
  return path;
}

fs::path make_folder() {
  auto pattern = (fs::temp_directory_path() / "kindlb-kube-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make " + pattern);
  return pattern;
}

std::string local(int port, const char* scheme = "http") {
  return fmt::format("{}://127.0.0.1:{}", scheme, port);
}

std::string encode_base64(const std::string& bytes) {
  const std::vector<unsigned char> in(bytes.begin(), bytes.end());
  std::vector<unsigned char> out(4 * ((in.size() + 2) / 3) + 1);
  const int size = EVP_EncodeBlock(out.data(), in.data(), static_cast<int>(in.size()));
  return {out.begin(), out.begin() + size};
}

/// `user`: the lines below `user:`. The server's URL is filled in once it is known.
std::string kubeconfig_template(const std::string& ca_pem, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: admin\n"
         "contexts:\n- name: admin\n  context: {cluster: test, user: admin}\n"
         "clusters:\n- name: test\n  cluster:\n    server: $URL\n"
         "    certificate-authority-data: " +
         encode_base64(ca_pem) + "\nusers:\n- name: admin\n  user:\n" + user;
}

std::string with_url(std::string text, const std::string& url) {
  return text.replace(text.find("$URL"), 4, url);
}

std::vector<std::string> etcd_arguments(const fs::path& binary, const fs::path& folder,
                                        const std::string& client, const std::string& peer) {
  return {binary.string(),
          "--data-dir=" + (folder / "etcd").string(),
          "--listen-client-urls=" + client,
          "--advertise-client-urls=" + client,
          "--listen-peer-urls=" + peer,
          "--initial-advertise-peer-urls=" + peer,
          "--initial-cluster=default=" + peer,
          "--unsafe-no-fsync",
          "--log-level=error"};
}

/// Every authenticated user may do everything, anonymous ones nothing.
std::vector<std::string> apiserver_arguments(const fs::path& binary, const fs::path& folder,
                                             const std::string& etcd, int port) {
  const auto file = [&](const char* name) { return (folder / name).string(); };
  return {binary.string(),
          "--etcd-servers=" + etcd,
          fmt::format("--secure-port={}", port),
          "--bind-address=127.0.0.1",
          "--advertise-address=127.0.0.1",
          "--endpoint-reconciler-type=none",
          "--tls-cert-file=" + file("server.crt"),
          "--tls-private-key-file=" + file("server.key"),
          "--client-ca-file=" + file("ca.crt"),
          "--token-auth-file=" + file("tokens.csv"),
          "--anonymous-auth=false",
          "--authorization-mode=AlwaysAllow",
          "--service-account-key-file=" + file("sa.crt"),
          "--service-account-signing-key-file=" + file("sa.key"),
          "--service-account-issuer=https://kubernetes.default.svc",
          "--service-cluster-ip-range=10.96.0.0/16,fd00:10:96::/112",
          "--disable-admission-plugins=ServiceAccount"};
}
}  // namespace

std::string find_kube_binary(const std::string& name) {
  std::string folders;
  for (const char* variable : {"KUBEBUILDER_ASSETS", "PATH"})
    if (const char* const value = getenv(variable)) folders += std::string(value) + ":";
  std::istringstream list(folders);
  for (std::string folder; std::getline(list, folder, ':');) {
    std::error_code ignored;
    const auto path = fs::path(folder) / name;
    if (!folder.empty() && fs::is_regular_file(path, ignored)) return path.string();
  }
  return {};
}

namespace {
int ask_minor_version() {
  const auto folder = make_folder();
  {
    Child asked({require_binary("kube-apiserver"), "--version"}, folder / "version");
    asked.wait(kStartLimit);
  }
  std::ifstream in(folder / "version");
  const std::string said{std::istreambuf_iterator<char>(in), {}};
  fs::remove_all(folder);
  const std::string before = "Kubernetes v1.";
  if (!said.starts_with(before)) throw std::runtime_error("kube-apiserver --version: " + said);
  return std::stoi(said.substr(before.size()));
}
}  // namespace

int kube_minor_version() {
  static const int version = ask_minor_version();
  return version;
}

KubeServer::KubeServer(std::vector<std::string> flags)
    : flags_(std::move(flags)),
      etcd_binary_(require_binary("etcd")),
      apiserver_binary_(require_binary("kube-apiserver")) {
  folder_ = make_folder();
  write_credentials();
  // Between choosing a port and listening on it another process may take it.
  for (int attempt = 0; attempt < kAttempts; ++attempt)
    if (try_start()) return;
  const auto logs = log_tail();
  apiserver_.reset();
  etcd_.reset();
  fs::remove_all(folder_);
  throw std::runtime_error("etcd and kube-apiserver do not start:\n" + logs);
}

KubeServer::~KubeServer() {
  apiserver_.reset();
  etcd_.reset();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void KubeServer::write_credentials() {
  const auto authority = make_authority("kindlb test authority");
  const auto server = issue(authority, "kube-apiserver", {"IP:127.0.0.1", "DNS:kubernetes"});
  const auto admin = issue(authority, "admin", {});
  const auto accounts = issue(authority, "service accounts", {});
  write(folder_ / "ca.crt", authority.cert_pem);
  write(folder_ / "server.crt", server.cert_pem);
  write(folder_ / "server.key", server.key_pem);
  write(folder_ / "sa.crt", accounts.cert_pem);  // read for its public key
  write(folder_ / "sa.key", accounts.key_pem);
  write(folder_ / "tokens.csv", std::string(kToken) + ",admin,admin,system:masters\n");
  kubeconfig_templates_ = {
      kubeconfig_template(authority.cert_pem,
                          "    client-certificate-data: " + encode_base64(admin.cert_pem) +
                              "\n    client-key-data: " + encode_base64(admin.key_pem) + "\n"),
      kubeconfig_template(authority.cert_pem, std::string("    token: ") + kToken + "\n")};
}

bool KubeServer::try_start() {
  apiserver_.reset();
  etcd_.reset();
  fs::remove_all(folder_ / "etcd");
  const auto etcd_url = local(free_port());
  const int port = free_port();
  url_ = local(port, "https");
  cert_kubeconfig_ = with_url(kubeconfig_templates_[0], url_);
  token_kubeconfig_ = with_url(kubeconfig_templates_[1], url_);
  write(folder_ / "kubeconfig", cert_kubeconfig_);
  etcd_ = std::make_unique<Child>(
      etcd_arguments(etcd_binary_, folder_, etcd_url, local(free_port())), folder_ / "etcd.log");
  auto arguments = apiserver_arguments(apiserver_binary_, folder_, etcd_url, port);
  arguments.insert(arguments.end(), flags_.begin(), flags_.end());
  apiserver_ = std::make_unique<Child>(arguments, folder_ / "apiserver.log");
  return wait_until_ready();
}

bool KubeServer::wait_until_ready() {
  const auto ready_client = client();
  const auto deadline = Clock::now() + kStartLimit;
  while (Clock::now() < deadline && etcd_->running() && apiserver_->running()) {
    const auto answer =
        ready_client->send({.target = "/readyz", .timeout = std::chrono::seconds(2)});
    if (answer && answer->status == 200) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

std::string KubeServer::kubeconfig_path() const {
  return (folder_ / "kubeconfig").string();
}

std::shared_ptr<http::Client> KubeServer::client() const {
  const auto access = kube::parse_kubeconfig(cert_kubeconfig_, "", "");
  if (!access) throw std::runtime_error(access.error().text());
  auto made = http::make_client(access->endpoint);
  if (!made) throw std::runtime_error(made.error().text());
  return std::move(*made);
}

std::string KubeServer::read_log(const std::string& name) const {
  constexpr std::size_t kTail = 3000;
  std::ifstream in(folder_ / name);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return "--- " + name + "\n" + (text.size() > kTail ? text.substr(text.size() - kTail) : text);
}

std::string KubeServer::log_tail() const {
  return read_log("etcd.log") + read_log("apiserver.log");
}

http::Response Rest::send(http::Request request) const {
  request.headers.push_back({"Accept", "application/json"});
  const auto what = request.method + " " + request.target;
  auto response = client_->send(request);
  if (!response) throw std::runtime_error(what + ": " + response.error().text());
  if (response->status / 100 != 2)
    throw std::runtime_error(fmt::format("{}: {} {}", what, response->status, response->body));
  return std::move(*response);
}

std::string Rest::create(const std::string& path, const std::string& json) const {
  return send({.method = "POST",
               .target = path,
               .headers = {{"Content-Type", "application/json"}},
               .body = json})
      .body;
}

std::string Rest::get(const std::string& path) const {
  return send({.target = path}).body;
}

std::string Rest::patch(const std::string& path, const std::string& type,
                        const std::string& json) const {
  const auto content = type == "strategic" ? std::string("application/strategic-merge-patch+json")
                       : type == "apply"   ? std::string("application/apply-patch+yaml")
                                           : "application/" + type + "-patch+json";
  return send({.method = "PATCH",
               .target = path,
               .headers = {{"Content-Type", content}},
               .body = json})
      .body;
}

void Rest::remove(const std::string& path) const {
  send({.method = "DELETE", .target = path});
}

int Rest::status(const std::string& path) const {
  const auto response = client_->send({.target = path});
  if (!response) throw std::runtime_error(response.error().text());
  return response->status;
}

}  // namespace kindlb::test
