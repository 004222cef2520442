#include "codec.hpp"
#include "kube/fixture.hpp"
#include "status.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

using namespace kindlb;
using core::ErrorKind;
using kube::EventKind;
using test::fixture;

namespace {
/// Names of the items of a page, or the error.
std::string names_in(const std::string& text, kube::Page* page = nullptr) {
  std::string names;
  const auto read = kube::decode_page(text, [&](const kube::Json& item) {
    const auto name = kube::decode_name(item);
    names += (name ? name->ns + "/" + name->name : name.error().text()) + " ";
    CHECK_FALSE(item["metadata"].contains("managedFields"));
  });
  if (!read) return read.error().text();
  if (page != nullptr) *page = *read;
  return names;
}

/// Kind and object of one line, or the error's kind.
struct DecodedEvent {
  core::Result<kube::EventHead> head;
  std::string object;
};
DecodedEvent decode(const std::string& line) {
  std::string object;
  auto head = kube::decode_event(line, [&](EventKind, const kube::Json& json) {
    const auto name = kube::decode_name(json);
    object = name ? name->name : name.error().text();
  });
  return {std::move(head), object};
}
}  // namespace

TEST_CASE("a page of a list") {
  kube::Page page;
  CHECK(names_in(fixture("services_page.json"), &page) == "default/a default/kubernetes ");
  CHECK(page.resource_version == "534");
  CHECK_FALSE(page.continue_token.empty());

  SUBCASE("the last one, empty") {
    CHECK(names_in(R"({"metadata":{"resourceVersion":"7"},"items":[]})", &page).empty());
    CHECK(page == kube::Page{"7", ""});
  }
  SUBCASE("items null, as an empty Go slice may be") {
    CHECK(names_in(R"({"metadata":{"resourceVersion":"7"},"items":null})", &page).empty());
  }
  SUBCASE("items before metadata") {
    CHECK(names_in(R"({"items":[{"metadata":{"name":"x","labels":{"items":"y"}}}],
                       "metadata":{"resourceVersion":"7"}})") == "/x ");
  }
}

TEST_CASE("anything but a list is an error") {
  CHECK(names_in("") == "read list: not JSON (Protocol)");
  CHECK(names_in("[]") == "read list: not an object (Protocol)");
  CHECK(names_in(R"({"items":[]})") == "read list: metadata.resourceVersion: missing (Protocol)");
  CHECK(names_in(R"({"metadata":{"resourceVersion":"7"},"items":[1]})") ==
        "read list: items[0]: not an object (Protocol)");
  CHECK(names_in(R"({"metadata":{"resourceVersion":7},"items":[]})") ==
        "read list: metadata.resourceVersion: not a string (Protocol)");
  CHECK(names_in(std::string(50'000, '[')) == "read list: not JSON (Protocol)");
  const auto page = fixture("services_page.json");
  for (std::size_t cut = 0; cut + 1 < page.size(); cut += 37)
    CHECK(names_in(page.substr(0, cut)) == "read list: not JSON (Protocol)");
}

TEST_CASE("events of a watch") {
  struct Case {
    const char* type;
    EventKind want;
  };
  for (const auto& c : {Case{"ADDED", EventKind::Added}, Case{"MODIFIED", EventKind::Modified},
                        Case{"DELETED", EventKind::Deleted}}) {
    SUBCASE(c.type) {
      const auto event = decode(std::string(R"({"type":")") + c.type +
                                R"(","object":{"metadata":{"name":"x","resourceVersion":"9"}}})");
      REQUIRE_MESSAGE(event.head.ok(), event.head.error().text());
      CHECK((*event.head == kube::EventHead{c.want, "9"}));
      CHECK(event.object == "x");
    }
  }
  SUBCASE("BOOKMARK") {
    const auto event = decode(
        R"({"type":"BOOKMARK","object":{"kind":"Node","metadata":{"resourceVersion":"290"}}})");
    REQUIRE(event.head.ok());
    CHECK((*event.head == kube::EventHead{EventKind::Bookmark, "290"}));
    CHECK(event.object.empty());
  }
}

TEST_CASE("an error in the stream keeps its kind and its message") {
  const auto expired = decode(fixture("watch_expired.json")).head;
  REQUIRE_FALSE(expired.ok());
  CHECK(expired.error().text() == "watch: too old resource version: 1 (209) (code 410) (Expired)");
  CHECK(decode(R"({"type":"ERROR","object":{"code":500,"message":"m"}})").head.error().kind ==
        ErrorKind::Unavailable);
  CHECK(decode(R"({"type":"ERROR","object":{"code":"410"}})").head.error().kind ==
        ErrorKind::Unavailable);
}

TEST_CASE("lines that are no event") {
  for (const char* line : {"", "x", "[]", "{}", "null", R"({"type":"ADDED"})",
                           R"({"type":"ADDED","object":[]})", R"({"type":"ADDED","object":null})",
                           R"({"type":"ADDED","object":{}})", R"({"type":1,"object":{}})",
                           R"({"type":"NEW","object":{"metadata":{}}})", R"({"type":"ERROR"})",
                           R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":1}}})"}) {
    SUBCASE(line) {
      const auto event = decode(line);
      REQUIRE_FALSE(event.head.ok());
      CHECK(event.head.error().kind == ErrorKind::Protocol);
      CHECK(event.object.empty());
    }
  }
}

TEST_CASE("refusals become kinds and messages") {
  const auto error = [](int status, const std::string& body) {
    return kube::error_of({.status = status, .headers = {}, .body = body}, "do it").text();
  };
  CHECK(error(404, R"({"kind":"Status","message":"services \"a\" not found","code":404})") ==
        "do it: services \"a\" not found (HTTP 404) (NotFound)");
  CHECK(error(401, R"({"reason":"Unauthorized"})") == "do it: Unauthorized (HTTP 401) (Denied)");
  CHECK(error(502, "<html>bad gateway</html>\n<more>") ==
        "do it: <html>bad gateway</html> (HTTP 502) (Unavailable)");
  CHECK(error(500, "") == "do it: HTTP 500 (Unavailable)");
  CHECK(error(409, R"({"message":7})").find("(Conflict)") != std::string::npos);
}

TEST_CASE("causes of a refusal") {
  const std::string body =
      R"({"details":{"causes":[{"reason":"A"},{"reason":"NamespaceTerminating"}]}})";
  CHECK(kube::has_cause(body, "NamespaceTerminating"));
  CHECK_FALSE(kube::has_cause(body, "B"));
  CHECK_FALSE(kube::has_cause("x", "B"));
  CHECK_FALSE(kube::has_cause(R"({"details":{"causes":[7]}})", "B"));
}
