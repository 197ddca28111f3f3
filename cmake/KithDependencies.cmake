# Everything kith is built from. Nothing is downloaded.

find_package(Threads REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
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
  # at::parallel_for is a loop on one thread in a file compiled without OpenMP.
  find_package(OpenMP REQUIRED COMPONENTS CXX)
endif()

# CUDA kernels are linked if LibTorch has CUDA. Where only nvcc is there they
# are still compiled for the tests, so that a change cannot break them unseen.
set(KITH_CUDA AUTO CACHE STRING
  "CUDA kernels: AUTO (if LibTorch has CUDA), ON or OFF")
set(KITH_CUDA_ARCHITECTURES "" CACHE STRING
  "GPUs to build for, such as 80;90; empty: the one here, or 90")
set(KITH_USE_CUDA OFF)     # link the kernels
set(KITH_COMPILE_CUDA OFF) # compile them
if(KITH_WITH_TORCH AND NOT KITH_CUDA STREQUAL "OFF")
  if(TARGET torch_cuda)
    set(KITH_USE_CUDA ON)
  elseif(KITH_CUDA STREQUAL "ON")
    message(FATAL_ERROR "KITH_CUDA is ON, but this LibTorch has no CUDA")
  endif()
  if(KITH_USE_CUDA OR KITH_BUILD_TESTS)
    include(CheckLanguage)
    find_program(KITH_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda/bin)
    if(KITH_NVCC AND NOT CMAKE_CUDA_COMPILER)
      set(CMAKE_CUDA_COMPILER ${KITH_NVCC})
    endif()
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
      set(KITH_COMPILE_CUDA ON)
      if(NOT CMAKE_CUDA_ARCHITECTURES)
        set(CMAKE_CUDA_ARCHITECTURES 90)
      endif()
      enable_language(CUDA)
      if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION) # CMake 3.25 with nvcc 13
        set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      endif()
    elseif(KITH_USE_CUDA)
      message(FATAL_ERROR "LibTorch has CUDA, but there is no nvcc: install the "
        "CUDA toolkit, or set KITH_CUDA=OFF")
    endif()
  endif()
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
find_package(TIFF 4.5 QUIET) # reads of a file's memory are limited since then
find_path(KITH_WEBP_INCLUDE webp/demux.h)
find_library(KITH_WEBP_LIBRARY webp)
find_library(KITH_WEBP_DEMUX_LIBRARY webpdemux)
set(KITH_USE_WEBP OFF)
if(KITH_WEBP_INCLUDE AND KITH_WEBP_LIBRARY AND KITH_WEBP_DEMUX_LIBRARY)
  set(KITH_USE_WEBP ON)
endif()
if(POLICY CMP0167) # CMake 3.30 leaves finding Boost to Boost
  cmake_policy(SET CMP0167 NEW)
endif()
find_package(Boost 1.74 QUIET) # headers only, for kith serve

# Kinds of index that need faiss: ivf_pq and hnsw.
set(KITH_WITH_FAISS AUTO CACHE STRING
  "Indexes of faiss: AUTO (if it is found), ON or OFF")
set(KITH_USE_FAISS OFF)
if(KITH_WITH_TORCH AND NOT KITH_WITH_FAISS STREQUAL "OFF")
  find_package(faiss QUIET CONFIG)
  if(faiss_FOUND AND TARGET faiss)
    set(KITH_USE_FAISS ON)
  elseif(KITH_WITH_FAISS STREQUAL "ON")
    message(FATAL_ERROR "KITH_WITH_FAISS is ON, but faiss is not found: "
      "install libfaiss-dev, or add its folder to CMAKE_PREFIX_PATH")
  endif()
endif()

include(KithEngines)
