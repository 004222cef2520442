#include "kindlb/http/client.hpp"

#include "curl_handles.hpp"
#include "options.hpp"
#include "transfer.hpp"
#include "upgrade.hpp"

#include <utility>

namespace kindlb::http {

namespace {

// Enough for the calls that run side by side in the steady state; a burst makes more and frees
// them.
constexpr std::size_t kIdlePairs = 4;

class CurlClient final : public Client {
 public:
  explicit CurlClient(Site site) : site_(std::move(site)) {}

  core::Result<Response> send(const Request& request, std::stop_token stop) override {
    return call(request, nullptr, stop);
  }

  core::Result<Response> stream(const Request& request, const ChunkSink& sink,
                                std::stop_token stop) override {
    return call(request, &sink, stop);
  }

  core::Result<std::unique_ptr<Duplex>> upgrade(const Request& request,
                                                std::stop_token stop) override {
    return upgrade_connection(site_, request, stop);
  }

 private:
  core::Result<Response> call(const Request& request, const ChunkSink* sink,
                              const std::stop_token& stop) {
    Lease pair(pool_);
    if (pair.get() == nullptr)
      return core::Error{core::ErrorKind::Unavailable, "set up libcurl", "out of memory"};
    return Transfer(*pair.get(), site_, request, sink).run(stop);
  }

  const Site site_;
  PairPool pool_{kIdlePairs};
};

}  // namespace

core::Result<std::unique_ptr<Client>> make_client(Endpoint endpoint) {
  auto site = make_site(std::move(endpoint));
  if (!site) return site.error();
  return std::unique_ptr<Client>(std::make_unique<CurlClient>(*std::move(site)));
}

}  // namespace kindlb::http
