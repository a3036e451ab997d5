# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# Inspects the machine code of CPU targets, and runs it under emulation. The cross compiler and the cross build, if
# present, serve targets of the other architecture.

# A target names the instruction that planted.cpp plants and a CPU of QEMU that dies of it, a CPU that lacks the ISA,
# and the minimum CPUs that have it (QEMU 7.2 has none with AVX-512, and SME in its "max"). A target without an entry is
# inspected too.
set(plant_avx FMA)
set(dies_avx SandyBridge)
set(below_avx Nehalem)
set(runs_avx sandybridge=SandyBridge)
set(plant_avx2 ZMM)
set(dies_avx2 Haswell)
set(below_avx2 SandyBridge)
set(runs_avx2 haswell=Haswell)
foreach(id IN ITEMS avx512 avx512bf16 avx512vnni)
  set(plant_${id} VBMI)
  set(below_${id} Haswell)
endforeach()
set(plant_avxvnni ZMM)
set(below_avxvnni Haswell)
set(plant_armv8_2 SVE)
set(dies_armv8_2 neoverse-n1)
set(below_armv8_2 cortex-a57)
set(runs_armv8_2 neoverse_n1=neoverse-n1)
set(plant_armv9 SME)
set(below_armv9 neoverse-n1)
set(runs_armv9 sve128=max,sve-default-vector-length=16 sve256=max,sve-default-vector-length=32
               sve512=max,sve-default-vector-length=64)

function(pbprobe_machine_code id)
  pbprobe_target(${id} architecture architecture)
  set(compiler ${architecture}-linux-gnu-g++)
  set(program ${PROJECT_SOURCE_DIR}/build/${architecture}/tests/kernels_test)
  set(object "")
  if(architecture STREQUAL CMAKE_SYSTEM_PROCESSOR)
    if(NOT TARGET pbprobe_kernels_${id})
      return()
    endif()
    set(compiler ${CMAKE_CXX_COMPILER})
    set(program $<TARGET_FILE:kernels_test>)
    set(object $<TARGET_OBJECTS:pbprobe_kernels_${id}>)
  elseif(CMAKE_CROSSCOMPILING)
    return()
  endif()
  set(here ${CMAKE_CURRENT_SOURCE_DIR})
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/objects)
  set(arguments ${id} ${PBPROBE_TARGETS_JSON} ${PROJECT_SOURCE_DIR} ${compiler} ${folder})
  set(tests "")
  macro(machine_test name)
    add_test(NAME ${id}.${name} COMMAND ${Python_EXECUTABLE} ${ARGN})
    list(APPEND tests ${id}.${name})
  endmacro()

  # The object that was built; else one as it would be.
  if(object)
    machine_test(purity ${here}/objects.py purity ${arguments} --object ${object})
  else()
    machine_test(purity ${here}/objects.py purity ${arguments})
  endif()
  foreach(level IN ITEMS -O0 asan)
    string(REPLACE "-" "" name ${level})
    machine_test(purity.${name} ${here}/objects.py purity ${arguments} --level=${level})
    machine_test(purity.${name}.twin ${here}/objects.py purity ${arguments} --level=${level} --source ${here}/impure.cpp
                 -DPBPROBE_TARGET=${id})
    set_tests_properties(${id}.purity.${name}.twin PROPERTIES PASS_REGULAR_EXPRESSION "weak symbol: .*std::max")
  endforeach()
  if(plant_${id})
    set(planted --source ${here}/planted.cpp -DPBPROBE_TARGET=${id})
    machine_test(purity.planted ${here}/objects.py purity ${arguments} ${planted} -DPBPROBE_PLANT_${plant_${id}})
    set_tests_properties(${id}.purity.planted PROPERTIES PASS_REGULAR_EXPRESSION "outside ${id}: \"[a-z0-9]+ ")
    machine_test(purity.sound ${here}/objects.py purity ${arguments} ${planted} -DPBPROBE_SOUND)
  endif()

  if(id MATCHES "^armv(8_2|9)$")  # the kernels whose loops are written instruction by instruction
    machine_test(loops ${here}/objects.py loops ${arguments})
    # Five registers fewer, and gcc spills.
    machine_test(loops.twin ${here}/objects.py loops ${arguments} --flag=-ffixed-v20 --flag=-ffixed-v21 --flag=-ffixed-v22
                 --flag=-ffixed-v23 --flag=-ffixed-v24)
    set_tests_properties(${id}.loops.twin PROPERTIES PASS_REGULAR_EXPRESSION "K loop uses the stack")
  endif()

  if(id MATCHES "^avx" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND object)
    machine_test(loops ${here}/objects.py loops ${arguments} --object ${object})
    set(fewer --flag=-ffixed-xmm12 --flag=-ffixed-xmm13 --flag=-ffixed-xmm14 --flag=-ffixed-xmm15 --flag=-ffixed-xmm16
        --flag=-ffixed-xmm17 --flag=-ffixed-xmm18 --flag=-ffixed-xmm19)
    machine_test(loops.twin ${here}/objects.py loops ${arguments} ${fewer})
    set_tests_properties(${id}.loops.twin PROPERTIES PASS_REGULAR_EXPRESSION "K loop uses the stack")
  endif()

  foreach(run IN LISTS runs_${id})
    string(REGEX MATCH "^([^=]+)=(.*)$" match "${run}")
    set(name ${CMAKE_MATCH_1})
    set(cpu ${CMAKE_MATCH_2})
    machine_test(emulated.${name} ${here}/emulate.py run ${architecture} ${cpu} ${program} ${id})
  endforeach()
  if(below_${id})
    machine_test(refused ${here}/emulate.py refused ${architecture} ${below_${id}} ${program} ${id})
  endif()
  if(dies_${id})
    machine_test(dies ${here}/emulate.py dies ${architecture} ${dies_${id}} ${compiler} ${folder} ${PROJECT_SOURCE_DIR}
                 ${PBPROBE_TARGETS_JSON} ${id} ${plant_${id}})
  endif()
  set_tests_properties(${tests} PROPERTIES LABELS "${id}" SKIP_RETURN_CODE 77 TIMEOUT 900)
endfunction()

foreach(id IN LISTS PBPROBE_TARGET_IDS)
  pbprobe_target(${id} kind kind)
  if(kind STREQUAL "cpu")
    pbprobe_machine_code(${id})
  endif()
endforeach()
