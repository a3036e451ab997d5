# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# Small libtorches for the census: each object by its CPU capability's flags, as torch builds them; lib<name>.so, and
# stripped/lib<name>.so without .symtab. FLAGS are the recipe's flags, which reach every CPU capability.
set(source ${CMAKE_CURRENT_SOURCE_DIR}/fixtures)

# host_code_library(<name> COMPILER <c++> FLAGS … CAPABILITIES <name>=<flags with commas> … DEFINES …)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source}/cpu_capabilities.cpp)
function(host_code_library name)
  cmake_parse_arguments(arg "" "COMPILER;STRIP" "FLAGS;CAPABILITIES;DEFINES" ${ARGN})
  set(base ${arg_COMPILER} -std=c++17 -O3 -fPIC -fvisibility=default ${arg_FLAGS})
  set(objects "")
  foreach(entry IN LISTS arg_CAPABILITIES)
    string(REGEX MATCH "^([A-Z0-9]+)=(.*)$" _ ${entry})
    set(capability ${CMAKE_MATCH_1})
    string(REPLACE "," ";" flags "${CMAKE_MATCH_2}")
    set(copy ${host_code}/cpu_capabilities.cpp.${capability}.cpp)  # as torch names its copies of a source file
    file(COPY_FILE ${source}/cpu_capabilities.cpp ${copy} ONLY_IF_DIFFERENT)
    set(object ${host_code}/${name}.cpp.${capability}.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${base} ${flags} -DCAPABILITY=${capability} ${arg_DEFINES} -c ${copy} -o ${object}
      DEPENDS ${copy} VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set(rest ${host_code}/${name}.rest.o)
  add_custom_command(OUTPUT ${rest} COMMAND ${base} -c ${source}/rest.cpp -o ${rest} DEPENDS ${source}/rest.cpp VERBATIM)
  set(library ${host_code}/lib${name}.so)
  add_custom_command(OUTPUT ${library} ${host_code}/stripped/lib${name}.so
    COMMAND ${arg_COMPILER} -shared -nostartfiles -nodefaultlibs -o ${library} ${objects} ${rest}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${host_code}/stripped
    COMMAND ${arg_STRIP} -o ${host_code}/stripped/lib${name}.so ${library}
    DEPENDS ${objects} ${rest} VERBATIM)
  set(host_code_files ${host_code_files} ${library} PARENT_SCOPE)
endfunction()

# Flags as a target's recipe has them: the table is asked, not repeated.
function(recipe_flags id result)
  pbprobe_target(${id} flags flags)
  set(${result} ${flags} PARENT_SCOPE)
endfunction()

file(MAKE_DIRECTORY ${host_code})
find_program(PBPROBE_X86_CXX NAMES x86_64-linux-gnu-g++)
find_program(PBPROBE_X86_STRIP NAMES x86_64-linux-gnu-strip)
find_program(PBPROBE_AARCH64_CXX NAMES aarch64-linux-gnu-g++)
find_program(PBPROBE_AARCH64_STRIP NAMES aarch64-linux-gnu-strip)

if(PBPROBE_X86_CXX AND PBPROBE_X86_STRIP)
  set(x86 COMPILER ${PBPROBE_X86_CXX} STRIP ${PBPROBE_X86_STRIP})
  # Better CPU capabilities first: the linker keeps the first copy of an inline function.
  set(capabilities CAPABILITIES AVX512=-mavx512f,-mavx512bw,-mavx512vl,-mavx512dq,-mfma AVX2=-mavx2,-mfma,-mf16c DEFAULT=-O3)
  host_code_library(generic ${x86} ${capabilities})
  host_code_library(leak ${x86} ${capabilities} DEFINES -DLEAK)
  host_code_library(hidden_leak ${x86} ${capabilities} DEFINES -DLEAK -DHIDDEN)
  host_code_library(own ${x86} ${capabilities} DEFINES -DLEAK -DHIDDEN -DOWN)
  host_code_library(initializer ${x86} ${capabilities} DEFINES -DINITIALIZER)
  host_code_library(lost ${x86} CAPABILITIES AVX2=-mavx2,-mfma DEFAULT=-O3)
  foreach(id IN ITEMS avx avx2 avx512 avx512bf16)
    recipe_flags(${id} flags)
    host_code_library(${id} ${x86} ${capabilities} FLAGS ${flags})
  endforeach()
endif()
if(PBPROBE_AARCH64_CXX AND PBPROBE_AARCH64_STRIP)
  set(arm COMPILER ${PBPROBE_AARCH64_CXX} STRIP ${PBPROBE_AARCH64_STRIP})
  set(capabilities CAPABILITIES SVE256=-march=armv8-a+sve+bf16,-msve-vector-bits=256 DEFAULT=-O3)
  host_code_library(arm_generic ${arm} ${capabilities})
  foreach(id IN ITEMS armv8_2 armv9)
    recipe_flags(${id} flags)
    host_code_library(${id} ${arm} ${capabilities} FLAGS ${flags})
  endforeach()
endif()
