# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# pbprobe_embed(<file> <name>): writes the text of the file as string literals into generated/<name>, for an #include.
# Splits the text into raw literals of at most 8 KB, because compilers limit their length; adjacent literals are joined.
function(pbprobe_embed file name)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  string(LENGTH "${text}" length)
  set(pieces "")
  set(offset 0)
  while(offset LESS length)
    string(SUBSTRING "${text}" ${offset} 8000 piece)
    string(APPEND pieces "R\"json(${piece})json\"\n")
    math(EXPR offset "${offset} + 8000")
  endwhile()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/${name} CONTENT "${pieces}" @ONLY)
endfunction()

# pbprobe_embed_files(<name> <file>...): writes a row {"NAME.EXT", R"…"} for each file into generated/<name>.
function(pbprobe_embed_files name)
  set(rows "")
  foreach(file IN LISTS ARGN)
    get_filename_component(file_name ${file} NAME)
    pbprobe_embed(${file} embedded_${file_name}.inc)
    string(APPEND rows "{\"${file_name}\",\n#include \"embedded_${file_name}.inc\"\n},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/${name} CONTENT "${rows}" @ONLY)
endfunction()
