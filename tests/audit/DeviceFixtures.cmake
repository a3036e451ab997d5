# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# Device code in every form that nvcc writes: one file a form, named by it. Architectures are stand-ins for the forms
# (plain, a, f, PTX), not targets of this project.
set(fixtures ${CMAKE_CURRENT_SOURCE_DIR}/fixtures)
set(mixed -gencode arch=compute_75,code=sm_75 -gencode arch=compute_90a,code=sm_90a
          -gencode arch=compute_120f,code=sm_120f -gencode arch=compute_80,code=compute_80)
set(two -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90)
set(shared -shared -cudart none -Xcompiler -fPIC)

function(device_fixture output)
  cmake_parse_arguments(arg "" "" "ARGS;DEPENDS" ${ARGN})
  add_custom_command(OUTPUT ${device}/${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${device}
    COMMAND ${PBPROBE_TEST_NVCC} -o ${device}/${output} ${arg_ARGS}
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
device_fixture(lto.o ARGS -c -rdc=true -Xcompiler -fPIC -gencode arch=compute_80,code=lto_80
               ${fixtures}/relocatable_helper.cu DEPENDS ${fixtures}/relocatable_helper.cu)
