#pragma once
// Ownership of libcurl's handles. A CurlHandles is one easy handle with a multi handle of its own:
// the multi keeps the connection for the next call and can be woken from another thread. A handles
// serves one call at a time; the pool hands handles out and keeps a few idle ones with their
// connections.

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

class CurlHandles {
 public:
  /// Null when libcurl is out of memory.
  static std::unique_ptr<CurlHandles> make();
  ~CurlHandles();
  CurlHandles(const CurlHandles&) = delete;
  CurlHandles& operator=(const CurlHandles&) = delete;

  CURL* easy() { return easy_.get(); }
  CURLM* multi() { return multi_.get(); }

  /// Begins and ends a transfer. Ending one half-way closes its connection.
  CURLMcode attach();
  void detach();

  /// From any thread: lets a blocked curl_multi_poll of this handles return.
  void wakeup() noexcept { curl_multi_wakeup(multi_.get()); }

 private:
  CurlHandles() = default;

  std::unique_ptr<CURLM, MultiDeleter> multi_;  // outlives the easy handle attached to it
  std::unique_ptr<CURL, EasyDeleter> easy_;
  bool attached_ = false;
};

/// Thread-safe. Never more than `max_idle` handles wait; more than that exist only while in use.
class HandlePool {
 public:
  explicit HandlePool(std::size_t max_idle) : max_idle_(max_idle) {}

  /// The most recently used handles, whose connection is the likeliest to be alive, or a new one.
  std::unique_ptr<CurlHandles> take();
  void give_back(std::unique_ptr<CurlHandles> handles);

 private:
  const std::size_t max_idle_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<CurlHandles>> idle_;
};

/// A handles for the length of one call.
class HandleLease {
 public:
  explicit HandleLease(HandlePool& pool) : pool_(pool), handles_(pool.take()) {}
  ~HandleLease() { pool_.give_back(std::move(handles_)); }
  HandleLease(const HandleLease&) = delete;
  HandleLease& operator=(const HandleLease&) = delete;

  CurlHandles* get() { return handles_.get(); }

 private:
  HandlePool& pool_;
  std::unique_ptr<CurlHandles> handles_;
};

}  // namespace kindlb::http
