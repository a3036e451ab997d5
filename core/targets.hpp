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
  std::string name;                  // named as in the PTX or CPU manual: "mma.sync", "vfmadd231ps zmm"
  std::string dtype;                 // a DType name
  std::vector<std::string> opcodes;  // SASS or CPU mnemonics, each of which proves the path: "HMMA"
};

// Dense operations per clock (FMA = 2), per SM or core, for one class of chips. Null if the path does not exist or its
// rate is not known.
struct OpsPerClock {
  std::string chip_class;  // "GeForce", "professional", "two 512-bit FMA units"
  std::optional<int64_t> fp32;
  std::optional<int64_t> tf32;
  std::optional<int64_t> fp16;
  std::optional<int64_t> bf16;
  std::optional<int64_t> int8;
  std::optional<int64_t> fp8;
  std::vector<std::string> leads;  // types whose rate has no primary source; such a rate never refutes a measurement
};

[[nodiscard]] std::optional<int64_t> rate_of(const OpsPerClock& ops, DType type);

struct TargetLimits {
  std::optional<int64_t> shared_per_sm_bytes;
  std::optional<int64_t> shared_per_block_bytes;  // opt-in maximum of one block
  std::optional<int64_t> registers_per_sm;
  std::optional<int64_t> threads_per_sm;
  std::optional<int64_t> tensor_memory_columns;  // 0: no tensor memory
  std::optional<int64_t> vector_bits;            // CPU: width of a vector register; null if length-agnostic
  std::optional<int64_t> memory_gb_per_s;        // GPU: 1e9 bytes per second, from the data sheet
};

struct Target {
  std::string id;  // "sm121", "avx512vnni"
  TargetKind kind = TargetKind::cpu;
  std::string architecture;               // GPU: architecture to build for ("121", "90a"); CPU: "x86_64" or "aarch64"
  std::optional<std::string> capability;  // GPU: "12.1"
  std::vector<std::string> siblings;      // GPU: further architectures that an exact claim allows ("sm_121a")
  std::string compiler;                   // "cxx", "nvcc" or "nvrtc"; "none": for audits only
  std::vector<std::string> flags;         // compiler flags of its kernels; no other flags apply
  std::optional<std::string> ptx;         // GPU: PTX architecture of its kernels in tests on newer GPUs: "80"
  std::vector<std::string> recipe_flags;  // CPU: compiler flags of its recipes
  std::vector<std::string> requires_features;  // CPU: features that its kernels need, named as in core/host
  std::vector<std::string> recipe_requires;    // CPU: features that its recipes need
  std::optional<std::vector<std::string>> implied_features;  // CPU: further features of all its CPUs
  std::optional<std::vector<std::string>> marks;             // CPU: features of which code for it uses at least one
  std::optional<double> least_marks;  // CPU: minimum count of marks per thousand instructions that run on every CPU
  std::optional<std::string> emulated_cpu;  // CPU: QEMU model with exactly the features that its recipes need
  std::vector<std::string> preferred_by;  // CPU vendors ("AuthenticAMD") whose CPUs run its kernels before earlier rows
  std::optional<std::string> first_cuda;
  std::optional<std::string> last_cuda;  // last CUDA line that builds it; null if the current one does
  std::optional<int64_t> min_driver;     // driver branch for the default CUDA line; null if that line does not build it
  std::vector<std::string> platforms;    // "x86_64-linux", "aarch64-linux"
  std::vector<std::string> products;     // marketing names (GPU), first CPUs (CPU)
  std::vector<InstructionPath> instructions;
  std::vector<OpsPerClock> ops_per_clock;
  TargetLimits limits;
  std::optional<std::string> torch_cpu_capability;  // torch's CPU capability: "AVX2"; null for its default
  std::optional<std::string> note;
};

struct TargetTable {
  std::vector<Target> targets;
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

void fields(auto& visit, SameAs<InstructionPath> auto& path) {
  visit("name", path.name, "named as in the PTX or CPU manual");
  visit("dtype", path.dtype, "operand type");
  visit("opcodes", path.opcodes, "SASS or CPU mnemonics, each of which proves the path");
}

void fields(auto& visit, SameAs<OpsPerClock> auto& ops) {
  visit("class", ops.chip_class, "chips that share these rates");
  visit("fp32", ops.fp32, "FP32 operations per clock (FMA = 2), dense");
  visit("tf32", ops.tf32);
  visit("fp16", ops.fp16, "FP32 accumulation, if the chip has another rate for it");
  visit("bf16", ops.bf16);
  visit("int8", ops.int8);
  visit("fp8", ops.fp8, "E4M3 and E5M2 with FP32 accumulation");
  visit("leads", ops.leads, "types whose rate has no primary source; such a rate never refutes a measurement");
}

void fields(auto& visit, SameAs<TargetLimits> auto& limits) {
  visit("shared_per_sm_bytes", limits.shared_per_sm_bytes);
  visit("shared_per_block_bytes", limits.shared_per_block_bytes, "opt-in maximum of one block");
  visit("registers_per_sm", limits.registers_per_sm);
  visit("threads_per_sm", limits.threads_per_sm);
  visit("tensor_memory_columns", limits.tensor_memory_columns, "0: no tensor memory");
  visit("vector_bits", limits.vector_bits, "CPU: width of a vector register; null if length-agnostic");
  visit("memory_gb_per_s", limits.memory_gb_per_s,
        "GPU: memory bandwidth from the data sheet, 1e9 bytes per second; for several chips, the lowest common one");
}

void fields(auto& visit, SameAs<Target> auto& target) {
  visit("id", target.id, "id in labels, recipes and flags");
  visit("kind", target.kind);
  visit("architecture", target.architecture, "GPU: architecture to build for; CPU: x86_64 or aarch64");
  visit("capability", target.capability, "GPU: compute capability");
  visit("siblings", target.siblings, "GPU: further architectures that an exact claim allows");
  visit("compiler", target.compiler, "cxx, nvcc or nvrtc; \"none\" for audits only");
  visit("flags", target.flags, "compiler flags of its kernels; no other flags apply");
  visit("ptx", target.ptx, "GPU: architecture of the PTX that tests build from its kernels for newer GPUs");
  visit("recipe_flags", target.recipe_flags, "CPU: compiler flags of its recipes; empty if it has no recipes");
  visit("requires", target.requires_features, "CPU features that its kernels need");
  visit("recipe_requires", target.recipe_requires, "CPU features that its recipes need");
  visit("implied", target.implied_features, "CPU: further features of all its CPUs, which its code may use");
  visit("marks", target.marks, "CPU features of which code for it uses at least one");
  visit("least_marks", target.least_marks,
        "CPU: minimum count of marks per thousand instructions that run on every CPU: tests/real/write_marks.py");
  visit("emulated_cpu", target.emulated_cpu,
        "CPU: QEMU model with exactly the features that its recipes need; null if none exists");
  visit("preferred_by", target.preferred_by,
        "CPU: vendors whose CPUs prefer its kernels to earlier rows, if no rates were measured");
  visit("first_cuda", target.first_cuda, "first CUDA version that builds it");
  visit("last_cuda", target.last_cuda, "last CUDA version that builds it; null if the current one does");
  visit("min_driver", target.min_driver, "driver branch for the default CUDA line");
  visit("platforms", target.platforms, "Nix systems");
  visit("products", target.products, "chips, by their marketing names");
  visit("instructions", target.instructions, "instruction paths that a build must contain");
  visit("ops_per_clock", target.ops_per_clock, "per SM or core; one entry per chip class");
  visit("limits", target.limits);
  visit("torch_cpu_capability", target.torch_cpu_capability,
        "CPU capability of torch's dispatcher; null for its default");
  visit("note", target.note);
}

void fields(auto& visit, SameAs<TargetTable> auto& table) {
  visit.constant("schema", "pbprobe.targets/1");
  visit("targets", table.targets);
}

}  // namespace pbprobe
