#include "kindlb/docker/tar.hpp"

#include <doctest/doctest.h>

using namespace kindlb::docker;

namespace {

void check_same(const std::vector<TarFile>& a, const std::vector<TarFile>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].path == b[i].path);
    CHECK((a[i].content == b[i].content));
    CHECK(a[i].mode == b[i].mode);
  }
}

/// A record's header with one field overwritten and the checksum made right again.
std::string patched(std::string archive, std::size_t offset, std::string_view bytes) {
  archive.replace(offset, bytes.size(), bytes);
  archive.replace(148, 8, "        ");
  unsigned sum = 0;
  for (std::size_t i = 0; i < 512; ++i) sum += static_cast<unsigned char>(archive[i]);
  char digits[8];
  std::snprintf(digits, sizeof(digits), "%06o", sum);
  archive.replace(148, 7, std::string(digits, 7));
  return archive;
}

}  // namespace

TEST_CASE("what was written is read") {
  const std::string deep = std::string(90, 'd') + "/" + std::string(90, 'e') + "/file";
  const std::string endless = std::string(300, 'p');
  std::vector<TarFile> files = {{"empty", "", 0644},
                                {"a/b/c", "text\n", 0755},
                                {"zeros", std::string(512, '\0'), 0600},
                                {"almost", std::string(511, 'x'), 04755},
                                {"over", std::string(513, 'y'), 0},
                                {deep, "long path", 0644},
                                {endless, "longer path", 0644},
                                {endless + "/" + endless, "longest path", 0644},
                                {"last", "after the long ones", 0644}};
  const std::string archive = write_tar(files);
  CHECK(archive.size() % 512 == 0);
  const auto read = read_tar(archive);
  REQUIRE(read);
  check_same(*read, files);
  CHECK(write_tar(files) == archive);  // no clock in it
}

TEST_CASE("paths of every length survive") {
  for (std::size_t length = 1; length < 400; ++length) {
    for (const std::size_t slash : {std::size_t{0}, length / 2, length - length / 10}) {
      std::string path(length, 'x');
      if (slash > 0 && slash + 1 < length) path[slash] = '/';
      const auto read = read_tar(write_tar({{path, "content"}}));
      REQUIRE(read);
      REQUIRE(read->size() == 1);
      REQUIRE(read->front().path == path);
    }
  }
}

TEST_CASE("an archive of nothing") {
  CHECK(read_tar("")->empty());
  CHECK(read_tar(write_tar({}))->empty());
}

TEST_CASE("other than regular files are passed over") {
  const std::string two = write_tar({{"link", ""}, {"file", "content"}});
  for (const char type : {'1', '2', '3', '4', '5', '6', 'g'}) {
    CAPTURE(type);
    const auto read = read_tar(patched(two, 156, std::string(1, type)));
    REQUIRE(read);
    REQUIRE(read->size() == 1);
    CHECK(read->front().path == "file");
  }
  CHECK(read_tar(patched(two, 156, std::string(1, '\0')))->size() == 2);  // the oldest way
}

TEST_CASE("GNU's long names are understood") {
  const std::string name(150, 'n');
  std::string long_name = patched(write_tar({{"././@LongLink", name + '\0'}}), 156, "L");
  long_name.resize(long_name.size() - 1024);
  const auto read = read_tar(long_name + write_tar({{"cut", "content"}}));
  REQUIRE(read);
  CHECK(read->at(0).path == name);
}

TEST_CASE("a size in an extended header counts, if it is true") {
  const auto with_pax = [](const std::string& records) {
    std::string pax = patched(write_tar({{"PaxHeader", records}}), 156, "x");
    pax.resize(pax.size() - 1024);
    return read_tar(pax + write_tar({{"file", "content"}}));
  };
  CHECK(with_pax("10 size=7\n")->at(0).content == "content");
  CHECK(with_pax("10 size=4\n")->at(0).content == "cont");
  CHECK(with_pax("13 comment=x\n")->at(0).path == "file");
  CHECK_FALSE(with_pax("28 size=1844674407370955161\n"));
  CHECK_FALSE(with_pax("29 size=18446744073709551615\n"));
  CHECK_FALSE(with_pax("10 size=x\n"));
  CHECK_FALSE(with_pax("99 path=x\n"));
  CHECK_FALSE(with_pax("1 path=x\n"));
  CHECK_FALSE(with_pax("0 path=x\n"));
  CHECK_FALSE(with_pax("9 pathxxx\n"));
  CHECK_FALSE(with_pax("no number\n"));
}

TEST_CASE("hostile archives give nothing") {
  const std::string good = write_tar({{"file", std::string(1000, 'c')}, {"second", "s"}});
  // Inside a record there is no good end; between two records there is one.
  for (std::size_t cut = 1; cut < good.size() - 1024; ++cut) {
    const bool between = cut == 1536 || cut == 1536 + 1024;
    CAPTURE(cut);
    CHECK(read_tar(std::string_view(good).substr(0, cut)).has_value() == between);
  }
  std::string damaged = good;
  damaged[0] = 'F';  // the checksum no longer holds
  CHECK_FALSE(read_tar(damaged));
  CHECK_FALSE(read_tar(patched(good, 124, "77777777777")));  // eight gigabytes in three blocks
  CHECK_FALSE(read_tar(patched(good, 124, "9")));            // not octal
  CHECK_FALSE(
      read_tar(patched(good, 124, std::string("\x80\0\0\0\0\0\0\xff\xff\xff\xff\xff", 12))));
  CHECK_FALSE(read_tar(patched(good, 100, "zzzz")));
  CHECK_FALSE(read_tar(std::string(512, 'x')));
}

TEST_CASE("every flipped byte is survived") {
  const std::string good = write_tar({{std::string(300, 'p'), "content"}, {"b", "c"}});
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string flipped = good;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x41);
    (void)read_tar(flipped);
    if (i < 512) (void)read_tar(patched(good, i, std::string(1, flipped[i])));
  }
  CHECK(read_tar(good)->size() == 2);
}
