# What makes an error of memory end the program rather than be of use to whoever
# made the file that led to it. `ctest -R package_hardening` looks at the results.
option(KITH_HARDEN "Guard the stack and calls of the C library" ${PROJECT_IS_TOP_LEVEL})

# A program at a random address. Libraries are so anyway.
include(CheckPIESupported)
check_pie_supported()

# Addresses of functions are looked up at the start and cannot be written after;
# nothing on the stack is executed.
target_link_options(kith_flags INTERFACE LINKER:-z,relro LINKER:-z,now)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  target_link_options(kith_flags INTERFACE LINKER:-z,noexecstack)
endif()

# Sanitizers have checks of their own, and without optimisation the C library has
# none. C++ alone: nvcc takes other flags.
if(KITH_HARDEN AND NOT KITH_SANITIZE)
  set(optimised $<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release,RelWithDebInfo>>)
  include(CheckCXXCompilerFlag)
  foreach(flag -fstack-protector-strong -fstack-clash-protection)
    string(MAKE_C_IDENTIFIER KITH_HAS${flag} known)
    check_cxx_compiler_flag(${flag} ${known})
    if(${known})
      target_compile_options(kith_flags INTERFACE $<${optimised}:${flag}>)
    endif()
  endforeach()
  # Some compilers define another level themselves.
  target_compile_options(kith_flags INTERFACE
    $<${optimised}:-U_FORTIFY_SOURCE> $<${optimised}:-D_FORTIFY_SOURCE=2>)
endif()
