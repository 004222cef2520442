// The program: parse, configure, dispatch. Exit codes are those of the commands; 2 also stands for
// a wrong command line. Help goes to standard output, errors to standard error.

#include "commands.hpp"
#include "kindlb/base/version.hpp"
#include "kindlb/log/log.hpp"
#include "memory.hpp"
#include "options.hpp"

#include <cstdio>
#include <string>
#include <vector>

using namespace kindlb;

int main(int argc, char** argv) {
  const auto parsed = app::parse(std::vector<std::string>(argv + 1, argv + argc));
  if (!parsed.options) {
    std::fputs(parsed.text.c_str(), parsed.exit_code == 0 ? stdout : stderr);
    return parsed.exit_code;
  }
  const auto& options = *parsed.options;
  if (options.command != app::Command::Plan) app::limit_heap();  // plan ends before it matters
  log::configure(options.log_level, options.log_format);
  switch (options.command) {
    case app::Command::Run:
      return app::run(options);
    case app::Command::Plan:
      return app::plan(options);
    case app::Command::Sandbox:
      return app::sandbox(options);
    case app::Command::Demo:
      return app::demo(options);
    case app::Command::Conformance:
      return app::conformance(options);
    case app::Command::Cleanup:
      return app::cleanup(options);
    case app::Command::Version:
      std::printf("kindlb %s\n", base::version().c_str());
      return 0;
    case app::Command::Completion:
      std::fputs(app::completion_script(options.shell).c_str(), stdout);
      return 0;
  }
  return 2;
}
