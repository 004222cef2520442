// The half of a Balancer that speaks to it.

#include "service_under_test.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kindlb::conformance {

namespace {
using core::Error;
using core::ErrorKind;
using core::Result;

/// Generous for a machine that is busy with other tests; a wrong port fails at once anyway.
constexpr milliseconds kAnswer{5'000};
/// For proving that nobody answers.
constexpr milliseconds kSilence{2'000};
/// Datagrams may be lost: that is not the load balancer's fault.
constexpr int kDatagrams = 5;
constexpr milliseconds kDatagramAnswer{1'000};
/// Until a name that was just made up is known everywhere.
constexpr std::chrono::minutes kNamePropagation{5};

bool is_udp(const Port& port) {
  return std::string_view(port.protocol) == "UDP";
}

/// Addresses and names in a status.
std::vector<std::string> points_of(const core::Service& service) {
  std::vector<std::string> out;
  for (const auto& ingress : service.status.ingress)
    out.push_back(ingress.ip.empty() ? ingress.hostname : ingress.ip);
  std::ranges::sort(out);
  return out;
}
}  // namespace

/// IP-based load balancers must work immediately, those with names once the name is known.
End Balancer::find_addresses() {
  const auto service = look();
  if (!service) return scene_.fail(service.error());
  addresses_.clear();
  points_ = points_of(*service);
  for (const auto& ingress : service->status.ingress) {
    if (const auto ip = core::IpAddress::parse(ingress.ip)) {
      addresses_.push_back(*ip);
      continue;
    }
    if (ingress.hostname.empty()) continue;
    std::vector<core::IpAddress> known;
    if (auto end = scene_.until("the name " + ingress.hostname + " known", kNamePropagation, [&] {
          known = resolve(ingress.hostname);
          return !known.empty();
        }))
      return end;
    // A name may have both families, but only a Service of two promises that both work.
    if (service->spec.ip_families.size() < 2) known.resize(1, known.front());
    addresses_.insert(addresses_.end(), known.begin(), known.end());
  }
  if (addresses_.empty()) return scene_.fail("the status has no address that can be used");
  return std::nullopt;
}

Result<std::string> Balancer::ask_at(const core::IpAddress& address, const Port& port,
                                     const std::string& path) {
  const core::Target target{address, port.number};
  if (!is_udp(port)) return ask_http(target, path, kAnswer, world_.stop);
  UdpClient client(target);
  Result<std::string> answer = Error{ErrorKind::Timeout, "UDP " + target.text(), "never asked"};
  for (int i = 0; i < kDatagrams && !answer; ++i) {
    answer = client.ask("hostname", kDatagramAnswer);
    // "Refused" comes back at once and must not use up all the attempts.
    if (!answer && !scene_.pause(milliseconds{100})) break;
  }
  return answer;
}

Result<std::string> Balancer::ask(const Port& port, const std::string& path) {
  return ask_at(addresses_.front(), port, path);
}

End Balancer::keeps_addresses() const {
  const auto service = look();
  if (!service) return scene_.fail(service.error());
  if (points_of(*service) == points_) return std::nullopt;
  return scene_.fail("a change that does not ask for it moved it to another address");
}

End Balancer::answers_within(milliseconds limit, const core::IpAddress& address, const Port& port) {
  std::string why;
  const auto answered = [&] {
    const auto answer = ask_at(address, port, "/hostname");
    why = answer ? "an empty answer" : answer.error().text();
    return answer && !answer->empty();
  };
  if (answered()) return std::nullopt;
  if (limit == milliseconds{0})
    return scene_.fail("LoadBalancerServing=True, but it does not answer at once: " + why);
  return scene_.until("answered (" + why + ")", limit, answered);
}

End Balancer::answers(const Port& port) {
  const auto limit = scene_.speaks() ? milliseconds{0} : world_.settings.limits.provisioning;
  for (const auto& address : addresses_)
    if (auto end = answers_within(limit, address, port)) return end;
  return std::nullopt;
}

End Balancer::answers_soon(const Port& port) {
  for (const auto& address : addresses_)
    if (auto end = answers_within(scene_.patience(), address, port)) return end;
  return std::nullopt;
}

End Balancer::falls_silent(const Port& port) {
  const auto nobody = [&](const core::IpAddress& address) {
    const core::Target target{address, port.number};
    if (!is_udp(port)) return !ask_http(target, "/hostname", kSilence, world_.stop).ok();
    return !UdpClient(target).ask("hostname", kSilence).ok();
  };
  for (const auto& address : addresses_)
    if (auto end = scene_.until(
            fmt::format("{} port {} of {} closed", port.protocol, port.number, address.text()),
            scene_.patience(), [&] { return nobody(address); }))
      return end;
  // A question that was cut short has no answer either.
  if (world_.stop.stop_requested()) return scene_.fail("stopped");
  return std::nullopt;
}

End Balancer::names(std::size_t count, std::set<std::string>& into) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto answer = ask(kWeb);
    if (!answer)
      return scene_.fail(
          fmt::format("connection {} of {}: {}", i + 1, count, answer.error().text()));
    into.insert(*answer);
  }
  return std::nullopt;
}

End Balancer::all_answer(std::size_t count) {
  std::set<std::string> any;
  if (scene_.speaks()) return names(count, any);
  End broken;
  auto end = scene_.until(fmt::format("answered {} times in a row", count), scene_.patience(), [&] {
    broken = names(count, any);
    return !broken;
  });
  if (end && broken) end->reason += ": " + broken->reason;
  return end;
}

}  // namespace kindlb::conformance
