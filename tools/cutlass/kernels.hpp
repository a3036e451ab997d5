// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Kernels of each source file, for the table in peer.cpp.
#pragma once

#include <vector>

#include "probes/measure/cutlass_peer.h"

struct CutlassEntry {
  PbprobeCutlassKernel kernel;
  int (*run)(const PbprobeCutlassCall&);
};

// One file for each family and type, because each takes a minute to compile.
void add_sm80_bf16(std::vector<CutlassEntry>& all);
void add_sm80_int8(std::vector<CutlassEntry>& all);
void add_sm80_tf32(std::vector<CutlassEntry>& all);
void add_sm90_bf16(std::vector<CutlassEntry>& all);
void add_sm90_int8(std::vector<CutlassEntry>& all);
void add_sm90_tf32(std::vector<CutlassEntry>& all);
