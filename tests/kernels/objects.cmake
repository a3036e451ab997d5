# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# What CPU targets' machine code is, and how it runs where it can only be emulated. Targets of the other architecture are
# inspected by its cross compiler, and run from the cross build, where there are such.

# pbprobe_machine_code(<id> <plant> BELOW <cpu> RUNS <name>=<cpu>…): the instruction that planted.cpp plants, a CPU of
# QEMU that lacks the ISA, and the least ones that have it (QEMU 7.2 has none with AVX-512).
function(pbprobe_machine_code id plant)
  cmake_parse_arguments(arg "" "BELOW" "RUNS" ${ARGN})
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
    machine_test(purity${level} ${here}/objects.py purity ${arguments} --level=${level})
    machine_test(purity${level}.twin ${here}/objects.py purity ${arguments} --level=${level} --source ${here}/impure.cpp
                 -DPBPROBE_TARGET=${id})
    set_tests_properties(${id}.purity${level}.twin PROPERTIES PASS_REGULAR_EXPRESSION "weak symbol: .*std::max")
  endforeach()
  set(planted --source ${here}/planted.cpp -DPBPROBE_TARGET=${id})
  machine_test(purity.planted ${here}/objects.py purity ${arguments} ${planted} -DPBPROBE_PLANT_${plant})
  set_tests_properties(${id}.purity.planted PROPERTIES PASS_REGULAR_EXPRESSION "outside ${id}: \"[a-z0-9]+ ")
  machine_test(purity.sound ${here}/objects.py purity ${arguments} ${planted} -DPBPROBE_SOUND)

  if(architecture STREQUAL "aarch64")
    machine_test(loops ${here}/objects.py loops ${arguments})
    # Five registers fewer, and gcc spills.
    machine_test(loops.twin ${here}/objects.py loops ${arguments} --flag=-ffixed-v20 --flag=-ffixed-v21 --flag=-ffixed-v22
                 --flag=-ffixed-v23 --flag=-ffixed-v24)
    set_tests_properties(${id}.loops.twin PROPERTIES PASS_REGULAR_EXPRESSION "K loop uses the stack")
  endif()

  foreach(run IN LISTS arg_RUNS)
    string(REGEX MATCH "^([^=]+)=(.*)$" match "${run}")
    machine_test(emulated.${CMAKE_MATCH_1} ${here}/emulate.py run ${architecture} ${CMAKE_MATCH_2} ${program} ${id})
  endforeach()
  machine_test(refused ${here}/emulate.py refused ${architecture} ${arg_BELOW} ${program} ${id})
  if(arg_RUNS)
    list(GET arg_RUNS 0 run)
    string(REGEX REPLACE "^[^=]+=" "" cpu "${run}")
    machine_test(dies ${here}/emulate.py dies ${architecture} ${cpu} ${compiler} ${folder} ${PROJECT_SOURCE_DIR}
                 ${PBPROBE_TARGETS_JSON} ${id} ${plant})
  endif()
  set_tests_properties(${tests} PROPERTIES LABELS "${id}" SKIP_RETURN_CODE 77 TIMEOUT 900)
endfunction()

pbprobe_machine_code(avx FMA BELOW Nehalem RUNS sandybridge=SandyBridge)
pbprobe_machine_code(avx2 ZMM BELOW SandyBridge RUNS haswell=Haswell)
pbprobe_machine_code(avx512 VBMI BELOW Haswell)
pbprobe_machine_code(avx512bf16 VBMI BELOW Haswell)
pbprobe_machine_code(avx512vnni VBMI BELOW Haswell)
pbprobe_machine_code(armv8_2 SVE BELOW cortex-a57 RUNS neoverse_n1=neoverse-n1)
pbprobe_machine_code(armv9 SME BELOW neoverse-n1 RUNS sve128=max,sve-default-vector-length=16
                     sve256=max,sve-default-vector-length=32 sve512=max,sve-default-vector-length=64)
