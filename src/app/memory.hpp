#pragma once
// Keeps the process small: it runs as long as the user's clusters do, mostly idle.

namespace kindlb::app {

/// Use one malloc arena and return free memory early. Call it before starting threads: each of many
/// mostly idle threads would otherwise keep the memory of a burst in an arena of its own.
void limit_heap();

/// Return the pages that only the start needed: free heap pages, and clean pages of libraries
/// (relocation, symbol look-up, initialisers of what libcurl links but kindlb never calls). A page
/// that is needed again is read from the page cache.
void release_startup_pages();

}  // namespace kindlb::app
