# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# cmake -DSOURCE= -DCPU=<ids> -DGPU=<ids> -DIMAGE_<id>= -DFLAGS_<id>= -DOUTPUT= -P KernelBuilds.cmake
# Writes the digests of what was built: a cubin's bytes, and its source closure beside; a CPU target's source closure and
# flags, since its machine code differs from compiler to compiler.
cmake_minimum_required(VERSION 3.25)

# Appends each file that `file` includes from kernels/, in the order of first mention.
function(closure file variable)
  set(found ${${variable}})
  if(file IN_LIST found)
    return()
  endif()
  list(APPEND found ${file})
  set(${variable} "${found}")
  file(STRINGS ${SOURCE}/${file} includes REGEX "^#include \"kernels/")
  foreach(line IN LISTS includes)
    string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" next "${line}")
    closure(${next} ${variable})
  endforeach()
  set(${variable} "${${variable}}" PARENT_SCOPE)
endfunction()

# The digest of what a target's file is made of, and of `first`.
function(digest_of_sources file first variable)
  set(files "")
  closure(${file} files)
  set(all "${first}\n")
  foreach(file IN LISTS files)
    file(SHA256 ${SOURCE}/${file} digest)
    string(APPEND all "${file} ${digest}\n")
  endforeach()
  string(SHA256 digest "${all}")
  set(${variable} ${digest} PARENT_SCOPE)
endfunction()

set(text "")
foreach(id IN LISTS CPU)
  digest_of_sources(kernels/cpu/${id}.cpp "flags ${FLAGS_${id}}" digest)
  string(APPEND text "#define PBPROBE_DIGEST_${id} \"${digest}\"\n")
endforeach()
foreach(id IN LISTS GPU)
  file(SHA256 ${IMAGE_${id}} digest)
  string(APPEND text "#define PBPROBE_DIGEST_${id} \"${digest}\"\n")
  digest_of_sources(kernels/cuda/${id}.cu "ptx ${FLAGS_${id}}" digest)
  string(APPEND text "#define PBPROBE_SOURCES_${id} \"${digest}\"\n")
  file(READ ${IMAGE_${id}}.resources said)
  string(REGEX MATCHALL "[0-9]+ bytes spill" spills "${said}")
  set(sum 0)
  foreach(spill IN LISTS spills)
    string(REGEX REPLACE " .*" "" bytes "${spill}")
    math(EXPR sum "${sum} + ${bytes}")
  endforeach()
  string(APPEND text "#define PBPROBE_SPILLS_${id} ${sum}\n")
endforeach()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "${text}" @ONLY)
