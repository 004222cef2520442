#include "codec.hpp"
#include "http_engine.hpp"
#include "kindlb/docker/tar.hpp"
#include "kindlb/http/url.hpp"

#include <fmt/format.h>

#include <string_view>

namespace kindlb::docker {

using core::Error;
using core::ErrorKind;
using core::Result;

namespace {

constexpr std::size_t kMaxFile = std::size_t{16} << 20U;
/// Headers and padding of an archive that holds one file of the largest size.
constexpr std::size_t kTarOverhead = std::size_t{64} << 10U;

std::string container_path(const std::string& id, std::string_view rest) {
  return fmt::format("/containers/{}{}", http::url_escaped(id), rest);
}

std::string_view last_component(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

/// Return the content of the one file in the archive. The archive of a directory begins with the
/// directory, that of a link is only the link: neither has a regular file of the requested name as
/// its first file.
Result<std::string> only_file(std::string_view archive, const std::string& path,
                              const std::string& operation) {
  auto files = read_tar(archive);
  if (!files) return Error{ErrorKind::Protocol, operation, "the engine's archive is malformed"};
  if (files->empty() || files->front().path != last_component(path))
    return Error{ErrorKind::Invalid, operation, fmt::format("{} is not a regular file", path)};
  if (files->front().content.size() > kMaxFile)
    return Error{ErrorKind::TooLarge, operation,
                 fmt::format("{} is larger than {} bytes", path, kMaxFile)};
  return std::move(files->front().content);
}

}  // namespace

Result<std::vector<Container>> HttpContainers::list(const std::vector<std::string>& labels) {
  const Query query = {{"all", "1"}, {"filters", encode_filters({{"label", labels}})}};
  return transport_.fetch(get(with_query("/containers/json", query)), "list containers",
                          decode_container_list);
}

Result<Container> HttpContainers::inspect(const std::string& id) {
  return transport_.fetch(get(container_path(id, "/json")), "inspect container " + id,
                          decode_container);
}

Result<std::vector<Process>> HttpContainers::processes(const std::string& id) {
  return transport_.fetch(
      get(with_query(container_path(id, "/top"), {{"ps_args", "-eo pid,stat"}})),
      "list the processes of container " + id, decode_processes);
}

Result<std::string> HttpContainers::create(const ContainerSpec& spec) {
  return transport_.fetch(
      post(with_query("/containers/create", {{"name", spec.name}}), encode_container(spec)),
      "create container " + spec.name, decode_id);
}

Result<void> HttpContainers::start(const std::string& id) {
  return transport_.command(post(container_path(id, "/start")), "start container " + id);
}

Result<void> HttpContainers::stop(const std::string& id, std::chrono::seconds grace) {
  auto request =
      post(with_query(container_path(id, "/stop"), {{"t", std::to_string(grace.count())}}));
  request.timeout = grace + kProcessTimeout;
  return transport_.command(std::move(request), "stop container " + id);
}

Result<void> HttpContainers::kill(const std::string& id, const std::string& signal) {
  return transport_.command(post(with_query(container_path(id, "/kill"), {{"signal", signal}})),
                            fmt::format("send {} to container {}", signal, id));
}

Result<void> HttpContainers::rename(const std::string& id, const std::string& name) {
  return transport_.command(post(with_query(container_path(id, "/rename"), {{"name", name}})),
                            fmt::format("rename container {} to {}", id, name));
}

Result<void> HttpContainers::remove(const std::string& id) {
  return transport_.command(
      http_delete(with_query(container_path(id, ""), {{"force", "1"}, {"v", "1"}})),
      "remove container " + id);
}

Result<std::string> HttpContainerFiles::read_file(const std::string& id, const std::string& path) {
  const std::string operation = fmt::format("read {} in container {}", path, id);
  auto request = get(with_query(container_path(id, "/archive"), {{"path", path}}));
  request.max_body = kMaxFile + kTarOverhead;
  auto archive = transport_.call(std::move(request), operation);
  if (!archive) return archive.error();
  return only_file(*archive, path, operation);
}

Result<std::string> HttpContainerFiles::read_link(const std::string& id, const std::string& path) {
  const std::string operation = fmt::format("inspect {} in container {}", path, id);
  http::Request request{.method = "HEAD",
                        .target = with_query(container_path(id, "/archive"), {{"path", path}}),
                        .timeout = kDefaultTimeout};
  const auto stat =
      transport_.header(std::move(request), operation, "X-Docker-Container-Path-Stat");
  if (!stat) return stat.error();
  auto target = decode_link_target(*stat);
  if (!target) return Error{ErrorKind::Invalid, operation, "not a symbolic link"};
  return *std::move(target);
}

Result<void> HttpContainerFiles::put_archive(const std::string& id, const std::string& path,
                                             const std::string& tar) {
  http::Request request{.method = "PUT",
                        .target = with_query(container_path(id, "/archive"), {{"path", path}}),
                        .headers = {{"Content-Type", "application/x-tar"}},
                        .body = tar,
                        .timeout = kProcessTimeout};
  return transport_.command(std::move(request),
                            fmt::format("copy files to {} in container {}", path, id));
}

Result<ExecStream> HttpExecs::start(const std::string& id, const std::vector<std::string>& command,
                                    const std::string& user) {
  const std::string operation =
      fmt::format("run {} in container {}", command.empty() ? "nothing" : command.front(), id);
  // Two requests: the first creates the exec, the second starts it and hijacks its connection.
  // Between them the container may stop, which the second reports.
  auto exec_id = transport_.fetch(post(container_path(id, "/exec"), encode_exec(command, user)),
                                  operation, decode_id);
  if (!exec_id) return exec_id.error();
  auto request =
      post(fmt::format("/exec/{}/start", http::url_escaped(*exec_id)), encode_exec_start());
  return transport_.upgrade(std::move(request), operation);
}

}  // namespace kindlb::docker
