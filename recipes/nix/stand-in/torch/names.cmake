# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# Writes FILE with the symbols that OBJECTS need from the rest of ATen, and the C shims that HEADERS declare. Libraries that
# link this torch find each symbol and load; no symbol computes anything.
function(symbols result kind)
  execute_process(COMMAND ${NM} ${kind} --format=posix ${OBJECTS} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "(^|\n)[A-Za-z_][A-Za-z0-9_]*" found "${text}")
  list(TRANSFORM found STRIP)
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

symbols(names --undefined-only)
symbols(defined --defined-only)
list(REMOVE_ITEM names ${defined})
list(FILTER names INCLUDE REGEX "^(_ZN?K?T?[VIS]?N?K?(2at|5torch|6caffe2)|cpuinfo_|Sleef_)")
foreach(header IN LISTS HEADERS)
  file(READ ${header} text)
  string(REGEX MATCHALL "(aoti_)?torch_[A-Za-z0-9_]+ *[(]" found "${text}")
  list(TRANSFORM found REPLACE " *[(]" "")
  list(APPEND names ${found})
endforeach()
list(REMOVE_DUPLICATES names)
list(TRANSFORM names REPLACE "(.+)" "int \\1(void) __attribute__((alias(\"shim\")))@")
list(JOIN names "\n" names)
string(REPLACE "@" ";" names "${names}")
file(WRITE ${FILE} "int shim(void) { return 0; }\n${names}\n")
