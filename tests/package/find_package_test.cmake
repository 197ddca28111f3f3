# Installs kith into a scratch folder and builds and runs against it: an example,
# and a loss that lives outside, exactly as docs/adding_a_loss.md shows it.
set(prefix ${SCRATCH}/prefix)
set(plugin ${SOURCE}/tests/package/plugin)
file(REMOVE_RECURSE ${SCRATCH})

file(READ ${SOURCE}/docs/adding_a_loss.md page)
file(READ ${plugin}/binomial_deviance.cpp code)
string(FIND "${page}" "```cpp\n${code}```" place)
if(place EQUAL -1)
  message(FATAL_ERROR "docs/adding_a_loss.md does not show the file "
    "tests/package/plugin/binomial_deviance.cpp as it is: copy it there")
endif()

foreach(command
    "${CMAKE_COMMAND};--install;${BUILD};--prefix;${prefix}"
    "${CMAKE_COMMAND};-G;Ninja;-S;${SOURCE}/tests/package/find_package;-B;${SCRATCH}/build;-DCMAKE_PREFIX_PATH=${prefix}\\;${PREFIX_PATH};-DEXAMPLE=${SOURCE}/examples/search.cpp"
    "${CMAKE_COMMAND};--build;${SCRATCH}/build"
    "${SCRATCH}/build/user"
    "${CMAKE_COMMAND};-G;Ninja;-S;${plugin};-B;${SCRATCH}/plugin;-DCMAKE_PREFIX_PATH=${prefix}\\;${PREFIX_PATH}"
    "${CMAKE_COMMAND};--build;${SCRATCH}/plugin"
    "${SCRATCH}/plugin/user")
  execute_process(COMMAND ${command} COMMAND_ERROR_IS_FATAL ANY)
endforeach()

# The program has the loss once it is told of the library.
if(EXISTS ${prefix}/bin/kith)
  execute_process(COMMAND_ERROR_IS_FATAL ANY OUTPUT_VARIABLE value
    COMMAND ${prefix}/bin/kith --plugin ${SCRATCH}/plugin/libmy_losses.so
      bench loss:binomial_deviance --batch 16 --dim 8 --seconds 0 --json)
  if(NOT value MATCHES "\"name\": \"loss:binomial_deviance\"")
    message(FATAL_ERROR "kith --plugin has no such loss: ${value}")
  endif()
endif()
