# Compiler set-up: C++20, warnings, sanitizers, ccache and a fast linker.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
if(PROJECT_IS_TOP_LEVEL)
  # Kernels and other hot files ask for -O3 themselves; for the rest it only
  # takes longer to compile.
  string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
endif()
option(KITH_BUNDLE "Compile the files of a room together" ON)

# What every target of kith is compiled with; kept out of the installed package.
add_library(kith_flags INTERFACE)
target_compile_options(kith_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wno-psabi)
# GCC 12 and 13 warn falsely about "text" + std::string (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(kith_flags INTERFACE -Wno-restrict)
  # It takes every file but the first of those compiled together for a header.
  if(KITH_BUNDLE)
    target_compile_options(kith_flags INTERFACE -Wno-subobject-linkage)
  endif()
endif()
# libstdc++ is looked in first: LibTorch from pip has a part of std::filesystem
# that calls what is not there.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
  target_link_options(kith_flags INTERFACE LINKER:--push-state,--no-as-needed
    -lstdc++ LINKER:--pop-state)
endif()
if(KITH_SANITIZE)
  target_compile_options(kith_flags INTERFACE
    -fsanitize=${KITH_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(kith_flags INTERFACE -fsanitize=${KITH_SANITIZE})
endif()

include(KithHardening)

# Some toolchains link their own copy of libstdc++ into every shared library. An
# exception that goes from one copy to another ends the process: every user
# error of libkith_ops.so would be a segmentation fault in Python.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_READELF
    AND NOT KITH_RUNTIME_CHECKED STREQUAL CMAKE_CXX_COMPILER)
  set(check_folder ${CMAKE_BINARY_DIR}/CMakeFiles/kith_runtime)
  file(WRITE ${check_folder}/throws.cpp
    "#include <stdexcept>\n#include <string>\n"
    "void fail(const char* x) { throw std::runtime_error(std::string(x)); }\n")
  separate_arguments(check_flags UNIX_COMMAND "${CMAKE_CXX_FLAGS}")
  execute_process(
    COMMAND ${CMAKE_CXX_COMPILER} ${check_flags} -shared -fPIC throws.cpp
      -o libthrows.so
    WORKING_DIRECTORY ${check_folder} RESULT_VARIABLE check_failed
    OUTPUT_QUIET ERROR_QUIET)
  execute_process(COMMAND ${CMAKE_READELF} -d ${check_folder}/libthrows.so
    OUTPUT_VARIABLE check_needed ERROR_QUIET)
  if(NOT check_failed AND NOT check_needed MATCHES "NEEDED[^\n]*lib(std)?c\\+\\+")
    if(KITH_BUILD_PYTHON AND KITH_WITH_TORCH)
      set(check_kind FATAL_ERROR)
    else()
      set(check_kind WARNING)
    endif()
    message(${check_kind} "${CMAKE_CXX_COMPILER} links libstdc++ statically "
      "into every shared library: errors of kith would end Python with a "
      "segmentation fault. Use a compiler whose runtime is shared: "
      "CXX=/usr/bin/g++ CUDAHOSTCXX=/usr/bin/g++ before pip install or "
      "cmake --fresh ...; or leave libkith_ops.so out "
      "(-D KITH_BUILD_PYTHON=OFF).")
  endif()
  set(KITH_RUNTIME_CHECKED ${CMAKE_CXX_COMPILER} CACHE INTERNAL
    "The compiler whose runtime was looked at")
endif()

if(PROJECT_IS_TOP_LEVEL)
  find_program(KITH_CCACHE ccache)
  if(KITH_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # Precompiled headers can only be cached with this sloppiness. Paths below
    # the sources count relative to them: another checkout is served too.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${KITH_CCACHE})
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
    add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
  endif()
  # Paths in assertions and debug information, too: two builds of the same
  # sources have the same bytes, wherever they lie. ccache did it already.
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    file(RELATIVE_PATH sources ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
    add_compile_options(
      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=${sources}>
      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-ffile-prefix-map=${PROJECT_BINARY_DIR}/=>)
  endif()
  # mold and lld link in a fraction of the time of GNU ld.
  foreach(linker mold lld)
    find_program(KITH_LINKER_${linker} NAMES ld.${linker} ${linker})
    if(KITH_LINKER_${linker})
      add_link_options(-fuse-ld=${linker})
      break()
    endif()
  endforeach()
endif()
