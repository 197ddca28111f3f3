# `cmake --install` and find_package(kith): targets kith::kith_base and
# kith::kith.
include(CMakePackageConfigHelpers)

set(installed kith_base)
if(KITH_WITH_TORCH)
  list(APPEND installed kith kith_torch_api)
endif()
install(TARGETS ${installed} EXPORT kithTargets)
# The libraries lie beside each other; LibTorch where it was found.
foreach(target kith_base kith kith_ops kith_program)
  if(TARGET ${target})
    set_target_properties(${target} PROPERTIES
      INSTALL_RPATH "$ORIGIN;$ORIGIN/../${CMAKE_INSTALL_LIBDIR}"
      INSTALL_RPATH_USE_LINK_PATH ON)
  endif()
endforeach()
install(DIRECTORY kith DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
if(TARGET kith_program)
  install(TARGETS kith_program)
  install(DIRECTORY recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/kith)
endif()
if(TARGET kith_ops)
  install(TARGETS kith_ops)
  install(FILES python/kith_ops.py
    DESTINATION ${CMAKE_INSTALL_DATADIR}/kith/python)
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
