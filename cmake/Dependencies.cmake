# Third-party libraries: Debian packages (tools/prerequisites.sh lists them) and the Rust static crate.
include(CTest)
find_package(Threads REQUIRED)
find_package(GTest REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED)

add_custom_target(unit_tests COMMENT "all unit test programs")

set(_lib /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})

# rapidcheck has no usable CMake package in Debian.
add_library(rapidcheck INTERFACE)
target_link_libraries(rapidcheck INTERFACE ${_lib}/librapidcheck.a)

# Debian's fmt is a shared library only; its inline sources compiled once here make it static.
add_library(mist_fmt STATIC ${CMAKE_SOURCE_DIR}/third_party/fmt/format.cc)

# Static archives: what we ship needs nothing of the user's distribution but libc, libm and libz.
function(mist_static name)
  add_library(${name} INTERFACE)
  target_link_libraries(${name} INTERFACE ${ARGN})
endfunction()
mist_static(mist_yaml ${_lib}/libyaml.a)
mist_static(mist_boost_json ${_lib}/libboost_json.a ${_lib}/libboost_container.a)
mist_static(mist_openssl ${_lib}/libssl.a ${_lib}/libcrypto.a ${CMAKE_DL_LIBS} Threads::Threads)
mist_static(mist_zlib ${_lib}/libz.a)
mist_static(mist_sqlite_library ${_lib}/libsqlite3.a m ${CMAKE_DL_LIBS} Threads::Threads)

# Its header; the library itself is opened where PostgreSQL is used (src/postgres/README.md).
find_path(MIST_LIBPQ_INCLUDE libpq-fe.h PATH_SUFFIXES postgresql)
if(NOT MIST_LIBPQ_INCLUDE)
  message(FATAL_ERROR "libpq-fe.h, the header of PostgreSQL's client library, isn't there: install libpq-dev (tools/prerequisites.sh)")
endif()
add_library(mist_libpq INTERFACE)
target_include_directories(mist_libpq SYSTEM INTERFACE ${MIST_LIBPQ_INCLUDE})
target_link_libraries(mist_libpq INTERFACE ${CMAKE_DL_LIBS})

if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/RustStatic.cmake)
  include(RustStatic)
endif()
