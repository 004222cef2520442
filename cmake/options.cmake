# kindlb_options: the language, warnings and hardening every target of ours is built with. Sanitizers and coverage are
# ordinary flags (CMAKE_CXX_FLAGS) in the presets, and so is CMAKE_COMPILE_WARNING_AS_ERROR: a newer compiler does not fail a
# user's build.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Paths relative to the tree, so that a clone elsewhere finds what this one compiled.
find_program(CCACHE ccache)
if(CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${CCACHE}")
endif()

# GNU ld needs a second for each of our fifty programs, mold a tenth of that.
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Batches include their sources by absolute path, which __FILE__ would carry into the objects.
if(CMAKE_UNITY_BUILD)
  add_compile_options("-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
endif()

add_library(kindlb_options INTERFACE)
target_compile_options(kindlb_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
  -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual -Wformat=2 -Wundef -Wextra-semi
  -Wimplicit-fallthrough -Wswitch-enum
  -Wno-missing-field-initializers  # designated initialisers leave defaults out on purpose
  # -Wrestrict: false alarms on "text" + std::string with g++ 12 (GCC bug 105651)
  $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond -Wduplicated-branches -Wlogical-op -Wno-restrict>)

target_compile_definitions(kindlb_options INTERFACE _GLIBCXX_ASSERTIONS)

# Sanitized programs can neither be fortified nor linked statically.
set(KINDLB_SANITIZED OFF)
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
  set(KINDLB_SANITIZED ON)
else()
  target_compile_options(kindlb_options INTERFACE -fstack-protector-strong)
  target_compile_definitions(kindlb_options INTERFACE $<$<NOT:$<CONFIG:Debug>>:_FORTIFY_SOURCE=2>)
endif()
