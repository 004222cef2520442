// Nodes that stand still, as the engine sees them long before the API does.
#include "integration/served.hpp"
#include "support/traffic/ask.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <iostream>
#include <set>

namespace {

using namespace kindlb;
using it::Served;
using it::Stage;

/// A container that kindlb takes for a kind node: only its name, its label and its state count.
class Node {
 public:
  explicit Node(Stage& stage)
      : stage_(stage),
        id_(stage.rig.start({.image = testing::envoy_image(),
                             .command = {"--config-yaml", R"({"admin":{}})"},
                             .labels = {{"io.x-k8s.kind.cluster", "kindlb-it"}}})),
        name_(testing::must(stage.rig.engine().containers().inspect(id_)).name) {
    stage.create_node(name_);
  }
  /// The other tests of this stage must not find it among their nodes.
  ~Node() {
    try {
      stage_.remove_node(name_);
    } catch (const std::exception& problem) {
      std::cerr << "removing node " << name_ << ": " << problem.what() << "\n";
    }
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const std::string& name() const { return name_; }
  void docker(const std::string& verb) const {
    const auto command = "docker " + verb + " " + id_ + " >/dev/null";
    REQUIRE(std::system(command.c_str()) == 0);  // NOLINT(concurrency-mt-unsafe)
  }

 private:
  Stage& stage_;
  const std::string id_;
  const std::string name_;
};

/// Who answers a dozen connections.
std::set<std::string> voices(const Served& served) {
  std::set<std::string> out;
  for (int i = 0; i < 12; ++i) out.insert(testing::ask_tcp(served.target(), "x").substr(0, 3));
  return out;
}

}  // namespace

TEST_CASE("nobody is sent to a node that is paused, and everybody is back when it goes on") {
  auto& stage = it::shared_stage();
  const Node node(stage);
  Served served(stage);
  served.add("one");
  const auto& two = served.add("two");
  served.place("two", two.target(), node.name());
  served.create(it::mixed_spec());
  REQUIRE(voices(served) == std::set<std::string>{"one", "two"});
  const auto version = stage.version_of(served.name());

  node.docker("pause");
  stage.until("only the other one answers",
              [&] { return voices(served) == std::set<std::string>{"one"}; });
  node.docker("unpause");
  stage.until("both answer", [&] { return voices(served).size() == 2; });
  CHECK(stage.version_of(served.name()) == version);
}
