#include "kindlb/conformance/result_files.hpp"

#include "support/temp_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

using namespace kindlb;

namespace {
std::string text_in(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

conformance::Report short_report() {
  conformance::Report report;
  report.results = {{.name = "tcp", .title = "TCP works", .outcome = {}, .notes = {}}};
  return report;
}

struct Rig {
  test::TempFolder folder;
  struct {
    std::string junit_file;
    std::string json_file;
  } options;
};
}  // namespace

TEST_CASE("results are in the files early, and again only if there is more to say") {
  Rig rig;
  rig.options.junit_file = rig.folder / "report.xml";
  rig.options.json_file = rig.folder / "report.json";
  conformance::ResultFiles files(rig.options.junit_file, rig.options.json_file);
  REQUIRE(files.check().ok());
  CHECK_FALSE(std::filesystem::exists(rig.options.json_file));  // it would look like results

  auto report = short_report();
  files.write_early(report);
  CHECK(text_in(rig.options.json_file) == to_json(report));
  CHECK(text_in(rig.options.junit_file) == to_junit(report));

  std::ofstream(rig.options.junit_file) << "a reader's own";
  CHECK(files.write(report).empty());
  CHECK(text_in(rig.options.junit_file) == "a reader's own");  // nothing new
  report.remarks = {"not everything could be removed"};
  CHECK(files.write(report).empty());
  CHECK(text_in(rig.options.json_file) == to_json(report));
  CHECK(text_in(rig.options.junit_file) == to_junit(report));
}

TEST_CASE("old results are not left for new ones") {
  Rig rig;
  rig.options.junit_file = rig.folder / "report.xml";
  std::ofstream(rig.options.junit_file) << "of yesterday";
  const conformance::ResultFiles files(rig.options.junit_file, rig.options.json_file);
  REQUIRE(files.check().ok());
  CHECK(text_in(rig.options.junit_file) == "of yesterday");
  files.remove_old();
  CHECK_FALSE(std::filesystem::exists(rig.options.junit_file));
}

TEST_CASE("what is no file gets the results once") {
  Rig rig;
  rig.options.json_file = rig.folder / "pipe";
  REQUIRE(mkfifo(rig.options.json_file.c_str(), 0600) == 0);
  conformance::ResultFiles files(rig.options.junit_file, rig.options.json_file);
  const int reader = open(rig.options.json_file.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  std::array<char, 4096> buffer{};
  CHECK(files.check().ok());
  files.write_early(short_report());
  CHECK(read(reader, buffer.data(), buffer.size()) == -1);  // nothing is there
  CHECK(files.write(short_report()).empty());
  const auto size = read(reader, buffer.data(), buffer.size());
  close(reader);
  REQUIRE(size > 0);
  CHECK(std::string(buffer.data(), static_cast<std::size_t>(size)) == to_json(short_report()));
}

TEST_CASE("a folder is no file") {
  Rig rig;
  rig.options.json_file = rig.folder.path();
  CHECK_FALSE(conformance::ResultFiles(rig.options.junit_file, rig.options.json_file).check().ok());
}

TEST_CASE("every file that cannot be written is told") {
  Rig rig;
  rig.options.junit_file = rig.folder / "nowhere/report.xml";
  rig.options.json_file = rig.folder / "nowhere/report.json";
  conformance::ResultFiles files(rig.options.junit_file, rig.options.json_file);
  REQUIRE_FALSE(files.check().ok());
  CHECK(files.check().error().operation.find("report.xml") != std::string::npos);
  CHECK(files.write(short_report()).size() == 2);
}
