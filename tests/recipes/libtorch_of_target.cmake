# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# Does a libtorch deliver the target on this machine? PBPROBE_LIBTORCH names it: any artifact of `pbprobe report`, from
# the folder in which ctest was called. By default it is the torch that DEFAULT names, where this machine has the target;
# that claims nothing, so that what it does not deliver is a skip, and a failure under PBPROBE_REQUIRE_HARDWARE=1.
#   PBPROBE_LIBTORCH=result-NAME cmake -DPBPROBE=… -DID=sm121 -DDEFAULT=build/setup/torch -P libtorch_of_target.cmake
cmake_minimum_required(VERSION 3.25)

# skip(<why> [<more>…]), where `more` is printed below it
macro(skip why)
  if("$ENV{PBPROBE_REQUIRE_HARDWARE}" STREQUAL "1")
    message(FATAL_ERROR "${why} (PBPROBE_REQUIRE_HARDWARE=1)" "${ARGN}")
  endif()
  message("skipped: ${why}" "${ARGN}")
  return()
endmacro()

# Whether this machine has the target, as the program's JSON of the host names it.
function(target_is_here variable)
  execute_process(COMMAND ${PBPROBE} host --format json OUTPUT_VARIABLE host COMMAND_ERROR_IS_FATAL ANY)
  string(JSON here GET "${host}" cpu targets)
  string(JSON gpus GET "${host}" gpus)
  string(REGEX MATCHALL "\"target\" *: *\"[a-z0-9_]+\"" targets "${gpus}")
  string(FIND "${here} ${targets}" "\"${ID}\"" place)
  if(place EQUAL -1)
    set(${variable} FALSE PARENT_SCOPE)
  else()
    set(${variable} TRUE PARENT_SCOPE)
  endif()
endfunction()

if(NOT EXISTS "${PBPROBE}")
  skip("not built: make build TARGETS=${ID}")
endif()
if(NOT "$ENV{PBPROBE_LIBTORCH}" STREQUAL "")
  set(libtorch "$ENV{PBPROBE_LIBTORCH}")
  cmake_path(ABSOLUTE_PATH libtorch BASE_DIRECTORY "$ENV{PWD}" NORMALIZE)
  if(NOT EXISTS "${libtorch}")
    message(FATAL_ERROR "PBPROBE_LIBTORCH=$ENV{PBPROBE_LIBTORCH}: there is no ${libtorch}")
  endif()
  execute_process(COMMAND ${PBPROBE} report ${libtorch} --claim ${ID} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${libtorch} does not deliver ${ID} here (exit code ${result})")
  endif()
  return()
endif()
if(NOT EXISTS "${DEFAULT}")
  skip("PBPROBE_LIBTORCH names no libtorch to judge, and there is no ${DEFAULT}: make report")
endif()
target_is_here(here)
if(NOT here)
  skip("this machine has no ${ID}: PBPROBE_LIBTORCH=FOLDER judges a libtorch by that claim all the same")
endif()
file(STRINGS "${DEFAULT}" libtorch LIMIT_COUNT 1)
execute_process(COMMAND ${PBPROBE} report ${libtorch} --claim ${ID} OUTPUT_VARIABLE reported ERROR_VARIABLE reported
                RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  skip("${libtorch} does not deliver ${ID} here (exit code ${result})" "\n\${reported}")
endif()
message("${reported}")
