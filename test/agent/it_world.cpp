#include "agent/it_world.hpp"

#include "support/paths.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace kindlb::agent::it {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

namespace {

constexpr const char* kAgent = "/usr/local/bin/kindlb-agent";
constexpr const char* kPeer = "/usr/local/bin/peer";
constexpr const char* kBootstrap = R"({"node":{"id":"it","cluster":"it"},
"admin":{"address":{"pipe":{"path":"@kindlb-admin"}}},
"dynamic_resources":{
"cds_config":{"resource_api_version":"V3","path_config_source":{
 "path":"/var/lib/kindlb/xds/cds.json"}},
"lds_config":{"resource_api_version":"V3","path_config_source":{
 "path":"/var/lib/kindlb/xds/lds.json"}}}}
)";

std::vector<char*> raw(const std::vector<std::string>& command) {
  std::vector<char*> out;
  for (const auto& word : command) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

std::string envoy_image() {
  const char* image = std::getenv("KINDLB_ENVOY_IMAGE");
  return image != nullptr && *image != '\0' ? image : "kindlb/envoy:v1.40.0";
}

}  // namespace

Output run(const std::vector<std::string>& command) {
  // No assertion in here: it also runs when the program ends and doctest is over.
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    auto words = raw(command);
    ::execvp(words[0], words.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  Output out;
  std::array<char, 4096> buffer{};
  for (ssize_t size = 0; (size = ::read(ends[0], buffer.data(), buffer.size())) > 0;)
    out.text.append(buffer.data(), static_cast<std::size_t>(size));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  out.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  while (!out.text.empty() && out.text.back() == '\n') out.text.pop_back();
  return out;
}

std::string must_run(const std::vector<std::string>& command) {
  const auto output = run(command);
  std::string words;
  for (const auto& word : command) words += word + " ";
  INFO(words);
  REQUIRE(output.status == 0);
  return output.text;
}

bool wait_until(const std::function<bool()>& condition, milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

// World ------------------------------------------------------------------------------------------

World& World::get() {
  static World world;
  return world;
}

World::World() {
  ::signal(SIGPIPE, SIG_IGN);
  const auto id = std::to_string(::getpid());
  name_ = "kindlb-agent-it-" + id;
  image_ = "kindlb-agent-it:" + id;
  build_image();
  std::array<char, 40> v6{};
  std::snprintf(v6.data(), v6.size(), "fd6b:6c62:%x::/64",
                static_cast<unsigned>(::getpid()) & 0xFFFF);
  must_run({"docker", "network", "create", "--ipv6", "--subnet", v6.data(), name_});
  const auto text = must_run(
      {"docker", "network", "inspect", "-f", "{{range .IPAM.Config}}{{.Subnet}}\n{{end}}", name_});
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    if (const auto subnet = core::Cidr::parse(text.substr(begin, end - begin)))
      subnets_.push_back(*subnet);
    begin = end + 1;
  }
  REQUIRE(subnets_.size() == 2);
}

World::~World() {
  run({"docker", "network", "rm", name_});
  run({"docker", "image", "rm", "-f", image_});
}

void World::build_image() {
  std::string pattern = (fs::temp_directory_path() / "kindlb-it-XXXXXX").string();
  REQUIRE(::mkdtemp(pattern.data()) != nullptr);
  const fs::path context = pattern;
  fs::copy(test::program("kindlb-agent"), context / "kindlb-agent");
  fs::copy(test::program("agent_it_peer"), context / "peer");
  std::ofstream(context / "bootstrap.json") << kBootstrap;
  std::ofstream(context / "Dockerfile") << "FROM " << envoy_image()
                                        << "\nCOPY kindlb-agent peer /usr/local/bin/\n"
                                           "COPY bootstrap.json /etc/kindlb/bootstrap.json\n"
                                           "ENTRYPOINT [\"/usr/local/bin/kindlb-agent\"]\nCMD []\n";
  ::setenv("DOCKER_BUILDKIT", "0", 1);
  const auto built = run({"docker", "build", "-q", "-t", image_, context.string()});
  fs::remove_all(context);
  REQUIRE(built.status == 0);
}

core::Cidr World::new_address(core::IpFamily family) {
  for (const auto& subnet : subnets_) {
    if (subnet.address.family() != family) continue;
    auto address = subnet.last();
    ++addresses_;
    for (unsigned i = 0; i < addresses_; ++i) address = address.previous().value();
    return {address, subnet.length};
  }
  FAIL("no such subnet");
  return {};
}

std::string World::new_name(const std::string& what) {
  return name_ + "-" + what + "-" + std::to_string(++names_);
}

// Containers -------------------------------------------------------------------------------------

Container::Container(const std::vector<std::string>& options,
                     const std::vector<std::string>& arguments, const std::string& what)
    : name_(World::get().new_name(what)) {
  std::vector<std::string> command{
      "docker",      "run",        "-d", "--name", name_, "--network", World::get().network(),
      "--read-only", "--cap-drop", "ALL"};
  command.insert(command.end(), options.begin(), options.end());
  command.push_back(World::get().image());
  command.insert(command.end(), arguments.begin(), arguments.end());
  must_run(command);
}

Container::~Container() {
  run({"docker", "rm", "-f", "-v", name_});
}

core::IpAddress Container::address(core::IpFamily family) const {
  const std::string field = family == core::IpFamily::V4 ? "IPAddress" : "GlobalIPv6Address";
  const auto text =
      must_run({"docker", "inspect", "-f",
                "{{range .NetworkSettings.Networks}}{{." + field + "}}{{end}}", name_});
  const auto address = core::IpAddress::parse(text);
  REQUIRE(address.has_value());
  return *address;
}

std::string Container::logs() const {
  return run({"sh", "-c", "docker logs " + name_ + " 2>&1"}).text;
}

pid_t Container::pid() const {
  return std::atoi(must_run({"docker", "inspect", "-f", "{{.State.Pid}}", name_}).c_str());
}

Peer::Peer(const std::string& name, const std::string& extra_address)
    : Container({"--cap-add", "NET_ADMIN", "--entrypoint", kPeer},
                extra_address.empty()
                    ? std::vector<std::string>{"serve", name, "8080"}
                    : std::vector<std::string>{"serve", name, "8080", extra_address},
                name) {}

std::optional<std::string> Peer::fetch(const core::IpAddress& from, int port, int limit) const {
  const auto output = run({"docker", "exec", name(), kPeer, "get", from.text(),
                           std::to_string(port), std::to_string(limit)});
  if (output.status != 0) return std::nullopt;
  return output.text;
}

/// As kindlb runs it. The IPv6 announcement needs its sysctl, the IPv4 one needs none.
Proxy::Proxy(const std::string& security, const std::string& volume)
    : Container({"--cap-add=NET_ADMIN", "--cap-add=SETUID", "--cap-add=SETGID", "--cap-add=CHOWN",
                 "--cap-add=KILL", "--security-opt=" + security,
                 "--sysctl=net.ipv4.ip_unprivileged_port_start=0",
                 "--sysctl=net.ipv6.conf.all.ndisc_notify=1", volume,
                 "--env=KINDLB_ENVOY_UID=" + envoy_uid()},
                {}, "proxy") {}

std::string Proxy::envoy_uid() {
  return std::to_string(20'000 + ::getpid() % 10'000);
}

pid_t Proxy::envoy_pid() const {
  const auto text = run({"docker", "top", name(), "-eo", "pid,comm"}).text;
  const auto at = text.find(" envoy");
  if (at == std::string::npos) return 0;
  const auto line = text.rfind('\n', at);
  return std::atoi(text.c_str() + line + 1);
}

// Channel ----------------------------------------------------------------------------------------

Channel::Channel(const Proxy& proxy) {
  int in[2];
  int out[2];
  REQUIRE(::pipe2(in, O_CLOEXEC) == 0);
  REQUIRE(::pipe2(out, O_CLOEXEC) == 0);
  const std::vector<std::string> command{"docker", "exec", "-i", proxy.name(), kAgent, "connect"};
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(in[0], STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    auto words = raw(command);
    ::execvp(words[0], words.data());
    ::_exit(127);
  }
  ::close(in[0]);
  ::close(out[1]);
  to_ = in[1];
  from_ = out[0];
}

Channel::~Channel() {
  ::close(to_);
  ::close(from_);
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
}

void Channel::send_line(const std::string& line) {
  std::string_view rest = line;
  while (!rest.empty()) {
    const auto size = ::write(to_, rest.data(), rest.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;  // the other side has gone: whoever waits for an answer sees it
    rest.remove_prefix(static_cast<std::size_t>(size));
  }
}

bool Channel::fill(milliseconds limit) {
  pollfd polled{from_, POLLIN, 0};
  if (::poll(&polled, 1, static_cast<int>(limit.count())) <= 0) return true;
  std::vector<char> buffer(65536);
  const auto size = ::read(from_, buffer.data(), buffer.size());
  if (size <= 0) return false;
  splitter_.feed({buffer.data(), static_cast<std::size_t>(size)}, [&](std::string_view line) {
    lines_.emplace_back(line);
    return true;
  });
  return true;
}

protocol::Message Channel::next(milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (lines_.empty()) {
    REQUIRE(std::chrono::steady_clock::now() < until);
    REQUIRE(fill(milliseconds(100)));
  }
  const auto line = lines_.front();
  lines_.pop_front();
  auto message = protocol::decode(line);
  CAPTURE(line);
  REQUIRE(message.has_value());
  return std::move(*message);
}

bool Channel::is_closed(milliseconds limit) {
  return wait_until([&] { return !fill(milliseconds(10)); }, limit);
}

}  // namespace kindlb::agent::it
