#pragma once
// A client that loses a race: another writer changes the object between our read and our write.

#include "kindlb/http/client.hpp"

#include <functional>
#include <memory>
#include <stop_token>
#include <utility>

namespace kindlb::test {

/// Calls `write` just before the first PATCH goes out.
class ConcurrentWriter final : public http::Client {
 public:
  ConcurrentWriter(std::shared_ptr<http::Client> inner, std::function<void()> write)
      : inner_(std::move(inner)), write_(std::move(write)) {}
  core::Result<http::Response> send(const http::Request& request, std::stop_token stop) override {
    if (request.method == "PATCH" && ++patches == 1) write_();
    return inner_->send(request, std::move(stop));
  }
  core::Result<http::Response> stream(const http::Request& request, const http::ChunkSink& sink,
                                      std::stop_token stop) override {
    return inner_->stream(request, sink, std::move(stop));
  }
  core::Result<std::unique_ptr<http::Duplex>> upgrade(const http::Request& request,
                                                      std::stop_token stop) override {
    return inner_->upgrade(request, std::move(stop));
  }
  int patches = 0;

 private:
  std::shared_ptr<http::Client> inner_;
  std::function<void()> write_;
};

}  // namespace kindlb::test
