#pragma once
// The proxy host as the loop's thread uses it. Every call that may block runs on the executor, and
// its result comes back as a task of the loop; it refers to proxies by container id, because a
// proxy may be gone by then. Decides nothing and keeps no state.
//
// All methods are called on the loop's thread. Loop, executor and host must outlive this; a result
// is dropped if the executor or the loop stops first.

#include "fleet/proxy_host.hpp"
#include "kindlb/base/thread_pool.hpp"
#include "kindlb/core/result.hpp"
#include "kindlb/protocol/protocol.hpp"
#include "loop.hpp"

#include <functional>
#include <string>
#include <vector>

namespace kindlb::controller {

class AsyncHost {
 public:
  using Done = std::function<void(const core::Result<void>& result)>;
  using OneProxy = std::function<void(core::Result<HostedProxy> result)>;
  using Listed = std::function<void(core::Result<std::vector<HostedProxy>> result)>;

  AsyncHost(Loop& loop, base::ThreadPool& executor, ProxyHost& host)
      : loop_(loop), executor_(executor), host_(host) {}

  // As in ProxyHost.
  void list(Listed done);
  void inspect(const std::string& id, OneProxy done);
  void create(const std::string& network, OneProxy done);
  void start(const std::string& id, Done done);
  void connect(const std::string& id, Done done);
  void rename(const std::string& id, const std::string& owner, const std::string& unit, Done done);
  void rename_shared(const std::string& id, const std::string& cluster, unsigned number, Done done);
  /// Close the channel, then remove the container and its volume.
  void remove(const std::string& id, Done done);
  void remove_orphans(Done done);

  // Neither waits.
  bool send(const std::string& id, const protocol::Message& message);
  void disconnect(const std::string& id);

 private:
  Loop& loop_;
  base::ThreadPool& executor_;
  ProxyHost& host_;
};

}  // namespace kindlb::controller
