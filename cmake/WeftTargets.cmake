# weft_library(storage SOURCES a.cpp b.cpp [DEPENDS weft::base …] [PRIVATE_DEPENDS …]): target weft_storage, alias weft::storage.
function(weft_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(weft_${name} STATIC ${arg_SOURCES})
  add_library(weft::${name} ALIAS weft_${name})
  target_include_directories(weft_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/engine/api>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>
    $<INSTALL_INTERFACE:include>)
  target_compile_features(weft_${name} PUBLIC cxx_std_20)
  target_link_libraries(weft_${name} PUBLIC ${arg_DEPENDS} PRIVATE ${arg_PRIVATE_DEPENDS} $<BUILD_INTERFACE:weft_flags>)
  weft_precompile(weft_${name} library)
  set_target_properties(weft_${name} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY WEFT_LIBRARIES weft_${name})
endfunction()

# weft_interface(operators [DEPENDS …]): a header-only part of a layer.
function(weft_interface name)
  cmake_parse_arguments(arg "" "" "DEPENDS" ${ARGN})
  add_library(weft_${name} INTERFACE)
  add_library(weft::${name} ALIAS weft_${name})
  target_include_directories(weft_${name} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/engine/api>
    $<INSTALL_INTERFACE:include>)
  target_link_libraries(weft_${name} INTERFACE ${arg_DEPENDS})
  set_target_properties(weft_${name} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY WEFT_LIBRARIES weft_${name})
endfunction()

# weft_capnp(target schema.capnp …): compiles schemas of the current folder into <build>/generated and adds them to the target.
# Included as "<folder>/schema.capnp.h", by .cpp files only.
function(weft_capnp target)
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  foreach(schema ${ARGN})
    set(output "${PROJECT_BINARY_DIR}/generated/${folder}/${schema}")
    add_custom_command(
      OUTPUT "${output}.c++" "${output}.h"
      COMMAND ${CMAKE_COMMAND} -E make_directory "${PROJECT_BINARY_DIR}/generated/${folder}"
      COMMAND ${WEFT_CAPNP_COMPILER} compile --src-prefix=${PROJECT_SOURCE_DIR} -I${PROJECT_SOURCE_DIR}
              -oc++:${PROJECT_BINARY_DIR}/generated "${CMAKE_CURRENT_SOURCE_DIR}/${schema}"
      DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${schema}"
      COMMENT "Compiling ${folder}/${schema}" VERBATIM)
    target_sources(${target} PRIVATE "${output}.c++" "${output}.h")
    set_source_files_properties("${output}.c++" PROPERTIES COMPILE_OPTIONS -w)
  endforeach()
  weft_uses_capnp(${target})
endfunction()

# weft_uses_capnp(target): files of the target include generated headers.
function(weft_uses_capnp target)
  target_link_libraries(${target} PRIVATE ${WEFT_CAPNP_LIBRARY} ${WEFT_KJ_LIBRARY})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${target} PRIVATE "SHELL:-include ${PROJECT_SOURCE_DIR}/cmake/capnp_clang.hpp")
  endif()
endfunction()

# weft_program(wordcount SOURCES … DEPENDS …): a program in <build>/bin.
function(weft_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} weft_flags)
endfunction()

# weft_unoptimised(target): compiled quickly, in release builds too, because it is built more often than it runs. -O1 takes a quarter to a half more of
# the compiler's time, and most tests spend theirs in the libraries.
function(weft_unoptimised target)
  set(flags -O0 -U_FORTIFY_SOURCE)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Neither hardened nor with functions for std::move and its like, which takes a tenth of the compiler's time each.
    list(APPEND flags -fno-stack-protector -fno-stack-clash-protection -ffold-simple-inlines)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
      list(APPEND flags -fcf-protection=none)
    endif()
  endif()
  target_compile_options(${target} PRIVATE "$<$<CONFIG:Release>:${flags}>")
endfunction()

# weft_test(base_test SOURCES … DEPENDS … [LABELS …] [TIMEOUT s] [OPTIMISED] [ALONE]): a GoogleTest program, its tests registered with CTest one by one.
# ALONE is for tests that compare durations: CTest runs nothing beside them.
# OPTIMISED is for tests that compute much in templates of the data plane. Under sanitizers a test with the label release_only is neither built nor registered.
function(weft_test name)
  cmake_parse_arguments(arg "OPTIMISED;ALONE" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(WEFT_SANITIZE) # unoptimised and instrumented, perhaps beside other programs
    math(EXPR arg_TIMEOUT "5 * ${arg_TIMEOUT}")
  endif()
  if("weft_test_support" IN_LIST arg_DEPENDS)
    list(APPEND arg_SOURCES "${PROJECT_SOURCE_DIR}/tests/support/fail_on_death.cpp")
  endif()
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  if(arg_OPTIMISED)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  else()
    weft_unoptimised(${name})
  endif()
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} GTest::gtest $<TARGET_NAME_IF_EXISTS:GTest::gmock> GTest::gtest_main weft_flags)
  weft_precompile(${name} test)
  if(WEFT_SANITIZE AND "release_only" IN_LIST arg_LABELS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  foreach(label memory threads)
    if(label IN_LIST arg_LABELS)
      if(NOT TARGET tests_of_${label})
        add_custom_target(tests_of_${label})
      endif()
      add_dependencies(tests_of_${label} ${name})
    endif()
  endforeach()
  set(cost 1) # CTest begins with what takes longest: by this, as long as it has measured nothing, or one job is left with the long ones at the end
  if("processes" IN_LIST arg_LABELS)
    set(cost 10)
  endif()
  set(alone OFF)
  if(arg_ALONE)
    set(alone ON)
  endif()
  include(GoogleTest)
  # One label, such as "memory+threads", which CTest finds by either word: of a list gtest_discover_tests keeps the first one only.
  list(JOIN arg_LABELS "+" labels)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT ${arg_TIMEOUT} COST ${cost} RUN_SERIAL ${alone} LABELS "${labels}")
endfunction()
