# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# Options of every object. Kernels add the flags of their target (cmake/Targets.cmake); no option is global.

add_library(pbprobe_options INTERFACE)
target_include_directories(pbprobe_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(pbprobe_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
                       -Wno-missing-field-initializers)  # designated initializers may omit fields
# Keep folders of the building machine out of objects and debug information.
target_compile_options(pbprobe_options INTERFACE -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${PROJECT_BINARY_DIR}=./build)
if(PBPROBE_WERROR)
  target_compile_options(pbprobe_options INTERFACE -Werror)
endif()
if(PBPROBE_SANITIZE)
  target_compile_options(pbprobe_options INTERFACE -fsanitize=${PBPROBE_SANITIZE} -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all)
  target_link_options(pbprobe_options INTERFACE -fsanitize=${PBPROBE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # Functions of the driver take handles of incomplete types, which this sanitizer reports as mismatches.
    target_compile_options(pbprobe_options INTERFACE -fno-sanitize=function)
  endif()
endif()

# Compile eight files of a room together, because half of the compile time goes into includes. Only a build with
# -DPBPROBE_UNITY=OFF proves that the includes of each file are complete. Exclude files with generated headers
# (OBJECT_DEPENDS) by SKIP_UNITY_BUILD_INCLUSION: a batch does not wait for these headers.
option(PBPROBE_UNITY "Compile the files of a room eight at a time" ON)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)
if(PBPROBE_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # GCC treats the files of a batch as headers
  target_compile_options(pbprobe_options INTERFACE -Wno-subobject-linkage)
endif()

# Adds the static library of one room. LINKS are the rooms below it: the arrows of docs/architecture.md. COLD compiles with
# -Os, which takes less time than -O2 and a third less space, for rooms without long-running code.
function(pbprobe_library name)
  cmake_parse_arguments(arg "COLD" "" "SOURCES;LINKS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${PBPROBE_UNITY})
  target_link_libraries(${name} PUBLIC pbprobe_options ${arg_LINKS})
  if(arg_COLD)
    target_compile_options(${name} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-Os>)
  endif()
endfunction()
