# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# pbprobe_embed_pages(<folder> <name>): writes a row {"PB303", R"…"} for each PB*.md of the folder into generated/<name>,
# again after a page was added or changed.
function(pbprobe_embed_pages folder name)
  file(GLOB pages CONFIGURE_DEPENDS ${folder}/PB*.md)
  set(rows "")
  foreach(page IN LISTS pages)
    get_filename_component(id ${page} NAME_WE)
    pbprobe_embed(${page} page_${id}.inc)
    string(APPEND rows "{\"${id}\",\n#include \"page_${id}.inc\"\n},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/${name} CONTENT "${rows}" @ONLY)
endfunction()
