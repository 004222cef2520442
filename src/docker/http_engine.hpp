#pragma once
// The Engine over HTTP. Its calls are spread over engine_*.cpp by the kind of object they deal
// with.

#include "kindlb/docker/engine.hpp"
#include "transport.hpp"

#include <utility>

namespace kindlb::docker {

/// Thread-safe: it has no state but the Transport and the negotiated version, which never changes.
/// An engine that is downgraded below that version while we run answers every call with an error.
class HttpEngine final : public Engine {
 public:
  /// `version`: as negotiate() chose it.
  HttpEngine(std::unique_ptr<http::Client> client, const ApiVersion& version)
      : transport_(std::move(client), version), version_(version) {}

  core::Result<EngineInfo> info() override;

  core::Result<std::vector<Container>> list_containers(
      const std::vector<std::string>& labels) override;
  core::Result<Container> inspect_container(const std::string& id) override;
  core::Result<std::string> create_container(const ContainerSpec& spec) override;
  core::Result<void> start_container(const std::string& id) override;
  core::Result<void> stop_container(const std::string& id, std::chrono::seconds grace) override;
  core::Result<void> kill_container(const std::string& id, const std::string& signal) override;
  core::Result<void> rename_container(const std::string& id, const std::string& name) override;
  core::Result<void> remove_container(const std::string& id) override;
  core::Result<std::string> read_file(const std::string& id, const std::string& path) override;
  core::Result<std::string> read_link(const std::string& id, const std::string& path) override;
  core::Result<void> put_archive(const std::string& id, const std::string& path,
                                 const std::string& tar) override;
  core::Result<ExecStream> exec(const std::string& id, const std::vector<std::string>& command,
                                const std::string& user) override;

  core::Result<std::vector<Network>> list_networks(const std::vector<std::string>& labels) override;
  core::Result<Network> inspect_network(const std::string& name_or_id) override;
  core::Result<std::string> create_network(const NetworkSpec& spec) override;
  core::Result<void> remove_network(const std::string& name_or_id) override;

  core::Result<Image> inspect_image(const std::string& reference) override;
  core::Result<std::vector<Image>> list_images(const std::vector<std::string>& labels) override;
  core::Result<void> pull_image(const std::string& reference, const Progress& progress,
                                std::stop_token stop) override;
  core::Result<void> build_image(const std::string& tag, const std::string& context_tar,
                                 const Labels& labels, const Progress& progress,
                                 std::stop_token stop) override;
  core::Result<void> remove_image(const std::string& reference) override;

  core::Result<std::string> create_volume(const Volume& volume) override;
  core::Result<std::vector<Volume>> list_volumes(const std::vector<std::string>& labels) override;
  core::Result<void> remove_volume(const std::string& name) override;

  core::Result<void> events(const std::function<void()>& on_open,
                            const std::function<void(const Event&)>& on_event,
                            std::stop_token stop) override;

 private:
  /// Run a pull or a build to its end; an error line among its output fails it.
  core::Result<void> run_with_progress(http::Request request, const std::string& operation,
                                       const Progress& progress, const std::stop_token& stop);

  Transport transport_;
  const ApiVersion version_;
};

}  // namespace kindlb::docker
