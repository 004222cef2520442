#include "kindlb/kube/config.hpp"

#include "support/temp_folder.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

using namespace kindlb;
using core::ErrorKind;

namespace {
namespace fs = std::filesystem;

/// Sets a variable for one test.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* old = getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~Environment() { setenv(name_, old_.c_str(), 1); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::string old_;
};

/// A kubeconfig with one context `dev`; the lines are indented into its cluster and its user.
std::string config(const std::string& cluster_lines, const std::string& user_lines) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: dev\n"
         "contexts:\n- name: dev\n  context: {cluster: kind, user: admin}\n"
         "clusters:\n- name: kind\n  cluster:\n" +
         cluster_lines + "users:\n- name: admin\n  user:\n" + user_lines;
}

const std::string kServer = "    server: https://127.0.0.1:6443\n";
const std::string kToken = "    token: secret\n";

core::Result<kube::ClusterAccess> parse(const std::string& yaml, const std::string& context = "") {
  return kube::parse_kubeconfig(yaml, "/nonexistent", context);
}
}  // namespace

TEST_CASE("a kubeconfig as kind writes it") {
  const auto access =
      parse(config(kServer + "    certificate-authority-data: Y2E=\n",
                   "    client-certificate-data: Y2VydA==\n    client-key-data: a2V5\n"));
  REQUIRE_MESSAGE(access.ok(), access.error().text());
  CHECK(access->context == "dev");
  CHECK(access->cluster == "kind");
  CHECK(access->endpoint.url == "https://127.0.0.1:6443");
  CHECK(access->endpoint.tls.ca_pem == "ca");
  CHECK(access->endpoint.tls.cert_pem == "cert");
  CHECK(access->endpoint.tls.key_pem == "key");
  CHECK_FALSE(access->endpoint.tls.insecure);
  CHECK(access->endpoint.bearer_token.empty());
}

TEST_CASE("files are found beside the kubeconfig") {
  const test::TempFolder folder;
  folder.write("ca.crt", "the ca");
  folder.write("me.crt", "my cert");
  const auto key = folder.write("me.key", "my key");
  folder.write("token", "from a file\n");
  const auto path =
      folder.write("config", config(kServer + "    certificate-authority: ca.crt\n",
                                    "    client-certificate: ./me.crt\n    client-key: " + key +
                                        "\n    tokenFile: token\n    token: inline\n"));
  const auto access = kube::load_kubeconfig(path, "");
  REQUIRE_MESSAGE(access.ok(), access.error().text());
  CHECK(access->endpoint.tls.ca_pem == "the ca");
  CHECK(access->endpoint.tls.cert_pem == "my cert");
  CHECK(access->endpoint.tls.key_pem == "my key");
  CHECK(access->endpoint.bearer_token == "from a file");
}

TEST_CASE("the cluster's options") {
  SUBCASE("insecure: the CA is not even read") {
    const auto access = parse(
        config(kServer + "    insecure-skip-tls-verify: true\n    certificate-authority: missing\n",
               kToken));
    REQUIRE(access.ok());
    CHECK(access->endpoint.tls.insecure);
    CHECK(access->endpoint.bearer_token == "secret");
  }
  SUBCASE("another name to verify") {
    const auto access = parse(config(kServer + "    tls-server-name: kubernetes\n", kToken));
    REQUIRE(access.ok());
    CHECK(access->endpoint.tls.server_name == "kubernetes");
  }
  SUBCASE("a trailing slash is no path") {
    const auto access = parse(config("    server: https://[::1]:6443/\n", kToken));
    REQUIRE(access.ok());
    CHECK(access->endpoint.url == "https://[::1]:6443");
  }
  SUBCASE("JSON is YAML") {
    const auto access =
        parse(R"({"current-context":"c","contexts":[{"name":"c","context":{"cluster":"k"}}],
                  "clusters":[{"name":"k","cluster":{"server":"http://localhost:8080"}}]})");
    REQUIRE_MESSAGE(access.ok(), access.error().text());
    CHECK(access->endpoint.url == "http://localhost:8080");
  }
}

TEST_CASE("a context by name, and the known ones when there is no such") {
  const auto yaml =
      "contexts:\n- name: dev\n  context: {cluster: one}\n"
      "- name: test\n  context: {cluster: two}\ncurrent-context: dev\n"
      "clusters: [{name: one, cluster: {server: 'https://one'}},"
      " {name: two, cluster: {server: 'https://two'}}]\n";
  CHECK(parse(yaml)->endpoint.url == "https://one");
  const auto chosen = parse(yaml, "test");
  REQUIRE(chosen.ok());
  CHECK(chosen->context == "test");
  CHECK(chosen->endpoint.url == "https://two");
  const auto missing = parse(yaml, "prod");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().kind == ErrorKind::Invalid);
  CHECK(missing.error().detail == "there is no context 'prod'; known: dev, test");
}

TEST_CASE("what cannot be used is refused in one line with a way out") {
  struct Case {
    const char* name;
    std::string yaml;
    const char* says;
  };
  const Case cases[] = {
      {"exec", config(kServer, "    exec: {command: aws}\n"), "kubectl config view --minify"},
      {"auth-provider", config(kServer, "    auth-provider: {name: gcp}\n"), "'auth-provider'"},
      {"password", config(kServer, "    username: a\n    password: b\n"), "'username'"},
      {"impersonation", config(kServer, kToken + "    as: bob\n"), "'as'"},
      {"proxy", config(kServer + "    proxy-url: http://p\n", kToken), "proxy-url"},
      {"no server", config("    tls-server-name: x\n", kToken), "https://"},
      {"bad scheme", config("    server: ftp://x\n", kToken), "ftp://x"},
      {"path", config("    server: https://x/k8s/clusters/1\n", kToken), "host and a port"},
      {"bad base64", config(kServer + "    certificate-authority-data: '?'\n", kToken),
       "certificate-authority-data is not base64"},
      {"no such file", config(kServer + "    certificate-authority: ca.crt\n", kToken),
       "/nonexistent/ca.crt"},
      {"cert without key", config(kServer, "    client-certificate-data: Y2E=\n"), "together"},
      {"token of two lines", config(kServer, "    token: \"a\\nHost: b\"\n"), "one line"},
      {"no such cluster", "current-context: a\ncontexts: [{name: a, context: {cluster: k}}]\n",
       "no cluster 'k'; known: none"},
      {"no such user",
       "current-context: a\ncontexts: [{name: a, context: {cluster: k, user: u}}]\n"
       "clusters: [{name: k, cluster: {server: 'https://x'}}]\nusers: [{name: v, user: {}}]\n",
       "no user 'u'; known: v"},
      {"no context chosen", "contexts: [{name: a, context: {}}, {name: b, context: {}}]\n",
       "choose a context by name; known: a, b"},
      {"empty", "", "not a kubeconfig"},
      {"a scalar", "hello", "not a kubeconfig"},
      {"bad YAML", "contexts:\n- name: [a\nclusters: }\n", "line 3, column"},
      {"wrong shape", "current-context: [a]\n", "line 1, column 18"},
      {"list of scalars", "current-context: a\ncontexts: [a, b]\n", "expected a map, not text"},
      {"not a boolean", config(kServer + "    insecure-skip-tls-verify: perhaps\n", kToken),
       "line 11"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const auto access = parse(c.yaml);
      REQUIRE_FALSE(access.ok());
      CAPTURE(access.error().text());
      CHECK(access.error().detail.find(c.says) != std::string::npos);
      CHECK(access.error().detail.find('\n') == std::string::npos);
    }
  }
}

TEST_CASE("a kubeconfig from a node names no file of this machine") {
  const test::TempFolder folder;
  const auto secret = folder.write("secret", "root:x:0:0");
  const auto pair = [](const std::string& cert, const std::string& key) {
    return "    client-certificate" + cert + "\n    client-key" + key + "\n";
  };
  struct Case {
    const char* field;
    std::string yaml;
    const char* instead;
  };
  const Case cases[] = {
      {"tokenFile", config(kServer, "    tokenFile: " + secret + "\n"), "token"},
      {"tokenFile", config(kServer, kToken + "    tokenFile: " + secret + "\n"), "token"},
      {"client-certificate", config(kServer, pair(": " + secret, "-data: a2V5")),
       "client-certificate-data"},
      {"client-key", config(kServer, pair("-data: Y2VydA==", ": " + secret)), "client-key-data"},
      {"certificate-authority",
       config(kServer + "    certificate-authority: " + secret + "\n", kToken),
       "certificate-authority-data"},
      {"certificate-authority", config(kServer + "    certificate-authority: secret\n", kToken),
       "certificate-authority-data"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.yaml);
    const auto access = kube::parse_fetched_kubeconfig(c.yaml);
    REQUIRE_FALSE(access.ok());
    CHECK(access.error().kind == ErrorKind::Invalid);
    const auto& detail = access.error().detail;
    CHECK(detail.starts_with(std::string(c.field) + " names a file"));
    CHECK(detail.ends_with(std::string("in ") + c.instead));
    CHECK(detail.find("root:") == std::string::npos);
  }
}

TEST_CASE("a kubeconfig from a node runs no program and uses no proxy") {
  const auto refusal = [](const std::string& yaml) {
    const auto access = kube::parse_fetched_kubeconfig(yaml);
    return access ? std::string("accepted") : access.error().detail;
  };
  CHECK(refusal(config(kServer, "    exec: {command: sh}\n")).find("'exec'") != std::string::npos);
  CHECK(refusal(config(kServer + "    proxy-url: http://p\n", kToken)).starts_with("proxy-url"));
  CHECK(refusal(config(kServer + "    certificate-authority-data: Y2E=\n",
                       "    client-certificate-data: Y2VydA==\n    client-key-data: a2V5\n")) ==
        "accepted");
}

TEST_CASE("hostile YAML ends in an error") {
  CHECK_FALSE(parse(std::string(100'000, '[')).ok());
  CHECK_FALSE(parse(std::string("\0\xFF\xFE{", 4)).ok());
  CHECK_FALSE(parse("a: &a [*a]\ncontexts: *a\ncurrent-context: x\n").ok());
}

TEST_CASE("which file is read") {
  const test::TempFolder folder;
  const auto first = folder.write("first", config(kServer, "    token: first\n"));
  const auto second = folder.write("second", config(kServer, "    token: second\n"));
  const auto token_in = [](const std::string& path) {
    const auto access = kube::load_kubeconfig(path, "");
    return access ? access->endpoint.bearer_token : access.error().text();
  };
  const Environment list("KUBECONFIG", folder.path() + "/missing::" + second + ":" + first);
  CHECK(token_in("") == "second");
  CHECK(token_in(first) == "first");

  const Environment unset("KUBECONFIG", "");
  const Environment home("HOME", folder.path());
  fs::create_directory(folder.path() + "/.kube");
  CHECK(kube::load_kubeconfig("", "").error().kind == ErrorKind::NotFound);
  folder.write(".kube/config", config(kServer, "    token: home\n"));
  CHECK(token_in("") == "home");
}

TEST_CASE("a kubeconfig that cannot be read says which") {
  const test::TempFolder folder;
  const auto path = folder.path() + "/none";
  const auto missing = kube::load_kubeconfig(path, "");
  CHECK(missing.error().kind == ErrorKind::NotFound);
  CHECK(missing.error().detail.find(path) != std::string::npos);
  CHECK(kube::load_kubeconfig(folder.path(), "").error().kind == ErrorKind::Invalid);
  const auto bad = kube::load_kubeconfig(folder.write("bad", "{"), "");
  CHECK(bad.error().operation.find("/bad") != std::string::npos);
}
