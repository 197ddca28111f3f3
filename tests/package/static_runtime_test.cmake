# Configuring kith with a compiler that links libstdc++ statically fails, and
# says why and what to do.
file(REMOVE_RECURSE ${SCRATCH})
file(WRITE ${SCRATCH}/static-c++
  "#!/bin/sh\nexec '${COMPILER}' \"$@\" -static-libstdc++\n")
file(CHMOD ${SCRATCH}/static-c++ PERMISSIONS OWNER_READ OWNER_WRITE
  OWNER_EXECUTE)

function(configure result text)
  execute_process(COMMAND ${CMAKE_COMMAND} -G Ninja -S ${SOURCE}
      -B ${SCRATCH}/build --fresh -DCMAKE_CXX_COMPILER=${SCRATCH}/static-c++
      -DKITH_WITH_TORCH=${ARGN}
    RESULT_VARIABLE failed OUTPUT_VARIABLE out ERROR_VARIABLE out)
  string(REGEX REPLACE "[ \n]+" " " out "${out}")
  set(${result} ${failed} PARENT_SCOPE)
  set(${text} "${out}" PARENT_SCOPE)
endfunction()

configure(failed out ON)
if(failed EQUAL 0 OR NOT out MATCHES "links libstdc\\+\\+ statically"
    OR NOT out MATCHES "CXX=/usr/bin/g\\+\\+")
  message(FATAL_ERROR "a static runtime was not refused: ${failed}\n${out}")
endif()

# Without the library for Python it is a warning.
configure(failed out OFF)
if(NOT out MATCHES "CMake Warning[^!]*links libstdc\\+\\+ statically")
  message(FATAL_ERROR "a static runtime was not warned of: ${failed}\n${out}")
endif()
