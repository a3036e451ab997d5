# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# cmake -DNVCC= -DOUTPUT= -DFLAGS= -DSOURCE= -DINCLUDE= -DIMAGE= -P Cubin.cmake: one .cu to one cubin (OUTPUT -cubin) or
# PTX (-ptx), with its depfile (IMAGE.d) and what ptxas said about registers, spills and shared memory (IMAGE.resources).
cmake_minimum_required(VERSION 3.25)
execute_process(
  COMMAND ${NVCC} ${OUTPUT} ${FLAGS} -O3 -std=c++20 -DNDEBUG -I${INCLUDE} -Xptxas=-v -MD -MF ${IMAGE}.d -MT ${IMAGE}
          ${SOURCE} -o ${IMAGE}
  OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${NVCC} ${SOURCE}:\n${said}")
endif()
file(WRITE ${IMAGE}.resources "${said}")
string(REGEX MATCHALL "[^\n]*(warning|Warning)[^\n]*" warnings "${said}")
if(warnings)
  list(JOIN warnings "\n" warnings)
  message(FATAL_ERROR "${SOURCE}: warnings are errors in kernels:\n${warnings}")
endif()
# nvcc puts a hash of the source's folder into the names of a file's own variables (CUTLASS's headers have some). Evidence
# goes by the image's digest, which is to be the same wherever it is built.
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C sed -i "s/\\(_INTERNAL_\\|_GLOBAL__N__\\)[0-9a-f]\\{8\\}_/\\100000000_/g" ${IMAGE}
  COMMAND_ERROR_IS_FATAL ANY)
