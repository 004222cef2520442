#pragma once
// What several sub-commands begin with.

#include "kindlb/app/options.hpp"
#include "kindlb/core/result.hpp"
#include "kindlb/docker/engine.hpp"

#include <memory>

namespace kindlb::app {

/// One line on standard error; the exit code for it.
int complain(const core::Error& error);

/// Null after a complaint.
std::unique_ptr<docker::Engine> connect_engine(const Options& options);

}  // namespace kindlb::app
