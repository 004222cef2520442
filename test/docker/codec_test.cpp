// Codecs against answers recorded from a real engine (20.10), and against hostile ones.
#include "codec.hpp"

#include "support/paths.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>

using namespace kindlb;
using namespace kindlb::docker;
using core::Cidr;
using core::IpAddress;
using nlohmann::json;

namespace {

std::string fixture(const std::string& name) {
  std::ifstream file(test::source_dir() + "/test/docker/fixtures/" + name);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string id_of(const char* two_digits) {
  std::string id;
  for (int i = 0; i < 32; ++i) id += two_digits;
  return id;
}

const Labels kLabels = {{"kindlb.fixture", "yes"}};

void check_control_plane(const Container& container) {
  CHECK(container.id == id_of("a3"));
  CHECK(container.name == "fixture-one");
  CHECK(container.image == "example/proxy:1");
  CHECK(container.image_id == "sha256:" + id_of("a2"));
  CHECK(container.state == ContainerState::Running);
  CHECK(container.labels == Labels{{"kindlb.fixture", "yes"}, {"role", "control-plane"}});
  REQUIRE(container.networks.size() == 1);
  CHECK(container.networks[0].network == "fixture-net");
  CHECK(container.networks[0].network_id == id_of("a4"));
  CHECK(container.networks[0].ipv4 == IpAddress::parse("192.168.80.2"));
  CHECK(container.networks[0].ipv6 == IpAddress::parse("fc00:f853:ccd:abcd::2"));
  REQUIRE(container.ports.size() == 1);  // neither the exposed 80 nor the UDP port
  CHECK(container.ports[0].container_port == 6443);
  CHECK(container.ports[0].host_ip == "127.0.0.1");
  CHECK(container.ports[0].host_port == 32768);
}

}  // namespace

TEST_CASE("listed containers") {
  const auto containers = decode_container_list(fixture("container_list.json"));
  REQUIRE(containers);
  REQUIRE(containers->size() == 2);
  const Container& created = containers->front();
  CHECK(created.name == "fixture-two");
  CHECK(created.state == ContainerState::Created);
  REQUIRE(created.networks.size() == 1);
  CHECK(created.networks[0].network == "fixture-net");
  CHECK_FALSE(created.networks[0].ipv4);
  check_control_plane(containers->back());
}

TEST_CASE("an inspected container says the same as the list") {
  const auto container = decode_container(fixture("container.json"));
  REQUIRE(container);
  check_control_plane(*container);
  CHECK(container->pid == 4242);
}

TEST_CASE("the processes of a container, with their states") {
  const auto processes =
      decode_processes(R"({"Processes":[["31746","Tsl"],["31800","S"]],"Titles":["PID","STAT"]})");
  REQUIRE(processes);
  REQUIRE(processes->size() == 2);
  CHECK(processes->at(0).pid == 31746);
  CHECK(processes->at(0).state == "Tsl");
  for (const auto* text : {"", "{}", "[]", R"({"Processes":7})", R"({"Processes":[["x","S"]]})",
                           R"({"Processes":[["1"]]})", R"({"Processes":[{}]})"})
    CHECK_FALSE(decode_processes(text));
}

TEST_CASE("of several names, a container's own") {
  const auto containers =
      decode_container_list(R"([{"Id":"1","Names":["/other/alias","/mine"]}, {"Id":"2"}])");
  REQUIRE(containers);
  CHECK(containers->at(0).name == "mine");
  CHECK(containers->at(1).name == "");
}

TEST_CASE("container states") {
  using enum ContainerState;
  struct Case {
    const char* text;
    ContainerState state;
  };
  for (const auto& [text, state] :
       {Case{"created", Created}, Case{"running", Running}, Case{"paused", Paused},
        Case{"restarting", Restarting}, Case{"removing", Removing}, Case{"exited", Exited},
        Case{"dead", Dead}, Case{"something new", Dead}, Case{"", Dead}}) {
    SUBCASE(text) {
      const json answer = json::array({{{"Id", "1"}, {"State", text}}});
      CHECK(decode_container_list(answer.dump())->front().state == state);
    }
  }
}

TEST_CASE("networks") {
  const auto network = decode_network(fixture("network.json"));
  REQUIRE(network);
  CHECK(network->id == id_of("a4"));
  CHECK(network->name == "fixture-net");
  CHECK(network->driver == "bridge");
  CHECK(network->labels == kLabels);
  REQUIRE(network->subnets.size() == 2);
  CHECK(network->subnets[0].cidr == Cidr::parse("192.168.80.0/20"));
  CHECK(network->subnets[0].gateway == IpAddress::parse("192.168.80.1"));
  CHECK(network->subnets[1].cidr == Cidr::parse("fc00:f853:ccd:abcd::/64"));
  CHECK_FALSE(network->subnets[1].gateway);
  REQUIRE(network->members.size() == 1);
  CHECK(network->members[0].container_id == id_of("a3"));
  CHECK(network->members[0].name == "fixture-one");
  CHECK(network->members[0].ipv4 == Cidr::parse("192.168.80.2/20"));
  CHECK(network->members[0].ipv6 == Cidr::parse("fc00:f853:ccd:abcd::2/64"));

  const auto listed = decode_network_list(fixture("network_list.json"));
  REQUIRE(listed);
  REQUIRE(listed->size() == 1);
  CHECK(listed->front().id == network->id);
  CHECK(listed->front().members.empty());
}

TEST_CASE("a gateway with a prefix length is still an address") {
  const auto network = decode_network(
      R"({"Id":"1","Name":"n","IPAM":{"Config":[{"Subnet":"fc00::/64","Gateway":"fc00::1/64"}]}})");
  REQUIRE(network);
  CHECK(network->subnets.at(0).gateway == IpAddress::parse("fc00::1"));
}

TEST_CASE("images, volumes, version") {
  const auto image = decode_image(fixture("image.json"));
  REQUIRE(image);
  CHECK(image->id == "sha256:" + id_of("a2"));
  CHECK(image->tags == std::vector<std::string>{"example/proxy:1"});
  CHECK(decode_image_list(fixture("image_list.json"))->front().id == image->id);
  CHECK(decode_image(R"({"Id":"x","RepoTags":["<none>:<none>"]})")->tags.empty());

  const auto volumes = decode_volume_list(fixture("volume_list.json"));
  REQUIRE(volumes);
  REQUIRE(volumes->size() == 1);
  CHECK(volumes->front().name == "fixture-volume");
  CHECK(volumes->front().labels == kLabels);
  CHECK(decode_volume_list(R"({"Volumes":null})")->empty());

  const auto version = decode_version(fixture("version.json"));
  REQUIRE(version);
  CHECK(version->version.starts_with("20.10"));
  CHECK(version->os == "linux");
  CHECK(version->newest == ApiVersion{1, 41});
  CHECK(version->oldest == ApiVersion{1, 12});
}

TEST_CASE("events") {
  std::ifstream lines(test::source_dir() + "/test/docker/fixtures/events.jsonl");
  std::vector<Event> events;
  for (std::string line; std::getline(lines, line);) {
    auto event = decode_event(line);
    REQUIRE(event);
    events.push_back(*event);
  }
  REQUIRE(events.size() == 3);
  CHECK(events[0].action == "destroy");
  CHECK(events[1].type == "image");
  CHECK(events[2].type == "container");
  CHECK(events[2].action == "create");
  CHECK(events[2].id == id_of("a3"));
  CHECK(events[2].attributes.at("name") == "fixture-one");
  CHECK(events[2].attributes.at("role") == "control-plane");
  CHECK(events[2].time_nano == 1794801527664925670);
}

TEST_CASE("the engine's own message") {
  CHECK(decode_message(fixture("error.json")) == "No such container: fixture-none");
  CHECK(decode_message("page not found\n") == "page not found");
  CHECK(decode_message(R"({"message":7})") == R"({"message":7})");
  CHECK(decode_message("") == "");
}

TEST_CASE("lines of a build and of a pull") {
  CHECK(decode_progress(R"({"stream":"Step 1/2 : FROM scratch\n"})")->text ==
        "Step 1/2 : FROM scratch");
  CHECK(decode_progress(R"({"status":"Pulling","id":"layer"})")->text == "layer: Pulling");
  CHECK(decode_progress(R"({"aux":{"ID":"sha256:1"}})")->text == "");
  CHECK(decode_progress(R"({"error":"no","errorDetail":{"message":"no"}})")->error == "no");
  CHECK(decode_progress(R"({"errorDetail":{"message":"only here"}})")->error == "only here");
  CHECK(decode_progress(R"({"stream":"fine"})")->error == "");
  CHECK_FALSE(decode_progress("[]"));
}

TEST_CASE("answers of another shape give nothing, and never more than that") {
  const char* texts[] = {"",
                         "{",
                         "null",
                         "7",
                         "[]",
                         "{}",
                         "\"text\"",
                         "[7]",
                         "[null]",
                         "[[]]",
                         "[{}]",
                         "\xff\xfe",
                         R"({"Id":7,"Name":[]})",
                         R"([{"Id":{}}])",
                         R"({"ApiVersion":"x.y"})",
                         R"({"ApiVersion":1.41})",
                         R"({"Volumes":7})",
                         R"({"Volumes":[{"Name":7}]})"};
  for (const char* text : texts) {
    CAPTURE(text);
    CHECK_FALSE(decode_version(text));
    CHECK_FALSE(decode_container(text));
    CHECK_FALSE(decode_network(text));
    CHECK_FALSE(decode_image(text));
    CHECK_FALSE(decode_id(text));
    CHECK_FALSE(decode_volume_name(text));
    CHECK_FALSE(decode_event(text));
    const bool empty_list = std::string_view(text) == "[]";
    CHECK(decode_container_list(text).has_value() == empty_list);
    CHECK(decode_network_list(text).has_value() == empty_list);
    CHECK(decode_image_list(text).has_value() == empty_list);
    CHECK(decode_volume_list(text).has_value() ==
          (text[0] == '{' && decode_volume_list(text).has_value()));
  }
}

TEST_CASE("members of a wrong type count as absent") {
  const auto container = decode_container(R"({"Id":"1","Name":7,"State":"running","Config":[],
    "NetworkSettings":{"Networks":{"a":null,"b":{"IPAddress":"300.1.1.1","NetworkID":1}},
    "Ports":{"x/tcp":[{"HostPort":"99999"}],"80/tcp":[7,{"HostPort":"80"}],"9/udp":null}}})");
  REQUIRE(container);
  CHECK(container->name == "");
  CHECK(container->state == ContainerState::Dead);
  REQUIRE(container->networks.size() == 2);
  CHECK_FALSE(container->networks[1].ipv4);
  REQUIRE(container->ports.size() == 1);
  CHECK(container->ports[0].host_port == 80);

  const auto listed = decode_container_list(
      R"([{"Id":"1","Names":[7],"Labels":{"a":1,"b":"c"},"Ports":[{"PublicPort":70000,"Type":"tcp"},
      {"PublicPort":-1,"Type":"tcp"},{"PublicPort":1.5,"Type":"tcp"},7]}])");
  REQUIRE(listed);
  CHECK(listed->front().labels == Labels{{"b", "c"}});
  CHECK(listed->front().ports.empty());
}

TEST_CASE("a link's target comes out of the stat header, anything else does not") {
  // {"name":"summary","mode":134218239,"linkTarget":"/var/lib/s"}
  CHECK(
      decode_link_target("eyJuYW1lIjoic3VtbWFyeSIsIm1vZGUiOjEzNDIxODIzOSwibGlua1RhcmdldCI6Ii92YXIv"
                         "bGliL3MifQ==") == "/var/lib/s");
  // {"name":"f","linkTarget":""}
  CHECK_FALSE(decode_link_target("eyJuYW1lIjoiZiIsImxpbmtUYXJnZXQiOiIifQ==").has_value());
  for (const char* text : {"", "?", "e30=", "bm90IGpzb24="})
    CHECK_FALSE(decode_link_target(text).has_value());
}

TEST_CASE("every truncation and many flipped bytes of a real answer are survived") {
  const std::string network = json::parse(fixture("network.json")).dump();
  for (std::size_t i = 0; i < network.size(); ++i) {
    CHECK_FALSE(decode_network(std::string_view(network).substr(0, i)));
    std::string flipped = network;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x15);
    (void)decode_network(flipped);
  }
  for (const char* name : {"container_list.json", "container.json"}) {
    const std::string whole = json::parse(fixture(name)).dump();
    for (std::size_t i = 0; i < whole.size(); i += 41) {  // a prime: all kinds of places, soon done
      std::string flipped = whole;
      flipped[i] = static_cast<char>(flipped[i] ^ 0x15);
      (void)decode_container_list(flipped);
      (void)decode_container(flipped);
    }
  }
}
