#include "envoy/xds_publisher.hpp"

#include "agent/fakes.hpp"
#include "agent/no_space.hpp"
#include "support/temp_folder.hpp"

#include <doctest/doctest.h>

#include <filesystem>

using namespace kindlb;
using namespace kindlb::agent;

namespace {

XdsSnapshot published_unit(const std::string& name) {
  XdsSnapshot out;
  std::string conflict;
  REQUIRE(add_unit(out, testing::unit_at(name, "172.18.0.9"), conflict));
  return out;
}

}  // namespace

TEST_CASE("each snapshot that differs is a new version, and a new Envoy starts at the first") {
  const test::TempFolder folder;
  XdsPublisher xds{XdsFiles(folder / "xds")};
  CHECK_FALSE(xds.is_started());
  xds.start({});
  CHECK(xds.is_started());
  CHECK(xds.history().version() == 1);
  CHECK(xds.publish(published_unit("web")).ok());
  CHECK(xds.publish(published_unit("web")).ok());
  CHECK(xds.history().version() == 2);
  CHECK(xds.snapshot() == published_unit("web"));
  CHECK(read_file(folder / "xds/lds.json", 1000)->find("web/l") != std::string::npos);
  xds.start(published_unit("web"));
  CHECK(xds.history().version() == 1);
}

TEST_CASE("what could not be written does not count as published") {
  const test::TempFolder folder;
  XdsPublisher xds{XdsFiles(folder / "xds")};
  xds.start({});
  std::filesystem::create_directories(folder / "xds/new/0");  // where the first file is staged
  CHECK_FALSE(xds.publish(published_unit("web")).ok());
  CHECK(xds.history().version() == 1);
  CHECK(xds.snapshot() == XdsSnapshot());
}

TEST_CASE("endpoint files of units that have gone stay until they are pruned") {
  const test::TempFolder folder;
  XdsPublisher xds{XdsFiles(folder / "xds")};
  xds.start(published_unit("web"));
  REQUIRE(xds.publish({}).ok());
  CHECK(std::filesystem::exists(folder / "xds/eds/web.json"));
  xds.prune();
  CHECK_FALSE(std::filesystem::exists(folder / "xds/eds/web.json"));
}

TEST_CASE("a start deletes what the former run left, once its own files are there") {
  const test::TempFolder folder;
  XdsPublisher former{XdsFiles(folder / "xds")};
  former.start(published_unit("old"));
  XdsPublisher xds{XdsFiles(folder / "xds")};
  SUBCASE("space for the files") {
    xds.start(published_unit("web"));
    CHECK_FALSE(std::filesystem::exists(folder / "xds/eds/old.json"));
    CHECK(read_file(folder / "xds/lds.json", 1000)->find("web/l") != std::string::npos);
  }
  SUBCASE("no space") {
    const testing::NoSpace full;
    xds.start(published_unit("web"));
    CHECK(std::filesystem::exists(folder / "xds/eds/old.json"));
    CHECK(read_file(folder / "xds/lds.json", 1000)->find("old/l") != std::string::npos);
  }
}

TEST_CASE("files that somebody damaged are as published again, in their version") {
  const test::TempFolder folder;
  XdsPublisher xds{XdsFiles(folder / "xds")};
  xds.start({});
  REQUIRE(xds.publish(published_unit("web")).ok());
  const auto published = read_file(folder / "xds/lds.json", 10'000);
  REQUIRE(replace_file(folder / "xds/lds.json", "{", 0644).ok());
  std::filesystem::remove(folder / "xds/eds/web.json");
  xds.repair();
  CHECK(*read_file(folder / "xds/lds.json", 10'000) == *published);
  CHECK(std::filesystem::exists(folder / "xds/eds/web.json"));
  CHECK(xds.history().version() == 2);
}
