// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The target table: recipes/targets.json, embedded at build time. This is the only place for facts about targets.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.hpp"
#include "core/fields.hpp"
#include "core/result.hpp"

namespace pbprobe {

enum class TargetKind { cpu, gpu };

// One instruction path that a build for this target must contain.
struct InstructionPath {
  FIELD(std::string, name, "named as in the PTX or CPU manual");
  FIELD(std::string, dtype, "operand type");
  FIELD(std::vector<std::string>, opcodes, "SASS or CPU mnemonics, each of which proves the path");
};

// Dense operations per clock (FMA = 2), per SM or core, for one class of chips. Null if the path does not exist or its
// rate is not known.
struct OpsPerClock {
  FIELD_AS(std::string, chip_class, "class", "chips that share these rates");
  FIELD(std::optional<int64_t>, fp32, "FP32 operations per clock (FMA = 2), dense");
  FIELD(std::optional<int64_t>, tf32);
  FIELD(std::optional<int64_t>, fp16, "FP32 accumulation, if the chip has another rate for it");
  FIELD(std::optional<int64_t>, bf16);
  FIELD(std::optional<int64_t>, int8);
  FIELD(std::optional<int64_t>, fp8, "E4M3 and E5M2 with FP32 accumulation");
  FIELD(std::vector<std::string>, leads,
        "types whose rate has no primary source; such a rate never refutes a measurement");
};

// Returns the operations per clock of one SM in `type`; nullopt if the chip has no such rate.
[[nodiscard]] std::optional<int64_t> rate_of(const OpsPerClock& ops, DType type);

struct TargetLimits {
  FIELD(std::optional<int64_t>, shared_per_sm_bytes);
  FIELD(std::optional<int64_t>, shared_per_block_bytes, "opt-in maximum of one block");
  FIELD(std::optional<int64_t>, registers_per_sm);
  FIELD(std::optional<int64_t>, threads_per_sm);
  FIELD(std::optional<int64_t>, tensor_memory_columns, "0: no tensor memory");
  FIELD(std::optional<int64_t>, vector_bits, "CPU: width of a vector register; null if length-agnostic");
  FIELD(std::optional<int64_t>, memory_gb_per_s,
        "GPU: memory bandwidth from the data sheet, 1e9 bytes per second; for several chips, the lowest common one");
};

struct Target {
  FIELD(std::string, id, "id in labels, recipes and flags");  // "sm121", "avx512vnni"
  FIELD(TargetKind, kind) = TargetKind::cpu;
  FIELD(std::string, architecture, "GPU: architecture to build for; CPU: x86_64 or aarch64");
  FIELD(std::optional<std::string>, capability, "GPU: compute capability");  // "12.1"
  FIELD(std::vector<std::string>, siblings, "GPU: further architectures that an exact claim allows");
  FIELD(std::string, compiler, "cxx, nvcc or nvrtc; \"none\" for audits only");
  FIELD(std::vector<std::string>, flags, "compiler flags of its kernels; no other flags apply");
  FIELD(std::optional<std::string>, ptx,
        "GPU: architecture of the PTX that tests build from its kernels for newer GPUs");
  FIELD(std::vector<std::string>, recipe_flags, "CPU: compiler flags of its recipes; empty if it has no recipes");
  FIELD_AS(std::vector<std::string>, requires_features, "requires", "CPU features that its kernels need");
  FIELD(std::vector<std::string>, recipe_requires, "CPU features that its recipes need");
  FIELD_AS(std::optional<std::vector<std::string>>, implied_features, "implied",
           "CPU: further features of all its CPUs, which its code may use");
  FIELD(std::optional<std::vector<std::string>>, marks, "CPU features of which code for it uses at least one");
  FIELD(std::optional<double>, least_marks,
        "CPU: minimum count of marks per thousand instructions that run on every CPU: tests/real/write_marks.py");
  FIELD(std::optional<std::string>, emulated_cpu,
        "CPU: QEMU model with exactly the features that its recipes need; null if none exists");
  FIELD(std::vector<std::string>, preferred_by,
        "CPU: vendors whose CPUs prefer its kernels to earlier rows, if no rates were measured");
  FIELD(std::optional<std::string>, first_cuda, "first CUDA version that builds it");
  FIELD(std::optional<std::string>, last_cuda, "last CUDA version that builds it; null if the current one does");
  // driver branch for the default CUDA line; null if that line does not build it
  FIELD(std::optional<int64_t>, min_driver, "driver branch for the default CUDA line");
  FIELD(std::vector<std::string>, platforms, "Nix systems");  // "x86_64-linux", "aarch64-linux"
  FIELD(std::vector<std::string>, products, "chips, by their marketing names");
  FIELD(std::vector<InstructionPath>, instructions, "instruction paths that a build must contain");
  FIELD(std::vector<OpsPerClock>, ops_per_clock, "per SM or core; one entry per chip class");
  FIELD(TargetLimits, limits);
  FIELD(std::optional<std::string>, torch_cpu_capability, "CPU capability of torch's dispatcher; null for its default");
  FIELD(std::optional<std::string>, note);
};

struct TargetTable {
  SCHEMA("pbprobe.targets/1");
  FIELD(std::vector<Target>, targets);
};

// Returns every row, in the order of the file. The table is part of the program; an error in it fails the build
// (tests/core/targets).
[[nodiscard]] const std::vector<Target>& all_targets();

// Reports whether variants can be built for the target. amx exists only for pbprobe's kernels, because libraries use
// AMX without a build option; sm70 exists only for audits.
[[nodiscard]] inline bool has_variants(const Target& target) {
  return target.kind == TargetKind::gpu ? target.compiler != "none" : !target.recipe_flags.empty();
}

// Returns the row with this id, or null.
[[nodiscard]] const Target* find_target(std::string_view id);

// Returns the GPU row with this capability ("12.1"), or null.
[[nodiscard]] const Target* find_gpu_target(std::string_view capability);

// Returns the row with this id. The error lists the existing ids.
[[nodiscard]] Result<const Target*> require_target(std::string_view id);

}  // namespace pbprobe
