#pragma once
// Ownership of libcurl's handles. A CurlHandles is one easy handle (a transfer) with a multi handle
// of its own (the connection cache and the event loop). The multi keeps the connection for the next
// call and, unlike curl_easy_perform, can be woken from another thread (curl_multi_wakeup), which
// is how a stop request interrupts a call that is waiting. One multi per call instead of a shared
// one: calls block on their own threads, and none has to drive the transfers of others.

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

/// Serves one call at a time, on the thread that made the call; only wakeup() may be called from
/// other threads.
class CurlHandles {
 public:
  /// Return null when libcurl is out of memory.
  static std::unique_ptr<CurlHandles> make();
  ~CurlHandles();
  CurlHandles(const CurlHandles&) = delete;
  CurlHandles& operator=(const CurlHandles&) = delete;

  CURL* easy() { return easy_.get(); }
  CURLM* multi() { return multi_.get(); }

  /// Begin and end a transfer. Ending one half-way closes its connection, so that the rest of an
  /// unread answer can never be taken for the answer to the next request.
  CURLMcode attach();
  void detach();

  /// Make a blocked curl_multi_poll on these handles return. If none is blocked, the next one
  /// returns at once: a wakeup is never lost. Safe from any thread while the handles live.
  void wakeup() noexcept { curl_multi_wakeup(multi_.get()); }

 private:
  CurlHandles() = default;

  std::unique_ptr<CURLM, MultiDeleter> multi_;  // outlives the easy handle attached to it
  std::unique_ptr<CURL, EasyDeleter> easy_;
  bool attached_ = false;
};

/// Idle handles with their connections. Thread-safe. Keeps at most `max_idle`; more exist only
/// while they are in use.
class HandlePool {
 public:
  explicit HandlePool(std::size_t max_idle) : max_idle_(max_idle) {}

  /// Return the most recently used handles, whose connection is the likeliest to be alive, or new
  /// ones; null when libcurl is out of memory.
  std::unique_ptr<CurlHandles> take();
  void give_back(std::unique_ptr<CurlHandles> handles);

 private:
  const std::size_t max_idle_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<CurlHandles>> idle_;
};

/// Handles for the duration of one call; gives them back at its end. The pool must outlive it.
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
