#include "kindlb/docker/stream_demux.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace kindlb::docker;

namespace {

std::string frame(char stream, const std::string& payload) {
  const auto byte = [&](unsigned shift) {
    return static_cast<char>(payload.size() >> shift & 0xff);
  };
  return std::string{stream, 0, 0, 0, byte(24), byte(16), byte(8), byte(0)} + payload;
}

/// The text of both streams: "[out][err]".
struct Collected {
  std::string out;
  std::string err;
  bool feed(StreamDemux& demux, std::string_view bytes) {
    return demux.feed(bytes, [this](StdStream stream, std::string_view text) {
      (stream == StdStream::Out ? out : err) += text;
    });
  }
};

}  // namespace

TEST_CASE("frames come apart wherever they are cut") {
  const std::string large(70'000, 'x');
  const std::string all =
      frame(1, "hello ") + frame(2, "oops") + frame(1, "") + frame(1, "world") + frame(2, "!");
  for (std::size_t first = 0; first <= all.size(); ++first) {
    for (std::size_t second = first; second <= all.size(); ++second) {
      StreamDemux demux;
      Collected got;
      REQUIRE(got.feed(demux, std::string_view(all).substr(0, first)));
      REQUIRE(got.feed(demux, std::string_view(all).substr(first, second - first)));
      REQUIRE(got.feed(demux, std::string_view(all).substr(second)));
      REQUIRE(got.out == "hello world");
      REQUIRE(got.err == "oops!");
    }
  }
  StreamDemux demux;
  Collected got;
  for (const char c : frame(1, large)) REQUIRE(got.feed(demux, {&c, 1}));
  CHECK((got.out == large));
}

TEST_CASE("what is not this format is refused, and stays refused") {
  struct Case {
    const char* name;
    std::string bytes;
  };
  for (const auto& [name, bytes] :
       {Case{"stdin", frame(0, "x")}, Case{"unknown stream", frame(3, "x")},
        Case{"a terminal's text", "login: hello"},
        Case{"non-zero padding", std::string("\1\0\1\0\0\0\0\1x", 9)},
        Case{"a frame of 4 GiB", std::string("\1\0\0\0\xff\xff\xff\xff", 8)}}) {
    SUBCASE(name) {
      StreamDemux demux;
      Collected got;
      REQUIRE(got.feed(demux, frame(1, "before")));
      CHECK_FALSE(got.feed(demux, bytes));
      CHECK_FALSE(got.feed(demux, frame(1, "after")));
      CHECK(got.out == "before");
    }
  }
}
