#pragma once
// A scripted API server for reflectors: pages, events, and who is answered how.

#include "kindlb/http/client.hpp"
#include "support/servers/http_server.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace kindlb::test {

inline std::string item(const std::string& name) {
  return R"({"metadata":{"name":")" + name +
         R"(","namespace":"n","uid":"u","resourceVersion":"1"}})";
}

inline std::string page(const std::string& version, const std::string& items,
                        const std::string& token = "") {
  return R"({"kind":"List","metadata":{"resourceVersion":")" + version + R"(","continue":")" +
         token + R"("},"items":[)" + items + "]}";
}

inline std::string event(const std::string& type, const std::string& name,
                         const std::string& version) {
  return R"({"type":")" + type + R"(","object":{"metadata":{"name":")" + name +
         R"(","namespace":"n","uid":"u","resourceVersion":")" + version + "\"}}}\n";
}

inline const std::string kExpired =
    R"({"kind":"Status","message":"too old resource version","reason":"Expired","code":410})";

/// Streams these bytes and closes the watch properly.
inline Script watch_of(const std::string& bytes) {
  return [bytes](Exchange& exchange) {
    exchange.start_chunks();
    if (!bytes.empty()) exchange.chunk(bytes);
    exchange.end_chunks();
  };
}

inline Script answer(int status, const std::string& body) {
  return [status, body](Exchange& exchange) { exchange.answer(status, body); };
}

/// A watch that stays open and silent after these bytes.
inline Script open_watch(const std::string& bytes = "") {
  return [bytes](Exchange& exchange) {
    exchange.start_chunks();
    if (!bytes.empty()) exchange.chunk(bytes);
    exchange.stall();
  };
}

inline bool is_watch(const std::string& target) {
  return target.find("watch=1") != std::string::npos;
}

/// Nodes and EndpointSlices are quiet, and empty unless slices are given; requests for Services are
/// answered by the scripts in turn, the last one again and again.
class ScriptedApi {
 public:
  ScriptedApi(std::vector<Script> lists, std::vector<Script> watches, std::string slices = "")
      : lists_(lists.begin(), lists.end()),
        watches_(watches.begin(), watches.end()),
        slices_(std::move(slices)),
        server_([this](Exchange& exchange) { serve(exchange); }) {}

  std::shared_ptr<http::Client> client() {
    auto made = http::make_client({.url = server_.url()});
    REQUIRE(made.ok());
    return std::move(*made);
  }
  /// Targets of the requests for Services so far.
  std::vector<std::string> targets() {
    const std::lock_guard lock(mutex_);
    return targets_;
  }
  std::vector<std::chrono::steady_clock::time_point> watch_times() {
    const std::lock_guard lock(mutex_);
    return watch_times_;
  }
  HttpServer& server() { return server_; }

 private:
  void serve(Exchange& exchange) {
    const auto target = exchange.request().target;
    if (!target.starts_with("/api/v1/services")) {
      const bool slices = target.find("endpointslices") != std::string::npos;
      return is_watch(target) ? open_watch()(exchange)
                              : exchange.answer(200, page("1", slices ? slices_ : ""));
    }
    next(target)(exchange);
  }
  Script next(const std::string& target) {
    const std::lock_guard lock(mutex_);
    targets_.push_back(target);
    if (is_watch(target)) watch_times_.push_back(std::chrono::steady_clock::now());
    auto& scripts = is_watch(target) ? watches_ : lists_;
    const auto script = scripts.front();
    if (scripts.size() > 1) scripts.pop_front();
    return script;
  }

  std::mutex mutex_;
  std::deque<Script> lists_;
  std::deque<Script> watches_;
  const std::string slices_;
  std::vector<std::string> targets_;
  std::vector<std::chrono::steady_clock::time_point> watch_times_;
  HttpServer server_;
};

inline bool watches_from(const std::string& target, const std::string& version) {
  return is_watch(target) && target.find("&resourceVersion=" + version + "&") != std::string::npos;
}

}  // namespace kindlb::test
