#include "yaml_text.hpp"

#include "kindlb/json/json.hpp"
#include "kindlb/yaml/node.hpp"

#include <algorithm>
#include <string_view>
#include <variant>

namespace kindlb::forecast {

namespace {

using Ordered = nlohmann::ordered_json;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
         c == '_';
}

/// Return whether a string is safe without quotes. Conservative: quotes more than necessary.
bool is_plain(std::string_view text) {
  if (text.empty() || !is_word(text.front()) || text.back() == ' ' || text.back() == ':')
    return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    constexpr std::string_view kHarmless = " .,;()-=+";
    const bool colon = text[i] == ':' && text[i + 1] != ' ';  // never the last one
    if (!is_word(text[i]) && !colon && kHarmless.find(text[i]) == std::string_view::npos)
      return false;
  }
  return true;
}

std::string scalar(const Ordered& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const auto meaning =
        yaml::resolve({.kind = yaml::Kind::Scalar, .place = {}, .text = text, .plain = true});
    // YAML 1.1 timestamps and base-60 numbers start with a digit.
    const bool suspicious = !text.empty() && text.front() >= '0' && text.front() <= '9' &&
                            text.find_first_of(":T") != std::string::npos;
    if (is_plain(text) && !suspicious && std::holds_alternative<std::string>(meaning)) return text;
  }
  return json::dump_ordered(value);
}

bool is_block(const Ordered& value) {
  return value.is_structured() && !value.empty();
}

void write(std::string& out, const Ordered& value, std::size_t indent);

/// Write the value after "key:", on the same line or as a block below.
void write_value(std::string& out, const Ordered& value, std::size_t indent) {
  if (!is_block(value)) {
    out += " " + scalar(value) + "\n";
    return;
  }
  out += "\n";
  write(out, value, value.is_array() ? indent : indent + 2);
}

void write_map(std::string& out, const Ordered& map, std::size_t indent, bool indented) {
  for (const auto& [key, value] : map.items()) {
    if (!indented) out.append(indent, ' ');
    indented = false;
    out += scalar(key) + ":";
    write_value(out, value, indent);
  }
}

void write_list(std::string& out, const Ordered& list, std::size_t indent) {
  for (const auto& item : list) {
    out.append(indent, ' ');
    out += "-";
    if (item.is_object() && !item.empty()) {
      out += " ";
      write_map(out, item, indent + 2, true);
    } else {
      write_value(out, item, indent + 2);
    }
  }
}

void write(std::string& out, const Ordered& value, std::size_t indent) {
  if (value.is_object())
    write_map(out, value, indent, false);
  else
    write_list(out, value, indent);
}

}  // namespace

std::string yaml_text(const Ordered& value) {
  if (!is_block(value)) return scalar(value) + "\n";
  std::string out;
  write(out, value, 0);
  return out;
}

}  // namespace kindlb::forecast
