#include "curl_handles.hpp"

#include <utility>

namespace kindlb::http {

namespace {
/// Once per process, and never undone: other threads may still be inside libcurl at exit.
bool global_init() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  return code == CURLE_OK;
}
}  // namespace

std::unique_ptr<CurlPair> CurlPair::make() {
  if (!global_init()) return nullptr;
  std::unique_ptr<CurlPair> pair(new CurlPair);
  pair->multi_.reset(curl_multi_init());
  pair->easy_.reset(curl_easy_init());
  if (!pair->multi_ || !pair->easy_) return nullptr;
  curl_multi_setopt(pair->multi(), CURLMOPT_MAXCONNECTS, 1L);
  return pair;
}

CurlPair::~CurlPair() {
  detach();
}

CURLMcode CurlPair::attach() {
  const CURLMcode code = curl_multi_add_handle(multi(), easy());
  attached_ = code == CURLM_OK;
  return code;
}

void CurlPair::detach() {
  if (std::exchange(attached_, false)) curl_multi_remove_handle(multi(), easy());
}

std::unique_ptr<CurlPair> PairPool::take() {
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      auto pair = std::move(idle_.back());
      idle_.pop_back();
      return pair;
    }
  }
  return CurlPair::make();
}

void PairPool::give_back(std::unique_ptr<CurlPair> pair) {
  if (!pair) return;
  const std::scoped_lock lock(mutex_);
  if (idle_.size() < max_idle_) idle_.push_back(std::move(pair));
}

}  // namespace kindlb::http
