# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# Reads recipes/targets.json, the table of targets, defines
#   PBPROBE_TARGET_IDS       all ids, in the order of the file
#   PBPROBE_BUILT_TARGETS    ids in PBPROBE_TARGETS whose CPU architecture this compiler supports
#   pbprobe_target(<id> <key> <variable>)   reads one field; a JSON list becomes a CMake list
# and writes targets.inc for core/targets.cpp.

set(PBPROBE_TARGETS_JSON ${PROJECT_SOURCE_DIR}/recipes/targets.json)
file(READ ${PBPROBE_TARGETS_JSON} PBPROBE_TARGETS_TEXT)

string(JSON count LENGTH "${PBPROBE_TARGETS_TEXT}" targets)
math(EXPR last "${count} - 1")
set(PBPROBE_TARGET_IDS "")
foreach(i RANGE ${last})
  string(JSON id GET "${PBPROBE_TARGETS_TEXT}" targets ${i} id)
  string(JSON PBPROBE_TARGET_${id}_row GET "${PBPROBE_TARGETS_TEXT}" targets ${i})
  list(APPEND PBPROBE_TARGET_IDS ${id})
endforeach()

function(pbprobe_target id key variable)
  string(JSON type TYPE "${PBPROBE_TARGET_${id}_row}" ${key})
  string(JSON value GET "${PBPROBE_TARGET_${id}_row}" ${key})
  if(type STREQUAL "NULL")
    set(value "")
  elseif(type STREQUAL "ARRAY")
    string(JSON length LENGTH "${value}")
    set(items "")
    if(length GREATER 0)
      math(EXPR last "${length} - 1")
      foreach(i RANGE ${last})
        string(JSON item GET "${value}" ${i})
        list(APPEND items "${item}")
      endforeach()
    endif()
    set(value "${items}")
  endif()
  set(${variable} "${value}" PARENT_SCOPE)
endfunction()

if(PBPROBE_TARGETS MATCHES "^(all|cpu|gpu)$")
  set(wanted ${PBPROBE_TARGET_IDS})
else()
  string(REPLACE "," ";" wanted "${PBPROBE_TARGETS}")
endif()
set(PBPROBE_BUILT_TARGETS "")
foreach(id IN LISTS wanted)
  if(NOT id IN_LIST PBPROBE_TARGET_IDS)
    string(REPLACE ";" ", " ids "${PBPROBE_TARGET_IDS}")
    message(FATAL_ERROR "pbprobe: unknown target \"${id}\" in PBPROBE_TARGETS: choose from ${ids}, or all, cpu or gpu")
  endif()
  pbprobe_target(${id} kind kind)
  pbprobe_target(${id} architecture architecture)
  if(PBPROBE_TARGETS MATCHES "^(cpu|gpu)$" AND NOT kind STREQUAL PBPROBE_TARGETS)
    continue()
  endif()
  if(kind STREQUAL "cpu" AND NOT architecture STREQUAL CMAKE_SYSTEM_PROCESSOR)
    continue()  # needs another compiler: `make cross` builds the aarch64 targets
  endif()
  list(APPEND PBPROBE_BUILT_TARGETS ${id})
endforeach()

include(Embed)
pbprobe_embed(${PBPROBE_TARGETS_JSON} targets.inc)
