#pragma once
// The embedded server as its clients see it: our own client, watches, and bare sockets.

#include "kindlb/apiserver/server.hpp"
#include "kindlb/http/client.hpp"
#include "support/bare_client.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace kindlb::test {

using Json = nlohmann::json;

inline constexpr const char* kServices = "/api/v1/namespaces/default/services";

inline std::unique_ptr<apiserver::Server> start(apiserver::ServerOptions options = {}) {
  auto server = apiserver::start_server(options);
  REQUIRE(server.ok());
  return std::move(*server);
}

inline std::shared_ptr<http::Client> client_of(const apiserver::Server& server) {
  auto client = http::make_client({.url = server.url()});
  REQUIRE(client.ok());
  return std::move(*client);
}

inline http::Response send(http::Client& client, const std::string& method,
                           const std::string& target, const std::string& body = "",
                           const std::string& type = "application/json") {
  http::Request request{.method = method, .target = target, .body = body};
  if (!body.empty()) request.headers.push_back({"Content-Type", type});
  auto answer = client.send(request);
  REQUIRE_MESSAGE(answer.ok(), method << " " << target);
  return *answer;
}

inline void make(http::Client& client, const std::string& name) {
  REQUIRE(send(client, "POST", kServices,
               R"({"metadata":{"name":")" + name + R"("},"spec":{"ports":[{"port":80}]}})")
              .status == 201);
}

/// A watch on a thread of its own, and the lines it has seen.
class Watcher {
 public:
  Watcher(const apiserver::Server& server, const std::string& query)
      : Watcher(client_of(server), query) {}
  Watcher(std::shared_ptr<http::Client> client, const std::string& query)
      : client_(std::move(client)),
        thread_([this, query](const std::stop_token& stop) { run(query, stop); }) {}

  bool until(const std::function<bool(const std::vector<Json>&)>& holds) {
    const auto deadline = Clock::now() + 20s;
    while (Clock::now() < deadline) {
      {
        const std::lock_guard lock(mutex_);
        if (holds(events_)) return true;
      }
      std::this_thread::sleep_for(5ms);
    }
    return false;
  }
  bool until_over() {
    const auto deadline = Clock::now() + 20s;
    while (!over_ && Clock::now() < deadline) std::this_thread::sleep_for(5ms);
    return over_;
  }
  bool open() const { return open_; }

 private:
  void run(const std::string& query, const std::stop_token& stop) {
    http::Request request{.target = std::string("/api/v1/services?watch=1&") + query};
    request.on_open = [this] { open_ = true; };
    std::string rest;
    (void)client_->stream(
        request,
        [&](std::string_view chunk) {
          rest += chunk;
          for (auto end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
            const std::lock_guard lock(mutex_);
            events_.push_back(Json::parse(rest.substr(0, end), nullptr, false));
            rest.erase(0, end + 1);
          }
          return true;
        },
        stop);
    over_ = true;
  }

  std::shared_ptr<http::Client> client_;
  std::mutex mutex_;
  std::vector<Json> events_;
  std::atomic<bool> open_{false};
  std::atomic<bool> over_{false};
  std::jthread thread_;
};

inline std::string type_and_name(const Json& event) {
  return event["type"].get<std::string>() + " " +
         event["object"]["metadata"].value("name", std::string());
}

}  // namespace kindlb::test
