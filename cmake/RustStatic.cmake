# Target mist_runtime: the Rust static library of third_party/runtime with Wasmtime's, libcurl's and its own headers.
# It is built by the first build that needs it, into a cache outside the tree (third_party/runtime/build.sh).
set(_runtime_source ${CMAKE_SOURCE_DIR}/third_party/runtime)
# The cache directory's name is a hash of these files, so a change of one must run this file again.
file(GLOB _runtime_inputs CONFIGURE_DEPENDS ${_runtime_source}/src/* ${_runtime_source}/include/*)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${_runtime_inputs} ${_runtime_source}/Cargo.toml
             ${_runtime_source}/Cargo.lock ${_runtime_source}/build.rs ${_runtime_source}/build.sh)
execute_process(COMMAND ${_runtime_source}/build.sh --path OUTPUT_VARIABLE _runtime
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)

# The library itself is no OUTPUT: `ninja clean` must not empty a cache that other checkouts use.
cmake_path(GET _runtime FILENAME _runtime_name)
set(_runtime_stamp ${CMAKE_BINARY_DIR}/${_runtime_name}.stamp)
if(NOT EXISTS ${_runtime}/lib/libmist_runtime.a)
  file(REMOVE ${_runtime_stamp})
endif()
add_custom_command(OUTPUT ${_runtime_stamp} COMMAND ${_runtime_source}/build.sh
                   COMMAND ${CMAKE_COMMAND} -E touch ${_runtime_stamp}
                   COMMENT "Rust runtime library" USES_TERMINAL VERBATIM)
add_custom_target(mist_runtime_build DEPENDS ${_runtime_stamp})

add_library(mist_runtime INTERFACE)
add_dependencies(mist_runtime mist_runtime_build)
target_include_directories(mist_runtime SYSTEM INTERFACE ${_runtime}/include)
# -l: and not a path, because a path would be a file that ninja wants to know how to make.
target_link_libraries(mist_runtime INTERFACE -L${_runtime}/lib -l:libmist_runtime.a ${_lib}/libssl.a
                      ${_lib}/libcrypto.a ${_lib}/libz.a Threads::Threads ${CMAKE_DL_LIBS} m rt)
# Most of the archive is unused by any one program; in every preset this makes links and files smaller.
target_link_options(mist_runtime INTERFACE -Wl,--gc-sections)
