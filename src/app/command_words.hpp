#pragma once
// The words that shell completion offers, from the same definitions that parse them.

#include <string>
#include <vector>

namespace kindlb::app {

struct CommandWords {
  std::string command;
  std::string flags;  ///< " --a --b"
};

std::vector<CommandWords> command_words();

}  // namespace kindlb::app
