# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# One object library per CPU target with exactly the flags of its row, one cubin per GPU target with those of its row.
#   pbprobe_cpu_kernels(<id>)   OBJECT library pbprobe_kernels_<id> from kernels/cpu/<id>.cpp
#   pbprobe_gpu_kernels(<id>)   the cubin of kernels/cuda/<id>.cu, embedded in pbprobe_kernels_<id>
# CUDA is no CMake language here: nvcc is run by hand, so that a build without it differs in nothing else.
#   PBPROBE_NVCC   nvcc itself, or the folder it lies in; else PATH, $CUDA_HOME, /usr/local/cuda

set(PBPROBE_NVCC "" CACHE STRING "nvcc, or the folder that holds it (also that of the nvidia-cuda-nvcc wheel)")
set(PBPROBE_KERNELS_GENERATED ${PROJECT_BINARY_DIR}/generated/kernels)

find_program(PBPROBE_NVCC_PROGRAM nvcc NO_CACHE
             HINTS "${PBPROBE_NVCC}" "${PBPROBE_NVCC}/bin" "$ENV{CUDA_HOME}/bin"
             PATHS /usr/local/cuda/bin)
if(PBPROBE_NVCC AND EXISTS "${PBPROBE_NVCC}" AND NOT IS_DIRECTORY "${PBPROBE_NVCC}")
  set(PBPROBE_NVCC_PROGRAM ${PBPROBE_NVCC})
endif()
set(PBPROBE_NVCC_VERSION "")
if(PBPROBE_NVCC_PROGRAM)
  execute_process(COMMAND ${PBPROBE_NVCC_PROGRAM} --version OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(said MATCHES "release ([0-9]+\\.[0-9]+)")
    set(PBPROBE_NVCC_VERSION ${CMAKE_MATCH_1})
  endif()
endif()

# Kernels are measured: they are compiled with -O3 in every build but Debug and the sanitizers', which must see -O0.
set(PBPROBE_KERNEL_FLAGS -O3)
if(CMAKE_BUILD_TYPE STREQUAL "Debug" OR PBPROBE_SANITIZE)
  set(PBPROBE_KERNEL_FLAGS "")
endif()

function(pbprobe_cpu_kernels id)
  pbprobe_target(${id} flags flags)
  add_library(pbprobe_kernels_${id} OBJECT ${PROJECT_SOURCE_DIR}/kernels/cpu/${id}.cpp)
  target_link_libraries(pbprobe_kernels_${id} PRIVATE pbprobe_options)
  target_compile_options(pbprobe_kernels_${id} PRIVATE ${flags} ${PBPROBE_KERNEL_FLAGS})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # Its own AVX-512 headers use an uninitialized vector on purpose (GCC bug 105593).
    target_compile_options(pbprobe_kernels_${id} PRIVATE -Wno-uninitialized -Wno-maybe-uninitialized)
  endif()
endfunction()

# Sets ${variable} to why nvcc cannot build a GPU target; empty: it can.
function(pbprobe_gpu_obstacle id variable)
  pbprobe_target(${id} compiler compiler)
  pbprobe_target(${id} first_cuda first)
  pbprobe_target(${id} last_cuda last)
  set(why "")
  if(NOT compiler STREQUAL "nvcc")
    set(why "not built: its compiler, ${compiler}, is not used by this version")
  elseif(NOT PBPROBE_NVCC_PROGRAM)
    set(why "not built: nvcc was not found; install the CUDA toolkit, or give -DPBPROBE_NVCC=/path/to/nvcc")
  elseif(NOT PBPROBE_NVCC_VERSION)
    set(why "not built: ${PBPROBE_NVCC_PROGRAM} does not say its version; give another one by -DPBPROBE_NVCC=")
  elseif(first AND PBPROBE_NVCC_VERSION VERSION_LESS first)
    set(why "not built: nvcc ${PBPROBE_NVCC_VERSION} is older than CUDA ${first}, the first that builds it")
  elseif(last AND PBPROBE_NVCC_VERSION VERSION_GREATER last)
    set(why "not built: nvcc ${PBPROBE_NVCC_VERSION} is newer than CUDA ${last}, the last that builds it")
  endif()
  set(${variable} "${why}" PARENT_SCOPE)
endfunction()

function(pbprobe_gpu_kernels id)
  pbprobe_target(${id} flags flags)
  set(cubin ${PBPROBE_KERNELS_GENERATED}/${id}.cubin)
  set(assembly ${PBPROBE_KERNELS_GENERATED}/${id}.S)
  # ptxas names registers, spills and shared memory of each kernel: the tests read that from beside the cubin.
  add_custom_command(
    OUTPUT ${cubin}
    COMMAND ${CMAKE_COMMAND} -DNVCC=${PBPROBE_NVCC_PROGRAM} "-DFLAGS=${flags}"
            -DSOURCE=${PROJECT_SOURCE_DIR}/kernels/cuda/${id}.cu -DINCLUDE=${PROJECT_SOURCE_DIR} -DCUBIN=${cubin}
            -P ${PROJECT_SOURCE_DIR}/cmake/Cubin.cmake
    DEPENDS ${PROJECT_SOURCE_DIR}/cmake/Cubin.cmake ${PROJECT_SOURCE_DIR}/kernels/cuda/${id}.cu
    DEPFILE ${cubin}.d
    COMMENT "Building CUDA kernels of ${id}"
    VERBATIM)
  file(CONFIGURE OUTPUT ${assembly} @ONLY CONTENT [[
// The cubin of @id@ as it lies in the build folder.
    .section .rodata
    .balign 64
    .global pbprobe_image_@id@
    .hidden pbprobe_image_@id@
pbprobe_image_@id@:
    .incbin "@cubin@"
    .global pbprobe_image_@id@_end
    .hidden pbprobe_image_@id@_end
pbprobe_image_@id@_end:
    .byte 0
    .section .note.GNU-stack,"",%progbits
]])
  set_source_files_properties(${assembly} PROPERTIES OBJECT_DEPENDS ${cubin})
  add_library(pbprobe_kernels_${id} OBJECT ${assembly})
endfunction()
