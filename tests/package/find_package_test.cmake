# Installs kith into a scratch folder and builds and runs a program against it.
set(prefix ${SCRATCH}/prefix)
file(REMOVE_RECURSE ${SCRATCH})
foreach(command
    "${CMAKE_COMMAND};--install;${BUILD};--prefix;${prefix}"
    "${CMAKE_COMMAND};-G;Ninja;-S;${SOURCE}/tests/package/find_package;-B;${SCRATCH}/build;-DCMAKE_PREFIX_PATH=${prefix}\\;${PREFIX_PATH};-DEXAMPLE=${SOURCE}/examples/search.cpp"
    "${CMAKE_COMMAND};--build;${SCRATCH}/build"
    "${SCRATCH}/build/user")
  execute_process(COMMAND ${command} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
