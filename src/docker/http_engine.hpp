#pragma once
// The Engine over HTTP: a small class per kind of object, all over one Transport. None has state of
// its own, so that they are as thread-safe as the Transport, which must outlive them.

#include "kindlb/docker/engine.hpp"
#include "transport.hpp"

#include <utility>

namespace kindlb::docker {

class HttpContainers final : public Containers {
 public:
  explicit HttpContainers(Transport& transport) : transport_(transport) {}

  core::Result<std::vector<Container>> list(const std::vector<std::string>& labels) override;
  core::Result<Container> inspect(const std::string& id) override;
  core::Result<std::vector<Process>> processes(const std::string& id) override;
  core::Result<std::string> create(const ContainerSpec& spec) override;
  core::Result<void> start(const std::string& id) override;
  core::Result<void> stop(const std::string& id, std::chrono::seconds grace) override;
  core::Result<void> kill(const std::string& id, const std::string& signal) override;
  core::Result<void> rename(const std::string& id, const std::string& name) override;
  core::Result<void> remove(const std::string& id) override;

 private:
  Transport& transport_;
};

class HttpContainerFiles final : public ContainerFiles {
 public:
  explicit HttpContainerFiles(Transport& transport) : transport_(transport) {}

  core::Result<std::string> read_file(const std::string& id, const std::string& path) override;
  core::Result<std::string> read_link(const std::string& id, const std::string& path) override;
  core::Result<void> put_archive(const std::string& id, const std::string& path,
                                 const std::string& tar) override;

 private:
  Transport& transport_;
};

class HttpExecs final : public Execs {
 public:
  explicit HttpExecs(Transport& transport) : transport_(transport) {}

  core::Result<ExecStream> start(const std::string& id, const std::vector<std::string>& command,
                                 const std::string& user) override;

 private:
  Transport& transport_;
};

class HttpNetworks final : public Networks {
 public:
  explicit HttpNetworks(Transport& transport) : transport_(transport) {}

  core::Result<std::vector<Network>> list(const std::vector<std::string>& labels) override;
  core::Result<Network> inspect(const std::string& name_or_id) override;
  core::Result<std::string> create(const NetworkSpec& spec) override;
  core::Result<void> remove(const std::string& name_or_id) override;

 private:
  Transport& transport_;
};

class HttpImages final : public Images {
 public:
  explicit HttpImages(Transport& transport) : transport_(transport) {}

  core::Result<Image> inspect(const std::string& reference) override;
  core::Result<std::vector<Image>> list(const std::vector<std::string>& labels) override;
  core::Result<void> pull(const std::string& reference, const Progress& progress,
                          std::stop_token stop) override;
  core::Result<void> build(const std::string& tag, const std::string& context_tar,
                           const Labels& labels, const Progress& progress,
                           std::stop_token stop) override;
  core::Result<void> remove(const std::string& reference) override;

 private:
  /// Run a pull or a build to its end; an error line among its output fails it.
  core::Result<void> run_with_progress(http::Request request, const std::string& operation,
                                       const Progress& progress, const std::stop_token& stop);

  Transport& transport_;
};

class HttpVolumes final : public Volumes {
 public:
  explicit HttpVolumes(Transport& transport) : transport_(transport) {}

  core::Result<std::string> create(const Volume& volume) override;
  core::Result<std::vector<Volume>> list(const std::vector<std::string>& labels) override;
  core::Result<void> remove(const std::string& name) override;

 private:
  Transport& transport_;
};

class HttpSystem final : public System {
 public:
  HttpSystem(Transport& transport, const ApiVersion& version)
      : transport_(transport), version_(version) {}

  core::Result<EngineInfo> info() override;
  core::Result<void> events(const std::function<void()>& on_open,
                            const std::function<void(const Event&)>& on_event,
                            std::stop_token stop) override;

 private:
  Transport& transport_;
  const ApiVersion version_;
};

/// The negotiated version never changes: an engine that is downgraded below it while we run answers
/// every call with an error.
class HttpEngine final : public Engine {
 public:
  /// `version`: as negotiate() chose it.
  HttpEngine(std::unique_ptr<http::Client> client, const ApiVersion& version)
      : transport_(std::move(client), version), system_(transport_, version) {}
  // Its parts refer to its transport.
  HttpEngine(const HttpEngine&) = delete;
  HttpEngine& operator=(const HttpEngine&) = delete;

  Containers& containers() override { return containers_; }
  ContainerFiles& files() override { return files_; }
  Execs& execs() override { return execs_; }
  Networks& networks() override { return networks_; }
  Images& images() override { return images_; }
  Volumes& volumes() override { return volumes_; }
  System& system() override { return system_; }

 private:
  Transport transport_;  // first: the others refer to it
  HttpContainers containers_{transport_};
  HttpContainerFiles files_{transport_};
  HttpExecs execs_{transport_};
  HttpNetworks networks_{transport_};
  HttpImages images_{transport_};
  HttpVolumes volumes_{transport_};
  HttpSystem system_;
};

}  // namespace kindlb::docker
