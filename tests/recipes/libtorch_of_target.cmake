# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# The libtorch that the environment's PBPROBE_LIBTORCH names: any artifact of `pbprobe report`.
#   PBPROBE_LIBTORCH=result-NAME cmake -DPBPROBE=… -DID=sm121 -P libtorch_of_target.cmake
if(NOT DEFINED ENV{PBPROBE_LIBTORCH})
  message("skipped: PBPROBE_LIBTORCH names no libtorch to judge")
  return()
endif()
execute_process(COMMAND ${PBPROBE} report $ENV{PBPROBE_LIBTORCH} --claim ${ID} RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "$ENV{PBPROBE_LIBTORCH} does not deliver ${ID} here (exit code ${result})")
endif()
