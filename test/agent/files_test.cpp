#include "files.hpp"

#include "agent/no_space.hpp"

#include <sys/stat.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

using namespace kindlb;
using namespace kindlb::agent;
namespace fs = std::filesystem;

namespace {

/// A directory that goes away with the test.
struct Scratch {
  fs::path path;
  Scratch() {
    std::string pattern = (fs::temp_directory_path() / "kindlb-agent-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
};

protocol::Unit a_stored_unit(const std::string& name) {
  protocol::Unit out;
  out.unit = name;
  out.owner = "kind/default/web";
  out.revision = "r1";
  out.addresses = {core::Cidr::parse("172.18.255.254/16").value()};
  out.listeners = {{"l", R"({"@type":"L","name":"l"})"}};
  return out;
}

std::string text_in(const fs::path& path) {
  const auto text = read_file(path, 1 << 20);
  return text ? *text : "<" + text.error().text() + ">";
}

mode_t mode_of(const fs::path& path) {
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return info.st_mode & 0777U;
}

}  // namespace

TEST_CASE("stored units come back as they were") {
  const Scratch scratch;
  const UnitStore store(scratch.path / "units");
  for (const char* name : {"uid-1", "../../etc/passwd", "UID-1"})
    REQUIRE(store.save(a_stored_unit(name)).ok());
  std::vector<std::string> problems;
  auto units = store.load(problems);
  CHECK(problems.empty());
  REQUIRE(units.size() == 3);
  CHECK(std::count(units.begin(), units.end(), a_stored_unit("../../etc/passwd")) == 1);
  CHECK(mode_of(scratch.path / "units" / UnitStore::file_name("uid-1")) == 0600);

  store.remove("uid-1");
  store.remove("never there");
  units = store.load(problems);
  CHECK(units.size() == 2);
}

TEST_CASE("a unit's file name is safe and unique") {
  CHECK(UnitStore::file_name("0c5f-1") == "0c5f-1.json");
  CHECK(UnitStore::file_name("../x") == "_2e_2e_2fx.json");
  CHECK(UnitStore::file_name("A") != UnitStore::file_name("a"));
  CHECK(UnitStore::file_name("_41") != UnitStore::file_name("A"));
}

TEST_CASE("damaged files are reported and skipped") {
  const Scratch scratch;
  const UnitStore store(scratch.path);
  REQUIRE(store.save(a_stored_unit("good")).ok());
  const auto line = protocol::encode(protocol::Apply{.id = 0, .unit = a_stored_unit("good")});
  const auto put = [&](const char* name, std::string_view text) {
    REQUIRE(replace_file(scratch.path / name, text, 0600).ok());
  };
  put("cut.json", line.substr(0, line.size() / 2));
  put("empty.json", "");
  put("other.json", protocol::encode(protocol::Bye{}));
  put("renamed.json", line);
  put("left-over.json.new", line);
  std::vector<std::string> problems;
  CHECK(store.load(problems).size() == 1);
  CHECK(problems.size() == 4);
}

TEST_CASE("a store without a directory is empty") {
  std::vector<std::string> problems;
  CHECK(UnitStore("/nonexistent/units").load(problems).empty());
  CHECK(problems.empty());
}

TEST_CASE("files are put in place whole and world-readable") {
  const Scratch scratch;
  const auto folder = scratch.path / "xds";
  const XdsFiles files(folder);
  const mode_t former = ::umask(0077);
  REQUIRE(files.prepare().ok());
  REQUIRE(files.write({{"eds/a.json", "a"}, {"lds.json", "one"}}).ok());
  REQUIRE(files.write({{"lds.json", "two"}}).ok());
  ::umask(former);
  CHECK(text_in(folder / "lds.json") == "two");
  CHECK(text_in(folder / "eds/a.json") == "a");
  CHECK(mode_of(folder) == 0755);
  CHECK(mode_of(folder / "eds") == 0755);
  CHECK(mode_of(folder / "eds/a.json") == 0644);
}

TEST_CASE("files are put in place only if all could be written") {
  const Scratch scratch;
  const XdsFiles files(scratch.path);
  REQUIRE(files.prepare().ok());
  REQUIRE(files.write({{"lds.json", "old"}}).ok());
  fs::create_directories(scratch.path / "new/1");  // where the second one would be staged
  CHECK_FALSE(files.write({{"lds.json", "new"}, {"cds.json", "new"}}).ok());
  CHECK(text_in(scratch.path / "lds.json") == "old");
}

TEST_CASE("unused endpoint files are deleted") {
  const Scratch scratch;
  const XdsFiles files(scratch.path);
  REQUIRE(files.prepare().ok());
  REQUIRE(files.write({{"eds/a.json", "a"}, {"eds/b.json", "b"}, {"lds.json", "l"}}).ok());
  XdsSnapshot wanted;
  wanted.endpoints["b.json"] = {};
  files.prune(wanted);
  CHECK_FALSE(fs::exists(scratch.path / "eds/a.json"));
  CHECK(text_in(scratch.path / "eds/b.json") == "b");
  CHECK(text_in(scratch.path / "lds.json") == "l");
}

TEST_CASE("files of a former run stay until new ones are there") {
  const Scratch scratch;
  const XdsFiles files(scratch.path);
  REQUIRE(files.prepare().ok());
  REQUIRE(files.write({{"eds/a.json", "a"}, {"lds.json", "l"}}).ok());
  REQUIRE(files.prepare().ok());
  CHECK(text_in(scratch.path / "eds/a.json") == "a");
  CHECK(text_in(scratch.path / "lds.json") == "l");
}

TEST_CASE("a full volume is named, with what to do") {
  CHECK(describe_file_error(ENOSPC) ==
        "the proxy's volume is full (No space left on device): free disk space on the Docker host");
  CHECK(describe_file_error(EDQUOT).starts_with("the proxy's volume is full"));
  CHECK(describe_file_error(EACCES) == "Permission denied");
}

TEST_CASE("what was half written is removed") {
  const Scratch scratch;
  const XdsFiles files(scratch.path);
  REQUIRE(files.prepare().ok());
  REQUIRE(files.write({{"lds.json", "old"}}).ok());
  {
    const testing::NoSpace full;
    CHECK_FALSE(files.write({{"lds.json", "new"}, {"cds.json", "new"}}).ok());
    CHECK_FALSE(replace_file(scratch.path / "state.json", "x", 0600).ok());
  }
  CHECK(text_in(scratch.path / "lds.json") == "old");
  CHECK(fs::is_empty(scratch.path / "new"));
  CHECK_FALSE(fs::exists(scratch.path / "state.json.new"));
  CHECK(files.write({{"lds.json", "new"}, {"cds.json", "new"}}).ok());
}

TEST_CASE("damaged and missing files are written again, the others left alone") {
  const Scratch scratch;
  const XdsFiles files(scratch.path);
  const std::vector<XdsFile> all{{"eds/a.json", "a"}, {"cds.json", "c"}, {"lds.json", "l"}};
  REQUIRE(files.prepare().ok());
  REQUIRE(files.write(all).ok());
  const auto written = fs::last_write_time(scratch.path / "cds.json");
  REQUIRE(replace_file(scratch.path / "lds.json", "l and more", 0644).ok());
  fs::remove_all(scratch.path / "eds");
  CHECK(files.repair(all).ok());
  CHECK(text_in(scratch.path / "lds.json") == "l");
  CHECK(text_in(scratch.path / "eds/a.json") == "a");
  CHECK(fs::last_write_time(scratch.path / "cds.json") == written);
}

TEST_CASE("files beyond the limit are not read") {
  const Scratch scratch;
  REQUIRE(replace_file(scratch.path / "f", std::string(100, 'x'), 0600).ok());
  CHECK(read_file(scratch.path / "f", 100).ok());
  CHECK(read_file(scratch.path / "f", 99).error().kind == core::ErrorKind::TooLarge);
  CHECK(read_file(scratch.path / "g", 99).error().kind == core::ErrorKind::NotFound);
}
