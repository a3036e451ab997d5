# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# cmake -DCXX= -DNM= -DFLAGS= -DROOT= -DSOURCE= -DFOLDER= -P purity.cmake
# Compiles a target's file and refuses what would carry its instructions into other objects.
cmake_minimum_required(VERSION 3.25)
string(REPLACE "," ";" FLAGS "${FLAGS}")
get_filename_component(name ${SOURCE} NAME_WE)
list(JOIN FLAGS "" suffix)
string(MD5 suffix "${SOURCE}${suffix}")
set(object ${FOLDER}/${name}-${suffix}.o)
file(MAKE_DIRECTORY ${FOLDER})
execute_process(COMMAND ${CXX} -std=c++20 ${FLAGS} -w -fPIC -I${ROOT} -MD -MF ${object}.d -c ${SOURCE} -o ${object}
                RESULT_VARIABLE result ERROR_VARIABLE said)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${SOURCE} does not compile:\n${said}")
endif()
set(faults "")

execute_process(COMMAND ${NM} -C ${object} OUTPUT_VARIABLE symbols)
string(REGEX MATCHALL "[^\n]* [WwVvu] [^\n]*" weak "${symbols}")
foreach(symbol IN LISTS weak)
  string(APPEND faults "weak symbol: ${symbol}\n")
endforeach()

# <cstddef> and <cstdint> bring the compiler's configuration; any other header of the library is refused.
file(READ ${object}.d dependencies)
string(REGEX MATCHALL "[^ \n\\]+/c\\+\\+/[^ \n\\]+" headers "${dependencies}")
foreach(header IN LISTS headers)
  if(NOT header MATCHES "/(cstddef|cstdint|c\\+\\+config\\.h|os_defines\\.h|cpu_defines\\.h|mm_malloc\\.h|stdlib\\.h|cstdlib|std_abs\\.h)$"
     AND NOT header MATCHES "/pstl/")
    string(APPEND faults "${SOURCE} includes the standard library's ${header}\n")
  endif()
endforeach()
if(faults)
  message(FATAL_ERROR "${faults}")
endif()
