#include "kindlb/proxy/image.hpp"

#include "kindlb/core/hash.hpp"
#include "kindlb/docker/tar.hpp"
#include "kindlb/envoy/render.hpp"
#include "kindlb/protocol/protocol.hpp"
#include "kindlb/proxy/containers.hpp"

#include <array>
#include <fstream>
#include <optional>

namespace kindlb::proxy {

using core::Error;
using core::ErrorKind;
using core::Result;

namespace {

constexpr std::string_view kRepository = "kindlb-proxy:";

std::string bootstrap_text() {
  return envoy::bootstrap(protocol::kAdminSocket,
                          {.directory = protocol::kXdsDir, .endpoints = protocol::kEndpointsDir});
}

/// In chunks: usually the image exists already, and the agent need not be read into memory.
std::optional<std::uint64_t> hash_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::array<char, std::size_t{16} << 10U> buffer{};
  auto hash = core::kFnvOffset;
  while (in.read(buffer.data(), buffer.size()) || in.gcount() > 0)
    hash = core::fnv1a({buffer.data(), static_cast<std::size_t>(in.gcount())}, hash);
  return in.eof() ? std::optional(hash) : std::nullopt;
}

Error unreadable(const std::string& path) {
  return {ErrorKind::Invalid, "read the agent " + path,
          "no such file, or not readable; `make build` puts kindlb-agent next to kindlb"};
}

/// The reference becomes part of a Dockerfile's line, so it must be a single word.
bool is_one_word(const std::string& reference) {
  return !reference.empty() && reference.find_first_of(" \t\r\n\\") == std::string::npos;
}

Result<docker::Image> find_base(docker::Images& images, const std::string& reference,
                                const docker::Progress& progress, const std::stop_token& stop) {
  auto found = images.inspect(reference);
  if (found || found.error().kind != ErrorKind::NotFound) return found;
  const auto pulled = images.pull(reference, progress, stop);
  if (pulled) return images.inspect(reference);
  if (pulled.error().kind == ErrorKind::Cancelled) return pulled.error();
  return Error{
      pulled.error().kind, "get the Envoy image " + reference,
      pulled.error().detail +
          "; build one with scripts/setup-envoy.sh, or name an existing one with --envoy-image"};
}

Result<std::string> context_of(const std::string& envoy_image, const std::string& agent_path) {
  std::ifstream in(agent_path, std::ios::binary);
  std::string agent(std::istreambuf_iterator<char>(in), {});
  if (!in || agent.empty()) return unreadable(agent_path);
  return docker::write_tar({{"Dockerfile", dockerfile(envoy_image)},
                            {"kindlb-agent", std::move(agent), 0755},
                            {"bootstrap.json", bootstrap_text()}});
}

}  // namespace

std::string image_reference(const std::string& hash) {
  return std::string(kRepository) + hash;
}

std::string image_hash(const std::string& reference) {
  return reference.starts_with(kRepository) ? reference.substr(kRepository.size()) : "";
}

std::string dockerfile(const std::string& envoy_image) {
  // WORKDIR creates the volume's mount point without needing a shell in the base image.
  return "FROM " + envoy_image + "\nUSER 0\nCOPY kindlb-agent " + protocol::kAgentPath +
         "\nCOPY bootstrap.json " + protocol::kBootstrapFile + "\nWORKDIR " + protocol::kStateDir +
         "\nWORKDIR /\nENTRYPOINT [\"" + protocol::kAgentPath + "\"]\nCMD []\n";
}

Result<std::string> ensure_proxy_image(docker::Images& images, const std::string& envoy_image,
                                       const std::string& agent_binary_path,
                                       const docker::Progress& progress, std::stop_token stop) {
  if (!is_one_word(envoy_image))
    return Error{ErrorKind::Invalid, "use the Envoy image " + envoy_image,
                 "it is not a valid image reference"};
  const auto agent = hash_file(agent_binary_path);
  if (!agent) return unreadable(agent_binary_path);
  const auto base = find_base(images, envoy_image, progress, stop);
  if (!base) return base.error();

  core::Hasher hasher;
  hasher.add(base->id).add(*agent).add(bootstrap_text()).add(dockerfile(envoy_image));
  auto reference = image_reference(hasher.text());
  const auto found = images.inspect(reference);
  if (found) return reference;
  if (found.error().kind != ErrorKind::NotFound) return found.error();

  const auto context = context_of(envoy_image, agent_binary_path);
  if (!context) return context.error();
  const auto built =
      images.build(reference, *context, {{kProxyLabel, "1"}}, progress, std::move(stop));
  if (!built) return built.error();
  return reference;
}

}  // namespace kindlb::proxy
