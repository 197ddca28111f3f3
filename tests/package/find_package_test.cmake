# Installs kith into a scratch folder and builds and runs against it: examples,
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
    "${CMAKE_COMMAND};-G;Ninja;-S;${SOURCE}/tests/package/find_package;-B;${SCRATCH}/build;-DCMAKE_PREFIX_PATH=${prefix}\\;${PREFIX_PATH};-DEXAMPLES=${SOURCE}/examples"
    "${CMAKE_COMMAND};--build;${SCRATCH}/build"
    "${SCRATCH}/build/search"
    "${CMAKE_COMMAND};-G;Ninja;-S;${plugin};-B;${SCRATCH}/plugin;-DCMAKE_PREFIX_PATH=${prefix}\\;${PREFIX_PATH}"
    "${CMAKE_COMMAND};--build;${SCRATCH}/plugin"
    "${SCRATCH}/plugin/user")
  execute_process(COMMAND ${command} COMMAND_ERROR_IS_FATAL ANY)
endforeach()

# Headers need nothing that whoever uses kith may not have, and each other only.
file(GLOB_RECURSE headers ${prefix}/include/kith/*.h)
foreach(header IN LISTS headers)
  file(STRINGS ${header} foreign REGEX "#include <(boost|nlohmann|CLI|faiss)/")
  if(foreign)
    message(FATAL_ERROR "${header} needs more than LibTorch: ${foreign}")
  endif()
  file(STRINGS ${header} includes REGEX "^#include \"kith/")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" name "${include}")
    if(NOT EXISTS ${prefix}/include/${name})
      message(FATAL_ERROR "${header} includes ${name}, which is not installed")
    endif()
  endforeach()
endforeach()

# An installed program trains and exports, and the example embeds.
if(EXISTS ${prefix}/bin/kith)
  file(WRITE ${SCRATCH}/tiny.yaml [[
data: {name: glyphs, classes: 8, per_class: 4}
sampler: {batch: 8, per_class: 4}
model:
  input: {size: 16}
  backbone: {name: convnet, width: 4}
  head: {dim: 6}
train: {epochs: 1}
]])
  set(kith ${prefix}/bin/kith)
  foreach(command
      "${kith};data;make;glyphs;--out;${SCRATCH}/images;--classes;2;--per-class;1"
      "${kith};train;${SCRATCH}/tiny.yaml;--out;${SCRATCH}/run;--device;cpu"
      "${kith};export;${SCRATCH}/run;--out;${SCRATCH}/export")
    execute_process(COMMAND ${command} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  file(GLOB_RECURSE images ${SCRATCH}/images/*.png)
  list(GET images 0 image)
  execute_process(COMMAND_ERROR_IS_FATAL ANY OUTPUT_VARIABLE vector
    COMMAND ${SCRATCH}/build/embed_one_image ${SCRATCH}/export ${image})
  string(REGEX MATCHALL "[^\n]+" numbers "${vector}")
  list(LENGTH numbers count)
  if(NOT count EQUAL 6)
    message(FATAL_ERROR "embed_one_image did not print 6 numbers: ${vector}")
  endif()
endif()

# The program has the loss once it is told of the library.
if(EXISTS ${prefix}/bin/kith)
  execute_process(COMMAND_ERROR_IS_FATAL ANY OUTPUT_VARIABLE value
    COMMAND ${prefix}/bin/kith --plugin ${SCRATCH}/plugin/libmy_losses.so
      bench loss:binomial_deviance --batch 16 --dim 8 --seconds 0 --json)
  if(NOT value MATCHES "\"name\": \"loss:binomial_deviance\"")
    message(FATAL_ERROR "kith --plugin has no such loss: ${value}")
  endif()
endif()
