// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The kernels of one source file, for peer.cpp's table.
#pragma once

#include <vector>

#include "probes/measure/cutlass_peer.h"

struct CutlassEntry {
  PbprobeCutlassKernel kernel;
  int (*run)(const PbprobeCutlassCall&);
};

// One file a family and type: each takes the compiler a minute.
void add_sm80_bf16(std::vector<CutlassEntry>& all);
void add_sm80_int8(std::vector<CutlassEntry>& all);
void add_sm80_tf32(std::vector<CutlassEntry>& all);
void add_sm90_bf16(std::vector<CutlassEntry>& all);
void add_sm90_int8(std::vector<CutlassEntry>& all);
void add_sm90_tf32(std::vector<CutlassEntry>& all);
