#pragma once
// Proxies as containers of a docker engine: the module proxy behind the interface ProxyHost.
//
// Thread-safe. The engine must outlive it. Destroying it ends the hub's thread; no call to the
// listener is made afterwards.

#include "fleet/proxy_host.hpp"
#include "kindlb/docker/engine.hpp"
#include "kindlb/proxy/channel_hub.hpp"
#include "kindlb/proxy/containers.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace kindlb::controller {

class DockerProxyHost final : public ProxyHost {
 public:
  /// `image`: from proxy::ensure_proxy_image. `pool`: the name of this kindlb's warm pool. Two
  /// kindlbs that share an engine but serve different clusters have different pools, and neither
  /// adopts, claims or removes the other's proxies.
  DockerProxyHost(docker::Engine& engine, std::string image, std::string pool);

  void set_listener(Listener* listener) override;
  core::Result<std::vector<HostedProxy>> list() override;
  core::Result<HostedProxy> inspect(const std::string& id) override;
  core::Result<HostedProxy> create(const std::string& network) override;
  core::Result<void> start(const std::string& id) override;
  core::Result<void> rename(const std::string& id, const std::string& owner,
                            const std::string& unit) override;
  core::Result<void> rename_shared(const std::string& id, const std::string& cluster,
                                   unsigned number) override;
  core::Result<void> remove(const std::string& id) override;
  core::Result<void> remove_orphans() override;
  core::Result<void> connect(const std::string& id) override;
  bool send(const std::string& id, const protocol::Message& message) override;
  void disconnect(const std::string& id) override;

 private:
  HostedProxy hosted(const proxy::Proxy& proxy) const;
  void read_states(std::vector<HostedProxy>& proxies);
  /// Choose a uid that no proxy has and no thread is about to use; see proxy::kFirstUid.
  core::Result<std::uint32_t> reserve_uid();
  core::Result<proxy::Proxy> create_reserved(const proxy::CreateOptions& options);
  void cache_proxy(const proxy::Proxy& proxy);
  proxy::Proxy cached_proxy(const std::string& id);

  docker::Engine& engine_;
  const std::string image_;
  const std::string pool_;
  std::mutex listener_mutex_;  ///< held during calls, so that set_listener(nullptr) waits for them
  Listener* listener_ = nullptr;
  std::mutex mutex_;
  std::map<std::string, proxy::Proxy> known_;  ///< by id: removal needs the volume's name
  std::set<std::uint32_t> reserved_uids_;      ///< of containers being created
  std::set<std::string> reserved_volumes_;     ///< of the same
  proxy::ChannelHub hub_;                      // last: its thread uses the other members
};

}  // namespace kindlb::controller
