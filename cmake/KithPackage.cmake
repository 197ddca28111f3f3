# `cpack -G DEB` in the build folder makes kith_<version>_<architecture>.deb:
# program, library, headers, recipes and examples in one package. Debian's
# LibTorch is a dependency. One from elsewhere stays where it is, and the package
# does not say where: it is found by ldconfig or LD_LIBRARY_PATH.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME kith)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY
  "deep metric learning: train, evaluate, search and show")
set(CPACK_PACKAGE_DESCRIPTION
"Trains networks that put pictures of the same thing near each other, with the
losses, samplers and protocols of the literature, evaluates them exactly, and
searches, serves and exports what they found. The program kith, the library
libkith with its headers, and recipes of published settings.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
# The same bytes for whoever packs the same sources.
set(CPACK_KITH_SOURCE_DIR ${PROJECT_SOURCE_DIR})
set(CPACK_PROJECT_CONFIG_FILE
  ${PROJECT_SOURCE_DIR}/cmake/KithPackageDate.cmake)
list(JOIN KITH_RUN_PATH ":" CPACK_KITH_RUN_PATH)
set(CPACK_PRE_BUILD_SCRIPTS
  ${PROJECT_SOURCE_DIR}/cmake/KithPackageRunPath.cmake)
if(NOT CPACK_PACKAGE_CONTACT)
  set(CPACK_PACKAGE_CONTACT "the developers of kith")
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# LibTorch on the reference BLAS is about 50 times slower.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS libopenblas0-pthread)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
  "libtorch-dev, cmake, g++, python3-torchvision")
include(CPack)
