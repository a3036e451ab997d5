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
# Use only the headers of fmt; core/fmt.cpp compiles the rest.
get_target_property(PBPROBE_FMT_INCLUDE fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
add_library(pbprobe_fmt INTERFACE)
target_include_directories(pbprobe_fmt SYSTEM INTERFACE ${PBPROBE_FMT_INCLUDE})
pbprobe_require(nlohmann_json CONFIG)
pbprobe_require(CLI11 CONFIG)
# Link zlib shared: libz.a of Debian is not position-independent, so that the Python module cannot link it. Every base system
# has libz.so.1.
pbprobe_require(ZLIB)
# Debian has no static Zydis: the build copies the library into lib next to bin (probes/cli, bindings). Only the headers of
# Zycore are needed.
pbprobe_require(zycore CONFIG)
pbprobe_require(zydis CONFIG)
set_target_properties(Zydis::Zydis PROPERTIES INTERFACE_LINK_LIBRARIES "")
# A program with archives needs no libraries on another machine. Disable this for a distribution without archives, such as
# nixpkgs.
option(PBPROBE_STATIC "Link zstd, lz4 and libcrypto as archives, for programs that are copied between machines" ON)
# pbprobe_linked(<name> <library> <header>): finds a library without dependencies.
function(pbprobe_linked name library header)
  if(PBPROBE_STATIC)
    set(kind ARCHIVE)
    set(file lib${library}.a)
    set(hint ", or link shared ones: -DPBPROBE_STATIC=OFF")
  else()
    set(kind SHARED)
    set(file ${CMAKE_SHARED_LIBRARY_PREFIX}${library}${CMAKE_SHARED_LIBRARY_SUFFIX})
    set(hint "")
  endif()
  find_library(PBPROBE_${name}_${kind} NAMES ${file})
  find_path(PBPROBE_${name}_INCLUDE NAMES ${header})
  if(NOT PBPROBE_${name}_${kind} OR NOT PBPROBE_${name}_INCLUDE)
    message(FATAL_ERROR "pbprobe: ${file} with ${header} was not found: ${PBPROBE_APT_HINT}${hint}")
  endif()
  add_library(pbprobe_${name} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(pbprobe_${name} PROPERTIES IMPORTED_LOCATION ${PBPROBE_${name}_${kind}}
                        INTERFACE_INCLUDE_DIRECTORIES ${PBPROBE_${name}_INCLUDE})
endfunction()
pbprobe_linked(zstd zstd zstd.h)
pbprobe_linked(lz4 lz4 lz4.h)
pbprobe_linked(crypto crypto openssl/evp.h)
if(NOT PBPROBE_STATIC)
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
endif()
find_package(Threads REQUIRED)
