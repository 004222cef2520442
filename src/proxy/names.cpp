// Names of containers and volumes: builders and their inverse parsers.
#include "kindlb/base/number.hpp"
#include "kindlb/core/hash.hpp"
#include "kindlb/proxy/containers.hpp"

#include <algorithm>
#include <random>

namespace kindlb::proxy {

namespace {

constexpr std::string_view kPrefix = "kindlb-";
constexpr std::string_view kWarmPrefix = "kindlb-warm-";
constexpr std::string_view kSharedPrefix = "kindlb-shared-";
/// Has fewer digits than a tag, so that a shared proxy's name is never taken for a claimed one's.
constexpr unsigned kMaxNumber = 999'999;
constexpr std::size_t kTagSize = 8;
constexpr std::size_t kMaxName = 128;

bool is_tag(std::string_view text) {
  return text.size() == kTagSize &&
         text.find_first_not_of(base::kLowerHex) == std::string_view::npos;
}

/// Replace a character that the engine does not accept in a name.
char safe_char(char c) {
  const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return plain || c == '.' || c == '-' || c == '_' ? c : '_';
}

std::string sanitized(std::string text, std::size_t size) {
  std::ranges::transform(text, text.begin(), safe_char);
  text.resize(std::min(text.size(), size));
  return text;
}

std::optional<ProxyName> parse_shared(const std::string& name) {
  const auto dash = name.rfind('-');
  if (!name.starts_with(kSharedPrefix) || dash <= kSharedPrefix.size()) return std::nullopt;
  const auto number = base::parse_number<unsigned>(std::string_view(name).substr(dash + 1));
  if (!number || *number == 0 || *number > kMaxNumber || name[dash + 1] == '0') return std::nullopt;
  const auto size = kSharedPrefix.size();
  return ProxyName{Role::Shared, "", name.substr(size, dash - size), *number};
}

}  // namespace

std::string warm_name(const std::string& tag) {
  return std::string(kWarmPrefix) + tag;
}

std::string service_tag(const std::string& service_uid) {
  return core::hex(core::fnv1a(service_uid), kTagSize);
}

std::string claimed_name(const core::ServiceKey& owner, const std::string& service_uid) {
  const auto middle = sanitized(owner.cluster + "-" + owner.ns + "-" + owner.name,
                                kMaxName - kPrefix.size() - kTagSize - 1);
  return std::string(kPrefix) + middle + "-" + service_tag(service_uid);
}

std::string shared_name(const std::string& cluster, unsigned number) {
  const auto digits = std::to_string(std::min(number, kMaxNumber));
  return std::string(kSharedPrefix) +
         sanitized(cluster, kMaxName - kSharedPrefix.size() - digits.size() - 1) + "-" + digits;
}

std::optional<ProxyName> parse_name(const std::string& name) {
  if (auto shared = parse_shared(name)) return shared;
  if (!name.starts_with(kPrefix) || name.size() < kPrefix.size() + kTagSize + 2)
    return std::nullopt;
  const auto tag = name.substr(name.size() - kTagSize);
  if (!is_tag(tag) || name[name.size() - kTagSize - 1] != '-') return std::nullopt;
  return ProxyName{name == warm_name(tag) ? Role::Warm : Role::Claimed, tag, "", 0};
}

std::string volume_name(const std::string& tag) {
  return std::string(kPrefix) + tag;
}

std::optional<std::string> parse_volume_name(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  auto tag = name.substr(kPrefix.size());
  return is_tag(tag) ? std::optional(std::move(tag)) : std::nullopt;
}

std::string random_tag() {
  std::random_device entropy;
  const auto high = static_cast<std::uint64_t>(entropy());
  return core::hex(high << 32U, kTagSize);
}

}  // namespace kindlb::proxy
