# The kernels of the row losses. Each header of losses/rows is compiled for
# plain x86-64, AVX2 and AVX-512, and for CUDA or as a stub without it: a new
# loss is a new header, and nothing here changes.

set(kernel_folder ${CMAKE_CURRENT_BINARY_DIR}/row_kernels)
set(kernel_flags -O3 -fno-math-errno)
set(avx2_flags -mavx2 -mfma)
set(avx512_flags ${avx2_flags} -mavx512f -mavx512bw -mavx512dq -mavx512vl
  -mprefer-vector-width=512)
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(avx2_flags)
  set(avx512_flags)
endif()

# make_kernels(TARGET TEMPLATE OUTPUT FLAGS...): for the loss `name`.
function(make_kernels target template output)
  configure_file(${template} ${kernel_folder}/${output} @ONLY)
  target_sources(${target} PRIVATE ${kernel_folder}/${output})
  set_source_files_properties(${kernel_folder}/${output} PROPERTIES
    SKIP_PRECOMPILE_HEADERS ON
    COMPILE_OPTIONS "${ARGN}")
endfunction()

if(KITH_COMPILE_CUDA)
  # Apart from kith: no file with device code sees LibTorch or its flags. Each
  # by itself: kernels take longer than headers.
  add_library(kith_cuda OBJECT ops/cuda/add_norm.cu ops/cuda/class_ops.cu
    ops/cuda/conv_kernels.cu ops/cuda/depthwise.cu ops/cuda/jpeg_pixels.cu
    ops/cuda/optimizer_kernels.cu ops/cuda/pool_kernels.cu ops/cuda/ranks.cu ops/cuda/select.cu
    ops/cuda/small_sort.cu ops/cuda/split.cu ops/cuda/token_ops.cu ops/cuda/unit_kernels.cu)
  target_include_directories(kith_cuda PRIVATE ${PROJECT_SOURCE_DIR})
  set_target_properties(kith_cuda PROPERTIES
    POSITION_INDEPENDENT_CODE ON CUDA_RUNTIME_LIBRARY Shared)
  if(KITH_CUDA_ARCHITECTURES)
    set_target_properties(kith_cuda PROPERTIES
      CUDA_ARCHITECTURES "${KITH_CUDA_ARCHITECTURES}")
  elseif(KITH_USE_CUDA)
    set_target_properties(kith_cuda PROPERTIES CUDA_ARCHITECTURES native)
  endif()
endif()

file(GLOB row_losses CONFIGURE_DEPENDS losses/rows/*.h)
set(levels "plain Plain 16" "avx2 Avx2 32" "avx512 Avx512 64")
foreach(header ${row_losses})
  get_filename_component(name ${header} NAME_WE)
  # recall_at_k -> RecallAtK
  string(REPLACE "_" ";" words ${name})
  set(Name)
  foreach(word ${words})
    string(SUBSTRING ${word} 0 1 initial)
    string(TOUPPER ${initial} initial)
    string(SUBSTRING ${word} 1 -1 rest)
    string(APPEND Name ${initial}${rest})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY KITH_ROW_LOSSES "${name} ${Name}")
  foreach(level ${levels})
    separate_arguments(level)
    list(GET level 0 isa)
    list(GET level 1 Isa)
    list(GET level 2 bytes)
    make_kernels(kith ops/cpu/rows.cpp.in ${name}_${isa}.cpp
      ${kernel_flags} ${${isa}_flags})
  endforeach()
  if(KITH_COMPILE_CUDA)
    make_kernels(kith_cuda ops/cuda/rows.cu.in ${name}.cu)
  endif()
  if(NOT KITH_USE_CUDA)
    make_kernels(kith ops/no_cuda/rows.cpp.in ${name}_no_cuda.cpp)
  endif()
endforeach()

# These are no losses, but have the same levels.
foreach(level ${levels})
  separate_arguments(level)
  list(GET level 0 isa)
  list(GET level 1 Isa)
  list(GET level 2 bytes)
  foreach(name ranks conv_pool)
    make_kernels(kith ops/cpu/${name}.cpp.in ${name}_${isa}.cpp
      ${kernel_flags} ${${isa}_flags})
  endforeach()
endforeach()

if(KITH_USE_CUDA)
  target_sources(kith PRIVATE ops/cuda/gpu.cpp ops/cuda/gpu_clock.cpp ops/cuda/gpu_graph.cpp
    ops/cuda/stream.cpp ops/cuda/upload.cpp
    $<TARGET_OBJECTS:kith_cuda>)
  find_package(CUDAToolkit REQUIRED)
  target_link_libraries(kith PRIVATE CUDA::cudart)
else()
  target_sources(kith PRIVATE ops/no_cuda/class_ops.cpp ops/no_cuda/conv_kernels.cpp
    ops/no_cuda/gpu.cpp ops/no_cuda/gpu_clock.cpp ops/no_cuda/gpu_graph.cpp
    ops/no_cuda/jpeg_pixels.cpp ops/no_cuda/optimizer_kernels.cpp
    ops/no_cuda/pool_kernels.cpp
    ops/no_cuda/ranks.cpp ops/no_cuda/select.cpp ops/no_cuda/small_sort.cpp
    ops/no_cuda/split.cpp ops/no_cuda/stream.cpp ops/no_cuda/token_ops.cpp ops/no_cuda/unit_kernels.cpp
    ops/no_cuda/upload.cpp)
endif()
