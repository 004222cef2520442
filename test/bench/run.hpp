#pragma once
// What each benchmark defines and main.cpp calls. Errors are exceptions there.

namespace kindlb::bench {

int run(int argc, char** argv);

}  // namespace kindlb::bench
