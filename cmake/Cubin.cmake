# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# cmake -DNVCC= -DFLAGS= -DSOURCE= -DINCLUDE= -DCUBIN= -P Cubin.cmake: one .cu to one cubin, with its depfile
# (CUBIN.d) and what ptxas said about registers, spills and shared memory (CUBIN.resources).
cmake_minimum_required(VERSION 3.25)
execute_process(
  COMMAND ${NVCC} -cubin ${FLAGS} -O3 -std=c++20 -DNDEBUG -I${INCLUDE} -Xptxas=-v -MD -MF ${CUBIN}.d -MT ${CUBIN}
          ${SOURCE} -o ${CUBIN}
  OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${NVCC} ${SOURCE}:\n${said}")
endif()
file(WRITE ${CUBIN}.resources "${said}")
string(REGEX MATCHALL "[^\n]*(warning|Warning)[^\n]*" warnings "${said}")
if(warnings)
  list(JOIN warnings "\n" warnings)
  message(FATAL_ERROR "${SOURCE}: warnings are errors in kernels:\n${warnings}")
endif()
