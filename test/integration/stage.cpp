#include "integration/stage.hpp"

#include "codec.hpp"
#include "support/paths.hpp"

#include <signal.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <thread>

namespace kindlb::it {

namespace {
namespace fs = std::filesystem;
using testing::must;
using Clock = std::chrono::steady_clock;

/// Started by the first stage that wants these flags, stopped when the binary ends.
const test::KubeServer& kube_server(const Flags& flags) {
  static std::map<Flags, std::unique_ptr<test::KubeServer>> servers;
  auto& server = servers[flags];
  if (!server) server = std::make_unique<test::KubeServer>(flags);
  return *server;
}

/// The admin's kubeconfig with the context renamed: kindlb takes the proxies of a context of the
/// same name for its own, and other tests may be running on this engine.
std::string with_context(std::string text, const std::string& context) {
  for (const std::string before : {"current-context: ", "contexts:\n- name: "}) {
    const auto at = text.find(before + "admin");
    text.replace(at + before.size(), std::string("admin").size(), context);
  }
  return text;
}

core::Service decode(const std::string& json) {
  return must(kube::decode_service(kube::parse_json(json), "diary"));
}

nlohmann::json parse(const std::string& text) {
  return nlohmann::json::parse(text, nullptr, false);
}

bool has(const Flags& flags, const std::string& flag) {
  return std::ranges::find(flags, flag) != flags.end();
}

}  // namespace

Stage::Stage(Families families, const Flags& api_server)
    : api_server_(kube_server(api_server)),
      tag_(proxy::random_tag()),
      ns_("it-" + tag_),
      network_(rig.make_network("kindlb-it-", families == Families::Both)),
      gateway_(*subnet(core::IpFamily::V4).gateway),
      folder_(fs::temp_directory_path() / ("kindlb-it-" + tag_)),
      rest_(api_server_.client()) {
  note_images();
  fs::create_directory(folder_);
  std::ofstream(folder_ / "kubeconfig") << with_context(api_server_.kubeconfig(), ns_);
  rest_.create("/api/v1/namespaces", fmt::format(R"({{"metadata":{{"name":"{}"}}}})", ns_));
  diary_ = std::make_unique<Diary>(api_server_.client(), ns_);
}

Stage::~Stage() {
  if (std::uncaught_exceptions() > 0) std::cerr << "--- kindlb's log\n" << log() << "---\n";
  try {
    if (kindlb_) {
      kindlb_->signal(SIGTERM);
      kindlb_->wait(std::chrono::seconds(3));
    }
    kindlb_.reset();
    clear_cluster();
    note_images();
    // The engine may still be busy with what kindlb asked for last.
    const auto deadline = Clock::now() + std::chrono::seconds(20);
    for (rig.clean_up(); !rig.leftovers().empty() && Clock::now() < deadline; rig.clean_up())
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    diary_.reset();
  } catch (const std::exception& problem) {
    std::cerr << "cleaning up: " << problem.what() << "\n";
  }
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

/// The API server is shared with the tests to come: their kindlb must not meet these Services.
void Stage::clear_cluster() {
  const auto listed = parse(rest_.get(services()));
  for (const auto& service : listed["items"]) {
    const auto path = services(service["metadata"]["name"]);
    if (service["metadata"].contains("finalizers"))
      rest_.patch(path, "merge", R"({"metadata":{"finalizers":null}})");
    if (rest_.status(path) == 200) rest_.remove(path);
  }
  for (const auto& node : nodes_) rest_.remove("/api/v1/nodes/" + node);
}

// ---- kindlb ------------------------------------------------------------------------------------

Programs this_build() {
  return {test::program("kindlb"), test::program("kindlb-agent")};
}

void Stage::start(const Flags& flags, const Programs& programs) {
  Flags command = {programs.kindlb, "run",
                   "--kubeconfig",  (folder_ / "kubeconfig").string(),
                   "--context",     ns_,
                   "--network",     network_.name,
                   "--agent",       programs.agent,
                   "--envoy-image", testing::envoy_image(),
                   "--log-level",   "debug"};
  if (!has(flags, "--warm-proxies")) command.insert(command.end(), {"--warm-proxies", "1"});
  command.insert(command.end(), flags.begin(), flags.end());
  kindlb_ =
      std::make_unique<test::Child>(command, folder_ / fmt::format("kindlb-{:02}.log", ++starts_));
}

int Stage::stop(int signal, std::chrono::milliseconds limit) {
  note_images();
  kindlb_->signal(signal);
  const auto code = kindlb_->wait(limit);
  if (!code) FAIL("kindlb did not end in time\n" << log());
  return *code;
}

std::string Stage::log() const {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder_))
    if (entry.path().extension() == ".log") files.push_back(entry.path());
  std::ranges::sort(files);
  std::string out;
  for (const auto& file : files) {
    std::ifstream in(file);
    out += file.filename().string() + ":\n" + std::string(std::istreambuf_iterator<char>(in), {});
  }
  return out;
}

// ---- the cluster -------------------------------------------------------------------------------

std::string Stage::services(const std::string& name) const {
  return "/api/v1/namespaces/" + ns_ + "/services" + (name.empty() ? "" : "/" + name);
}

core::Service Stage::create(const std::string& name, const std::string& spec) {
  return decode(rest_.create(
      services(), fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{}}})", name, spec)));
}

core::Service Stage::create_web(const std::string& name) {
  return create(name, R"({"type":"LoadBalancer","ports":[{"port":80}]})");
}

core::Service Stage::patch(const std::string& name, const std::string& merge_patch) {
  return decode(rest_.patch(services(name), "merge", merge_patch));
}

void Stage::remove(const std::string& name) {
  rest_.remove(services(name));
}

core::Service Stage::get(const std::string& name) {
  return decode(rest_.get(services(name)));
}

void Stage::put_endpoints(const std::string& service, const Ports& ports,
                          std::optional<core::IpAddress> address) {
  nlohmann::json slice = {
      {"apiVersion", "discovery.k8s.io/v1"},
      {"kind", "EndpointSlice"},
      {"metadata",
       {{"name", service + "-test"}, {"labels", {{"kubernetes.io/service-name", service}}}}},
      {"addressType", "IPv4"}};
  slice["ports"] = nlohmann::json::array();
  for (const auto& [name, number] : ports)
    slice["ports"].push_back({{"name", name}, {"port", number}, {"protocol", "TCP"}});
  slice["endpoints"] = nlohmann::json::array();
  if (!ports.empty())
    slice["endpoints"].push_back(
        {{"addresses", {address.value_or(gateway_).text()}}, {"conditions", {{"ready", true}}}});
  rest_.patch(fmt::format("/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices/{}-test"
                          "?fieldManager=test&force=true",
                          ns_, service),
              "apply", slice.dump());
}

void Stage::create_node(const std::string& name, std::optional<core::IpAddress> address) {
  rest_.create("/api/v1/nodes", fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name));
  nodes_.push_back(name);
  rest_.patch("/api/v1/nodes/" + name + "/status", "merge",
              fmt::format(R"({{"status":{{"addresses":[{{"type":"InternalIP","address":"{}"}}],)"
                          R"("conditions":[{{"type":"Ready","status":"True"}}]}}}})",
                          address.value_or(gateway_).text()));
}

void Stage::remove_node(const std::string& name) {
  rest_.remove("/api/v1/nodes/" + name);
  std::erase(nodes_, name);
}

void Stage::exclude_node(const std::string& name, bool excluded) {
  rest_.patch("/api/v1/nodes/" + name, "merge",
              fmt::format(R"({{"metadata":{{"labels":{{)"
                          R"("node.kubernetes.io/exclude-from-external-load-balancers":{}}}}}}})",
                          excluded ? R"("")" : "null"));
}

std::set<std::string> Stage::event_reasons(const std::string& service) {
  std::set<std::string> out;
  const auto listed = parse(rest_.get("/api/v1/namespaces/" + ns_ + "/events"));
  for (const auto& event : listed["items"])
    if (event["involvedObject"]["name"] == service && event["reportingComponent"] == "kindlb")
      out.insert(event["reason"]);  // the API server has its own to tell
  return out;
}

void Stage::await_events(const std::string& service, const std::set<std::string>& reasons) {
  std::set<std::string> seen;
  const auto deadline = Clock::now() + kPatience;
  while (!std::ranges::includes(seen = event_reasons(service), reasons)) {
    if (Clock::now() > deadline)
      FAIL(service << " has only " << fmt::format("{}", fmt::join(seen, ", ")) << "\n" << log());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

core::Service Stage::await(const std::string& name, const Wish& wish, std::size_t from) {
  auto found = diary_->wait(name, wish, kPatience, from);
  if (!found) {
    std::string seen;
    for (const auto& line : told(diary_->pages(name))) seen += "  " + line + "\n";
    FAIL(name << " was not seen as expected, but as\n" << seen << log());
  }
  return *std::move(found);
}

void Stage::until(const std::string& what, const std::function<bool()>& holds,
                  std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  while (!holds()) {
    if (Clock::now() > deadline) FAIL("not in time: " << what << "\n" << log());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void Stage::serve_another() {
  const auto name = fmt::format("another-{}", ++others_);
  create_web(name);
  await_serving(name);
}

core::Target target_of(const core::Service& service, std::uint16_t port) {
  REQUIRE(service.status.ingress.size() == 1);
  return {*core::IpAddress::parse(service.status.ingress[0].ip), port};
}

core::Target target_of(const core::Service& service, std::uint16_t port, core::IpFamily family) {
  for (const auto& ingress : service.status.ingress)
    if (const auto address = core::IpAddress::parse(ingress.ip); address->family() == family)
      return {*address, port};
  FAIL(service.key.name << " has no " << core::name_of(family) << " address");
  return {};
}

}  // namespace kindlb::it
