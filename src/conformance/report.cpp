#include "kindlb/conformance/report.hpp"

#include "kindlb/base/text.hpp"
#include "kindlb/json/json.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kindlb::conformance {

namespace {
using json::Json;

std::string in_seconds(milliseconds time) {
  return fmt::format("{:.1f}", static_cast<double>(time.count()) / 1000);
}

/// XML 1.0 cannot represent most control characters, nor U+FFFE and U+FFFF.
std::string xml_escaped(const std::string& any) {
  auto text = Json::parse(json::dump(any)).get<std::string>();
  for (const std::string_view none : {"\xef\xbf\xbe", "\xef\xbf\xbf"})
    for (auto at = text.find(none); at != std::string::npos; at = text.find(none))
      text.replace(at, none.size(), "?");
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return out;
}

/// JUnit has no word for an interrupted test; <error> keeps it from counting as passed.
std::string junit_element(const Outcome& outcome) {
  const auto message = xml_escaped(outcome.reason);
  if (outcome.verdict == Verdict::Fail) return fmt::format("<failure message=\"{}\"/>", message);
  if (outcome.verdict == Verdict::Skip) return fmt::format("<skipped message=\"{}\"/>", message);
  if (outcome.verdict == Verdict::Stopped) return fmt::format("<error message=\"{}\"/>", message);
  return "";
}

std::string junit_notes(const std::vector<std::string>& notes) {
  if (notes.empty()) return "";
  std::string text;
  for (const auto& note : notes) text += xml_escaped(note + "\n");
  return "<system-out>" + text + "</system-out>";
}

const char* word_of(Provider provider) {
  switch (provider) {
    case Provider::None:
      return "none";
    case Provider::WithoutConditions:
      return "without-conditions";
    case Provider::WithConditions:
      return "with-conditions";
    case Provider::Unknown:
      break;
  }
  return "unknown";
}

// The field names below are an interface: CI jobs read them.

Json json_of(const TestResult& result) {
  return {{"name", result.name},
          {"title", result.title},
          {"result", name_of(result.outcome.verdict)},
          {"reason", result.outcome.reason},
          {"seconds", static_cast<double>(result.took.count()) / 1000},
          {"notes", result.notes}};
}

std::string counts_line(const Report& report) {
  auto line = fmt::format("{} tests in {} s: {} pass, {} fail, {} skip", report.results.size(),
                          in_seconds(report.took), report.count(Verdict::Pass),
                          report.count(Verdict::Fail), report.count(Verdict::Skip));
  const auto stopped = report.count(Verdict::Stopped);
  return stopped == 0 ? line : line + fmt::format(", {} stopped", stopped);
}
}  // namespace

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::Pass:
      return "pass";
    case Verdict::Fail:
      return "fail";
    case Verdict::Skip:
      return "skip";
    case Verdict::Stopped:
      break;
  }
  return "stopped";
}

std::size_t Report::count(Verdict verdict) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      results, [&](const TestResult& one) { return one.outcome.verdict == verdict; }));
}

std::string describe(Provider provider) {
  switch (provider) {
    case Provider::None:
      return "no provider: no reaction to a Service of type LoadBalancer within the time limit of "
             "the KEP";
    case Provider::WithoutConditions:
      return "this provider writes no conditions: the tests wait for addresses and answers "
             "instead, "
             "and an optional test that does not pass is skipped";
    case Provider::WithConditions:
      return "this provider writes conditions";
    case Provider::Unknown:
      break;
  }
  return "the provider was not determined";
}

int exit_code(const Report& report) {
  const bool clean = !report.results.empty() && report.count(Verdict::Fail) == 0 &&
                     report.count(Verdict::Stopped) == 0;
  return clean ? 0 : 1;
}

std::string to_table(const Report& report) {
  std::size_t width = 4;
  for (const auto& one : report.results) width = std::max(width, one.name.size());
  auto out = fmt::format("{:<{}}  {:<7}  {:>7}  {}\n", "TEST", width, "RESULT", "SECONDS", "WHY");
  for (const auto& one : report.results) {
    auto why = one.outcome.reason;
    for (const auto& note : one.notes) why += (why.empty() ? "" : "; ") + note;
    // Messages of a provider or server may have several lines.
    out += fmt::format("{:<{}}  {:<7}  {:>7}  {}\n", one.name, width, name_of(one.outcome.verdict),
                       in_seconds(one.took), base::printable(why));
  }
  for (auto end = out.find(" \n"); end != std::string::npos; end = out.find(" \n"))
    out.erase(end, 1);
  out += "\n";
  for (const auto& remark : report.remarks) out += base::printable(remark) + "\n";
  return out + counts_line(report) + "\n";
}

std::string to_json(const Report& report) {
  Json tests = Json::array();
  for (const auto& one : report.results) tests.push_back(json_of(one));
  const Json out{{"server", report.server},
                 {"version", report.version},
                 {"provider", word_of(report.provider)},
                 {"remarks", report.remarks},
                 {"seconds", static_cast<double>(report.took.count()) / 1000},
                 {"pass", report.count(Verdict::Pass)},
                 {"fail", report.count(Verdict::Fail)},
                 {"skip", report.count(Verdict::Skip)},
                 {"stopped", report.count(Verdict::Stopped)},
                 {"tests", tests}};
  return json::dump(out, 2) + "\n";
}

std::string to_junit(const Report& report) {
  auto out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
      "<testsuite name=\"kindlb conformance\" tests=\"{}\" failures=\"{}\" errors=\"{}\" "
      "skipped=\"{}\" time=\"{}\">\n",
      report.results.size(), report.count(Verdict::Fail), report.count(Verdict::Stopped),
      report.count(Verdict::Skip), in_seconds(report.took));
  for (const auto& one : report.results)
    out += fmt::format(
        "<testcase classname=\"LoadBalancers\" name=\"{}\" time=\"{}\">{}{}</testcase>\n",
        xml_escaped(one.name), in_seconds(one.took), junit_element(one.outcome),
        junit_notes(one.notes));
  return out + junit_notes(report.remarks) + "</testsuite>\n</testsuites>\n";
}

std::string to_table(const std::vector<TestInfo>& tests) {
  std::string out;
  for (const auto& one : tests)
    out += fmt::format("{:<33} {:<34} {}\n", one.name, one.rule, one.title);
  return out;
}

std::string to_json(const std::vector<TestInfo>& tests) {
  Json out = Json::array();
  for (const auto& one : tests)
    out.push_back({{"name", one.name}, {"rule", one.rule}, {"title", one.title}});
  return json::dump(out, 2) + "\n";
}

}  // namespace kindlb::conformance
