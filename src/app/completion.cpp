// Completion scripts, generated from the definitions of the flags, so that they cannot go stale.
// They offer all flags of a command at any position, and leave values to the shell's file
// completion.

#include "command_words.hpp"
#include "options.hpp"

namespace kindlb::app {

namespace {

std::string bash_completion() {
  std::string names;
  std::string cases;
  for (const auto& [name, flags] : command_words()) {
    names += " " + name;
    cases += "    " + name + ") words=\"" + flags + "\" ;;\n";
  }
  return "_kindlb() {\n"
         "  local words cur=${COMP_WORDS[COMP_CWORD]}\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases + "    *) words=\"" + names +
         " --help\" ;;\n"
         "  esac\n"
         "  [ \"$COMP_CWORD\" -gt 1 ] || words=\"" +
         names +
         " --help\"\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
         "}\n"
         "complete -o default -F _kindlb kindlb\n";
}

/// fish completes files by default; -f turns that off except where a command reads files.
std::string fish_completion() {
  std::string out = "complete -c kindlb -f\n";
  for (const auto& [name, flags] : command_words()) {
    out += "complete -c kindlb -n __fish_use_subcommand -a " + name + "\n";
    out += "complete -c kindlb -n '__fish_seen_subcommand_from " + name + "' -a '" + flags + "'\n";
  }
  return out + "complete -c kindlb -n '__fish_seen_subcommand_from plan' -F\n";  // manifests
}

}  // namespace

std::string completion_script(const std::string& shell) {
  if (shell == "fish") return fish_completion();
  // zsh runs bash's completion through a compatibility layer that it ships.
  if (shell == "zsh") return "autoload -U +X bashcompinit && bashcompinit\n" + bash_completion();
  return bash_completion();
}

}  // namespace kindlb::app
