#pragma once
// KINDLB_ASSERT: abort the program when an invariant is broken, in release builds too. Never use it
// to validate input from outside.

namespace kindlb::core {

[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);

}  // namespace kindlb::core

#define KINDLB_ASSERT(expression) \
  (static_cast<bool>(expression)  \
       ? static_cast<void>(0)     \
       : ::kindlb::core::assertion_failed(#expression, __FILE__, __LINE__))
