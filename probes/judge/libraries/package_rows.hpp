// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Rows of a report for the packages beside torch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/facts/report.hpp"
#include "core/major_minor.hpp"
#include "core/sm.hpp"
#include "probes/judge/checks.hpp"

namespace pbprobe {

// Reports whether a package links torch or has device code. Its faults then count as faults of the environment.
[[nodiscard]] bool matters(const Distribution& row);

[[nodiscard]] bool is_torch(const Distribution& row);

// Reports whether the machine of the report is a record (--host), on which nothing was run.
[[nodiscard]] bool is_record(const Report& report);

// Returns "xformers 0.0.35".
[[nodiscard]] std::string format_row_label(const Distribution& row);

// Reports whether NVIDIA publishes the package. torch's own checks judge the SMs of such packages.
[[nodiscard]] bool is_cuda_row(const Distribution& row);

// Returns the value for Seen::distribution: the package name, or nullopt for torch.
[[nodiscard]] std::optional<std::string> package_beside_torch(const Distribution& row);

// Returns the faults that this check found in all rows.
[[nodiscard]] std::vector<Seen> seen_in_rows(const Check& check, const Report& report);

// Device code that a GPU gets from a package.
struct RowCode {
  bool any = false;  // the package has device code
  GpuCode best = GpuCode::none;
  std::optional<Sm> kept;  // code that only its suffix keeps from running on this GPU
};
// Returns the best device code of a package for `gpu`: machine code for its capability, else for its major version,
// else PTX.
[[nodiscard]] RowCode find_row_code(const Distribution& row, const Sm& gpu);

// Returns the first CUDA whose driver compiles this PTX ISA version; nullopt for newer versions than pbprobe knows.
[[nodiscard]] std::optional<MajorMinor> cuda_of_ptx(const MajorMinor& version);

}  // namespace pbprobe
