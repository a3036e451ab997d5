# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# cmake -DPTXAS= -DSM= -DPTX= -DCUBIN= -P Assemble.cmake: PTX for one SM by that assembler, whatever its release.
cmake_minimum_required(VERSION 3.25)
configure_file(${PTX} ${CUBIN}.ptx @ONLY)
execute_process(COMMAND ${PTXAS} -arch=sm_${SM} ${CUBIN}.ptx -o ${CUBIN} COMMAND_ERROR_IS_FATAL ANY)
