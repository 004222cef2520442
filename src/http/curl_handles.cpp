#include "curl_handles.hpp"

#include <utility>

namespace kindlb::http {

namespace {
/// Initialise libcurl once per process. Never undone: other threads may still be inside libcurl
/// when the process exits.
bool global_init() {
  static const CURLcode kCode = curl_global_init(CURL_GLOBAL_DEFAULT);
  return kCode == CURLE_OK;
}
}  // namespace

std::unique_ptr<CurlHandles> CurlHandles::make() {
  if (!global_init()) return nullptr;
  std::unique_ptr<CurlHandles> handles(new CurlHandles);
  handles->multi_.reset(curl_multi_init());
  handles->easy_.reset(curl_easy_init());
  if (!handles->multi_ || !handles->easy_) return nullptr;
  curl_multi_setopt(handles->multi(), CURLMOPT_MAXCONNECTS, 1L);
  return handles;
}

CurlHandles::~CurlHandles() {
  detach();
}

CURLMcode CurlHandles::attach() {
  const CURLMcode code = curl_multi_add_handle(multi(), easy());
  attached_ = code == CURLM_OK;
  return code;
}

void CurlHandles::detach() {
  if (std::exchange(attached_, false)) curl_multi_remove_handle(multi(), easy());
}

std::unique_ptr<CurlHandles> HandlePool::take() {
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      auto handles = std::move(idle_.back());
      idle_.pop_back();
      return handles;
    }
  }
  return CurlHandles::make();
}

void HandlePool::give_back(std::unique_ptr<CurlHandles> handles) {
  if (!handles) return;
  const std::scoped_lock lock(mutex_);
  if (idle_.size() < max_idle_) idle_.push_back(std::move(handles));
}

}  // namespace kindlb::http
