#include "kindlb/base/fd.hpp"

#include <fcntl.h>

#include <doctest/doctest.h>

#include <string>
#include <thread>

using kindlb::base::Fd;

namespace {

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

}  // namespace

TEST_CASE("a descriptor is closed by its last owner, once") {
  int ends[2] = {-1, -1};
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const Fd read_end(ends[0]);
  {
    Fd first(ends[1]);
    Fd second(std::move(first));
    CHECK_FALSE(static_cast<bool>(first));
    CHECK(second.get() == ends[1]);
    CHECK(is_open(ends[1]));
  }
  CHECK_FALSE(is_open(ends[1]));
  CHECK_FALSE(static_cast<bool>(Fd()));
}

TEST_CASE("more than a pipe holds is written whole") {
  int ends[2] = {-1, -1};
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const Fd read_end(ends[0]);
  const std::string sent(300'000, 'x');
  std::string received;
  std::jthread reader([&] {
    char buffer[4096];
    for (ssize_t size = 0; (size = ::read(read_end.get(), buffer, sizeof(buffer))) > 0;)
      received.append(buffer, static_cast<std::size_t>(size));
  });
  {
    const Fd write_end(ends[1]);
    CHECK(kindlb::base::write_all(write_end.get(), sent));
  }
  reader.join();
  CHECK(received == sent);
}
