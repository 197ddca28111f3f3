# Run by `cmake --install`: installs the headers that are for users. Those are
# kith/kith.h, what it includes, and the headers of the folders that hold parts:
# a new loss is installed without a line here or there.
cmake_minimum_required(VERSION 3.24)
file(GLOB found RELATIVE ${KITH_SOURCE_DIR} ${KITH_SOURCE_DIR}/kith/kith.h
  ${KITH_SOURCE_DIR}/kith/losses/*.h ${KITH_SOURCE_DIR}/kith/miners/*.h
  ${KITH_SOURCE_DIR}/kith/samplers/*.h)
set(headers "")
while(found)
  list(POP_FRONT found header)
  if(header IN_LIST headers)
    continue()
  endif()
  list(APPEND headers ${header})
  file(STRINGS ${KITH_SOURCE_DIR}/${header} includes REGEX "^#include \"kith/")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" include "${include}")
    list(APPEND found ${include})
  endforeach()
endwhile()
foreach(header ${headers})
  get_filename_component(folder ${header} DIRECTORY)
  file(INSTALL ${KITH_SOURCE_DIR}/${header}
    DESTINATION ${CMAKE_INSTALL_PREFIX}/${KITH_INCLUDEDIR}/${folder})
endforeach()
