# Sources are compiled several at a time, because most of a small one's time is its headers'. clang-tidy sees each alone.
option(MIST_UNITY "compile several sources of a folder at a time" ON)
function(mist_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${MIST_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  # g++ takes each source for a header there, from which a class with members of its own namespace would escape.
  target_compile_options(${target} PRIVATE $<$<BOOL:${MIST_UNITY}>:-Wno-subobject-linkage>)
endfunction()

# mist_folder(NAME [DEPENDS folder...] [LINKS target...])
#   src/NAME/**.cc except *_test.cc → library mist_NAME; src/NAME/**_test.cc → program NAME_test, one ctest entry.
# DEPENDS are folders of lower layers (checked against cmake/layers.txt by the layers test).
# LINKS are third-party targets that only this folder's sources see.
function(mist_folder name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINKS" ${ARGN})
  set(dir ${CMAKE_SOURCE_DIR}/src/${name})
  file(GLOB_RECURSE all CONFIGURE_DEPENDS ${dir}/*.cc)
  set(sources ${all})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  set(tests ${all})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  if(sources)
    add_library(mist_${name} STATIC ${sources})
    mist_compile_together(mist_${name})
    set(scope PUBLIC)
    set(private PRIVATE)
  else()
    add_library(mist_${name} INTERFACE)
    set(scope INTERFACE)
    set(private INTERFACE)
  endif()
  target_include_directories(mist_${name} ${scope} ${CMAKE_SOURCE_DIR}/src)
  list(TRANSFORM ARG_DEPENDS PREPEND mist_ OUTPUT_VARIABLE deps)
  target_link_libraries(mist_${name} ${scope} ${deps} ${private} mist_flags ${ARG_LINKS})

  if(tests AND BUILD_TESTING)
    add_executable(${name}_test EXCLUDE_FROM_ALL ${tests} ${CMAKE_SOURCE_DIR}/tests/unit/main.cc)
    mist_compile_together(${name}_test)
    target_link_libraries(${name}_test PRIVATE mist_${name} mist_testing mist_flags ${ARG_LINKS} GTest::gmock
                          rapidcheck)
    add_test(NAME ${name} COMMAND ${name}_test WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    add_dependencies(unit_tests ${name}_test)
  endif()
endfunction()
