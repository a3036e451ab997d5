# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# digest_of_sources(<file> <first> <variable>): of a kernel's source, by its name below ${ROOT}, and of all that it includes
# from kernels/.

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

# The digest of what a target's file is made of, and of `first`.
function(digest_of_sources file first variable)
  set(files "")
  closure(${file} files)
  set(all "${first}\n")
  foreach(file IN LISTS files)
    file(SHA256 ${ROOT}/${file} digest)
    string(APPEND all "${file} ${digest}\n")
  endforeach()
  string(SHA256 digest "${all}")
  set(${variable} ${digest} PARENT_SCOPE)
endfunction()
