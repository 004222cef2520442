// The half of a ServiceUnderTest that sends traffic.

#include "service_under_test.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kindlb::conformance {

namespace {
using core::Error;
using core::ErrorKind;
using core::Result;

/// Generous, for a machine that is busy with other tests; a closed port fails at once anyway.
constexpr milliseconds kAnswer{5'000};
/// How long to wait for an answer that must not come.
constexpr milliseconds kSilence{2'000};
/// Datagrams may be lost, which is not the load balancer's fault.
constexpr int kDatagrams = 5;
constexpr milliseconds kDatagramAnswer{1'000};
/// How long the DNS record of a new load balancer may take to propagate.
constexpr std::chrono::minutes kNamePropagation{5};

bool is_udp(const Port& port) {
  return std::string_view(port.protocol) == "UDP";
}

/// Return the IPs and host names of a status, sorted.
std::vector<std::string> ingress_points(const core::Service& service) {
  std::vector<std::string> out;
  for (const auto& ingress : service.status.ingress)
    out.push_back(ingress.ip.empty() ? ingress.hostname : ingress.ip);
  std::ranges::sort(out);
  return out;
}
}  // namespace

/// The KEP demands that IP-based load balancers work at once, and those with host names as soon as
/// the name resolves.
EarlyEnd ServiceUnderTest::find_addresses() {
  const auto service = fetch();
  if (!service) return context_.fail(service.error());
  addresses_.clear();
  ingress_points_ = ingress_points(*service);
  for (const auto& ingress : service->status.ingress) {
    if (const auto ip = core::IpAddress::parse(ingress.ip)) {
      addresses_.push_back(*ip);
      continue;
    }
    if (ingress.hostname.empty()) continue;
    std::vector<core::IpAddress> known;
    if (auto end = context_.wait_for("the name " + ingress.hostname + " to resolve",
                                     kNamePropagation, [&] {
                                       known = resolve(ingress.hostname);
                                       return !known.empty();
                                     }))
      return end;
    // A name may resolve to both families, but only a dual-stack Service promises that both work.
    if (service->spec.ip_families.size() < 2) known.resize(1, known.front());
    addresses_.insert(addresses_.end(), known.begin(), known.end());
  }
  if (addresses_.empty()) return context_.fail("the status has no usable address");
  return std::nullopt;
}

Result<std::string> ServiceUnderTest::query_at(const core::IpAddress& address, const Port& port,
                                               const std::string& path) {
  const core::Target target{address, port.number};
  if (!is_udp(port)) return http_get(target, path, kAnswer, env_.stop);
  UdpClient client(target);
  Result<std::string> answer =
      Error{ErrorKind::Timeout, "UDP " + target.text(), "nothing was sent"};
  for (int i = 0; i < kDatagrams && !answer; ++i) {
    answer = client.exchange("hostname", kDatagramAnswer);
    // An ICMP error comes back at once and must not use up all the attempts.
    if (!answer && !context_.pause(milliseconds{100})) break;
  }
  return answer;
}

Result<std::string> ServiceUnderTest::query(const Port& port, const std::string& path) {
  return query_at(addresses_.front(), port, path);
}

EarlyEnd ServiceUnderTest::check_addresses_kept() const {
  const auto service = fetch();
  if (!service) return context_.fail(service.error());
  if (ingress_points(*service) == ingress_points_) return std::nullopt;
  return context_.fail("a change of another field moved the Service to another address");
}

EarlyEnd ServiceUnderTest::check_answers_within(milliseconds limit, const core::IpAddress& address,
                                                const Port& port) {
  std::string why;
  const auto answered = [&] {
    const auto answer = query_at(address, port, "/hostname");
    why = answer ? "an empty answer" : answer.error().text();
    return answer && !answer->empty();
  };
  if (answered()) return std::nullopt;
  if (limit == milliseconds{0})
    return context_.fail("LoadBalancerServing=True, but the Service does not answer at once: " +
                         why);
  return context_.wait_for("an answer (" + why + ")", limit, answered);
}

EarlyEnd ServiceUnderTest::check_answers(const Port& port) {
  const auto limit =
      context_.writes_conditions() ? milliseconds{0} : env_.settings.limits.provisioning;
  for (const auto& address : addresses_)
    if (auto end = check_answers_within(limit, address, port)) return end;
  return std::nullopt;
}

EarlyEnd ServiceUnderTest::await_answers(const Port& port) {
  for (const auto& address : addresses_)
    if (auto end = check_answers_within(context_.propagation_timeout(), address, port)) return end;
  return std::nullopt;
}

EarlyEnd ServiceUnderTest::await_closed(const Port& port) {
  const auto is_closed = [&](const core::IpAddress& address) {
    const core::Target target{address, port.number};
    if (!is_udp(port)) return !http_get(target, "/hostname", kSilence, env_.stop).ok();
    return !UdpClient(target).exchange("hostname", kSilence).ok();
  };
  for (const auto& address : addresses_)
    if (auto end =
            context_.wait_for(fmt::format("{} port {} of {} to be closed", port.protocol,
                                          port.number, address.text()),
                              context_.propagation_timeout(), [&] { return is_closed(address); }))
      return end;
  // A request that a stop cancelled has no answer either.
  if (env_.stop.stop_requested()) return context_.fail("stopped");
  return std::nullopt;
}

EarlyEnd ServiceUnderTest::collect_pod_names(std::size_t count, std::set<std::string>& into) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto answer = query(kWeb);
    if (!answer)
      return context_.fail(
          fmt::format("connection {} of {}: {}", i + 1, count, answer.error().text()));
    into.insert(*answer);
  }
  return std::nullopt;
}

EarlyEnd ServiceUnderTest::check_connections(std::size_t count) {
  std::set<std::string> any;
  if (context_.writes_conditions()) return collect_pod_names(count, any);
  EarlyEnd broken;
  auto end = context_.wait_for(fmt::format("{} answers in a row", count),
                               context_.propagation_timeout(), [&] {
                                 broken = collect_pod_names(count, any);
                                 return !broken;
                               });
  if (end && broken) end->reason += ": " + broken->reason;
  return end;
}

}  // namespace kindlb::conformance
