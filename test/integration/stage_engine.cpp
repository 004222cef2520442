// What a stage sees and does on the docker engine.
#include "integration/stage.hpp"

#include <signal.h>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace kindlb::it {

namespace {
using testing::must;

/// The images kindlb builds for its agents go with the binary, unless they were there before.
class BuiltImages {
 public:
  explicit BuiltImages(docker::Images& images) : before_(tags(images)) {}
  ~BuiltImages() {
    const auto endpoint = docker::find_endpoint("");
    if (!endpoint) return;
    const auto engine = docker::connect(*endpoint);
    if (!engine) return;
    for (const auto& image : used_)
      if (!before_.contains(image)) (void)(*engine)->images().remove(image);
  }
  BuiltImages(const BuiltImages&) = delete;
  BuiltImages& operator=(const BuiltImages&) = delete;

  void used(const std::string& image) { used_.insert(image); }

 private:
  static std::set<std::string> tags(docker::Images& images) {
    std::set<std::string> out;
    for (const auto& image : must(images.list({proxy::kProxyLabel})))
      out.insert(image.tags.begin(), image.tags.end());
    return out;
  }

  const std::set<std::string> before_;
  std::set<std::string> used_;
};

}  // namespace

void Stage::note_images() {
  static BuiltImages images(rig.engine().images());
  for (const auto& container : must(rig.engine().containers().list({proxy::kProxyLabel})))
    if (const auto one = proxy::parse_proxy(container); one && one->network == network_.name)
      images.used(container.image);
}

const docker::Subnet& Stage::subnet(core::IpFamily family) const {
  const auto found = std::ranges::find_if(
      network_.subnets, [&](const auto& one) { return one.cidr.address.family() == family; });
  REQUIRE(found != network_.subnets.end());
  return *found;
}

core::IpAddress Stage::unused_address() const {
  auto address = subnet(core::IpFamily::V4).cidr.last();  // Services get theirs from the top
  for (int i = 0; i < 100; ++i) address = *address.previous();
  return address;
}

std::vector<proxy::Proxy> Stage::proxies() {
  auto all = must(proxy::list_proxies(rig.engine().containers()));
  std::erase_if(all, [&](const auto& proxy) { return proxy.network != network_.name; });
  return all;
}

std::optional<proxy::Proxy> Stage::proxy_of(const core::Service& service) {
  const proxy::ProxyName wanted{proxy::Role::Claimed, proxy::service_tag(service.uid), "", 0};
  for (const auto& proxy : proxies())
    if (proxy.role == wanted) return proxy;
  return std::nullopt;
}

std::map<std::string, std::set<std::string>> Stage::holders() {
  std::map<std::string, std::set<std::string>> out;
  for (const auto& proxy : proxies()) {
    const auto state = proxy::read_state(rig.engine().files(), proxy.id);
    if (!state.ok()) continue;
    for (const auto& unit : state->units) out[proxy.id].insert(unit.owner);
  }
  return out;
}

bool Stage::volume_exists(const std::string& name) {
  const auto volumes = must(rig.engine().volumes().list({}));
  return std::ranges::any_of(volumes, [&](const auto& volume) { return volume.name == name; });
}

void Stage::kill_envoy(const proxy::Proxy& proxy) {
  const auto client = must(http::make_client(must(docker::find_endpoint(""))));
  const auto top = must(client->send({.target = "/containers/" + proxy.id + "/top"}));
  const auto listed = nlohmann::json::parse(top.body, nullptr, false);
  const auto& titles = listed["Titles"];
  const auto column = [&](const char* title) {
    return static_cast<std::size_t>(std::ranges::find(titles, title) - titles.begin());
  };
  for (const auto& process : listed["Processes"]) {
    const std::string command = process[column("CMD")];
    const std::string id = process[column("PID")];
    if (command.find("/envoy ") != std::string::npos) {
      REQUIRE(::kill(std::stoi(id), SIGKILL) == 0);
      return;
    }
  }
  FAIL("no Envoy in " << proxy.name << ": " << top.body);
}

}  // namespace kindlb::it
