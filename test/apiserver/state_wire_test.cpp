// A sandbox that is stopped, or killed, and continued from its file.

#include "apiserver/wire_rig.hpp"
#include "support/temp_folder.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

using namespace kindlb;
using namespace kindlb::test;
namespace fs = std::filesystem;

namespace {
apiserver::ServerOptions with_state(const std::string& path) {
  apiserver::ServerOptions options;
  options.state_file = path;
  options.save_every = 10ms;
  return options;
}

std::string read(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

constexpr const char* kLocal =
    R"({"metadata":{"name":"web"},"spec":{"type":"LoadBalancer","ports":[{"port":80}],)"
    R"("externalTrafficPolicy":"Local"}})";

Json get(const apiserver::Server& server, const std::string& name) {
  return Json::parse(send(*client_of(server), "GET", std::string(kServices) + "/" + name).body);
}

std::uint64_t version_of(const Json& object) {
  return std::stoull(object["metadata"]["resourceVersion"].get<std::string>());
}

/// What the second server of a file must know of the first one's.
void check_continues(const apiserver::Server& server, const Json& before) {
  CHECK(get(server, "web") == before);
  const auto client = client_of(server);
  const auto refused = [&](const std::string& spec) {
    return send(*client, "POST", kServices, R"({"metadata":{"name":"thief"},"spec":)" + spec + "}")
               .status == 422;
  };
  const auto& spec = before["spec"];
  CHECK(refused(R"({"ports":[{"port":80}],"clusterIP":)" + spec["clusterIP"].dump() + "}"));
  CHECK(refused(R"({"type":"NodePort","ports":[{"port":80,"nodePort":)" +
                spec["ports"][0]["nodePort"].dump() + "}]}"));
  CHECK(refused(R"({"type":"NodePort","ports":[{"port":80,"nodePort":)" +
                spec["healthCheckNodePort"].dump() + "}]}"));
  // Versions go on; what happened before them is forgotten, and those who ask for it are told.
  make(*client, "next");
  CHECK(version_of(get(server, "next")) > version_of(before));
  Watcher watcher(server, "resourceVersion=1");
  CHECK(watcher.until(
      [](const auto& events) { return events.size() == 1 && events[0]["object"]["code"] == 410; }));
  // A writer of before goes on, too.
  auto changed = before;
  changed["metadata"]["labels"] = {{"a", "b"}};
  CHECK(send(*client, "PUT", std::string(kServices) + "/web", changed.dump()).status == 200);
}
}  // namespace

TEST_CASE("state is kept from run to run") {
  const test::TempFolder folder;
  const auto options = with_state(folder / "state");
  Json before;
  {
    const auto server = start(options);
    REQUIRE(send(*client_of(*server), "POST", kServices, kLocal).status == 201);
    before = get(*server, "web");
  }
  CHECK_FALSE(fs::exists(folder / "state.tmp"));
  check_continues(*start(options), before);
}

TEST_CASE("what was saved before a crash is there after it") {
  const test::TempFolder folder;
  const auto path = folder / "state";
  const auto server = start(with_state(path));
  REQUIRE(send(*client_of(*server), "POST", kServices, kLocal).status == 201);
  const auto before = get(*server, "web");
  const auto uid = before["metadata"]["uid"].get<std::string>();
  const auto deadline = Clock::now() + 20s;
  while (read(path).find(uid) == std::string::npos && Clock::now() < deadline)
    std::this_thread::sleep_for(5ms);
  // What a crash leaves: the last whole file, and a piece of the next one.
  fs::copy_file(path, folder / "crashed");
  std::ofstream(folder / "crashed.tmp") << read(path).substr(0, 100);
  check_continues(*start(with_state(folder / "crashed")), before);
}

TEST_CASE("the file is whole at every moment") {
  const test::TempFolder folder;
  const auto path = folder / "state";
  auto options = with_state(path);
  options.save_every = 1ms;
  const auto server = start(options);
  std::jthread writer([&](const std::stop_token& stop) {
    const auto client = client_of(*server);
    for (int i = 0; !stop.stop_requested(); ++i) make(*client, "s" + std::to_string(i));
  });
  std::set<std::size_t> sizes;
  const auto deadline = Clock::now() + 20s;
  while (sizes.size() < 10 && Clock::now() < deadline) {
    const auto text = read(path);
    if (text.empty()) continue;  // not written yet
    const auto json = Json::parse(text, nullptr, false);
    REQUIRE(json.is_object());
    sizes.insert(json["objects"].size());
    for (const auto& object : json["objects"])
      REQUIRE(version_of(object) <= json["revision"].get<std::uint64_t>());
  }
  CHECK(sizes.size() == 10);
}

TEST_CASE("a file of another format is rejected and left unchanged") {
  const test::TempFolder folder;
  for (const std::string text :
       {"", "{}", "no JSON", R"({"format":"kindlb-sandbox/1","objects":[7]})",
        R"({"format":"kindlb-sandbox/1","objects":[{"kind":"Magic"}]})"}) {
    CAPTURE(text);
    std::ofstream(folder / "state") << text;
    const auto server = apiserver::start_server(with_state(folder / "state"));
    REQUIRE_FALSE(server.ok());
    CHECK(server.error().kind == core::ErrorKind::Invalid);
    CHECK(read(folder / "state") == text);
  }
}
