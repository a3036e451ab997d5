# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# Builds one object library for each CPU target and one cubin for each GPU target, with exactly the flags of its row.
#   pbprobe_cpu_kernels(<id>)   OBJECT library pbprobe_kernels_<id> from kernels/cpu/<id>.cpp
#   pbprobe_gpu_kernels(<id>)   the cubin of kernels/cuda/<id>.cu, embedded in pbprobe_kernels_<id>
#   pbprobe_part_kernels(<id> <part>)  a further cubin, of kernels/cuda/<id>_<part>.cu, for the capability's `a` architecture
#   pbprobe_tcgen05_kernels(<id>)   a second cubin, of kernels/cuda/<id>_tcgen05.cu, with the headers of CUTLASS
# CUDA is not a CMake language here: a custom command runs nvcc, so that a build without nvcc is equal otherwise. NVRTC of
# the last CUDA that knows an SM compiles SMs that nvcc dropped (cmake/nvrtc.cpp).
#   PBPROBE_NVCC    nvcc or its folder (default: PATH, $CUDA_HOME, /usr/local/cuda)
#   PBPROBE_NVRTC   libnvrtc.so.12 (default: .venv, where `make TARGETS=…` installs it)
#   PBPROBE_CUTLASS headers of the nvidia-cutlass wheel (default: .venv, where `make TARGETS=…` installs them)
#   PBPROBE_TCGEN05 full: every tile, cluster and layout of the tcgen05 kernels, not only the chosen ones
#   PBPROBE_PTX     PTX instead of machine code, so that newer silicon runs the kernels of a target in tests (preset ptx)
#   PBPROBE_CUBINS  generated/kernels of a native build of this tree, whose cubins a cross build uses, because the CUDA
#                   compilers run only on the machine that builds

set(PBPROBE_NVCC "" CACHE STRING "nvcc, or the folder that holds it (also that of the nvidia-cuda-nvcc wheel)")
set(PBPROBE_NVRTC "" CACHE FILEPATH "libnvrtc.so.12 of the nvidia-cuda-nvrtc-cu12 wheel")
set(PBPROBE_CUTLASS "" CACHE PATH "cutlass_library/source/include of the nvidia-cutlass wheel")
set(PBPROBE_TCGEN05 "" CACHE STRING "full: build every tcgen05 kernel")
option(PBPROBE_PTX "Embed PTX instead of machine code: for tests on newer silicon, never for a release" OFF)
set(PBPROBE_CUBINS "" CACHE PATH "generated/kernels of a native build, whose cubins a cross build takes")
set(PBPROBE_KERNELS_GENERATED ${PROJECT_BINARY_DIR}/generated/kernels)
set(PBPROBE_CUBIN_FOLDER ${PBPROBE_KERNELS_GENERATED})
if(PBPROBE_CUBINS)
  set(PBPROBE_CUBIN_FOLDER ${PBPROBE_CUBINS})
endif()

find_program(PBPROBE_NVCC_PROGRAM nvcc NO_CACHE
             HINTS "${PBPROBE_NVCC}" "${PBPROBE_NVCC}/bin" "$ENV{CUDA_HOME}/bin"
             PATHS /usr/local/cuda/bin)
if(PBPROBE_NVCC AND EXISTS "${PBPROBE_NVCC}" AND NOT IS_DIRECTORY "${PBPROBE_NVCC}")
  set(PBPROBE_NVCC_PROGRAM ${PBPROBE_NVCC})
endif()
# Resolve links: nvcc searches its parts next to the name that it was called by.
while(IS_SYMLINK "${PBPROBE_NVCC_PROGRAM}")
  cmake_path(GET PBPROBE_NVCC_PROGRAM PARENT_PATH folder)
  file(READ_SYMLINK "${PBPROBE_NVCC_PROGRAM}" PBPROBE_NVCC_PROGRAM)
  cmake_path(ABSOLUTE_PATH PBPROBE_NVCC_PROGRAM BASE_DIRECTORY "${folder}" NORMALIZE)
endwhile()
set(PBPROBE_NVCC_VERSION "")
if(PBPROBE_NVCC_PROGRAM)
  execute_process(COMMAND ${PBPROBE_NVCC_PROGRAM} --version OUTPUT_VARIABLE reported ERROR_VARIABLE reported)
  if(reported MATCHES "release ([0-9]+\\.[0-9]+)")
    set(PBPROBE_NVCC_VERSION ${CMAKE_MATCH_1})
  endif()
endif()

file(GLOB PBPROBE_NVRTC_LIBRARY ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12)
if(PBPROBE_NVRTC)
  set(PBPROBE_NVRTC_LIBRARY ${PBPROBE_NVRTC})
endif()
set(PBPROBE_NVRTC_VERSION "")
if(PBPROBE_NVRTC_LIBRARY)
  cmake_path(GET PBPROBE_NVRTC_LIBRARY PARENT_PATH folder)
  file(GLOB builtins ${folder}/libnvrtc-builtins.so.*)
  if(builtins MATCHES "libnvrtc-builtins\\.so\\.([0-9]+\\.[0-9]+)")
    set(PBPROBE_NVRTC_VERSION ${CMAKE_MATCH_1})
  endif()
  add_executable(pbprobe_nvrtc EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cmake/nvrtc.cpp)
  target_link_libraries(pbprobe_nvrtc PRIVATE pbprobe_options ${CMAKE_DL_LIBS})
  set_target_properties(pbprobe_nvrtc PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PBPROBE_KERNELS_GENERATED})
endif()

# The register tests need this version: other compilers allocate other registers.
set_property(GLOBAL PROPERTY PBPROBE_RELEASE_nvcc "nvcc ${PBPROBE_NVCC_VERSION}")
set_property(GLOBAL PROPERTY PBPROBE_RELEASE_nvrtc "nvrtc ${PBPROBE_NVRTC_VERSION}")

# Require exactly the version that the kernels were tested with.
file(GLOB PBPROBE_CUTLASS_INCLUDE ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/cutlass_library/source/include)
if(PBPROBE_CUTLASS)
  set(PBPROBE_CUTLASS_INCLUDE ${PBPROBE_CUTLASS})
endif()
set(PBPROBE_CUTLASS_VERSION "")
if(EXISTS "${PBPROBE_CUTLASS_INCLUDE}/cutlass/version.h")
  foreach(part MAJOR MINOR PATCH)
    file(STRINGS ${PBPROBE_CUTLASS_INCLUDE}/cutlass/version.h line REGEX "^#define CUTLASS_${part} ")
    string(REGEX REPLACE ".* ([0-9]+).*" "\\1" number "${line}")
    list(APPEND PBPROBE_CUTLASS_VERSION ${number})
  endforeach()
  list(JOIN PBPROBE_CUTLASS_VERSION "." PBPROBE_CUTLASS_VERSION)
endif()
# Find the CUDA headers for the host code next to nvcc, in a toolkit or in wheels.
cmake_path(GET PBPROBE_NVCC_PROGRAM PARENT_PATH folder)
find_path(PBPROBE_CUDA_INCLUDE cuda_runtime.h NO_CACHE NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH
          PATHS ${folder}/../include ${folder}/../targets/x86_64-linux/include ${folder}/../targets/sbsa-linux/include)

# Compile kernels with -O3, because they are measured, except in Debug and sanitizer builds, which must test -O0.
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
    # The AVX-512 headers of GCC use an uninitialized vector on purpose (GCC bug 105593).
    target_compile_options(pbprobe_kernels_${id} PRIVATE -Wno-uninitialized -Wno-maybe-uninitialized)
  endif()
endfunction()

# Sets ${variable} to the reason why NVRTC cannot build a GPU target, or to "".
function(pbprobe_nvrtc_obstacle id variable)
  pbprobe_target(${id} last_cuda last)
  set(why "")
  if(CMAKE_CROSSCOMPILING)
    set(why "not built: NVRTC runs on the machine that it compiles for")
  elseif(NOT EXISTS "${PBPROBE_NVRTC_LIBRARY}")
    set(why "not built: NVRTC ${last} was not found: `make build TARGETS=${id}` installs its wheel; or give -DPBPROBE_NVRTC=/path/to/libnvrtc.so.12")
  elseif(NOT PBPROBE_NVRTC_VERSION STREQUAL last)
    set(why "not built: ${PBPROBE_NVRTC_LIBRARY} is of CUDA ${PBPROBE_NVRTC_VERSION}, and CUDA ${last} is the last that builds it")
  endif()
  set(${variable} "${why}" PARENT_SCOPE)
endfunction()

# Sets ${variable} to the reason why the compiler of a GPU target cannot build it, or to "".
function(pbprobe_gpu_obstacle id variable)
  pbprobe_target(${id} compiler compiler)
  pbprobe_target(${id} first_cuda first)
  pbprobe_target(${id} last_cuda last)
  set(why "")
  if(PBPROBE_CUBINS)
    if(NOT EXISTS ${PBPROBE_CUBINS}/${id}.cubin.zst)
      set(why "not built: the build that this one takes its cubins from has none of ${id}")
    endif()
  elseif(compiler STREQUAL "nvrtc")
    pbprobe_nvrtc_obstacle(${id} why)
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

# Sets ${variable} to the reason why the tcgen05 kernels of a built target cannot be built, or to "".
function(pbprobe_tcgen05_obstacle id variable)
  set(why "")
  set(wanted 4.2.0)
  if(PBPROBE_PTX)
    set(why "not built: tcgen05 runs only on its own capability, and this build is PTX for newer silicon")
  elseif(CMAKE_CROSSCOMPILING AND NOT PBPROBE_CUBINS)
    set(why "not built: the arguments of CUTLASS's kernels are made by code for the machine that builds")
  elseif(PBPROBE_CUBINS AND NOT EXISTS ${PBPROBE_CUBINS}/${id}_tcgen05.cubin.zst)
    set(why "not built: the build that this one takes its cubins from has none of ${id}'s tcgen05")
  elseif(NOT PBPROBE_CUTLASS_VERSION)
    set(why "not built: CUTLASS's headers were not found: `make build TARGETS=${id}` installs their wheel; or give -DPBPROBE_CUTLASS=/path/to/include")
  elseif(NOT PBPROBE_CUTLASS_VERSION STREQUAL wanted)
    set(why "not built: ${PBPROBE_CUTLASS_INCLUDE} is CUTLASS ${PBPROBE_CUTLASS_VERSION}, and the kernels are made of ${wanted}")
  elseif(NOT PBPROBE_CUDA_INCLUDE)
    set(why "not built: cuda_runtime.h was not found beside ${PBPROBE_NVCC_PROGRAM}; give another nvcc by -DPBPROBE_NVCC=")
  endif()
  set(${variable} "${why}" PARENT_SCOPE)
endfunction()

# Sets ${variable} to the path of the cubin of a GPU target.
function(pbprobe_gpu_cubin id variable)
  set(extension cubin)
  if(PBPROBE_PTX)
    set(extension ptx)
  endif()
  set(${variable} ${PBPROBE_CUBIN_FOLDER}/${id}.${extension} PARENT_SCOPE)
endfunction()

function(pbprobe_gpu_kernels id)
  pbprobe_target(${id} compiler compiler)
  pbprobe_target(${id} flags flags)
  pbprobe_target(${id} ptx ptx)
  pbprobe_target(${id} last_cuda last)
  pbprobe_gpu_cubin(${id} cubin)
  set(source ${PROJECT_SOURCE_DIR}/kernels/cuda/${id}.cu)
  if(PBPROBE_CUBINS)
    pbprobe_embed_cubin(${id} ${cubin})
    return()
  endif()
  # ptxas prints registers, spills and shared memory of each kernel into a file next to the cubin; the tests read it.
  if(compiler STREQUAL "nvrtc")
    if(PBPROBE_PTX)
      set(flags --gpu-architecture=compute_${ptx})
    endif()
    file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/cuda/*.?pp ${PROJECT_SOURCE_DIR}/kernels/cuda/*.cuh)
    add_custom_command(
      OUTPUT ${cubin}
      COMMAND pbprobe_nvrtc ${PBPROBE_NVRTC_LIBRARY} ${last} ${source} ${PROJECT_SOURCE_DIR} ${cubin} ${flags}
      DEPENDS pbprobe_nvrtc ${source} ${headers}
      COMMENT "Building CUDA kernels of ${id}"
      VERBATIM)
  else()
    set(output -cubin)
    if(PBPROBE_PTX)
      set(output -ptx)
      set(flags -arch=compute_${ptx})
    endif()
    add_custom_command(
      OUTPUT ${cubin}
      COMMAND ${CMAKE_COMMAND} -DNVCC=${PBPROBE_NVCC_PROGRAM} -DOUTPUT=${output} "-DFLAGS=${flags}" -DSOURCE=${source}
              -DINCLUDE=${PROJECT_SOURCE_DIR} -DCUBIN=${cubin} -P ${PROJECT_SOURCE_DIR}/cmake/Cubin.cmake
      DEPENDS ${PROJECT_SOURCE_DIR}/cmake/Cubin.cmake ${source}
      DEPFILE ${cubin}.d
      COMMENT "Building CUDA kernels of ${id}"
      VERBATIM)
  endif()
  pbprobe_embed_cubin(${id} ${cubin})
endfunction()

# Limit the pool: one compilation takes 3.6 GB.
set_property(GLOBAL APPEND PROPERTY JOB_POOLS pbprobe_tcgen05=2)

# Compiles `source` to `cubin` with the flags of the target, the headers of CUTLASS and ${ARGN}. If `cubin` ends in .ptx,
# writes PTX.
function(pbprobe_tcgen05_cubin id source cubin)
  pbprobe_target(${id} flags flags)
  set(output -cubin)
  if(cubin MATCHES "[.]ptx$")
    pbprobe_target(${id} architecture architecture)
    set(output -ptx)
    set(flags -arch=compute_${architecture})
  endif()
  list(APPEND flags ${ARGN})
  list(APPEND flags --expt-relaxed-constexpr -isystem ${PBPROBE_CUTLASS_INCLUDE})
  if(PBPROBE_TCGEN05 STREQUAL "full")
    list(APPEND flags -DPBPROBE_TCGEN05_FULL)
  endif()
  add_custom_command(
    OUTPUT ${cubin}
    COMMAND ${CMAKE_COMMAND} -DNVCC=${PBPROBE_NVCC_PROGRAM} -DOUTPUT=${output} "-DFLAGS=${flags}" -DSOURCE=${source}
            -DINCLUDE=${PROJECT_SOURCE_DIR} -DCUBIN=${cubin} -P ${PROJECT_SOURCE_DIR}/cmake/Cubin.cmake
    DEPENDS ${PROJECT_SOURCE_DIR}/cmake/Cubin.cmake ${source}
    DEPFILE ${cubin}.d
    JOB_POOL pbprobe_tcgen05
    COMMENT "Building tcgen05 kernels of ${id}"
    VERBATIM)
endfunction()

function(pbprobe_tcgen05_kernels id)
  set(cubin ${PBPROBE_CUBIN_FOLDER}/${id}_tcgen05.cubin)
  if(NOT PBPROBE_CUBINS)
    pbprobe_tcgen05_cubin(${id} ${PROJECT_SOURCE_DIR}/kernels/cuda/${id}_tcgen05.cu ${cubin})
    # Also build PTX of the block-scaled kernels of one target, which the tests interpret (tests/kernels/ptx).
    get_property(ptx_target GLOBAL PROPERTY pbprobe_tcgen05_ptx)
    if(NOT ptx_target)
      set_property(GLOBAL PROPERTY pbprobe_tcgen05_ptx ${id})
      set(ptx ${PBPROBE_CUBIN_FOLDER}/${id}_tcgen05.ptx)
      pbprobe_tcgen05_cubin(${id} ${PROJECT_SOURCE_DIR}/kernels/cuda/${id}_tcgen05.cu ${ptx}
                            -DPBPROBE_TCGEN05_BLOCKS_ONLY)
      add_custom_target(kernels_${id}_tcgen05_ptx DEPENDS ${ptx})
    endif()
  endif()
  pbprobe_embed_cubin(${id}_tcgen05 ${cubin})
endfunction()

# Sets ${variable} to the reason why a further cubin of a built target, for the `a` architecture, cannot be built, or to "".
function(pbprobe_part_obstacle id part variable)
  set(why "")
  if(PBPROBE_PTX)
    set(why "not built: these kernels run only on their own capability, and this build is PTX for newer silicon")
  elseif(PBPROBE_CUBINS AND NOT EXISTS ${PBPROBE_CUBINS}/${id}_${part}.cubin.zst)
    set(why "not built: the build that this one takes its cubins from has none of ${id}_${part}")
  endif()
  set(${variable} "${why}" PARENT_SCOPE)
endfunction()

function(pbprobe_part_kernels id part)
  pbprobe_target(${id} architecture architecture)
  set(kinds cubin ptx)
  if(architecture MATCHES "a$")  # wgmma, which the test interpreter lacks
    set(kinds cubin)
    string(REGEX REPLACE "a$" "" architecture ${architecture})
  endif()
  set(cubin ${PBPROBE_CUBIN_FOLDER}/${id}_${part}.cubin)
  set(source ${PROJECT_SOURCE_DIR}/kernels/cuda/${id}_${part}.cu)
  if(NOT PBPROBE_CUBINS)
    foreach(kind IN LISTS kinds)
      set(made ${PBPROBE_CUBIN_FOLDER}/${id}_${part}.${kind})
      set(flags -gencode=arch=compute_${architecture}a,code=sm_${architecture}a)
      if(kind STREQUAL "ptx")  # the tests interpret it (tests/kernels/ptx)
        set(flags -arch=compute_${architecture}a)
      endif()
      add_custom_command(
        OUTPUT ${made}
        COMMAND ${CMAKE_COMMAND} -DNVCC=${PBPROBE_NVCC_PROGRAM} -DOUTPUT=-${kind} "-DFLAGS=${flags}" -DSOURCE=${source}
                -DINCLUDE=${PROJECT_SOURCE_DIR} -DCUBIN=${made} -P ${PROJECT_SOURCE_DIR}/cmake/Cubin.cmake
        DEPENDS ${PROJECT_SOURCE_DIR}/cmake/Cubin.cmake ${source}
        DEPFILE ${made}.d
        COMMENT "Building CUDA kernels of ${id}_${part} (${kind})"
        VERBATIM)
    endforeach()
    if("ptx" IN_LIST kinds)
      add_custom_target(kernels_${id}_${part}_ptx DEPENDS ${PBPROBE_CUBIN_FOLDER}/${id}_${part}.ptx)
    endif()
  endif()
  pbprobe_embed_cubin(${id}_${part} ${cubin})
endfunction()

# Adds the OBJECT library pbprobe_kernels_<name>: the cubin as a zstd frame (a fifteenth of its size) between the symbols
# pbprobe_cubin_<name> and pbprobe_cubin_<name>_end. The frame uses another cubin as zstd prefix and needs it for
# decompression: PBPROBE_PREFIX_<target> with the same suffix if it exists, else for <target>_<part> the cubin <target>.
# Appends {"name", "prefix"} to the global property PBPROBE_PREFIXES.
add_executable(pbprobe_compress EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cmake/compress.cpp)
target_link_libraries(pbprobe_compress PRIVATE pbprobe_options pbprobe_zstd)
set_target_properties(pbprobe_compress PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PBPROBE_KERNELS_GENERATED})
function(pbprobe_embed_cubin id cubin)
  string(REGEX MATCH "^[^_]+" target ${id})
  string(REPLACE ${target} "${PBPROBE_PREFIX_${target}}" prefix ${id})
  if((NOT PBPROBE_PREFIX_${target} OR NOT TARGET pbprobe_kernels_${prefix}) AND NOT PBPROBE_PTX)
    set(prefix ${target})
  endif()
  set(prefix_cubin "")
  if(NOT prefix STREQUAL id AND TARGET pbprobe_kernels_${prefix})
    set_property(GLOBAL APPEND_STRING PROPERTY PBPROBE_PREFIXES "{\"${id}\", \"${prefix}\"}, ")
    cmake_path(GET cubin EXTENSION LAST_ONLY extension)  # .ptx, where that is what is embedded
    set(prefix_cubin ${PBPROBE_CUBIN_FOLDER}/${prefix}${extension})
  endif()
  if(NOT PBPROBE_CUBINS)
    add_custom_command(OUTPUT ${cubin}.zst COMMAND pbprobe_compress ${cubin} ${cubin}.zst ${prefix_cubin}
                       DEPENDS pbprobe_compress ${cubin} ${prefix_cubin} VERBATIM)
  endif()
  set(assembly ${PBPROBE_KERNELS_GENERATED}/${id}.S)
  file(CONFIGURE OUTPUT ${assembly} @ONLY CONTENT [[
// Compressed cubin of @id@.
    .section .rodata
    .balign 64
    .global pbprobe_cubin_@id@
    .hidden pbprobe_cubin_@id@
pbprobe_cubin_@id@:
    .incbin "@cubin@.zst"
    .global pbprobe_cubin_@id@_end
    .hidden pbprobe_cubin_@id@_end
pbprobe_cubin_@id@_end:
    .byte 0
    .section .note.GNU-stack,"",%progbits
]])
  set_source_files_properties(${assembly} PROPERTIES OBJECT_DEPENDS ${cubin}.zst)
  add_library(pbprobe_kernels_${id} OBJECT ${assembly})
endfunction()
