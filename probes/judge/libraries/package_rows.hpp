// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The packages beside torch, as a report's rows have them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/facts/report.hpp"
#include "core/major_minor.hpp"
#include "core/sm.hpp"
#include "probes/judge/checks.hpp"

namespace pbprobe {

// Its faults are the environment's: it links torch, or ships device code.
[[nodiscard]] bool matters(const Distribution& row);

[[nodiscard]] bool is_torch(const Distribution& row);

// "xformers 0.0.35".
[[nodiscard]] std::string label_of(const Distribution& row);

// NVIDIA's own packages. They hold SMs of their own choice, of which torch's own checks ask.
[[nodiscard]] bool is_of_cuda(const Distribution& row);

// As `Seen` has it: null of torch.
[[nodiscard]] std::optional<std::string> package_beside_torch(const Distribution& row);

// What was found in rows by this check, which asks the same of every package.
[[nodiscard]] std::vector<Seen> seen_in_rows(const Check& check, const Report& report);

// What a GPU gets of a package, by the SMs of its device code.
struct RowCode {
  bool any = false;  // it has device code
  GpuCode best = GpuCode::none;
  std::optional<Sm> kept;  // code that only its suffix keeps from this GPU
};
[[nodiscard]] RowCode code_for(const Distribution& row, const Sm& gpu);

// The first CUDA whose driver compiles this version of the PTX ISA; null: it is newer than this program.
[[nodiscard]] std::optional<MajorMinor> cuda_of_ptx(const MajorMinor& version);

}  // namespace pbprobe
