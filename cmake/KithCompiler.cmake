# Compiler set-up: C++20, warnings, sanitizers, ccache and a fast linker.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# What every target of kith is compiled with; kept out of the installed package.
add_library(kith_flags INTERFACE)
target_compile_options(kith_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wno-psabi)
# GCC 12 and 13 warn falsely about "text" + std::string (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(kith_flags INTERFACE -Wno-restrict)
endif()
if(KITH_WERROR)
  target_compile_options(kith_flags INTERFACE -Werror)
endif()
if(KITH_SANITIZE)
  target_compile_options(kith_flags INTERFACE
    -fsanitize=${KITH_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(kith_flags INTERFACE -fsanitize=${KITH_SANITIZE})
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
  # mold and lld link in a fraction of the time of GNU ld.
  foreach(linker mold lld)
    find_program(KITH_LINKER_${linker} NAMES ld.${linker} ${linker})
    if(KITH_LINKER_${linker})
      add_link_options(-fuse-ld=${linker})
      break()
    endif()
  endforeach()
endif()
