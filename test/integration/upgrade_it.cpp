// An upgrade: the kindlb of this build takes over what the previous release has made, and nobody
// notices. That release's kindlb sets everything up, with its own agents, which go on under the new
// one: see scripts/previous-release.sh. A downgrade is not promised, so it is not tested.
#include "integration/clients.hpp"
#include "integration/served.hpp"
#include "kindlb/core/conditions.hpp"
#include "kindlb/proxy/image.hpp"
#include "support/traffic/ask.hpp"
#include "support/traffic/load.hpp"
#include "support/traffic/udp_stream.hpp"

#include <signal.h>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

using namespace kindlb;
using it::Stage;
using testing::must;
using namespace std::chrono_literals;

it::Programs previous_release() {
  const char* folder = std::getenv("KINDLB_PREVIOUS_RELEASE");  // NOLINT(concurrency-mt-unsafe)
  if (folder == nullptr || *folder == '\0')
    FAIL(
        "KINDLB_PREVIOUS_RELEASE is not set: set it to what scripts/previous-release.sh --print "
        "says");
  const std::filesystem::path programs(folder);
  return {programs / "kindlb", programs / "kindlb-agent"};
}

/// A Service with clients that talk to it from before the upgrade until after it: new connections,
/// lasting ones, and UDP sessions.
class BusyService {
 public:
  /// `more`: of its spec, as mixed_spec() takes it.
  BusyService(Stage& stage, const std::string& more) : stage_(stage), served_(stage) {
    served_.add("one");
    served_.add("two");
    served_.create(it::mixed_spec(more));
    load_ = std::make_unique<testing::Load>(
        testing::LoadOptions{.target = served_.target(), .per_second = 50, .lasting = 5});
    stream_ = std::make_unique<testing::UdpStream>(
        testing::UdpOptions{.target = served_.target(), .sessions = 5, .per_second = 100});
  }

  const std::string& name() const { return served_.name(); }
  core::Target target(std::uint16_t port = 80) const { return served_.target(port); }

  /// What is to stay as it is.
  void note() {
    before_ = stage_.get(name());
    container_ = container();
    seen_ = stage_.diary().count(name());
  }

  void go_on() {
    CHECK(load_->go_on(50));
    CHECK(stream_->go_on(100));
  }

  /// In every version that anybody saw since note(): served, by that proxy, at that address.
  void check_stayed() {
    CAPTURE(name());
    CHECK(container() == container_);
    for (const auto& page : stage_.diary().pages(name(), seen_)) {
      CAPTURE(page.resource_version);
      CHECK(it::target_of(page) == it::target_of(before_));
      REQUIRE(serving(page) != nullptr);
      CHECK(serving(page)->status == core::ConditionStatus::True);
    }
  }

  /// The same, and nothing has been reported anew. That is only so until the Service is changed.
  void check_untouched() {
    check_stayed();
    const auto now = stage_.get(name());
    CHECK(now.status.ingress == before_.status.ingress);
    CHECK(serving(now)->last_transition == serving(before_)->last_transition);
  }

  /// The new kindlb has its agent, an older one, do what it is asked for.
  void check_changes() {
    CAPTURE(name());
    served_.patch(R"({"spec":{"ports":[{"name":"tcp","port":80,"protocol":"TCP"},)"
                  R"({"name":"udp","port":80,"protocol":"UDP"},{"name":"extra","port":81}]}})");
    CHECK(testing::ask_tcp(target(81), "x").ends_with(" x"));
    CHECK(testing::ask_tcp(target(80), "x").ends_with(" x"));
  }

  void finish() {
    CAPTURE(name());
    const auto tcp = load_->finish();
    const auto udp = stream_->finish();
    MESSAGE("TCP: " << tcp.text());
    MESSAGE("UDP: " << udp.text());
    CHECK(tcp.failures == std::vector<std::string>{});
    CHECK(udp.losses == std::vector<std::string>{});
    CHECK(udp.moves == 0);
  }

 private:
  static const core::Condition* serving(const core::Service& service) {
    return core::find_condition(service.status.conditions, core::kServingCondition);
  }
  /// The id of the proxy that serves it; empty without one.
  std::string container() {
    for (const auto& [id, owners] : stage_.holders())
      for (const auto& owner : owners)
        if (owner.ends_with("/" + stage_.ns() + "/" + name())) return id;
    return {};
  }

  Stage& stage_;
  it::Served served_;
  std::unique_ptr<testing::Load> load_;
  std::unique_ptr<testing::UdpStream> stream_;
  core::Service before_;
  std::string container_;
  std::size_t seen_ = 0;
};

/// Which images the warm proxies are made from, by hash.
std::vector<std::string> warm_images(Stage& stage) {
  const auto holders = stage.holders();
  std::vector<std::string> out;
  for (const auto& proxy : stage.proxies())
    if (!holders.contains(proxy.id)) out.push_back(proxy.agent);
  return out;
}

std::string image_of(Stage& stage, const it::Programs& programs) {
  return proxy::image_hash(must(proxy::ensure_proxy_image(
      stage.rig.engine().images(), testing::envoy_image(), programs.agent, {}, {})));
}

/// Services of each kind, set up by the previous release.
class Upgrade {
 public:
  /// `proxies`: how many the three Services take.
  Upgrade(const it::Flags& flags, std::size_t proxies) : flags_(flags) {
    stage_.start(flags_, previous_release());
    outsider_ = std::make_unique<it::Clients>(stage_, stage_.unused_address());
    for (const auto& more : {std::string(), source_range(), std::string(kSticky)})
      services_.push_back(std::make_unique<BusyService>(stage_, more));
    ranged_ = services_[1].get();
    stage_.until("the pool is full", [&] {
      return stage_.holders().size() == proxies && warm_images(stage_).size() == 1;
    });
    made_ = stage_.proxies();
  }

  void take_place(int signal) {
    for (const auto& service : services_) service->note();
    check_source_range();
    go_on();
    CHECK(stage_.stop(signal) == (signal == SIGKILL ? 128 + SIGKILL : 0));
    go_on();
    stage_.start(flags_);
    stage_.serve_another();  // it has adopted everything by then
    go_on();
    for (const auto& service : services_) service->check_untouched();
    check_source_range();
  }

  /// Warm proxies of the previous release are replaced: nobody is served by them.
  void check_pool() {
    const std::vector<std::string> wanted{image_of(stage_, it::this_build())};
    stage_.until("a warm proxy of this build", [&] { return warm_images(stage_) == wanted; });
  }

  void check_changes() {
    for (const auto& service : services_) service->check_changes();
    go_on();
    check_source_range();
    for (const auto& service : services_) service->check_stayed();
    for (const auto& service : services_) service->finish();
  }

  void check_removal() {
    std::vector<std::string> names{"another-1"};
    for (const auto& service : services_) names.push_back(service->name());
    services_.clear();  // deletes them
    stage_.remove("another-1");
    for (const auto& name : names) CHECK(stage_.diary().wait_gone(name, it::kPatience));
    stage_.until("no proxy is left but a warm one", [&] { return stage_.proxies().size() == 1; });
    CHECK(stage_.holders().empty());
    const auto left = stage_.proxies()[0].volume;
    for (const auto& proxy : made_)
      stage_.until("its volume goes with it",
                   [&] { return proxy.volume == left || !stage_.volume_exists(proxy.volume); });
  }

 private:
  static constexpr const char* kSticky = R"(,"sessionAffinity":"ClientIP")";

  void go_on() {
    for (const auto& service : services_) service->go_on();
  }
  /// Clients of this machine are in it, `outsider_` is not.
  std::string source_range() const {
    return fmt::format(R"(,"loadBalancerSourceRanges":["{}/32"])", stage_.gateway().text());
  }
  void check_source_range() {
    const auto& from = outsider_->v4(0);
    CHECK_FALSE(testing::ask_tcp(ranged_->target(), "x", from, 1s).ends_with(" x"));
    CHECK(testing::ask_udp(ranged_->target(), "x", 300ms, from).empty());
  }

  const it::Flags flags_;
  Stage stage_;
  std::unique_ptr<it::Clients> outsider_;
  std::vector<std::unique_ptr<BusyService>> services_;
  BusyService* ranged_ = nullptr;
  std::vector<proxy::Proxy> made_;  ///< by the previous release, the warm one included
};

const it::Flags kAlone = {};
const it::Flags kTogether = {"--services-per-proxy", "0"};

void check_upgrade(const it::Flags& flags, int signal) {
  Upgrade upgrade(flags, flags == kAlone ? 3 : 1);
  upgrade.take_place(signal);
  upgrade.check_pool();
  upgrade.check_changes();
  upgrade.check_removal();
}

}  // namespace

TEST_CASE("nobody notices an upgrade: a proxy for each Service, the old kindlb told to stop") {
  check_upgrade(kAlone, SIGTERM);
}

TEST_CASE("nobody notices an upgrade: a proxy for each Service, the old kindlb killed") {
  check_upgrade(kAlone, SIGKILL);
}

TEST_CASE("nobody notices an upgrade: a shared proxy, the old kindlb told to stop") {
  check_upgrade(kTogether, SIGTERM);
}

TEST_CASE("nobody notices an upgrade: a shared proxy, the old kindlb killed") {
  check_upgrade(kTogether, SIGKILL);
}
