#pragma once
// Keeping the process small: it lives as long as the user's clusters do, mostly idle.

namespace kindlb::app {

/// To be called before there are threads: many mostly idle threads must not each keep the memory of
/// a burst.
void limit_heap();

/// Gives back the pages only start-up needed: the heap's free ones, and clean pages of libraries
/// (relocation, symbol look-up, initialisers of what libcurl links but we never call). Those still
/// in use come back from the page cache at the next touch.
void release_startup_pages();

}  // namespace kindlb::app
