# Everything kith is built from. Nothing is downloaded.

find_package(Threads REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
if(NOT TARGET yaml-cpp::yaml-cpp) # before 0.8 the target has no namespace
  add_library(yaml-cpp::yaml-cpp INTERFACE IMPORTED)
  target_link_libraries(yaml-cpp::yaml-cpp INTERFACE yaml-cpp)
endif()

if(KITH_WITH_TORCH)
  find_package(Torch REQUIRED GLOBAL)
  # One target for either LibTorch. Its headers are full of warnings: SYSTEM.
  add_library(kith_torch_api INTERFACE)
  target_link_libraries(kith_torch_api INTERFACE ${TORCH_LIBRARIES})
  target_include_directories(kith_torch_api SYSTEM INTERFACE
    ${TORCH_INCLUDE_DIRS})
  separate_arguments(torch_flags UNIX_COMMAND "${TORCH_CXX_FLAGS}")
  target_compile_options(kith_torch_api INTERFACE ${torch_flags})
endif()
if(KITH_BUILD_CLI)
  find_package(CLI11 REQUIRED)
endif()
if(KITH_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()

# Optional: detected, reported by `kith --version`, never required.
find_package(benchmark QUIET)
find_path(KITH_FAISS_INCLUDE faiss/Index.h)
