#include "json_escapes.hpp"
#include "kindlb/base/text.hpp"
#include "kindlb/yaml/node.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

namespace kindlb::yaml {

namespace {

/// What anchors and aliases may repeat in one file, far more than any real manifest does: anchored
/// nodes are kept for the aliases that may follow, and every alias is a copy. Without limits a few
/// lines can expand to billions of nodes ("billion laughs") or gigabytes of text.
constexpr std::size_t kMaxRepeatedNodes = 200'000;
constexpr std::size_t kMaxRepeatedMiB = 16;
constexpr std::size_t kMaxDepth = 256;

Place place_of(const YAML::Mark& mark) {
  return {mark.line + 1, mark.column + 1};
}

/// Abort the parse. yaml-cpp offers only exceptions for it; parse() catches them.
[[noreturn]] void stop(const YAML::Mark& mark, const std::string& what) {
  throw YAML::ParserException(mark, what);
}

/// What a copy of a tree costs.
struct Size {
  std::size_t nodes = 0;
  std::size_t bytes = 0;  ///< of keys and scalars

  Size& operator+=(const Size& other) {
    nodes += other.nodes;
    bytes += other.bytes;
    return *this;
  }
};

/// Recursion is bounded by kMaxDepth.
Size size_of(const Node& node) {
  Size sum{1, node.text.size()};
  for (const auto& key : node.keys) sum.bytes += key.text.size();
  for (const auto& item : node.items) sum += size_of(item);
  return sum;
}

/// Return whether a scalar with this tag may be a number or boolean: yaml-cpp gives unquoted
/// scalars the tag "?" and quoted ones "!"; an explicit !!str is a string.
bool is_plain(const std::string& tag) {
  constexpr std::string_view kStandard = "tag:yaml.org,2002:";
  if (tag == "?") return true;
  return tag.starts_with(kStandard) && tag.substr(kStandard.size()) != "str";
}

/// Builds the tree from yaml-cpp's events. The event interface is used, and not YAML::Node, because
/// it reports the place of every key, aliases and duplicate keys.
class Builder final : public YAML::EventHandler {
 public:
  explicit Builder(std::vector<Node>& documents) : documents_(documents) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    // At a comma outside of any list yaml-cpp would emit empty documents forever.
    if (place_of(mark) == started_) stop(mark, "unexpected character");
    anchors_.clear();
    started_ = place_of(mark);
    root_.reset();
  }
  void OnDocumentEnd() override {
    documents_.push_back(root_ ? std::move(*root_) : Node{.place = started_});
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(mark, {.place = place_of(mark)}, anchor, 0);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) stop(mark, "an alias inside the node it refers to");
    const auto& [node, height, size] = found->second;
    if (open_.size() + height > kMaxDepth) stop(mark, "nested too deeply");
    charge(mark, size);
    add(mark, node, 0, height);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    add(mark,
        {.kind = Kind::Scalar, .place = place_of(mark), .text = value, .plain = is_plain(tag)},
        anchor, 0);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, Kind::List, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, Kind::Map, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Node node;
    YAML::Mark mark;
    YAML::anchor_t anchor = 0;
    std::size_t height = 1;
    std::optional<Key> key;  ///< set: its value comes next
  };
  /// Height and size are kept so that an alias can be checked against the limits without a walk.
  struct Anchored {
    Node node;
    std::size_t height = 0;
    Size size;
  };

  /// Account for a copy that is about to be made.
  void charge(const YAML::Mark& mark, const Size& size) {
    const auto refuse = [&](std::size_t bound, const char* unit) {
      stop(mark, "anchors and aliases repeat more than " + std::to_string(bound) + unit);
    };
    repeated_ += size;
    if (repeated_.nodes > kMaxRepeatedNodes) refuse(kMaxRepeatedNodes, " nodes");
    if (repeated_.bytes > kMaxRepeatedMiB << 20U) refuse(kMaxRepeatedMiB, " MiB of text");
  }

  void open(const YAML::Mark& mark, Kind kind, YAML::anchor_t anchor) {
    if (open_.size() >= kMaxDepth) stop(mark, "nested too deeply");
    if (!open_.empty() && open_.back().node.kind == Kind::Map && !open_.back().key)
      stop(mark,
           "a key must be a string, not a " + std::string(kind == Kind::Map ? "map" : "list"));
    open_.push_back({.node = {.kind = kind, .place = place_of(mark)},
                     .mark = mark,
                     .anchor = anchor,
                     .height = 1,
                     .key = {}});
  }

  void close() {
    auto done = std::move(open_.back());
    open_.pop_back();
    if (done.node.kind == Kind::Map) {
      merge(done);
      refuse_duplicates(done);
    }
    add(done.mark, std::move(done.node), done.anchor, done.height);
  }

  /// Copy an anchored node, because an alias may refer to it until the document ends.
  void keep(const YAML::Mark& mark, const Node& node, YAML::anchor_t anchor, std::size_t height) {
    const auto size = size_of(node);
    charge(mark, size);
    anchors_[anchor] = {node, height, size};
  }

  /// Attach a finished node to its parent: as a key, as the value of the pending key, or as an
  /// item.
  void add(const YAML::Mark& mark, Node node, YAML::anchor_t anchor, std::size_t height) {
    if (anchor != 0) keep(mark, node, anchor, height);
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    auto& parent = open_.back();
    parent.height = std::max(parent.height, height + 1);
    if (parent.node.kind == Kind::Map && !parent.key) {
      if (node.kind == Kind::Map || node.kind == Kind::List) stop(mark, "a key must be a string");
      parent.key = Key{std::move(node.text), place_of(mark)};
      return;
    }
    if (parent.node.kind == Kind::Map) {
      parent.node.keys.push_back(std::move(*parent.key));
      parent.key.reset();
    }
    parent.node.items.push_back(std::move(node));
  }

  /// Apply a merge key: `<<: *other` adds the fields of the other map that are not given here.
  static void merge(Open& done) {
    auto& [kind, place, text, plain, keys, items] = done.node;
    const auto found = std::ranges::find(keys, "<<", &Key::text);
    if (found == keys.end()) return;
    const auto index = found - keys.begin();
    const auto source = std::move(items[static_cast<std::size_t>(index)]);
    items.erase(items.begin() + index);
    keys.erase(found);
    if (source.kind == Kind::Map) bring_in(done.node, source);
    if (source.kind == Kind::List)
      for (const auto& one : source.items) bring_in(done.node, one);
  }

  static void bring_in(Node& into, const Node& from) {
    for (std::size_t i = 0; i < from.keys.size(); ++i) {
      if (into.find(from.keys[i].text) != nullptr) continue;
      into.keys.push_back(from.keys[i]);
      into.items.push_back(from.items[i]);
    }
  }

  /// A duplicate key is a mistake, and parsers disagree on which value wins. Runs after merge(),
  /// which never adds a key that exists.
  static void refuse_duplicates(const Open& done) {
    std::vector<const Key*> sorted;
    for (const auto& key : done.node.keys) sorted.push_back(&key);
    std::ranges::stable_sort(sorted, {}, [](const Key* key) { return key->text; });
    const auto twice = std::ranges::adjacent_find(
        sorted, {}, [](const Key* key) -> const std::string& { return key->text; });
    if (twice == sorted.end()) return;
    auto mark = done.mark;
    const auto& again = (*std::next(twice))->place;
    mark.line = again.line - 1;
    mark.column = again.column - 1;
    stop(mark, "'" + (*twice)->text + "' is given twice; first on line " +
                   std::to_string((*twice)->place.line));
  }

  std::vector<Node>& documents_;
  std::optional<Node> root_;
  Place started_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  Size repeated_;
};

/// Return yaml-cpp's message, with a hint if the line is indented with a tab, which is hard to see.
std::string explain(const YAML::Exception& error, const std::string& text) {
  auto out = error.msg;
  std::istringstream in(text);
  std::string line;
  for (int i = 0; i <= error.mark.line && std::getline(in, line); ++i) {
  }
  const auto indent = line.substr(0, line.find_first_not_of(" \t"));
  if (indent.find('\t') != std::string::npos)
    out += " (the line is indented with a tab; YAML requires spaces)";
  return out;
}

}  // namespace

core::Error fault(const std::string& file, const Place& place, std::string what) {
  // One line whatever the input contains, and no terminal escape sequences.
  what = base::printable(what);
  auto where = file;
  if (place.line > 0)
    where += ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
  return {core::ErrorKind::Invalid, std::move(where), std::move(what)};
}

core::Result<std::vector<Node>> parse(const std::string& text, const std::string& file) {
  std::vector<Node> documents;
  Builder builder(documents);
  try {
    std::istringstream in(join_surrogates(text));
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {  // no exception of yaml-cpp leaves this function
    const auto place = error.mark.is_null() ? Place{} : place_of(error.mark);
    return fault(file, place, explain(error, text));
  }
  return documents;
}

}  // namespace kindlb::yaml
