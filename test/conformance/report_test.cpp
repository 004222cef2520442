#include "kindlb/conformance/report.hpp"

#include "kindlb/conformance/runner.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <set>
#include <string>

using namespace kindlb::conformance;
using Json = nlohmann::json;

namespace {
Report a_report() {
  Report report;
  report.server = "https://here";
  report.version = "v1.36.3";
  report.provider = Provider::WithConditions;
  report.remarks = {"a remark"};
  report.results = {
      {"tcp", "TCP works", {Verdict::Pass, ""}, milliseconds{1500}, {"a note"}},
      {"udp", "UDP works", {Verdict::Skip, "only <TCP> & \"more\""}, milliseconds{20}, {}},
  };
  report.took = milliseconds{2000};
  return report;
}
}  // namespace

TEST_CASE("only a run without failures is a success") {
  auto report = a_report();
  CHECK(exit_code(report) == 0);
  for (const auto verdict : {Verdict::Fail, Verdict::Stopped}) {
    report.results[0].outcome = {verdict, "x"};
    CHECK(exit_code(report) == 1);
  }
  report.results.clear();
  CHECK(exit_code(report) == 1);
}

TEST_CASE("the table is for people") {
  CHECK(to_table(a_report()) ==
        "TEST  RESULT   SECONDS  WHY\n"
        "tcp   pass         1.5  a note\n"
        "udp   skip         0.0  only <TCP> & \"more\"\n"
        "\n"
        "a remark\n"
        "2 tests in 2.0 s: 1 pass, 0 fail, 1 skip\n");
}

TEST_CASE("in the table, words of several lines are one") {
  auto report = a_report();
  report.results[1].outcome.reason = "one\ntwo\x1b";
  report.remarks = {"a\nremark"};
  const auto table = to_table(report);
  CHECK(table.find("udp   skip         0.0  one\\ntwo\\x1b\n") != std::string::npos);
  CHECK(table.find("\na\\nremark\n") != std::string::npos);
}

TEST_CASE("JSON has everything") {
  const auto json = Json::parse(to_json(a_report()));
  CHECK(json["provider"] == "with-conditions");
  CHECK(json["version"] == "v1.36.3");
  CHECK(json["pass"] == 1);
  CHECK(json["skip"] == 1);
  CHECK(json["fail"] == 0);
  CHECK(json["tests"][1]["reason"] == "only <TCP> & \"more\"");
  CHECK(json["tests"][0]["notes"] == Json{"a note"});
  CHECK(json["tests"][0]["seconds"] == 1.5);
  SUBCASE("also when a server's words are no UTF-8") {
    auto report = a_report();
    report.results[0].outcome = {Verdict::Fail, "\xff"};
    CHECK(Json::parse(to_json(report))["fail"] == 1);
  }
}

TEST_CASE("JUnit is escaped") {
  auto report = a_report();
  report.results.push_back(
      {"x", "", {Verdict::Fail, "line\nline\x01\xff\xef\xbf\xbf"}, milliseconds{0}, {}});
  const auto xml = to_junit(report);
  CHECK(xml.find("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\"") != std::string::npos);
  CHECK(xml.find("<skipped message=\"only &lt;TCP&gt; &amp; &quot;more&quot;\"/>") !=
        std::string::npos);
  CHECK(xml.find("<failure message=\"line&#10;line?\xef\xbf\xbd?\"/>") != std::string::npos);
  CHECK(xml.find("<system-out>a note&#10;</system-out>") != std::string::npos);
  CHECK(xml.ends_with("<system-out>a remark&#10;</system-out></testsuite>\n</testsuites>\n"));
}

TEST_CASE("every test has a name of its own that a Service may have") {
  std::set<std::string> names;
  for (const auto& test : list_tests("")) {
    CAPTURE(test.name);
    CHECK(names.insert(test.name).second);
    CHECK(test.name.size() <= 40);  // pods, a second Service and the run add to it; 63 is the limit
    CHECK(test.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string::npos);
    CHECK_FALSE(test.title.empty());
  }
  CHECK(names.size() == 27);
}

TEST_CASE("the list of tests, for people and for programs") {
  const auto tests = list_tests("^udp-type");
  const auto table = to_table(tests);
  CHECK(table.starts_with("udp-type-and-ports "));
  CHECK(table.ends_with(" should be able to change the type and ports of a UDP service\n"));
  const auto json = Json::parse(to_json(tests));
  REQUIRE(json.size() == 1);
  CHECK(json[0] == Json{{"name", "udp-type-and-ports"},
                        {"rule", "may be refused"},
                        {"title", tests[0].title}});
}

TEST_CASE("a focus chooses") {
  CHECK(list_tests("^udp-type").size() == 1);
  CHECK(list_tests("udp|mixed").size() == 5);
  CHECK(list_tests("nothing like that").empty());
}
