# What ranks send with (kith/distributed). Each is optional: without one, a run is
# one process.
set(KITH_WITH_GLOO AUTO CACHE STRING
  "Ranks that send over TCP: AUTO (if LibTorch comes with gloo), ON or OFF")
set(KITH_WITH_NCCL AUTO CACHE STRING
  "Ranks that send between GPUs: AUTO (if LibTorch has NCCL), ON or OFF")
set(KITH_WITH_MPI AUTO CACHE STRING
  "Ranks that send by MPI: AUTO (if it is found), ON or OFF")

# kith_use_engine(NAME FOUND MISSING): sets KITH_USE_<NAME>.
function(kith_use_engine name found missing)
  set(use OFF)
  if(KITH_WITH_TORCH AND NOT KITH_WITH_${name} STREQUAL "OFF")
    if(found)
      set(use ON)
    elseif(KITH_WITH_${name} STREQUAL "ON")
      message(FATAL_ERROR "KITH_WITH_${name} is ON, but ${missing}")
    endif()
  endif()
  set(KITH_USE_${name} ${use} PARENT_SCOPE)
endfunction()

# Headers of the gloo that LibTorch was built with: those in its own folder, as
# Debian's are. Another gloo would not fit.
set(found OFF)
if(KITH_WITH_TORCH AND NOT KITH_WITH_GLOO STREQUAL "OFF")
  find_path(KITH_GLOO_INCLUDE gloo/rendezvous/context.h
    PATHS ${TORCH_INCLUDE_DIRS} NO_DEFAULT_PATH)
  find_path(KITH_C10D_GLOO torch/csrc/distributed/c10d/ProcessGroupGloo.hpp
    PATHS ${TORCH_INCLUDE_DIRS} NO_DEFAULT_PATH)
  find_library(KITH_GLOO_LIBRARY gloo)
  if(KITH_GLOO_INCLUDE AND KITH_C10D_GLOO AND KITH_GLOO_LIBRARY)
    set(found ON)
  endif()
endif()
kith_use_engine(GLOO ${found} "LibTorch comes without the headers of gloo: \
install Debian's libtorch-dev and libgloo-dev")

set(found OFF)
if(KITH_WITH_TORCH AND TARGET torch_cuda AND NOT KITH_WITH_NCCL STREQUAL "OFF")
  find_path(KITH_C10D_NCCL torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp
    PATHS ${TORCH_INCLUDE_DIRS} NO_DEFAULT_PATH)
  # pip has NCCL beside torch.
  find_path(KITH_NCCL_INCLUDE nccl.h
    HINTS ${TORCH_INSTALL_PREFIX}/../nvidia/nccl/include
    ENV NCCL_HOME PATH_SUFFIXES include)
  find_library(KITH_NCCL_LIBRARY NAMES nccl libnccl.so.2
    HINTS ${TORCH_INSTALL_PREFIX}/../nvidia/nccl/lib
    ENV NCCL_HOME PATH_SUFFIXES lib)
  if(KITH_C10D_NCCL AND KITH_NCCL_INCLUDE AND KITH_NCCL_LIBRARY)
    set(found ON)
  endif()
endif()
kith_use_engine(NCCL ${found} "LibTorch has no CUDA, or nccl.h is not found: \
pip's is in nvidia/nccl/include beside torch; set KITH_NCCL_INCLUDE and \
KITH_NCCL_LIBRARY")

set(found OFF)
if(KITH_WITH_TORCH AND NOT KITH_WITH_MPI STREQUAL "OFF")
  set(MPI_CXX_SKIP_MPICXX ON) # the C functions are enough
  find_package(MPI QUIET COMPONENTS CXX)
  # LibTorch may define the target where there are no headers.
  if(MPI_CXX_FOUND AND TARGET MPI::MPI_CXX)
    set(found ON)
  endif()
endif()
kith_use_engine(MPI ${found} "MPI is not found: install libopenmpi-dev")
