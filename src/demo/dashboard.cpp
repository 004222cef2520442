#include "dashboard.hpp"

#include "kindlb/base/text.hpp"
#include "kindlb/core/conditions.hpp"
#include "kindlb/core/eligibility.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

namespace kindlb::demo {

namespace {
using namespace std::chrono_literals;
using core::Service;

constexpr auto kHighlightTime = 3s;  ///< for the mark of rows that have changed
constexpr auto kTick = 250ms;  ///< redraw at least this often: marks fade, windows are resized
constexpr std::size_t kLastChanges = 5;
constexpr std::size_t kLongestAnswer = 26;

const core::Condition* serving_condition(const Service& service) {
  return find_condition(service.status.conditions, core::kServingCondition);
}

bool is_in_progress(const Service& service) {
  return serving_condition(service) == nullptr || is_provisioning(service);
}

std::string cut(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 3) + "...";
}

std::string clock_text(std::chrono::system_clock::time_point at) {
  const auto time = std::chrono::system_clock::to_time_t(at);
  std::tm local{};
  localtime_r(&time, &local);
  return fmt::format("{:%H:%M:%S}", local);
}
}  // namespace

std::string change_line(const Change& change) {
  return base::printable(
      fmt::format("{}  {:<26} {}", clock_text(change.at), change.service, change.what));
}

bool Dashboard::is_ours(const Service& service) const {
  return core::claim_of(service, policy_) != core::Claim::NotOurs;
}

/// The transition time identifies the claim: KEP-4631 moves it with every change that takes effect,
/// so a Service with a new port is probed again although Serving stayed True.
bool Dashboard::needs_probe(const Service& service) const {
  if (!is_serving(service) || service.deleting) return false;
  const auto last = last_probes_.find(service.key.name);
  return last == last_probes_.end() ||
         last->second.since != serving_condition(service)->last_transition;
}

void Dashboard::probe_service(const Service& service) {
  const auto& name = service.key.name;
  auto& last =
      last_probes_[name] = {.since = serving_condition(service)->last_transition, .answer = {}};
  const auto probes = probe(service, network_);
  for (const auto& one : probes) {
    // Without ready endpoints no answer is expected, so its absence refutes nothing.
    const bool no_endpoints = !one.good && !watch_.has_ready_endpoints(name);
    last.good = last.good && (one.good || no_endpoints);
    if (last.answer.empty() || !one.good) last.answer = no_endpoints ? "no endpoints" : one.answer;
    if (!screen_.is_terminal())
      screen_.say(change_line(
          {std::chrono::system_clock::now(), name, "$ " + one.command + "  ->  " + one.answer}));
  }
}

void Dashboard::refresh(const std::vector<std::string>& hints) {
  const auto news = watch_.changes(seen_);
  seen_ += news.size();
  for (const auto& change : news) {
    changed_[change.service] = change.at;
    if (!screen_.is_terminal()) screen_.say(change_line(change));
  }
  for (const auto& [name, service] : watch_.services()) {
    if (!is_serving(service)) last_probes_.erase(name);
    if (needs_probe(service)) probe_service(service);
  }
  if (screen_.is_terminal()) screen_.draw(frame(hints));
}

void Dashboard::wait(const std::stop_token& stop) {
  watch_.wait(seen_, kTick, stop);
}

/// Services of another provider never get conditions here and count as settled.
bool Dashboard::settled(const std::vector<std::string>& names) const {
  const auto services = watch_.services();
  return std::ranges::all_of(names, [&](const auto& name) {
    const auto found = services.find(name);
    if (found == services.end()) return false;
    const auto& service = found->second;
    return !is_ours(service) || (!is_in_progress(service) && !needs_probe(service));
  });
}

std::vector<Row> Dashboard::rows() const {
  std::vector<Row> out;
  const auto now = std::chrono::system_clock::now();
  for (const auto& [name, service] : watch_.services()) {
    auto row = row_of(service);
    if (const auto last = last_probes_.find(name); last != last_probes_.end())
      row.answer = cut(last->second.answer, kLongestAnswer);
    else if (!is_ours(service))
      row.answer = "another provider's";
    const auto changed = changed_.find(name);
    row.recently_changed = changed != changed_.end() && now - changed->second < kHighlightTime;
    out.push_back(std::move(row));
  }
  return out;
}

/// Return those that changed last, if there is not room for all.
std::vector<Row> Dashboard::rows_that_fit(std::vector<Row> rows, std::size_t count) const {
  if (rows.size() <= count) return rows;
  const auto time = [&](const Row& row) {
    const auto found = changed_.find(row.name);
    return found == changed_.end() ? std::chrono::system_clock::time_point() : found->second;
  };
  std::ranges::stable_sort(rows, std::greater(), time);
  rows.resize(count);
  std::ranges::sort(rows, std::less(), &Row::name);
  return rows;
}

std::vector<std::string> Dashboard::frame(const std::vector<std::string>& hints) const {
  const auto all = rows();
  // Heading, two empty lines, and one line less than the terminal has, so that nothing scrolls.
  const auto taken = hints.size() + kLastChanges + 4;
  const auto height = screen_.height();
  const auto room = height > taken + 3 ? height - taken : 3;
  const auto shown = rows_that_fit(all, room);
  const auto width = screen_.width();
  auto out = table(shown, {.width = width - 1, .colour = true});
  if (shown.size() < all.size())
    out[0] = cut(
        fmt::format("{}  ({} more: a taller window shows them)", out[0], all.size() - shown.size()),
        width - 1);
  out.emplace_back();
  for (const auto& change : watch_.changes(seen_ > kLastChanges ? seen_ - kLastChanges : 0))
    out.push_back(cut(change_line(change), width - 1));
  if (!hints.empty()) out.emplace_back();
  for (const auto& hint : hints) out.push_back(cut(hint, width - 1));
  return out;
}

void Dashboard::print() const {
  auto all = rows();
  for (auto& row : all)
    row.recently_changed = false;  // a mark of the moment makes no sense in lines that stay
  for (const auto& line : table(all, {.width = 160, .colour = false})) screen_.say(line);
}

std::string Dashboard::summary() const {
  int serving_now = 0;
  int refused = 0;
  int failing = 0;
  int others = 0;
  const auto services = watch_.services();
  for (const auto& [name, service] : services) {
    const auto* condition = serving_condition(service);
    if (!is_ours(service))
      ++others;
    else if (is_serving(service))
      ++serving_now;
    else if (condition != nullptr && condition->reason == "Unsupported")
      ++refused;
    else
      ++failing;
  }
  return fmt::format(
      "{} Services: {} serve, {} are refused, {} fail, {} belong to another provider",
      services.size(), serving_now, refused, failing, others);
}

std::vector<std::string> Dashboard::false_claims() const {
  std::vector<std::string> out;
  for (const auto& [name, last] : last_probes_)
    if (!last.good) out.push_back(name + ": " + last.answer);
  return out;
}

}  // namespace kindlb::demo
