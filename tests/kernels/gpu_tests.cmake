# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# Adds CTest's entries for the GPU tests of kernels_test. CTest includes this file whenever it starts, so that the devices
# of the machine that runs the tests decide, not the devices of the build machine. A target with a device has an entry
# for each test. Without a device, each target has two entries: one runs the tests that need no device, the other skips.
# Requires: `program`, the path of kernels_test; `ids`, the GPU targets; `emulator`, which starts programs of another
# processor, or nothing.
cmake_minimum_required(VERSION 3.25)

# Adds an entry of the name for the gtest filter, with further properties.
function(add_gpu_test name id filter)
  add_test("${name}" ${emulator} "${program}" "--gtest_filter=${filter}")
  set_tests_properties("${name}" PROPERTIES LABELS "${id};gpu" SKIP_RETURN_CODE 77 TIMEOUT 1500 ${ARGN})
endfunction()

# Adds an entry for each test of the target. A timed test has the machine for itself; tests that allocate much GPU memory
# run one after another.
function(add_tests_on_device id)
  execute_process(COMMAND ${emulator} "${program}" --gtest_list_tests "--gtest_filter=${id}.*:*_${id}.*" OUTPUT_VARIABLE listed
                  COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" lines "${listed}")
  foreach(line IN LISTS lines)
    if(line MATCHES "^([^ ]+\\.)$")
      set(suite "${CMAKE_MATCH_1}")
    elseif(line MATCHES "^  ([^ ]+)")
      set(test "${suite}${CMAKE_MATCH_1}")
      set(more "")
      if(test MATCHES "^Memory/|^Peak/.*\\.Runs$")
        set(more RUN_SERIAL ON)
      elseif(test MATCHES "\\.FarApart$")
        set(more RESOURCE_LOCK gpu_memory)
      endif()
      add_gpu_test("${test}" ${id} "${test}" ${more})
    endif()
  endforeach()
endfunction()

if(NOT EXISTS "${program}")
  return()  # <id>.kernels says how to build it
endif()
execute_process(COMMAND ${emulator} "${program}" --list-devices OUTPUT_VARIABLE devices COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" devices "${devices}")
foreach(id IN LISTS ids)
  if(id IN_LIST devices)
    add_tests_on_device(${id})
  else()
    set(anywhere "${id}.*:*_${id}.RefusedWithoutItsIsa")
    add_gpu_test(${id}.without_device ${id} "${anywhere}")
    add_gpu_test(${id}.device ${id} "*_${id}.*-${anywhere}")
  endif()
endforeach()
