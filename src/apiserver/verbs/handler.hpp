#pragma once
// From a request to an answer, without sockets: paths, verbs, content types, pages, tables, faults.
// Safe from any thread.

#include "verbs/api.hpp"
#include "verbs/fault_injector.hpp"
#include "verbs/watch.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::apiserver {

struct Call {
  std::string method = "GET";
  std::string path;                          ///< decoded, without the query
  std::map<std::string, std::string> query;  ///< the last of each name
  std::string content_type;
  std::string accept;
  std::string user_agent;
  std::string body;

  std::string parameter(const std::string& name) const;
};

struct Answer {
  int code = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<WatchPlan> watch;      ///< then there is no body but a stream
  std::chrono::milliseconds delay{0};  ///< before the answer is sent
};

/// What a path under /api or /apis names.
struct Target {
  const Resource* resource = nullptr;
  std::string ns;
  std::string name;         ///< empty: the collection
  std::string subresource;  ///< "status", or empty
};
/// Nothing: there is no such thing.
std::optional<Target> parse_target(const std::string& path);

class Handler {
 public:
  Handler(Api& api, Faults& faults) : api_(api), faults_(faults) {}

  /// Never throws, whatever the request.
  Answer handle(const Call& call);

 private:
  Answer fault_call(const Call& call);
  Answer resource_call(const Call& call, const Target& target);
  Answer get(const Call& call, const Target& target);
  Answer list(const Call& call, const Target& target);
  Answer watch(const Call& call, const Target& target);
  Answer create(const Call& call, const Target& target);
  Answer update(const Call& call, const Target& target);
  Answer patch(const Call& call, const Target& target);
  Answer remove(const Call& call, const Target& target);
  Answer remove_collection(const Call& call, const Target& target);

  Api& api_;
  Faults& faults_;
};

Answer refused(const Refusal& refusal);
Answer json_answer(const Json& body, int code = 200);

}  // namespace kindlb::apiserver
