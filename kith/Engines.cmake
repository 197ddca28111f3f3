# What ranks send with: each engine, or in its place that it is not there.
foreach(engine gloo nccl mpi)
  string(TOUPPER ${engine} name)
  if(NOT KITH_USE_${name})
    target_sources(kith PRIVATE distributed/no_${engine}/${engine}_engine.cpp)
  endif()
endforeach()

if(KITH_USE_GLOO OR KITH_USE_NCCL)
  target_sources(kith PRIVATE distributed/c10d/c10d_rank.cpp
    distributed/c10d/rank_store.cpp)
endif()
if(KITH_USE_GLOO)
  target_sources(kith PRIVATE distributed/gloo/gloo_engine.cpp)
  target_link_libraries(kith PRIVATE ${KITH_GLOO_LIBRARY})
endif()

# Libraries of their own: these flags are for one file each.
if(KITH_USE_NCCL)
  add_library(kith_nccl OBJECT distributed/nccl/nccl_engine.cpp)
  set_target_properties(kith_nccl PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(kith_nccl SYSTEM PRIVATE ${KITH_NCCL_INCLUDE})
  target_link_libraries(kith_nccl PRIVATE kith_base kith_torch_api kith_flags)
  target_sources(kith PRIVATE $<TARGET_OBJECTS:kith_nccl>)
  target_link_libraries(kith PRIVATE ${KITH_NCCL_LIBRARY})
endif()
if(KITH_USE_MPI)
  add_library(kith_mpi OBJECT distributed/mpi/mpi_engine.cpp)
  set_target_properties(kith_mpi PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(kith_mpi PRIVATE kith_base kith_torch_api kith_flags
    MPI::MPI_CXX)
  target_sources(kith PRIVATE $<TARGET_OBJECTS:kith_mpi>)
  set(mpi_libraries ${MPI_CXX_LIBRARIES})
  list(FILTER mpi_libraries EXCLUDE REGEX mpi_cxx) # only C functions are used
  target_link_libraries(kith PRIVATE ${mpi_libraries})
endif()
