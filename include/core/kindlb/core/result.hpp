#pragma once
// Failures of the environment as values: the kind, the operation and the detail. Code decides on
// the kind only; operation and detail are for messages. Domain outcomes (an unsupported port, an
// exhausted network) are not errors: see core/verdict.hpp.

#include "kindlb/core/assert.hpp"

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace kindlb::core {

enum class ErrorKind {
  NotFound,     ///< the object does not exist
  Conflict,     ///< changed or held by another client
  Invalid,      ///< the server understood the request and refused its content
  Denied,       ///< credentials or permissions are missing
  Expired,      ///< a version too old to continue from (HTTP 410): list again
  Unavailable,  ///< no answer, or the connection broke
  Timeout,      ///< the deadline passed
  Cancelled,    ///< a stop was requested
  Protocol,     ///< the answer could not be understood
  TooLarge,     ///< the answer exceeds our limit
};

/// Return the kind's name for logs and tests.
const char* name_of(ErrorKind kind);

struct Error {
  ErrorKind kind = ErrorKind::Protocol;
  std::string operation;  ///< "create container kindlb-warm-1"
  std::string detail;     ///< the server's message, or what was observed

  bool operator==(const Error&) const = default;
  /// "create container x: no such image (NotFound)"
  std::string text() const;
};

/// A value or an Error. Becomes std::expected when the compiler has it.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Error error)
      : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// REQUIRES: ok()
  T& value() & {
    KINDLB_ASSERT(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    KINDLB_ASSERT(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    KINDLB_ASSERT(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// REQUIRES: !ok()
  const Error& error() const {
    KINDLB_ASSERT(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  // Read by get_if: the assertions replace the exceptions of get().
  std::variant<T, Error> state_;
};

/// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    KINDLB_ASSERT(!ok());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace kindlb::core
