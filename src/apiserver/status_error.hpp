#pragma once
// The errors of the API, as apimachinery's StatusError: a request that fails is answered with a
// metav1.Status, and these are the values behind it. The messages are kube-apiserver's, word for
// word where the contract tests compare them: clients print them, and some parse them. Not
// core::Error, which stands for failures of the environment.

#include "json.hpp"
#include "kindlb/core/assert.hpp"

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kindlb::apiserver {

struct Resource;

/// An entry of status.details.causes: what is wrong with one field.
struct Cause {
  std::string reason;  ///< FieldValueInvalid, FieldValueRequired, ...
  std::string message;
  std::string field;

  bool operator==(const Cause&) const = default;
};

struct StatusError {
  int code = 500;  ///< HTTP
  std::string reason = "InternalError";
  std::string message;
  std::string group;  ///< details.group, of `kind`
  std::string kind;   ///< details.kind: the plural or the kind, whichever kube-apiserver reports
  std::string name;
  std::vector<Cause> causes;
  int retry_after = 0;  ///< seconds; zero: no Retry-After

  bool operator==(const StatusError&) const = default;
};

/// Return the metav1.Status of an error.
Json to_status(const StatusError& error);

StatusError not_found(const Resource& resource, const std::string& name);
StatusError no_such_path();
StatusError already_exists(const Resource& resource, const std::string& name);
StatusError conflict(const Resource& resource, const std::string& name, const std::string& why);
/// The conflict of a write against an old resourceVersion.
StatusError optimistic_lock_error(const Resource& resource, const std::string& name);
StatusError forbidden(const Resource& resource, const std::string& name, const std::string& why);
StatusError bad_request(std::string message);
StatusError invalid(const Resource& resource, const std::string& name, std::vector<Cause> causes);
StatusError expired(std::string message);
StatusError method_not_allowed();
StatusError too_many(std::string message, int retry_after);
StatusError internal(const std::string& message);

/// A value, or the error to answer the request with.
template <typename T>
class [[nodiscard]] ApiResult {
 public:
  ApiResult(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  ApiResult(StatusError error)                               // NOLINT(google-explicit-constructor)
      : state_(std::in_place_index<1>, std::move(error)) {}

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
  const StatusError& error() const {
    KINDLB_ASSERT(state_.index() == 1);
    return std::get<1>(state_);
  }

 private:
  std::variant<T, StatusError> state_;
};

}  // namespace kindlb::apiserver
