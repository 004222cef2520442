#include "bench/stage.hpp"

#include "kindlb/kube/config.hpp"
#include "support/servers/kube_server.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <thread>

namespace kindlb::bench {

namespace {

constexpr const char* kSlices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

sockaddr_in address_of(const std::string& ip, int port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(static_cast<std::uint16_t>(port));
  inet_pton(AF_INET, ip.c_str(), &out.sin_addr);
  return out;
}

std::string service_json(const std::string& name, const std::string& selector, int target_port) {
  const auto equals = selector.find('=');
  const auto wanted = selector.empty() ? std::string("{}")
                                       : fmt::format(R"({{"{}":"{}"}})", selector.substr(0, equals),
                                                     selector.substr(equals + 1));
  return fmt::format(R"({{"apiVersion":"v1","kind":"Service","metadata":{{"name":"{}"}},)"
                     R"("spec":{{"type":"LoadBalancer","selector":{},)"
                     R"("ports":[{{"port":80,"protocol":"TCP","targetPort":{}}}]}}}})",
                     name, wanted, target_port);
}

class ClusterStage final : public Stage {
 public:
  explicit ClusterStage(StageOptions options) : options_(std::move(options)) {
    auto access = kube::load_kubeconfig(options_.kubeconfig, "");
    if (!access) throw std::runtime_error(access.error().text());
    auto client = http::make_client(access->endpoint);
    if (!client) throw std::runtime_error(client.error().text());
    client_ = std::move(*client);
    rest_ = std::make_unique<test::Rest>(client_);
  }

  std::string description() const override { return "the cluster of " + options_.kubeconfig; }
  std::string kubeconfig_path() const override { return options_.kubeconfig; }
  std::string network() const override { return options_.network; }
  std::shared_ptr<http::Client> client() const override { return client_; }
  void create_service(const std::string& name) override {
    rest_->create(kServices, service_json(name, options_.selector, options_.target_port));
  }
  void delete_service(const std::string& name) override {
    rest_->remove(std::string(kServices) + "/" + name);
  }
  void patch_service(const std::string& name, const std::string& patch) override {
    rest_->patch(std::string(kServices) + "/" + name, "merge", patch);
  }
  std::string swap_backend(const std::string&) override {
    throw std::runtime_error("endpoints of a real cluster are not ours to change");
  }

 private:
  StageOptions options_;
  std::shared_ptr<http::Client> client_;
  std::unique_ptr<test::Rest> rest_;
};

/// Answers every connection at the bridge's own address with a short page.
class Backend {
 public:
  Backend(const std::string& ip, std::string status)
      : status_(std::move(status)), fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    auto address = address_of(ip, 0);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(fd_, generic, size) != 0 || listen(fd_, 512) != 0)
      throw std::runtime_error("no backend at " + ip + ": " + std::strerror(errno));
    getsockname(fd_, generic, &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }
  ~Backend() {
    thread_ = {};
    close(fd_);
  }
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  int port() const { return port_; }
  const std::string& status() const { return status_; }

 private:
  void serve(const std::stop_token& stop) const {
    while (!stop.stop_requested()) {
      pollfd waiting{fd_, POLLIN, 0};
      if (poll(&waiting, 1, 50) <= 0) continue;
      const int client = accept(fd_, nullptr, nullptr);
      const std::string answer = status_ + "\r\nContent-Length: 2\r\n\r\nok";
      std::array<char, 512> request;
      if (recv(client, request.data(), request.size(), 0) > 0)
        send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
      close(client);
    }
  }

  std::string status_;
  int fd_;
  int port_ = 0;
  std::jthread thread_;
};

class PrivateStage final : public Stage {
 public:
  explicit PrivateStage(docker::Networks& networks)
      : networks_(networks),
        rest_(server_.client()),
        network_(fmt::format("kindlb-bench-{}", getpid())) {
    const auto made = networks_.create({.name = network_});
    if (!made) throw std::runtime_error(made.error().text());
    const auto facts = networks_.inspect(network_);
    if (!facts || facts->subnets.empty() || !facts->subnets.front().gateway)
      throw std::runtime_error("the docker network has no gateway to put a backend on");
    gateway_ = facts->subnets.front().gateway->text();
    backends_[0] = std::make_unique<Backend>(gateway_, "HTTP/1.0 200 OK");
    backends_[1] = std::make_unique<Backend>(gateway_, "HTTP/1.0 200 Other");
  }
  ~PrivateStage() override {
    if (const auto removed = networks_.remove(network_); !removed)
      fmt::print(stderr, "{}\n", removed.error().text());
  }

  std::string description() const override {
    return "a private API server (EndpointSlices written by the benchmark)";
  }
  std::string kubeconfig_path() const override { return server_.kubeconfig_path(); }
  std::string network() const override { return network_; }
  std::shared_ptr<http::Client> client() const override { return server_.client(); }

  void create_service(const std::string& name) override {
    rest_.create(kServices, service_json(name, "app=bench", 8080));
    rest_.create(
        kSlices,
        fmt::format(
            R"({{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","addressType":"IPv4",)"
            R"("metadata":{{"name":"{0}","labels":{{"kubernetes.io/service-name":"{0}"}}}},)"
            R"("ports":[{{"name":"","port":{1},"protocol":"TCP"}}],)"
            R"("endpoints":[{{"addresses":["{2}"],"conditions":{{"ready":true}}}}]}})",
            name, backends_[0]->port(), gateway_));
    const std::lock_guard lock(mutex_);
    swapped_[name] = false;
  }
  void patch_service(const std::string& name, const std::string& patch) override {
    rest_.patch(std::string(kServices) + "/" + name, "merge", patch);
  }
  std::string swap_backend(const std::string& name) override {
    const auto swapped = [&] {
      const std::lock_guard lock(mutex_);
      return swapped_.at(name) = !swapped_.at(name);
    }();
    const auto& backend = *backends_.at(swapped ? 1 : 0);
    rest_.patch(
        std::string(kSlices) + "/" + name, "merge",
        fmt::format(R"({{"ports":[{{"name":"","port":{},"protocol":"TCP"}}]}})", backend.port()));
    return backend.status();
  }
  void delete_service(const std::string& name) override {
    rest_.remove(std::string(kServices) + "/" + name);
    rest_.remove(std::string(kSlices) + "/" + name);
  }

 private:
  docker::Networks& networks_;
  test::KubeServer server_;
  test::Rest rest_;
  std::string network_;
  std::string gateway_;
  std::array<std::unique_ptr<Backend>, 2> backends_;
  std::mutex mutex_;
  std::map<std::string, bool> swapped_;  ///< by Service: the second backend is behind it
};

}  // namespace

std::unique_ptr<Stage> make_stage(docker::Networks& networks, const StageOptions& options) {
  if (!options.kubeconfig.empty()) return std::make_unique<ClusterStage>(options);
  return std::make_unique<PrivateStage>(networks);
}

bool is_on_bridge(const std::string& ip) {
  if (inet_addr(ip.c_str()) == INADDR_NONE) return false;
  const auto command = "ip -o route get " + ip;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::array<char, 512> line{};
  if (!pipe || std::fgets(line.data(), static_cast<int>(line.size()), pipe.get()) == nullptr)
    return false;
  const std::string route = line.data();
  return route.find(" via ") == std::string::npos &&
         (route.find("dev br-") != std::string::npos ||
          route.find("dev docker0") != std::string::npos);
}

std::string http_get(const std::string& ip) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{5, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const auto address = address_of(ip, 80);
  std::string answer;
  const std::string request = "GET / HTTP/1.0\r\nHost: bench\r\n\r\n";
  std::array<char, 256> buffer;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    answer = std::string("connect: ") + std::strerror(errno);
  } else if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) < 0) {
    answer = std::string("send: ") + std::strerror(errno);
  } else {
    const auto got = recv(fd, buffer.data(), buffer.size(), 0);
    answer = got > 0 ? std::string(buffer.data(), static_cast<std::size_t>(got)) : "closed";
  }
  close(fd);
  return answer.substr(0, answer.find('\r'));
}

}  // namespace kindlb::bench
