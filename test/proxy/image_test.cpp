#include "kindlb/proxy/image.hpp"

#include "kindlb/core/hash.hpp"
#include "kindlb/docker/tar.hpp"
#include "kindlb/proxy/containers.hpp"
#include "support/fakes/fake_docker.hpp"

#include <unistd.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace {

using namespace kindlb;
using core::ErrorKind;

/// A file that stands for the agent's binary.
class AgentFile {
 public:
  AgentFile() : path_("/tmp/kindlb-image-test-" + std::to_string(::getpid())) { write("agent 1"); }
  ~AgentFile() { (void)std::remove(path_.c_str()); }
  AgentFile(const AgentFile&) = delete;
  AgentFile& operator=(const AgentFile&) = delete;
  void write(const std::string& content) { std::ofstream(path_, std::ios::binary) << content; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct ImageWorld {
  core::Result<std::string> ensure(const std::string& base = "envoy:1") {
    return proxy::ensure_proxy_image(engine.images(), base, agent.path(), {}, {});
  }
  testing::FakeEngine engine;
  AgentFile agent;
};

}  // namespace

TEST_CASE("FNV-1a gives the published values") {
  CHECK(core::fnv1a("") == 0xcbf29ce484222325U);
  CHECK(core::fnv1a("a") == 0xaf63dc4c8601ec8cU);
  CHECK(core::fnv1a("foobar") == 0x85944171f73967e8U);
  CHECK(core::fnv1a("bar", core::fnv1a("foo")) == core::fnv1a("foobar"));
  CHECK(core::hex(0x0123456789abcdefU) == "0123456789abcdef");
  CHECK(core::hex(0x0123456789abcdefU, 8) == "01234567");
}

TEST_CASE_FIXTURE(ImageWorld, "the image is built once per content") {
  engine.images().add("envoy:1");
  const auto first = ensure();
  REQUIRE(first.ok());
  CHECK(first->starts_with("kindlb-proxy:"));
  CHECK(*ensure() == *first);
  CHECK(engine.calls().count("build_image") == 1);
  CHECK(engine.calls().count("pull_image") == 0);

  SUBCASE("another agent is another image") {
    agent.write("agent 2");
    CHECK(*ensure() != *first);
  }
  SUBCASE("a changed base image is another image") {
    engine.images().add("envoy:1");
    CHECK(*ensure() != *first);
  }
  CHECK(engine.calls().count("build_image") == 2);
}

TEST_CASE_FIXTURE(ImageWorld, "the build context holds agent, bootstrap and a Dockerfile") {
  engine.images().add("envoy:1");
  const auto files = docker::read_tar(*engine.images().build_context(*ensure()));
  REQUIRE(files);
  const auto file = [&](const std::string& path) {
    return *std::ranges::find(*files, path, &docker::TarFile::path);
  };
  CHECK(file("kindlb-agent").content == "agent 1");
  CHECK(file("kindlb-agent").mode == 0755);
  CHECK(file("bootstrap.json").content.starts_with("{"));
  CHECK(file("Dockerfile").content == proxy::dockerfile("envoy:1"));
  CHECK(engine.images().list({"kindlb.dev/proxy=1"})->size() == 1);
}

TEST_CASE("the Dockerfile adds, and needs no shell in the base image") {
  const auto text = proxy::dockerfile("envoy:1");
  CHECK(text.starts_with("FROM envoy:1\nUSER 0\n"));
  CHECK(text.find("COPY bootstrap.json /etc/kindlb/bootstrap.json\n") != std::string::npos);
  CHECK(text.find("ENTRYPOINT [\"/usr/local/bin/kindlb-agent\"]\n") != std::string::npos);
  CHECK(text.find("RUN") == std::string::npos);
}

TEST_CASE_FIXTURE(ImageWorld, "a missing base image is pulled") {
  engine.images().add_to_registry("envoy:1");
  CHECK(ensure().ok());
  CHECK(engine.calls().count("pull_image") == 1);
}

TEST_CASE_FIXTURE(ImageWorld, "without base image or registry the error says what to do") {
  const auto result = ensure();
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().operation == "get the Envoy image envoy:1");
  CHECK(result.error().detail.find("setup-envoy.sh") != std::string::npos);
  CHECK(result.error().detail.find("--envoy-image") != std::string::npos);
}

TEST_CASE_FIXTURE(ImageWorld, "failures keep their kind") {
  engine.images().add("envoy:1");
  SUBCASE("the engine is away") {
    engine.calls().fail_next("inspect_image", {ErrorKind::Unavailable, "x", "y"});
    CHECK(ensure().error().kind == ErrorKind::Unavailable);
    CHECK(engine.calls().count("pull_image") == 0);
  }
  SUBCASE("the build fails") {
    engine.calls().fail_next("build_image", {ErrorKind::Invalid, "build", "no space"});
    CHECK(ensure().error().detail == "no space");
  }
  SUBCASE("stopped while pulling") {
    engine.calls().fail_next("pull_image", {ErrorKind::Cancelled, "pull", "stop"});
    CHECK(ensure("envoy:2").error().kind == ErrorKind::Cancelled);
  }
}

TEST_CASE_FIXTURE(ImageWorld, "no agent, no image") {
  engine.images().add("envoy:1");
  SUBCASE("missing") {
    const auto result =
        proxy::ensure_proxy_image(engine.images(), "envoy:1", "/nonexistent", {}, {});
    CHECK(result.error().kind == ErrorKind::Invalid);
  }
  SUBCASE("a folder") {
    const auto result = proxy::ensure_proxy_image(engine.images(), "envoy:1", "/tmp", {}, {});
    CHECK(result.error().kind == ErrorKind::Invalid);
  }
  SUBCASE("empty") {
    agent.write("");
    CHECK(ensure().error().kind == ErrorKind::Invalid);
  }
  CHECK(engine.calls().count("build_image") == 0);
}

TEST_CASE_FIXTURE(ImageWorld, "a reference that would add lines to the Dockerfile is refused") {
  for (const char* reference : {"", "a b", "a\nRUN x", "a\\"}) {
    SUBCASE(reference) {
      CHECK(ensure(reference).error().kind == ErrorKind::Invalid);
      CHECK(engine.calls().journal().empty());
    }
  }
}
