#include "verbs/selectors.hpp"

#include <doctest/doctest.h>

using namespace kindlb::apiserver;

TEST_CASE("label selectors") {
  const Json labels{{"app", "echo"}, {"tier", "web"}};
  struct Case {
    const char* text;
    bool matches;
  };
  const Case cases[] = {{"", true},
                        {"app=echo", true},
                        {"app==echo", true},
                        {"app=other", false},
                        {"app!=other", true},
                        {"app!=echo", false},
                        {"missing!=x", true},
                        {"app", true},
                        {"!app", false},
                        {"!missing", true},
                        {"app in (echo, other)", true},
                        {"app in (other)", false},
                        {"app notin (other),tier=web", true},
                        {"app notin (echo)", false},
                        {"app=echo,tier=db", false}};
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const auto selector = LabelSelector::parse(c.text);
    REQUIRE(static_cast<bool>(selector));
    CHECK(selector->matches(labels) == c.matches);
  }
}

TEST_CASE("label selectors that make no sense are refused") {
  for (const char* text : {"=x", "a b", "app in echo)", "app near (x)", ",", "a=b,,c=d"}) {
    CAPTURE(text);
    const auto selector = LabelSelector::parse(text);
    REQUIRE_FALSE(static_cast<bool>(selector));
    CHECK(selector.error().code == 400);
  }
}

TEST_CASE("field selectors") {
  const Json event{{"metadata", {{"name", "e"}, {"namespace", "default"}}},
                   {"involvedObject", {{"kind", "Service"}, {"name", "web"}}},
                   {"source", {{"component", "kindlb"}}}};
  struct Case {
    const char* text;
    bool matches;
  };
  const Case cases[] = {{"metadata.name=e", true},
                        {"metadata.name!=e", false},
                        {"involvedObject.kind=Service,involvedObject.name=web", true},
                        {"involvedObject.uid=", true},
                        {"source=kindlb", true},
                        {"involvedObject.name=other", false}};
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const auto selector = FieldSelector::parse(c.text, events());
    REQUIRE(static_cast<bool>(selector));
    CHECK(selector->matches(event) == c.matches);
  }
  CHECK(FieldSelector::parse("spec.foo=1", services()).error().message ==
        "field label not supported: spec.foo");
  CHECK_FALSE(static_cast<bool>(FieldSelector::parse("metadata.name", services())));
}
