# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# cmake -DNVCC= -DOUTPUT= -DFLAGS= -DSOURCE= -DINCLUDE= -DCUBIN= -P Cubin.cmake: one .cu to one cubin (OUTPUT -cubin) or
# PTX (-ptx), with its depfile (CUBIN.d) and what ptxas said about registers, spills and shared memory (CUBIN.resources).
#
# ccache keeps no cubins, and those of all targets take minutes: what the same nvcc made of the same sources with the same
# flags is kept in pbprobe/cubins of ccache's folder, so that whoever keeps the one keeps the other (without ccache:
# ~/.cache). What was not wanted for 30 days goes. CCACHE_DISABLE in the environment compiles again.
cmake_minimum_required(VERSION 3.25)
set(ROOT ${INCLUDE})
include(${CMAKE_CURRENT_LIST_DIR}/SourceDigest.cmake)

function(compile)
  execute_process(
    COMMAND ${NVCC} ${OUTPUT} ${FLAGS} -O3 -std=c++20 -DNDEBUG -I${INCLUDE} -Xptxas=-v -MD -MF ${CUBIN}.d -MT ${CUBIN}
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
  # nvcc puts a hash of the source's folder into the names of a file's own variables (CUTLASS's headers have some). Evidence
  # goes by the cubin's digest, which is to be the same wherever it is built.
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C sed -i "s/\\(_INTERNAL_\\|_GLOBAL__N__\\)[0-9a-f]\\{8\\}_/\\100000000_/g" ${CUBIN}
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Where what is about to be made is kept.
function(find_kept variable)
  execute_process(COMMAND ${NVCC} --version OUTPUT_VARIABLE compiler ERROR_VARIABLE compiler)
  string(REPLACE "${ROOT}/" "" flags "${NVCC} ${FLAGS}")  # of any checkout
  file(SHA256 ${CMAKE_CURRENT_FUNCTION_LIST_FILE} recipe)
  file(RELATIVE_PATH name ${ROOT} ${SOURCE})
  digest_of_sources(${name} "${compiler} ${OUTPUT} ${flags} ${recipe}" key)
  set(cache $ENV{CCACHE_DIR})
  if(NOT cache)
    find_program(ccache ccache)
    if(ccache)
      execute_process(COMMAND ${ccache} --get-config cache_dir OUTPUT_VARIABLE cache OUTPUT_STRIP_TRAILING_WHITESPACE)
    else()
      set(cache $ENV{HOME}/.cache)
    endif()
  endif()
  set(${variable} ${cache}/pbprobe/cubins/${key} PARENT_SCOPE)
endfunction()

find_kept(kept)
if(EXISTS ${kept}.d AND NOT DEFINED ENV{CCACHE_DISABLE})
  file(TOUCH ${kept}.d)
  file(COPY_FILE ${kept} ${CUBIN})
  file(COPY_FILE ${kept}.resources ${CUBIN}.resources)
  file(READ ${kept}.d depends)
  string(REPLACE "@ROOT@" "${ROOT}" depends "${depends}")
  string(REPLACE "@CUBIN@" "${CUBIN}" depends "${depends}")
  file(WRITE ${CUBIN}.d "${depends}")
  return()
endif()
compile()
# The depfile last, and whole: it says that the others are there.
cmake_path(GET kept PARENT_PATH folder)
file(MAKE_DIRECTORY ${folder})
string(RANDOM LENGTH 12 mark)
file(READ ${CUBIN}.d depends)
string(REPLACE "${CUBIN}" "@CUBIN@" depends "${depends}")
string(REPLACE "${ROOT}" "@ROOT@" depends "${depends}")
file(WRITE ${kept}.${mark}.d "${depends}")
foreach(suffix IN ITEMS "" .resources)
  file(COPY_FILE ${CUBIN}${suffix} ${kept}.${mark}${suffix})
  file(RENAME ${kept}.${mark}${suffix} ${kept}${suffix})
endforeach()
file(RENAME ${kept}.${mark}.d ${kept}.d)

string(TIMESTAMP now "%s")
file(GLOB all ${folder}/*.d)
foreach(one IN LISTS all)
  file(TIMESTAMP ${one} used "%s")
  math(EXPR unused "${now} - ${used}")
  if(unused GREATER 2592000)
    string(REGEX REPLACE "\\.d$" "" one ${one})
    file(REMOVE ${one}.d ${one}.resources ${one})
  endif()
endforeach()
