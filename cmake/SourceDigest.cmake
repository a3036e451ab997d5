# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# digest_of_sources(<file> <first> <variable>): SHA-256 of <first> and of the code of a kernel source: <file>, a name below
# ${ROOT}, and every file of kernels/ that it includes. Comments, blank lines and runs of white space do not count, so that
# a reworded comment leaves evidence valid.

# Appends each file that `file` includes from kernels/, in the order of first mention.
function(closure file variable)
  set(found ${${variable}})
  if(file IN_LIST found)
    return()
  endif()
  list(APPEND found ${file})
  set(${variable} "${found}")
  file(STRINGS ${ROOT}/${file} includes REGEX "^#include \"kernels/")
  foreach(line IN LISTS includes)
    string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" next "${line}")
    closure(${next} ${variable})
  endforeach()
  set(${variable} "${${variable}}" PARENT_SCOPE)
endfunction()

# Stores the SHA-256 of a file without its line comments and with each run of white space as one space. Requires that
# no string literal of the file contains "//" and that the file has no block comment: an error names the file otherwise.
function(digest_of_code file variable)
  file(READ ${file} text)
  if(text MATCHES "/[*]" OR text MATCHES "\"[^\"\n]*//[^\"\n]*\"")
    message(FATAL_ERROR "${file}: a kernel source has only // comments, and no // in a string literal")
  endif()
  string(REGEX REPLACE "//[^\n]*" "" text "${text}")
  string(REGEX REPLACE "[ \t\r\n]+" " " text "${text}")
  string(SHA256 digest "${text}")
  set(${variable} ${digest} PARENT_SCOPE)
endfunction()

# The digest of what a target's file is made of, and of `first`.
function(digest_of_sources file first variable)
  set(files "")
  closure(${file} files)
  set(all "${first}\n")
  foreach(file IN LISTS files)
    digest_of_code(${ROOT}/${file} digest)
    string(APPEND all "${file} ${digest}\n")
  endforeach()
  string(SHA256 digest "${all}")
  set(${variable} ${digest} PARENT_SCOPE)
endfunction()
