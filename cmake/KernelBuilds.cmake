# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# cmake -DSOURCE= -DCPU=<ids> -DGPU=<ids> -DCUBIN_<id>= -DFLAGS_<id>= -DOUTPUT= -P KernelBuilds.cmake
# Writes the digests of built kernels: for a cubin its bytes and its source closure; for a CPU target its source closure and
# flags, because machine code differs between compilers.
cmake_minimum_required(VERSION 3.25)

set(ROOT ${SOURCE})
include(${CMAKE_CURRENT_LIST_DIR}/SourceDigest.cmake)

set(text "")
foreach(id IN LISTS CPU)
  digest_of_sources(kernels/cpu/${id}.cpp "flags ${FLAGS_${id}}" digest)
  string(APPEND text "#define PBPROBE_DIGEST_${id} \"${digest}\"\n")
endforeach()
foreach(id IN LISTS GPU)
  file(SHA256 ${CUBIN_${id}} digest)
  string(APPEND text "#define PBPROBE_DIGEST_${id} \"${digest}\"\n")
  digest_of_sources(kernels/cuda/${id}.cu "ptx ${FLAGS_${id}}" digest)
  string(APPEND text "#define PBPROBE_SOURCES_${id} \"${digest}\"\n")
  file(READ ${CUBIN_${id}}.resources reported)
  string(REGEX MATCHALL "[0-9]+ bytes spill" spills "${reported}")
  set(sum 0)
  foreach(spill IN LISTS spills)
    string(REGEX REPLACE " .*" "" bytes "${spill}")
    math(EXPR sum "${sum} + ${bytes}")
  endforeach()
  string(APPEND text "#define PBPROBE_SPILLS_${id} ${sum}\n")
endforeach()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "${text}" @ONLY)
