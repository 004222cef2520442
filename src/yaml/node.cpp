#include "kindlb/yaml/node.hpp"

#include "kindlb/base/number.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <system_error>

namespace kindlb::yaml {

namespace {

using namespace std::string_view_literals;

constexpr std::array kTrue = {"y"sv,    "Y"sv,    "yes"sv, "Yes"sv, "YES"sv, "true"sv,
                              "True"sv, "TRUE"sv, "on"sv,  "On"sv,  "ON"sv};
constexpr std::array kFalse = {"n"sv,     "N"sv,     "no"sv,  "No"sv,  "NO"sv, "false"sv,
                               "False"sv, "FALSE"sv, "off"sv, "Off"sv, "OFF"sv};
constexpr std::array kNull = {""sv, "~"sv, "null"sv, "Null"sv, "NULL"sv};

template <typename Words>
bool is_among(const Words& words, std::string_view text) {
  return std::ranges::find(words, text) != words.end();
}

/// Remove a prefix (0x, 0o, 0b, or a plain leading zero for octal) and return the base.
int take_base(std::string_view& digits) {
  if (digits.size() < 2 || digits[0] != '0') return 10;
  const char letter = digits[1];
  const int base = letter == 'x' || letter == 'X'   ? 16
                   : letter == 'o' || letter == 'O' ? 8
                   : letter == 'b' || letter == 'B' ? 2
                                                    : 0;
  digits.remove_prefix(base == 0 ? 1 : 2);
  return base == 0 ? 8 : base;
}

/// Accept what fits into 64 bits, signed or unsigned; anything else is left to real().
std::optional<Scalar> integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const int radix = take_base(text);
  const auto parsed = base::parse_number<std::uint64_t>(text, radix);
  if (!parsed) return std::nullopt;
  const auto value = *parsed;
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!negative && value > kMax) return Scalar(value);
  if (value > kMax) return std::nullopt;
  const auto number = static_cast<std::int64_t>(value);
  return Scalar(negative ? -number : number);
}

std::optional<Scalar> real(std::string_view text) {
  const bool digits = text.find_first_of("0123456789") != std::string_view::npos;
  if (!digits || text.find_first_not_of("0123456789+-.eE") != std::string_view::npos)
    return std::nullopt;
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || error != std::errc{}) return std::nullopt;
  return Scalar(value);
}

/// YAML 1.1 allows underscores between digits. The first character rules out most strings
/// that are not numbers.
std::optional<Scalar> number(const std::string& text) {
  const char first = text.front();
  if (first != '+' && first != '-' && first != '.' && (first < '0' || first > '9'))
    return std::nullopt;
  auto digits = text;
  std::erase(digits, '_');
  if (digits.empty()) return std::nullopt;
  if (auto whole = integer(digits)) return whole;
  return real(digits);
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  const auto found = std::ranges::find(keys, key, &Key::text);
  return found == keys.end() ? nullptr : &items[static_cast<std::size_t>(found - keys.begin())];
}

std::string describe(const Node& node) {
  switch (node.kind) {
    case Kind::Null:
      return "nothing";
    case Kind::Scalar:
      return "'" + node.text + "'";
    case Kind::List:
      return "a list";
    case Kind::Map:
      return "a map";
  }
  return "nothing";
}

Scalar resolve(const Node& scalar) {
  if (scalar.kind == Kind::Null) return nullptr;
  if (!scalar.plain) return scalar.text;
  if (is_among(kNull, scalar.text)) return nullptr;
  if (is_among(kTrue, scalar.text)) return true;
  if (is_among(kFalse, scalar.text)) return false;
  return number(scalar.text).value_or(scalar.text);
}

const Node& nearest(const Node& root, std::string_view path) {
  const auto* at = &root;
  while (!path.empty()) {
    // The last key may itself contain dots, as names of annotations do.
    if (const auto* const last = at->find(path.starts_with('.') ? path.substr(1) : path))
      return *last;
    const auto end = std::min(path.find_first_of(".[", 1), path.size());
    auto step = path.substr(0, end);
    path.remove_prefix(end);
    const Node* next = nullptr;
    if (step.starts_with('[')) {
      std::size_t index = 0;
      std::from_chars(step.data() + 1, step.data() + step.size(), index);
      if (at->kind == Kind::List && index < at->items.size()) next = &at->items[index];
    } else {
      if (step.starts_with('.')) step.remove_prefix(1);
      next = at->find(step);
    }
    if (next == nullptr) break;
    at = next;
  }
  return *at;
}

}  // namespace kindlb::yaml
