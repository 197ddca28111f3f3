# `cmake --install`: program, manual page, recipes, examples, libraries, headers,
# and for find_package(kith) the targets kith::kith_base and kith::kith.
include(CMakePackageConfigHelpers)

set(installed kith_base)
if(KITH_WITH_TORCH)
  list(APPEND installed kith kith_torch_api)
endif()
install(TARGETS ${installed} EXPORT kithTargets)

# Where a target's file is built.
function(kith_folder_of target result)
  get_target_property(kind ${target} TYPE)
  set(property LIBRARY_OUTPUT_DIRECTORY)
  if(kind STREQUAL "EXECUTABLE")
    set(property RUNTIME_OUTPUT_DIRECTORY)
  endif()
  get_target_property(folder ${target} ${property})
  if(NOT folder)
    get_target_property(folder ${target} BINARY_DIR)
  endif()
  set(${result} ${folder} PARENT_SCOPE)
endfunction()

# The libraries lie beside each other; LibTorch where it was found. Files are
# linked once, with what is right in the build folder and where they are
# installed: otherwise CMake ends the first kind of run path with a colon, as room
# for the second, and the loader reads an empty element as the current folder.
set(KITH_RUN_PATH "$ORIGIN;$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
kith_folder_of(kith_base libraries)
foreach(target kith_base kith kith_ops kith_commands kith_program)
  if(TARGET ${target})
    kith_folder_of(${target} folder)
    file(RELATIVE_PATH way ${folder} ${libraries})
    set(run_path ${KITH_RUN_PATH})
    if(way)
      list(APPEND run_path "$ORIGIN/${way}")
      list(REMOVE_DUPLICATES run_path)
    endif()
    set_target_properties(${target} PROPERTIES
      INSTALL_RPATH "${run_path}"
      BUILD_WITH_INSTALL_RPATH ON
      INSTALL_RPATH_USE_LINK_PATH ON)
  endif()
endforeach()

install(CODE "set(KITH_SOURCE_DIR \"${PROJECT_SOURCE_DIR}\")
set(KITH_INCLUDEDIR \"${CMAKE_INSTALL_INCLUDEDIR}\")")
install(SCRIPT cmake/KithInstallHeaders.cmake)
if(TARGET kith_program)
  install(TARGETS kith_program kith_commands)
  install(DIRECTORY recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/kith)
  install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
    FILES_MATCHING PATTERN "*.cpp" PATTERN "*.py"
    PATTERN __pycache__ EXCLUDE)
  install(FILES cmake/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
  # Where systemd looks, below /usr/local too.
  install(FILES cmake/kith-serve@.service DESTINATION lib/systemd/system)
  set(man_pages ${PROJECT_BINARY_DIR}/man)
  file(MAKE_DIRECTORY ${man_pages})
  add_custom_command(OUTPUT ${man_pages}/kith.1 VERBATIM
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:kith_program>
      -DVERSION=${PROJECT_VERSION} -DFOLDER=${man_pages}
      -P ${PROJECT_SOURCE_DIR}/cmake/KithManPage.cmake
    DEPENDS kith_program ${PROJECT_SOURCE_DIR}/cmake/KithManPage.cmake)
  add_custom_target(kith_man ALL DEPENDS ${man_pages}/kith.1)
  install(DIRECTORY ${man_pages}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
    FILES_MATCHING PATTERN "*.1")
  if(CMAKE_READELF AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    include(KithBill)
  endif()
  # Where the shells of most systems look.
  set(completions ${PROJECT_BINARY_DIR}/completions)
  file(MAKE_DIRECTORY ${completions})
  add_custom_command(VERBATIM
    OUTPUT ${completions}/kith.bash ${completions}/kith.zsh
      ${completions}/kith.fish
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:kith_program>
      -DFOLDER=${completions}
      -P ${PROJECT_SOURCE_DIR}/cmake/KithCompletion.cmake
    DEPENDS kith_program ${PROJECT_SOURCE_DIR}/cmake/KithCompletion.cmake)
  add_custom_target(kith_completions ALL DEPENDS ${completions}/kith.bash)
  install(FILES ${completions}/kith.bash RENAME kith
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${completions}/kith.zsh RENAME _kith
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${completions}/kith.fish
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
if(TARGET kith_ops)
  install(TARGETS kith_ops)
  install(DIRECTORY python/kith
    DESTINATION ${CMAKE_INSTALL_DATADIR}/kith/python
    PATTERN __pycache__ EXCLUDE)
  # For python/setup.py: the libraries beside each other in the package. torch
  # has loaded its own before them.
  install(TARGETS kith_base kith kith_ops COMPONENT wheel EXCLUDE_FROM_ALL
    LIBRARY DESTINATION .)
  set(wheel_run_path "\\$ORIGIN")
  if(KITH_USE_CUDA)
    find_package(CUDAToolkit REQUIRED)
    string(APPEND wheel_run_path ":${CUDAToolkit_LIBRARY_DIR}")
  endif()
  install(CODE "foreach(name kith kith_ops)
  file(RPATH_SET NEW_RPATH \"${wheel_run_path}\"
    FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib\${name}.so\")
endforeach()" COMPONENT wheel EXCLUDE_FROM_ALL)
endif()
install(EXPORT kithTargets NAMESPACE kith::
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kith)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/kithConfig.cmake.in
  ${PROJECT_BINARY_DIR}/kithConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kith)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/kithConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/kithConfig.cmake
  ${PROJECT_BINARY_DIR}/kithConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kith)
if(PROJECT_IS_TOP_LEVEL)
  include(KithPackage)
endif()
