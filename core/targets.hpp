// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The target table: recipes/targets.json, embedded at build time. Nothing about a target stands anywhere else.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.hpp"
#include "core/fields.hpp"
#include "core/result.hpp"

namespace pbprobe {

enum class TargetKind { cpu, gpu };

[[nodiscard]] std::span<const EnumName<TargetKind>> enum_names(TargetKind);

// One instruction path that a build for this target must contain.
struct InstructionPath {
  std::string name;                  // as PTX or the CPU's manual has it: "mma.sync", "vfmadd231ps zmm"
  std::string dtype;                 // a DType name
  std::vector<std::string> opcodes;  // SASS or CPU mnemonics, any one of which proves it: "HMMA"
};

// Dense operations per clock (FMA = 2) per SM or core of one class of chips; null: no such path, or not known.
struct OpsPerClock {
  std::string chip_class;  // "GeForce", "professional", "two 512-bit FMA units"
  std::optional<int64_t> fp32;
  std::optional<int64_t> tf32;
  std::optional<int64_t> fp16;
  std::optional<int64_t> bf16;
  std::optional<int64_t> int8;
  std::optional<int64_t> fp8;
  std::vector<std::string> leads;  // types whose rate is second-hand: a lead, which never refutes a measurement
};

[[nodiscard]] std::optional<int64_t> rate_of(const OpsPerClock& ops, DType type);

struct TargetLimits {
  std::optional<int64_t> shared_per_sm_bytes;
  std::optional<int64_t> shared_per_block_bytes;  // opt-in maximum of one block
  std::optional<int64_t> registers_per_sm;
  std::optional<int64_t> threads_per_sm;
  std::optional<int64_t> tensor_memory_columns;  // 0: no tensor memory
  std::optional<int64_t> vector_bits;            // CPU: width of a vector register; null where length-agnostic
  std::optional<int64_t> memory_gb_per_s;        // GPU: 1e9 bytes a second, by data sheet
};

struct Target {
  std::string id;  // "sm121", "avx512vnni"
  TargetKind kind = TargetKind::cpu;
  std::string architecture;                    // GPU: what to build for ("121", "90a"); CPU: "x86_64" or "aarch64"
  std::optional<std::string> capability;       // GPU: "12.1"
  std::vector<std::string> siblings;           // GPU: further architectures that an exact claim allows ("sm_121a")
  std::string compiler;                        // "cxx", "nvcc" or "nvrtc"; "none": for audits only
  std::vector<std::string> flags;              // what its kernels are compiled with, and no others
  std::optional<std::string> ptx;              // GPU: whose PTX its kernels become in tests on newer silicon: "80"
  std::vector<std::string> recipe_flags;       // CPU: what its recipes are compiled with
  std::vector<std::string> requires_features;  // CPU: feature names of core/host that its kernels need
  std::vector<std::string> recipe_requires;    // CPU: those that its recipes need
  std::optional<std::vector<std::string>> implied_features;  // CPU: what each of its CPUs has besides
  std::optional<std::vector<std::string>> marks;             // CPU: code that uses none of these is not built for it
  std::optional<double> least_marks;        // CPU: per thousand instructions that run everywhere, at least so many
  std::optional<std::string> emulated_cpu;  // CPU: QEMU's model that has exactly what its recipes need
  std::optional<std::string> first_cuda;
  std::optional<std::string> last_cuda;  // last CUDA line that still builds it; null: current
  std::optional<int64_t> min_driver;     // for the default CUDA line; null: that line does not build it
  std::vector<std::string> platforms;    // "x86_64-linux", "aarch64-linux"
  std::vector<std::string> products;     // marketing names (GPU), first CPUs (CPU)
  std::vector<InstructionPath> instructions;
  std::vector<OpsPerClock> ops_per_clock;
  TargetLimits limits;
  std::optional<std::string>
      torch_cpu_capability;  // the CPU capability that torch's dispatcher takes here: "AVX2"; null: its default
  std::optional<std::string> note;
};

struct TargetTable {
  std::vector<Target> targets;
};

// Every row, in the file's order. The table is part of the program: a broken one ends the build (tests/core/targets).
[[nodiscard]] const std::vector<Target>& all_targets();

// Whether variants can be built for it. amx is there only for the kernels: libraries use it on their own account;
// sm70 only for audits.
[[nodiscard]] inline bool has_variants(const Target& target) {
  return target.kind == TargetKind::gpu ? target.compiler != "none" : !target.recipe_flags.empty();
}

// The row with this id, or null.
[[nodiscard]] const Target* find_target(std::string_view id);

// The GPU row whose capability is "12.1", or null.
[[nodiscard]] const Target* find_gpu_target(std::string_view capability);

// The row with this id, or an error that names the ids there are.
[[nodiscard]] Result<const Target*> require_target(std::string_view id);

template <class Visitor, SameAs<InstructionPath> T>
void fields(Visitor& visit, T& path) {
  visit("name", path.name, "as PTX or the CPU's manual has it");
  visit("dtype", path.dtype, "operand type");
  visit("opcodes", path.opcodes, "SASS or CPU mnemonics; any one of them proves the path");
}

template <class Visitor, SameAs<OpsPerClock> T>
void fields(Visitor& visit, T& ops) {
  visit("class", ops.chip_class, "chips that share these rates");
  visit("fp32", ops.fp32, "FP32 operations per clock (FMA = 2), dense");
  visit("tf32", ops.tf32);
  visit("fp16", ops.fp16, "FP32 accumulation where the chip tells it apart");
  visit("bf16", ops.bf16);
  visit("int8", ops.int8);
  visit("fp8", ops.fp8, "E4M3 and E5M2, sums in FP32");
  visit("leads", ops.leads, "types whose rate is second-hand: it never refutes a measurement");
}

template <class Visitor, SameAs<TargetLimits> T>
void fields(Visitor& visit, T& limits) {
  visit("shared_per_sm_bytes", limits.shared_per_sm_bytes);
  visit("shared_per_block_bytes", limits.shared_per_block_bytes, "opt-in maximum of one block");
  visit("registers_per_sm", limits.registers_per_sm);
  visit("threads_per_sm", limits.threads_per_sm);
  visit("tensor_memory_columns", limits.tensor_memory_columns, "0: no tensor memory");
  visit("vector_bits", limits.vector_bits, "null where the ISA is length-agnostic");
  visit("memory_gb_per_s", limits.memory_gb_per_s,
        "GPU: of its memory, 1e9 bytes a second, by data sheet; of several chips the slowest common one");
}

template <class Visitor, SameAs<Target> T>
void fields(Visitor& visit, T& target) {
  visit("id", target.id, "as used in labels, recipes and flags");
  visit("kind", target.kind);
  visit("architecture", target.architecture, "GPU: what to build for; CPU: x86_64 or aarch64");
  visit("capability", target.capability, "GPU: compute capability");
  visit("siblings", target.siblings, "GPU: further architectures that an exact claim allows");
  visit("compiler", target.compiler, "cxx, nvcc or nvrtc; none: it is there for audits only");
  visit("flags", target.flags, "what its kernels are compiled with, and no others");
  visit("ptx", target.ptx, "GPU: the architecture whose PTX its kernels become in tests on newer silicon");
  visit("recipe_flags", target.recipe_flags, "CPU: what its recipes are compiled with; empty: it has none");
  visit("requires", target.requires_features, "CPU features that its kernels need of a host");
  visit("recipe_requires", target.recipe_requires, "CPU features that its recipes need of a host");
  visit("implied", target.implied_features, "CPU features that each of its CPUs has besides: code for it may use them");
  visit("marks", target.marks, "CPU features of which code that is built for it uses at least one");
  visit("least_marks", target.least_marks,
        "CPU: of a thousand instructions that run everywhere, so many marks at least: tests/real/write_marks.py");
  visit("emulated_cpu", target.emulated_cpu, "CPU: QEMU's model without what its recipes do not need; null: none");
  visit("first_cuda", target.first_cuda, "first CUDA version that builds it");
  visit("last_cuda", target.last_cuda, "last CUDA version that builds it; null: the current one");
  visit("min_driver", target.min_driver, "driver branch for the default CUDA line");
  visit("platforms", target.platforms, "Nix systems");
  visit("products", target.products, "chips, by their marketing names");
  visit("instructions", target.instructions, "instruction paths that a build must contain");
  visit("ops_per_clock", target.ops_per_clock, "per SM or core; one entry per chip class");
  visit("limits", target.limits);
  visit("torch_cpu_capability", target.torch_cpu_capability,
        "the CPU capability that torch's dispatcher takes; null: its default");
  visit("note", target.note);
}

template <class Visitor, SameAs<TargetTable> T>
void fields(Visitor& visit, T& table) {
  visit.constant("schema", "pbprobe.targets/1");
  visit("targets", table.targets);
}

}  // namespace pbprobe
