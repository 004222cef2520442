#pragma once
// What can be typed, for completion: made from the definitions that also parse it.

#include <string>
#include <vector>

namespace kindlb::app {

struct CommandWords {
  std::string command;
  std::string flags;  ///< " --a --b"
};

std::vector<CommandWords> command_words();

}  // namespace kindlb::app
