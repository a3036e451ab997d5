# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# What every object of the project shares. Kernels get their target's flags on top (cmake/Targets.cmake); nothing global.

add_library(pbprobe_options INTERFACE)
target_include_directories(pbprobe_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(pbprobe_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
                       -Wno-missing-field-initializers)  # designated initializers name what they set
# What is shipped, debug information too, names no folder of the machine that built it.
target_compile_options(pbprobe_options INTERFACE -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${PROJECT_BINARY_DIR}=./build)
if(PBPROBE_WERROR)
  target_compile_options(pbprobe_options INTERFACE -Werror)
endif()
if(PBPROBE_SANITIZE)
  target_compile_options(pbprobe_options INTERFACE -fsanitize=${PBPROBE_SANITIZE} -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all)
  target_link_options(pbprobe_options INTERFACE -fsanitize=${PBPROBE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # A driver's functions take handles of its own types, of which core knows only the names.
    target_compile_options(pbprobe_options INTERFACE -fno-sanitize=function)
  endif()
endif()

# Half of a file's time is spent on what it includes, so a room's files are compiled eight at a time. That each can stand
# by itself, the cross build proves, which compiles them one by one. What is generated for a file (OBJECT_DEPENDS) would not be
# waited for in such a batch: it stays out of them (SKIP_UNITY_BUILD_INCLUSION).
option(PBPROBE_UNITY "Compile the files of a room eight at a time" ON)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)
if(PBPROBE_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # it takes every file of such a batch for a header
  target_compile_options(pbprobe_options INTERFACE -Wno-subobject-linkage)
endif()

# A static library of one room. What it links (PUBLIC) are the rooms below it: the arrows of docs/architecture.md.
# COLD: nothing in it runs for long, so it is compiled with -O1, a fifth faster than -O2.
function(pbprobe_library name)
  cmake_parse_arguments(arg "COLD" "" "SOURCES;LINKS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${PBPROBE_UNITY})
  target_link_libraries(${name} PUBLIC pbprobe_options ${arg_LINKS})
  if(arg_COLD)
    target_compile_options(${name} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O1>)
  endif()
endfunction()
