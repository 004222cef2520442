#pragma once
// Ownership of libcurl's handles. A CurlPair is one easy handle with a multi handle of its own: the
// multi keeps the connection for the next call and can be woken from another thread. A pair serves
// one call at a time; the pool hands pairs out and keeps a few idle ones with their connections.

#include <curl/curl.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace kindlb::http {

struct EasyDeleter {
  void operator()(CURL* easy) const noexcept { curl_easy_cleanup(easy); }
};
struct MultiDeleter {
  void operator()(CURLM* multi) const noexcept { curl_multi_cleanup(multi); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, ListDeleter>;

class CurlPair {
 public:
  /// Null when libcurl is out of memory.
  static std::unique_ptr<CurlPair> make();
  ~CurlPair();
  CurlPair(const CurlPair&) = delete;
  CurlPair& operator=(const CurlPair&) = delete;

  CURL* easy() { return easy_.get(); }
  CURLM* multi() { return multi_.get(); }

  /// Begins and ends a transfer. Ending one half-way closes its connection.
  CURLMcode attach();
  void detach();

  /// From any thread: lets a blocked curl_multi_poll of this pair return.
  void wake() noexcept { curl_multi_wakeup(multi_.get()); }

 private:
  CurlPair() = default;

  std::unique_ptr<CURLM, MultiDeleter> multi_;  // outlives the easy handle attached to it
  std::unique_ptr<CURL, EasyDeleter> easy_;
  bool attached_ = false;
};

/// Thread-safe. Never more than `max_idle` pairs wait; more than that exist only while in use.
class PairPool {
 public:
  explicit PairPool(std::size_t max_idle) : max_idle_(max_idle) {}

  /// The most recently used pair, whose connection is the likeliest to be alive, or a new one.
  std::unique_ptr<CurlPair> take();
  void give_back(std::unique_ptr<CurlPair> pair);

 private:
  const std::size_t max_idle_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<CurlPair>> idle_;
};

/// A pair for the length of one call.
class Lease {
 public:
  explicit Lease(PairPool& pool) : pool_(pool), pair_(pool.take()) {}
  ~Lease() { pool_.give_back(std::move(pair_)); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  CurlPair* get() { return pair_.get(); }

 private:
  PairPool& pool_;
  std::unique_ptr<CurlPair> pair_;
};

}  // namespace kindlb::http
