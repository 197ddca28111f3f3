# How files that use LibTorch are compiled: its headers are read rarely.

# kith_bundle(TARGET): compiles the files of a room together.
#
# Reading the headers takes longer than compiling what most files add, so the
# compiler gets all files of a room (a folder and those below it) at once. Names
# in anonymous namespaces are therefore unique within a room.
# -D CMAKE_UNITY_BUILD=OFF compiles each file by itself.
function(kith_bundle target)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    if(NOT source MATCHES "\\.cpp$")
      continue() # objects of another target, or CUDA
    endif()
    get_filename_component(path ${source} ABSOLUTE)
    file(RELATIVE_PATH path ${CMAKE_CURRENT_SOURCE_DIR} ${path})
    if(path MATCHES "^([^./]+)/")
      set(room ${CMAKE_MATCH_1})
    else()
      set(room ${target})
    endif()
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${room})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
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
