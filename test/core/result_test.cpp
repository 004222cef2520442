#include "kindlb/core/result.hpp"

#include "support/printing.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <string>

using kindlb::core::Error;
using kindlb::core::ErrorKind;
using kindlb::core::Result;

namespace {

constexpr ErrorKind kKinds[] = {ErrorKind::NotFound, ErrorKind::Conflict,  ErrorKind::Invalid,
                                ErrorKind::Denied,   ErrorKind::Expired,   ErrorKind::Unavailable,
                                ErrorKind::Timeout,  ErrorKind::Cancelled, ErrorKind::Protocol,
                                ErrorKind::TooLarge};

Error no_image() {
  return {ErrorKind::NotFound, "create container kindlb-1", "no such image"};
}

}  // namespace

TEST_CASE("a result holds a value or an error, never both") {
  const Result<int> good = 7;
  CHECK(good.ok());
  CHECK(static_cast<bool>(good));
  CHECK(good.value() == 7);
  CHECK(*good == 7);

  const Result<int> bad = no_image();
  CHECK_FALSE(bad.ok());
  CHECK_FALSE(static_cast<bool>(bad));
  CHECK(bad.error() == no_image());
}

TEST_CASE("a value can be changed in place and moved out") {
  Result<std::string> text = std::string("a");
  text.value() += "b";
  *text += "c";
  text->push_back('d');
  CHECK(text->size() == 4);
  CHECK(*std::move(text) == "abcd");

  Result<std::unique_ptr<int>> owner = std::make_unique<int>(3);
  const auto taken = std::move(owner).value();
  CHECK(*taken == 3);
}

TEST_CASE("a Result<void> succeeds by default") {
  const Result<void> good;
  CHECK(good.ok());
  const Result<void> bad = no_image();
  CHECK_FALSE(bad.ok());
  CHECK(bad.error().kind == ErrorKind::NotFound);
}

TEST_CASE("an error reads as what was tried, what was said, and its kind") {
  CHECK(no_image().text() == "create container kindlb-1: no such image (NotFound)");
}

TEST_CASE("errors that differ in anything are not equal") {
  CHECK(Error{no_image()} == no_image());
  CHECK(Error{ErrorKind::Denied, no_image().operation, no_image().detail} != no_image());
  CHECK(Error{ErrorKind::NotFound, "start container", no_image().detail} != no_image());
  CHECK(Error{ErrorKind::NotFound, no_image().operation, "gone"} != no_image());
}

TEST_CASE("every kind has a name of its own") {
  std::set<std::string> names;
  for (const auto kind : kKinds) names.insert(kindlb::core::name_of(kind));
  CHECK(names.size() == std::size(kKinds));
  CHECK_FALSE(names.contains("?"));
}
