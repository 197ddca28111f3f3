# How files that use LibTorch are compiled: its headers are read rarely.

# kith_bundle(TARGET): compiles the files of a room together.
#
# Reading the headers takes longer than compiling what most files add, so the
# compiler gets all files of a room (a folder and those below it) at once, in a
# file that includes them. Names in anonymous namespaces are therefore unique
# within a room. Files that CMake made, and those with the property KITH_ALONE,
# are compiled by themselves. -D KITH_BUNDLE=OFF compiles every file so.
#
# Not CMake's unity build: that names files by where the sources lie, so a
# compiler cache would not serve another checkout.
function(kith_bundle target)
  if(NOT KITH_BUNDLE)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    get_source_file_property(alone ${source} KITH_ALONE)
    if(alone OR NOT source MATCHES "\\.cpp$")
      continue() # or objects of another target, or CUDA
    endif()
    get_filename_component(file ${source} ABSOLUTE)
    file(RELATIVE_PATH here ${CMAKE_CURRENT_SOURCE_DIR} ${file})
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${file})
    cmake_path(IS_PREFIX PROJECT_BINARY_DIR ${file} made)
    if(made)
      continue()
    elseif(here MATCHES "^([^./]+)/")
      set(room ${CMAKE_MATCH_1})
    else()
      set(room ${target})
    endif()
    list(APPEND rooms ${room})
    string(APPEND bundle_${room} "#include \"${path}\"\n")
    set_source_files_properties(${source} PROPERTIES HEADER_FILE_ONLY ON)
  endforeach()
  list(REMOVE_DUPLICATES rooms)
  foreach(room ${rooms})
    set(bundle ${CMAKE_CURRENT_BINARY_DIR}/${target}.dir/${room}.cpp)
    file(CONFIGURE OUTPUT ${bundle} CONTENT "${bundle_${room}}" @ONLY)
    target_sources(${target} PRIVATE ${bundle})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
endfunction()

# kith_share_header(TARGET): with the precompiled header of kith, and the flags
# it needs.
function(kith_share_header target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:${CMAKE_CXX_COMPILE_OPTIONS_PIC}>)
  target_link_libraries(${target} PRIVATE OpenMP::OpenMP_CXX)
  # GCC 13 and later do not take the header of another level of optimisation.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
      AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    target_compile_options(${target} PRIVATE
      $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O2>)
  endif()
  target_precompile_headers(${target} REUSE_FROM kith)
endfunction()
