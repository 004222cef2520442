#include "kindlb/http/client.hpp"

#include "curl_handles.hpp"
#include "options.hpp"
#include "transfer.hpp"
#include "upgrade.hpp"

#include <utility>

namespace kindlb::http {

namespace {

// Enough for the calls that run concurrently in the steady state; a burst makes more and frees
// them.
constexpr std::size_t kMaxIdleHandles = 4;

/// Thread-safe because calls share nothing but the immutable destination and the pool of handles,
/// which has a lock of its own. A call owns its handles exclusively while it runs.
class CurlClient final : public Client {
 public:
  explicit CurlClient(Destination destination) : destination_(std::move(destination)) {}

  core::Result<Response> send(const Request& request, std::stop_token stop) override {
    return call(request, nullptr, stop);
  }

  core::Result<Response> stream(const Request& request, const ChunkSink& sink,
                                std::stop_token stop) override {
    return call(request, &sink, stop);
  }

  core::Result<std::unique_ptr<Duplex>> upgrade(const Request& request,
                                                std::stop_token stop) override {
    return upgrade_connection(destination_, request, stop);
  }

 private:
  core::Result<Response> call(const Request& request, const ChunkSink* sink,
                              const std::stop_token& stop) {
    HandleLease handles(pool_);
    if (handles.get() == nullptr)
      return core::Error{core::ErrorKind::Unavailable, "set up libcurl", "out of memory"};
    return Transfer(*handles.get(), destination_, request, sink).run(stop);
  }

  const Destination destination_;
  HandlePool pool_{kMaxIdleHandles};
};

}  // namespace

core::Result<std::unique_ptr<Client>> make_client(Endpoint endpoint) {
  auto destination = make_destination(std::move(endpoint));
  if (!destination) return destination.error();
  return std::unique_ptr<Client>(std::make_unique<CurlClient>(*std::move(destination)));
}

}  // namespace kindlb::http
