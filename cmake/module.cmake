# kindlb_library(<module> [COLD] SOURCES a.cpp ... [LINKS kindlb::core ...] [PRIVATE_LINKS CURL::libcurl ...])
# declares the static library of one module. Sources are listed by name: a file nobody lists is not built.
# Its public headers are in include/<module>, an include root of their own: a source can include only what its module
# links. Private headers stay in src/<module>, which only the module itself and its tests have on their include path.
# LINKS: modules whose headers the public headers include; PRIVATE_LINKS: what only the sources use.
# COLD: nothing in it runs often, so releases get by with -O1, which compiles a quarter faster.
function(kindlb_library module)
  cmake_parse_arguments(ARG "COLD" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  foreach(link IN LISTS ARG_LINKS ARG_PRIVATE_LINKS)
    if(link MATCHES "^kindlb::" AND NOT TARGET ${link})
      message(FATAL_ERROR "module ${module} may not link ${link}: modules link only those that CMakeLists.txt adds before")
    endif()
  endforeach()
  add_library(kindlb_${module} STATIC ${ARG_SOURCES})
  add_library(kindlb::${module} ALIAS kindlb_${module})
  target_include_directories(kindlb_${module}
    PUBLIC "${PROJECT_SOURCE_DIR}/include/${module}"
    PRIVATE "${PROJECT_SOURCE_DIR}/src/${module}")
  target_link_libraries(kindlb_${module}
    PUBLIC ${ARG_LINKS}
    PRIVATE kindlb_options ${ARG_PRIVATE_LINKS})
  if(ARG_COLD)
    target_compile_options(kindlb_${module} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()

# kindlb_see_inside(<target> kindlb::module ...): let a test include these modules' private headers.
function(kindlb_see_inside target)
  foreach(module IN LISTS ARGN)
    if(module MATCHES "^kindlb::(.+)$")
      target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src/${CMAKE_MATCH_1}")
    endif()
  endforeach()
endfunction()

# kindlb_test(<name> LABEL unit|wire|contract|integration SOURCES ... LINKS ... [TIMEOUT seconds])
# declares one doctest binary and registers it under its label. It sees the private headers of the modules it links.
# Presets compile its sources in batches, too: a name in an anonymous namespace is unique in the binary.
function(kindlb_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/test")
  kindlb_see_inside(${name} ${ARG_LINKS})
  # What a test costs is compiling it. Fortified headers need -O1.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O0 -U_FORTIFY_SOURCE>)
  target_link_libraries(${name} PRIVATE ${ARG_LINKS} kindlb_test_main kindlb_options)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}")
  # `ninja tests_unit` builds just the tests of that label.
  if(NOT TARGET tests_${ARG_LABEL})
    add_custom_target(tests_${ARG_LABEL})
  endif()
  add_dependencies(tests_${ARG_LABEL} ${name})
  if(ARG_TIMEOUT)
    set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT})
  endif()
endfunction()

# kindlb_compat_test(<name>): a test that also runs with the programs of older Kubernetes versions.
function(kindlb_compat_test name)
  set_property(TEST ${name} APPEND PROPERTY LABELS compat)
endfunction()
