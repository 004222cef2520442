// kindlb-agent: pid 1 of a proxy container.
#include "kindlb/base/version.hpp"
#include "kindlb/protocol/protocol.hpp"
#include "relay.hpp"
#include "run.hpp"

#include <cstdio>
#include <string_view>

int main(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command.empty()) return kindlb::agent::run_in_container();
  if (command == "connect" && argc == 2)
    return kindlb::agent::relay_stdio(kindlb::protocol::kAgentSocket);
  if (command == "--version") {
    std::printf("kindlb-agent %s\n", kindlb::base::version().c_str());
    return 0;
  }
  std::fputs(
      "usage: kindlb-agent             run as pid 1 of a proxy container\n"
      "       kindlb-agent connect     relay standard input and output to the running agent\n"
      "       kindlb-agent --version\n",
      stderr);
  return 2;
}
