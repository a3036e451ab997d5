# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# Debian's packages (cmake/bootstrap.sh installs them). Header-only or static where a program is copied between machines.

set(PBPROBE_APT_HINT "install Debian's libfmt-dev nlohmann-json3-dev libcli11-dev zlib1g-dev libzstd-dev liblz4-dev libzydis-dev libssl-dev, or run `make setup`")

function(pbprobe_require package)
  find_package(${package} ${ARGN} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "pbprobe: ${package} was not found: ${PBPROBE_APT_HINT}")
  endif()
endfunction()

pbprobe_require(fmt CONFIG)
# Its headers; core/fmt.cpp compiles the rest.
get_target_property(PBPROBE_FMT_INCLUDE fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
add_library(pbprobe_fmt INTERFACE)
target_include_directories(pbprobe_fmt SYSTEM INTERFACE ${PBPROBE_FMT_INCLUDE})
pbprobe_require(nlohmann_json CONFIG)
pbprobe_require(CLI11 CONFIG)
# Shared: Debian's libz.a is not position-independent, so the Python module cannot link it, and libz.so.1 is in every base
# system.
pbprobe_require(ZLIB)
# Debian has no static Zydis: the library is copied into lib beside the program's bin (probes/cli, bindings). Of Zycore it
# takes only headers.
pbprobe_require(zycore CONFIG)
pbprobe_require(zydis CONFIG)
set_target_properties(Zydis::Zydis PROPERTIES INTERFACE_LINK_LIBRARIES "")
# pbprobe_static(<name> <library> <header>): an archive that needs nothing else.
function(pbprobe_static name library header)
  find_library(PBPROBE_${name}_ARCHIVE NAMES lib${library}.a)
  find_path(PBPROBE_${name}_INCLUDE NAMES ${header})
  if(NOT PBPROBE_${name}_ARCHIVE OR NOT PBPROBE_${name}_INCLUDE)
    message(FATAL_ERROR "pbprobe: lib${library}.a with ${header} was not found: ${PBPROBE_APT_HINT}")
  endif()
  add_library(pbprobe_${name} STATIC IMPORTED GLOBAL)
  set_target_properties(pbprobe_${name} PROPERTIES IMPORTED_LOCATION ${PBPROBE_${name}_ARCHIVE}
                        INTERFACE_INCLUDE_DIRECTORIES ${PBPROBE_${name}_INCLUDE})
endfunction()
pbprobe_static(zstd zstd zstd.h)
pbprobe_static(lz4 lz4 lz4.h)
pbprobe_static(crypto crypto openssl/evp.h)
find_package(Threads REQUIRED)
