#include "fleet/async_host.hpp"

#include "background.hpp"

#include <utility>

namespace kindlb::controller {

void AsyncHost::list(Listed done) {
  run_then(
      executor_, loop_, [&host = host_] { return host.list(); }, std::move(done));
}

void AsyncHost::inspect(const std::string& id, OneProxy done) {
  run_then(
      executor_, loop_, [&host = host_, id] { return host.inspect(id); }, std::move(done));
}

void AsyncHost::create(const std::string& network, OneProxy done) {
  run_then(
      executor_, loop_, [&host = host_, network] { return host.create(network); }, std::move(done));
}

void AsyncHost::start(const std::string& id, Done done) {
  run_then(
      executor_, loop_, [&host = host_, id] { return host.start(id); }, std::move(done));
}

void AsyncHost::connect(const std::string& id, Done done) {
  run_then(
      executor_, loop_, [&host = host_, id] { return host.connect(id); }, std::move(done));
}

void AsyncHost::rename(const std::string& id, const std::string& owner, const std::string& unit,
                       Done done) {
  run_then(
      executor_, loop_, [&host = host_, id, owner, unit] { return host.rename(id, owner, unit); },
      std::move(done));
}

void AsyncHost::rename_shared(const std::string& id, const std::string& cluster, unsigned number,
                              Done done) {
  run_then(
      executor_, loop_,
      [&host = host_, id, cluster, number] { return host.rename_shared(id, cluster, number); },
      std::move(done));
}

void AsyncHost::remove(const std::string& id, Done done) {
  const auto work = [&host = host_, id] {
    host.disconnect(id);
    return host.remove(id);
  };
  run_then(executor_, loop_, work, std::move(done));
}

void AsyncHost::remove_orphans(Done done) {
  run_then(
      executor_, loop_, [&host = host_] { return host.remove_orphans(); }, std::move(done));
}

bool AsyncHost::send(const std::string& id, const protocol::Message& message) {
  return host_.send(id, message);
}

void AsyncHost::disconnect(const std::string& id) {
  host_.disconnect(id);
}

}  // namespace kindlb::controller
