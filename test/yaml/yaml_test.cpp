#include "kindlb/json/json.hpp"
#include "kindlb/yaml/fields.hpp"
#include "kindlb/yaml/json.hpp"
#include "kindlb/yaml/node.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

using namespace kindlb;
using yaml::Kind;
using yaml::Node;
using yaml::Place;
using yaml::Scalar;

std::vector<Node> parsed(const std::string& text) {
  auto documents = yaml::parse(text, "f.yaml");
  REQUIRE_MESSAGE(documents.ok(), documents.error().text());
  return *documents;
}

Node one(const std::string& text) {
  auto documents = parsed(text);
  REQUIRE(documents.size() == 1);
  return documents.front();
}

std::string complaint(const std::string& text) {
  const auto documents = yaml::parse(text, "f.yaml");
  REQUIRE_FALSE(documents.ok());
  return documents.error().operation + ": " + documents.error().detail;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string times(std::size_t count, const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

/// A list of so many nodes, itself included.
std::string list_of(std::size_t nodes) {
  return "[" + times(nodes - 1, "x,") + "]";
}

}  // namespace

TEST_CASE("everything in a document knows its place") {
  const auto root = one("a: 1\nlist:\n- x\n- key: [p, q]\n");
  REQUIRE(root.kind == Kind::Map);
  CHECK(root.keys[1] == yaml::Key{"list", Place{2, 1}});
  CHECK(root.find("a")->place == Place{1, 4});
  CHECK(yaml::nearest(root, "list[1].key[1]").place == Place{4, 12});
  CHECK(yaml::nearest(root, "list[1].key[1]").text == "q");
  CHECK(yaml::nearest(root, "list[7].other") == *root.find("list"));
  CHECK(yaml::nearest(root, "nowhere") == root);
  CHECK(root.find("nowhere") == nullptr);
}

TEST_CASE("scalars mean what they mean to kubectl") {
  struct Case {
    const char* text;
    Scalar value;
  };
  const Case cases[] = {
      {"80", std::int64_t{80}},
      {"-5", std::int64_t{-5}},
      {"+7", std::int64_t{7}},
      {"1_000", std::int64_t{1000}},
      {"0x1F", std::int64_t{31}},
      {"0o17", std::int64_t{15}},
      {"017", std::int64_t{15}},
      {"0b101", std::int64_t{5}},
      {"0", std::int64_t{0}},
      {"18446744073709551615", std::uint64_t{18446744073709551615U}},
      {"1.5", 1.5},
      {"1e3", 1000.0},
      {".5", 0.5},
      {"08", 8.0},
      {"yes", true},
      {"On", true},
      {"true", true},
      {"y", true},
      {"no", false},
      {"off", false},
      {"FALSE", false},
      {"null", nullptr},
      {"~", nullptr},
      {"tRuE", std::string("tRuE")},
      {"http", std::string("http")},
      {"10.0.0.1", std::string("10.0.0.1")},
      {"10.0.0.0/8", std::string("10.0.0.0/8")},
      {"2026-01-02", std::string("2026-01-02")},
      {"-x", std::string("-x")},
      {"0x", std::string("0x")},
      {"e5", std::string("e5")},
      {"'80'", std::string("80")},
      {"\"yes\"", std::string("yes")},
      {"''", std::string()},
      {"!!str 80", std::string("80")},
  };
  for (const auto& c : cases) {
    SUBCASE(c.text) {
      const auto value = yaml::resolve(one("k: " + std::string(c.text) + "\n").items.front());
      CHECK(value.index() == c.value.index());
      CHECK((value == c.value));
    }
  }
}

TEST_CASE("JSON is YAML") {
  const auto root = one("{\n\t\"a\": [1, \"2\\/\\u003c\", null, true],\n\t\"b\": {}\n}\n");
  CHECK((yaml::resolve(yaml::nearest(root, "a[0]")) == Scalar(std::int64_t{1})));
  CHECK((yaml::resolve(yaml::nearest(root, "a[1]")) == Scalar(std::string("2/<"))));
  CHECK(yaml::nearest(root, "a[2]").kind == Kind::Null);
  CHECK(yaml::nearest(root, "b").kind == Kind::Map);
}

TEST_CASE("JSON's way beyond U+FFFF") {
  const auto text = [](const std::string& json) { return one(json).items.front().text; };
  CHECK(text(R"({"a": "x \ud83d\ude00 y"})") == "x \xF0\x9F\x98\x80 y");
  CHECK(text(R"({"a": "\\ud83d\\ude00"})") == R"(\ud83d\ude00)");
  CHECK(text(R"(a: '\ud83d\ude00')") == R"(\ud83d\ude00)");  // not JSON
  CHECK(holds(complaint(R"({"a": "\ud83d"})"), "f.yaml:1:"));
}

TEST_CASE("several documents, some of them empty") {
  const auto documents = parsed("---\na: 1\n---\n# only a comment\n---\nb: 2\n");
  REQUIRE(documents.size() == 3);
  CHECK(documents[0].find("a") != nullptr);
  CHECK(documents[1].kind == Kind::Null);
  CHECK(documents[2].find("b")->place == Place{6, 4});
  CHECK(parsed("").empty());
}

TEST_CASE("anchors, aliases and merge keys are resolved") {
  const auto root = one("base: &base {a: 1, b: 2}\nother: *base\nmore: {<<: *base, b: 3}\n");
  CHECK(*root.find("other") == *root.find("base"));
  CHECK(yaml::nearest(root, "more.a").text == "1");
  CHECK(yaml::nearest(root, "more.b").text == "3");
  CHECK(root.find("more")->find("<<") == nullptr);
}

TEST_CASE("what cannot be parsed is reported with its place") {
  CHECK(complaint("a: [1\nb: 2\n").starts_with("f.yaml:2:"));
  CHECK(complaint("a: 1\nb: 2\na: 3\n") == "f.yaml:3:1: 'a' is given twice; first on line 1");
  CHECK(complaint("a: b: c\n").starts_with("f.yaml:1:"));
  CHECK(holds(complaint("a:\n\tb: 1\n"), "indented with a tab"));
  CHECK_FALSE(holds(complaint("a: \"\\\n\n\x01\\\x02\"\n"), "\x02"));
  CHECK(holds(complaint("? [x]\n: 1\n"), "a key must be a string"));
}

TEST_CASE("no input makes the parser run away") {
  SUBCASE("a billion laughs") {
    std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 12; ++i) {
      const auto former = "*a" + std::to_string(i - 1);
      text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + former;
      for (int j = 0; j < 9; ++j) text += ", " + former;
      text += "]\n";
    }
    CHECK(holds(complaint(text), "anchors and aliases repeat more than 200000 nodes"));
  }
  SUBCASE("anchors around anchors: each is kept for aliases that may follow") {
    std::string text;
    for (int i = 0; i < 200; ++i) text += "&a" + std::to_string(i) + " [";
    text += list_of(20'000) + std::string(200, ']');
    CHECK(holds(complaint(text), "anchors and aliases repeat more than 200000 nodes"));
  }
  SUBCASE("depth") {
    CHECK(holds(complaint(std::string(2000, '[')), "f.yaml:1:"));
  }
  SUBCASE("depth by way of aliases") {
    std::string text = "a0: &a0 [[[[[[[[[[x]]]]]]]]]]\n";
    for (int i = 1; i < 40; ++i)
      text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [[[[[[[[[[*a" +
              std::to_string(i - 1) + "]]]]]]]]]]\n";
    CHECK(holds(complaint(text), "too deeply"));
  }
  SUBCASE("a comma where nothing goes on") {
    for (const char* text : {",", "[x],", "---\n{}\n---\n{},{}\n"})
      CHECK(holds(complaint(text), "unexpected character"));
  }
  SUBCASE("an alias inside what it names") {
    CHECK(holds(complaint("a: &a [*a]\n"), "alias"));
  }
}

TEST_CASE("what anchors and aliases repeat is bounded") {
  struct Case {
    const char* name;
    std::string text;  ///< repeats exactly as much as is allowed
    std::string beyond;
    const char* says;
  };
  // 1,000 for a, 99 * 1,000 in b, 1 + 99 * 1,000 for b, 999 for c.
  const auto nodes = "a: &a " + list_of(1'000) + "\nb: &b [" + times(99, "*a ,") + "]\nc: &c " +
                     list_of(999) + "\n";
  const auto long_text = std::string(64 << 10, 'x');
  const auto copies = "\nb: [" + times(255, "*a ,") + "]\n";
  const Case cases[] = {
      {"nodes", nodes, "d: &d x\n",
       "f.yaml:4:4: anchors and aliases repeat more than 200000 nodes"},
      {"nodes of several documents", nodes, "---\n&d x\n",
       "f.yaml:5:1: anchors and aliases repeat more than 200000 nodes"},
      {"bytes of values", "a: &a " + long_text + copies, "c: &c x\n",
       "f.yaml:3:4: anchors and aliases repeat more than 16 MiB of text"},
      {"bytes of keys", "a: &a {? " + long_text + " : ''}" + copies, "c: &c x\n",
       "f.yaml:3:4: anchors and aliases repeat more than 16 MiB of text"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      CHECK(yaml::parse(c.text, "f.yaml").ok());
      CHECK(complaint(c.text + c.beyond) == c.says);
    }
  }
}

TEST_CASE("fields are read strictly") {
  yaml::Faults faults;
  const auto read = [&](const std::string& text) {
    const auto root = one(text);
    yaml::Fields fields(root, faults);
    fields.required("name");
    fields.flag("on");
    fields.port("port");
    fields.list("list");
  };
  const auto first = [&](const std::string& text) {
    read(text);
    REQUIRE_FALSE(faults.none());
    return faults.error("f").operation + ": " + faults.error("f").detail;
  };
  SUBCASE("all is well") {
    read("name: x\nport: 80\nlist: [1]\n");
    CHECK(faults.none());
  }
  SUBCASE("missing") {
    CHECK(first("port: 80\n") == "f:1:1: 'name' is missing");
  }
  SUBCASE("unknown") {
    CHECK(first("name: x\nprot: 80\n") ==
          "f:2:1: unknown key 'prot'; known keys: list, name, on, port");
  }
  SUBCASE("not a flag") {
    CHECK(holds(first("name: x\non: 1\n"), "f:2:5: 'on' must be true or false, not '1'"));
  }
  SUBCASE("not a port") {
    CHECK(holds(first("name: x\nport: 65536\n"), "f:2:7: expected a port"));
    CHECK(holds(first("name: x\nport: '80'\n"), "f:2:7: expected a port"));
  }
  SUBCASE("not a list") {
    CHECK(holds(first("name: x\nlist: {a: 1}\n"), "must be a list, not a map"));
  }
  SUBCASE("not even a map") {
    CHECK(holds(first("- 1\n"), "expected a map, not a list"));
  }
}

TEST_CASE("a tree becomes JSON with scalars as kubectl reads them") {
  const auto tree = yaml::to_json(one("a: [1, -1, 1.5, yes, \"1\", ~]\nb: {}\n"));
  CHECK(json::dump(tree) == R"({"a":[1,-1,1.5,true,"1",null],"b":{}})");
  CHECK(tree["a"][0].is_number_unsigned());
}
