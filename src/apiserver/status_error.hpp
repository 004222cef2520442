#pragma once
// What the API says when it does not do what it was asked: the value behind a Status object. These
// are the server's answers, not failures of the environment, so they are no core::Error.

#include "json.hpp"
#include "kindlb/core/assert.hpp"

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kindlb::apiserver {

struct Resource;

struct Cause {
  std::string reason;  ///< FieldValueInvalid, FieldValueRequired, ...
  std::string message;
  std::string field;

  bool operator==(const Cause&) const = default;
};

struct Refusal {
  int code = 500;
  std::string reason = "InternalError";
  std::string message;
  std::string group;  ///< of `kind`
  std::string kind;   ///< the resource or the kind, whichever the real server names
  std::string name;
  std::vector<Cause> causes;
  int retry_after = 0;  ///< seconds; zero: not told

  bool operator==(const Refusal&) const = default;
};

Json to_status(const Refusal& refusal);

Refusal not_found(const Resource& resource, const std::string& name);
Refusal no_such_path();
Refusal already_exists(const Resource& resource, const std::string& name);
Refusal conflict(const Resource& resource, const std::string& name, const std::string& why);
Refusal forbidden(const Resource& resource, const std::string& name, const std::string& why);
Refusal bad_request(std::string message);
Refusal invalid(const Resource& resource, const std::string& name, std::vector<Cause> causes);
Refusal expired(std::string message);
Refusal method_not_allowed();
Refusal too_many(std::string message, int retry_after);
Refusal internal(const std::string& message);

/// A value, or why not.
template <typename T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Outcome(Refusal refusal)                                   // NOLINT(google-explicit-constructor)
      : state_(std::in_place_index<1>, std::move(refusal)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() {
    KINDLB_ASSERT(state_.index() == 0);
    return std::get<0>(state_);
  }
  const T& operator*() const {
    KINDLB_ASSERT(state_.index() == 0);
    return std::get<0>(state_);
  }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }
  /// REQUIRES: no value
  const Refusal& refusal() const {
    KINDLB_ASSERT(state_.index() == 1);
    return std::get<1>(state_);
  }

 private:
  std::variant<T, Refusal> state_;
};

}  // namespace kindlb::apiserver
