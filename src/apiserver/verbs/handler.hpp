#pragma once
// Maps HTTP requests to API calls and results to HTTP responses: paths, verbs, content types,
// paging, tables, injected faults. Has no sockets, so that unit tests can use it. Thread-safe.

#include "verbs/api.hpp"
#include "verbs/fault_injector.hpp"
#include "verbs/watch.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::apiserver {

/// What the handler needs of an HTTP request.
struct Request {
  std::string method = "GET";
  std::string path;                          ///< decoded, without the query
  std::map<std::string, std::string> query;  ///< the last value of each name
  std::string content_type;
  std::string accept;
  std::string user_agent;
  std::string body;

  /// A query parameter; empty: absent.
  std::string parameter(const std::string& name) const;
};

struct Response {
  int code = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<WatchOptions> watch;   ///< if set, stream these events instead of a body
  std::chrono::milliseconds delay{0};  ///< wait this long before sending it
};

/// What a path under /api or /apis refers to, as RequestInfo of k8s.io/apiserver.
struct RequestInfo {
  const Resource* resource = nullptr;
  std::string ns;
  std::string name;         ///< empty: the collection
  std::string subresource;  ///< "status", or empty
};
/// Nothing: no known resource.
std::optional<RequestInfo> parse_request_info(const std::string& path);

class Handler {
 public:
  Handler(Api& api, FaultInjector& faults) : api_(api), faults_(faults) {}

  /// Answer a request. Does not block: the caller waits for `delay` and streams `watch`.
  Response handle(const Request& request);

 private:
  Response handle_faults(const Request& request);
  Response handle_resource(const Request& request, const RequestInfo& info);
  Response get(const Request& request, const RequestInfo& info);
  Response list(const Request& request, const RequestInfo& info);
  Response watch(const Request& request, const RequestInfo& info);
  Response create(const Request& request, const RequestInfo& info);
  Response update(const Request& request, const RequestInfo& info);
  Response patch(const Request& request, const RequestInfo& info);
  Response remove(const Request& request, const RequestInfo& info);
  Response remove_collection(const Request& request, const RequestInfo& info);

  Api& api_;
  FaultInjector& faults_;
};

Response error_response(const StatusError& error);
Response json_response(const Json& body, int code = 200);

}  // namespace kindlb::apiserver
