# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# Device code in every form that nvcc writes: one file a form, named by it. Architectures are stand-ins for the forms
# (plain, a, f, PTX), not targets of this project.
set(fixtures ${CMAKE_CURRENT_SOURCE_DIR}/fixtures)
set(mixed -gencode arch=compute_75,code=sm_75 -gencode arch=compute_90a,code=sm_90a
          -gencode arch=compute_120f,code=sm_120f -gencode arch=compute_80,code=compute_80)
set(two -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90)
get_filename_component(nvcc_folder ${PBPROBE_TEST_NVCC} DIRECTORY)
set(shared -shared -cudart none -Xcompiler -fPIC)

function(device_fixture output)
  cmake_parse_arguments(arg "" "" "ARGS;DEPENDS" ${ARGN})
  add_custom_command(OUTPUT ${device}/${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${device}
    COMMAND ${kept_nvcc} -o ${device}/${output} ${arg_ARGS}
    DEPENDS ${arg_DEPENDS} VERBATIM)
  set(device_files ${device_files} ${device}/${output} PARENT_SCOPE)
endfunction()

foreach(mode IN ITEMS default size speed balance none)
  device_fixture(lib${mode}.so ARGS ${shared} --compress-mode=${mode} ${mixed} ${fixtures}/kernel.cu
                 DEPENDS ${fixtures}/kernel.cu)
endforeach()
device_fixture(mixed.fatbin ARGS -fatbin ${mixed} ${fixtures}/kernel.cu DEPENDS ${fixtures}/kernel.cu)
foreach(sm IN ITEMS 75 90a 100a 120f 121)
  device_fixture(sm_${sm}.cubin ARGS -cubin -arch=sm_${sm} ${fixtures}/kernel.cu DEPENDS ${fixtures}/kernel.cu)
endforeach()
foreach(part IN ITEMS user helper)
  device_fixture(${part}.o ARGS -c -rdc=true -Xcompiler -fPIC ${two} ${fixtures}/relocatable_${part}.cu
                 DEPENDS ${fixtures}/relocatable_${part}.cu)
endforeach()
device_fixture(linked.o ARGS -dlink -Xcompiler -fPIC ${two} ${device}/user.o ${device}/helper.o
               DEPENDS ${device}/user.o ${device}/helper.o)
device_fixture(librelocatable.so ARGS ${shared} ${device}/user.o ${device}/helper.o ${device}/linked.o
               DEPENDS ${device}/linked.o)
device_fixture(ptx.o ARGS -c -rdc=true -gencode arch=compute_90,code=compute_90 ${fixtures}/relocatable_helper.cu
               DEPENDS ${fixtures}/relocatable_helper.cu)
add_custom_command(OUTPUT ${device}/relocatable.fatbin
  COMMAND ${nvcc_folder}/fatbinary --create=${device}/relocatable.fatbin --image2=kind=reloc,file=${device}/ptx.o
  DEPENDS ${device}/ptx.o VERBATIM)
list(APPEND device_files ${device}/relocatable.fatbin)
device_fixture(lto.o ARGS -c -rdc=true -Xcompiler -fPIC -gencode arch=compute_80,code=lto_80
               ${fixtures}/relocatable_helper.cu DEPENDS ${fixtures}/relocatable_helper.cu)

# Census fixtures: two kernels that only trap, one that traps on a condition, tensor instructions and spills.
foreach(sm IN ITEMS 75 90a 121)
  device_fixture(census_${sm}.cubin ARGS -cubin -arch=sm_${sm} ${fixtures}/census.cu DEPENDS ${fixtures}/census.cu)
endforeach()

# Cubins of CUDA 12.9, whose assembler comes with torch's Triton, by themselves and beside one of this nvcc.
find_program(PBPROBE_TEST_PTXAS_12 ptxas-blackwell HINTS ${PBPROBE_TEST_TORCH}/triton/backends/nvidia/bin)
find_program(PBPROBE_TEST_FATBINARY fatbinary HINTS ${nvcc_folder} /usr/local/cuda/bin)
if(PBPROBE_TEST_PTXAS_12 AND PBPROBE_TEST_FATBINARY)
  set(packed "")
  foreach(sm IN ITEMS 61 75 90a 121)
    add_custom_command(OUTPUT ${device}/cuda12_sm_${sm}.cubin
      COMMAND ${CMAKE_COMMAND} -DPTXAS=${PBPROBE_TEST_PTXAS_12} -DSM=${sm} -DPTX=${fixtures}/store.ptx.in
              -DCUBIN=${device}/cuda12_sm_${sm}.cubin -P ${CMAKE_CURRENT_SOURCE_DIR}/Assemble.cmake
      DEPENDS ${fixtures}/store.ptx.in Assemble.cmake ${device}/sm_75.cubin VERBATIM)
    list(APPEND device_files ${device}/cuda12_sm_${sm}.cubin)
    list(APPEND packed --image3=kind=elf,sm=${sm},file=${device}/cuda12_sm_${sm}.cubin)
  endforeach()
  foreach(mode IN ITEMS size speed none)
    add_custom_command(OUTPUT ${device}/cuda12_${mode}.fatbin
      COMMAND ${PBPROBE_TEST_FATBINARY} --create=${device}/cuda12_${mode}.fatbin -64 --compress-all --compress-mode=${mode} ${packed}
      DEPENDS ${device_files} VERBATIM)
  endforeach()
  add_custom_command(OUTPUT ${device}/two_toolkits.fatbin
    COMMAND ${PBPROBE_TEST_FATBINARY} --create=${device}/two_toolkits.fatbin -64 ${packed}
            --image3=kind=elf,sm=75,file=${device}/sm_75.cubin
    DEPENDS ${device_files} VERBATIM)
  list(APPEND device_files ${device}/cuda12_size.fatbin ${device}/cuda12_speed.fatbin ${device}/cuda12_none.fatbin
       ${device}/two_toolkits.fatbin)
endif()
