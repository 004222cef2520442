#include "kindlb/kube/api.hpp"
#include "watch/reflector.hpp"
#include "watch/watched_resource.hpp"

#include <pthread.h>

#include <memory>
#include <thread>
#include <vector>

namespace kindlb::kube {

namespace {
/// One thread per resource. Members are destroyed in reverse order: the threads are joined before
/// the reflectors they run go away.
class ThreadedReflectors final : public Reflectors {
 public:
  explicit ThreadedReflectors(std::vector<std::unique_ptr<Reflector>> reflectors)
      : reflectors_(std::move(reflectors)) {
    for (const auto& reflector : reflectors_)
      threads_.emplace_back([&each = *reflector](const std::stop_token& stop) {
        pthread_setname_np(pthread_self(), each.name());
        each.run(stop);
      });
  }

  /// Request all stops before the jthreads join one by one, so that stopping takes as long as the
  /// slowest, not as long as all together.
  ~ThreadedReflectors() override {
    for (auto& thread : threads_) thread.request_stop();
  }

 private:
  std::vector<std::unique_ptr<Reflector>> reflectors_;
  std::vector<std::jthread> threads_;
};
}  // namespace

std::unique_ptr<Reflectors> start_reflectors(const std::shared_ptr<http::Client>& client,
                                             const std::string& cluster, Observer& observer) {
  const auto report = [&observer](const char* resource, const core::Result<void>& state) {
    observer.watch_state(resource, state);
  };
  std::vector<std::unique_ptr<Reflector>> reflectors;
  for (auto& resource : make_watched_resources(cluster, observer))
    reflectors.push_back(std::make_unique<Reflector>(client, std::move(resource), report));
  return std::make_unique<ThreadedReflectors>(std::move(reflectors));
}

}  // namespace kindlb::kube
