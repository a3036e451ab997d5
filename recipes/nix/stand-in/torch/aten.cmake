# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# Builds c10 and some of ATen from the source of libtorch in Debian (ci/torch-source), with the flags in aten.json, which come
# from the real build. Symbols of the rest of ATen exist only by name (names.cmake).
file(READ ${CMAKE_CURRENT_LIST_DIR}/aten.json facts)
set(kernels FillKernel BlasKernel LerpKernel)  # quick to compile, and of different kinds

# fact(<result> key…): reads a string or a list of strings from aten.json
function(fact result)
  string(JSON type TYPE "${facts}" ${ARGN})
  string(JSON value GET "${facts}" ${ARGN})
  if(type STREQUAL ARRAY)
    string(JSON count LENGTH "${facts}" ${ARGN})
    set(list "")
    while(count GREATER 0)
      math(EXPR count "${count} - 1")
      string(JSON entry GET "${value}" ${count})
      list(PREPEND list "${entry}")
    endwhile()
    set(value "${list}")
  endif()
  set(${result} "${value}" PARENT_SCOPE)
endfunction()

# together(<file> <source>…): writes one translation unit that includes several sources and compiles faster. It contains no
# path of this build, so that ccache reuses objects of other recipes with the same flags.
function(together file)
  list(TRANSFORM ARGN REPLACE "(.+)" "#include \"\\1\"\n")
  string(CONCAT text ${ARGN})
  file(WRITE ${CMAKE_BINARY_DIR}/${file} "${text}")
endfunction()

# real(<target> SOURCES… FLAGS…): object files with the flags of torch after CXXFLAGS of the recipe
function(real target)
  cmake_parse_arguments(arg "" "" "SOURCES;FLAGS" ${ARGN})
  add_library(${target} OBJECT ${arg_SOURCES})
  target_compile_options(${target} PRIVATE ${common} ${own} ${arg_FLAGS})
  target_include_directories(${target} PRIVATE ${CMAKE_BINARY_DIR}/include ${source} ${source}/aten/src)
  target_include_directories(${target} SYSTEM PRIVATE ${source}/generated)
endfunction()

fact(common common)
fact(own machines ${machine} flags)
fact(folders c10 folders)
fact(c10_flags c10 flags)
fact(aten_flags aten flags)
fact(dispatch aten dispatch)
fact(places aten kernels)
fact(macros c10 macros)
file(WRITE ${CMAKE_BINARY_DIR}/include/c10/macros/cmake_macros.h "${macros}")

list(TRANSFORM folders PREPEND ${source}/c10/)
list(TRANSFORM folders APPEND /*.cpp)
file(GLOB files RELATIVE ${source} ${folders})
set(by_itself c10/util/flags_use_no_gflags.cpp)  # it specializes what the others have instantiated
list(REMOVE_ITEM files ${by_itself})
set(c10_sources ${source}/${by_itself})
set(number 0)
while(files)
  list(SUBLIST files 0 17 some)
  list(REMOVE_ITEM files ${some})
  together(c10_${number}.cpp ${some})
  list(APPEND c10_sources ${CMAKE_BINARY_DIR}/c10_${number}.cpp)
  math(EXPR number "${number} + 1")
endwhile()
real(c10_objects SOURCES ${c10_sources} FLAGS ${c10_flags})
real(dispatch SOURCES ${source}/aten/src/ATen/${dispatch} FLAGS ${aten_flags})
set(aten $<TARGET_OBJECTS:dispatch>)

set(paths "")
foreach(place IN LISTS places)
  foreach(kernel IN LISTS kernels)
    list(APPEND paths ${source}/aten/src/ATen/${place}/${kernel}.cpp)
  endforeach()
endforeach()
file(GLOB found RELATIVE ${source} ${paths})

# Compile each kernel once for each CPU capability, with its flags after the flags of the build, like cmake/Codegen.cmake.
string(JSON count LENGTH "${facts}" machines ${machine} capabilities)
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
  fact(capability machines ${machine} capabilities ${i} name)
  fact(capability_flags machines ${machine} capabilities ${i} flags)
  together(kernels.${capability}.cpp ${found})
  real(${capability}_objects SOURCES ${CMAKE_BINARY_DIR}/kernels.${capability}.cpp
       FLAGS ${aten_flags} -DCPU_CAPABILITY=${capability} -DCPU_CAPABILITY_${capability} ${capability_flags})
  list(APPEND aten $<TARGET_OBJECTS:${capability}_objects>)
endforeach()
