set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# -O3 costs a third more build time and gives the data plane nothing.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG -ffunction-sections -fdata-sections")
# A job program holds what it calls, not all of the files that it calls something of.
set(CMAKE_EXE_LINKER_FLAGS_RELEASE "-Wl,--gc-sections")
# What makes a fault in the code harder to use for somebody else's ends (SECURITY.md): checked sizes of copies, guarded return addresses, stacks that
# cannot jump over their guard page, control flow that the processor checks, and tables of functions that are read-only once a program runs.
set(weft_hardened "-D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  string(APPEND weft_hardened " -fcf-protection=full")
endif()
string(APPEND CMAKE_CXX_FLAGS_RELEASE " ${weft_hardened}")
foreach(kind EXE SHARED MODULE)
  string(APPEND CMAKE_${kind}_LINKER_FLAGS_RELEASE " -Wl,-z,relro,-z,now")
endforeach()

set(WEFT_SANITIZE "" CACHE STRING "Sanitizers, comma separated (address,undefined or thread)")
option(WEFT_WERROR "Warnings are errors" OFF)
option(WEFT_FUZZ "Build the fuzzers (needs clang)" OFF)

# Most of the time of a build goes to headers. A target's files compiled eight at a time read them once: a build from nothing takes a third of the time, one
# after a change of a source file several times as long. Names of anonymous namespaces must therefore differ within a target, and scripts/check-includes
# proves that each file includes what it uses.
option(WEFT_UNITY "Compile several files of a target at once: for builds from nothing" OFF)
if(WEFT_UNITY)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)
endif()
option(WEFT_PRECOMPILE "Precompile the headers that most files include; it pays with Clang only" OFF)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1            # one cache for all clones
      CCACHE_SLOPPINESS=pch_defines,time_macros "${CCACHE_PROGRAM}")     # what precompiled headers need
endif()

# Flags of our own code only; users of the installed package never see them.
add_library(weft_flags INTERFACE)
target_compile_options(weft_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(weft_flags INTERFACE -Wno-restrict) # false alarms on "text" + std::to_string(…) (GCC bug 105651)
endif()
if(WEFT_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(weft_flags INTERFACE -Wno-subobject-linkage) # false alarms: the files compiled together are taken for headers
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(weft_flags INTERFACE -Wno-undefined-internal) # false alarms on conversions that are only asked about (base/fields.hpp)
endif()
if(WEFT_WERROR)
  target_compile_options(weft_flags INTERFACE -Werror)
endif()
# The sanitizer presets: line numbers in reports, and builds that end.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O0 -g1 -fno-omit-frame-pointer -DNDEBUG")
if(WEFT_SANITIZE)
  target_compile_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE})
  # Programs are a hundred megabytes and more, and there are two hundred of them: lld links each in a quarter of the time of GNU ld.
  find_program(LLD_PROGRAM NAMES ld.lld-16 ld.lld)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND LLD_PROGRAM)
    target_link_options(weft_flags INTERFACE -fuse-ld=lld)
  endif()
endif()
if(WEFT_FUZZ)
  target_compile_options(weft_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
