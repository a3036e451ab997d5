// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Facts of a report for the checks, with values that several checks need.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/report.hpp"
#include "core/major_minor.hpp"
#include "core/strings.hpp"
#include "core/targets.hpp"
#include "probes/judge/checks.hpp"
#include "probes/judge/gpu/code_choice.hpp"

namespace pbprobe {

inline constexpr std::string_view kLibtorch = "libtorch";  // File::component of torch's own libraries
inline constexpr std::string_view kLibtorchCpu = "libtorch_cpu.so";
inline constexpr std::string_view kLibtorchCuda = "libtorch_cuda.so";

// Report with facts that several checks derive from it. The report must outlive this object.
struct Facts {
  const Report& report;
  const Host* host = nullptr;
  const Inventory* inventory = nullptr;
  const Measurements* measurements = nullptr;
  const LibtorchRun* run = nullptr;
  const Claim* claim = nullptr;
  std::vector<const Target*> claimed_gpus;
  std::vector<const Target*> claimed_cpus;
  bool single_file = false;  // one file instead of a whole artifact
  bool files_only = false;   // only the artifact is judged, without a machine
  bool other = false;        // only files were read, of a package other than torch

  bool cuda_build = false;            // metadata names a CUDA, or libtorch holds device code
  const File* main_file = nullptr;    // libtorch's file with the most units of device code
  bool wrong_platform = false;        // built for another processor than this machine has
  std::string torch;                  // "torch 2.11.0+cu130"
  std::optional<std::string> no_gpu;  // reason for a missing GPU; nullopt if the host has one
  std::vector<GpuOutcome> gpus;       // one for each GPU of the host
  std::vector<CodeChoice> choices;    // in the order of `gpus`
};

[[nodiscard]] Facts derive_facts(const Report& report);

// Reports whether a file is one of torch's own libraries. A single file counts as torch's own, unless it belongs to a
// library that chooses its own SMs.
[[nodiscard]] bool is_own(const Inventory& inventory, const File& file);

// Reports whether a file belongs to MAGMA, NCCL, cuDNN or cuBLAS, which choose their own SMs.
[[nodiscard]] bool has_own_sms(const File& file);

// Reports whether the artifact is a single library beside torch: neither a CUDA build nor a CPU build of torch.
[[nodiscard]] bool is_other_library(const Facts& facts);

// Returns the first fatbin entry that differs from its header, or nullptr.
[[nodiscard]] const FalseEntry* first_false_entry(const DeviceCode& code);

// Returns the first target that does not exist on the artifact's platform, or nullptr. Returns nullptr if the platform
// is unknown.
[[nodiscard]] const Target* find_foreign_target(const Facts& facts, const std::vector<const Target*>& targets);

// Reports whether the artifact can show this part of a claim. A single file shows only some parts.
[[nodiscard]] bool tells(const Facts& facts, ClaimPart part);

// Claimed parts that the artifact can show (`known`) or not, with the names of the report's rows.
struct ClaimParts {
  std::vector<std::string> known;
  std::vector<std::string> unknown;
};
[[nodiscard]] ClaimParts claim_parts(const Facts& facts);

// Returns the first file whose base name starts with `begin`, or nullptr.
[[nodiscard]] const File* file_named(const Inventory& inventory, std::string_view begin);

// Returns "2.11.0" for "2.11.0+cu130", "2.11.0a0" and "2.11.0.dev20260101".
[[nodiscard]] std::string_view get_release(std::string_view version);

// Returns 13.0 for "2.11.0+cu130"; nullopt without a CUDA suffix.
[[nodiscard]] std::optional<MajorMinor> local_cuda(std::string_view version);

// Replaces numbers by "#": "libtorchcodec_core#.so". Files that differ only by numbers are alternatives, each for
// another FFmpeg or SM; the package loads the fitting file.
[[nodiscard]] std::string without_numbers(std::string_view path);

// Returns "GPU 0 NVIDIA H200 (9.0)".
[[nodiscard]] std::string gpu_label(const GpuOutcome& gpu);

// Consecutive equal GPUs that get the same code from this torch. Checks report each group once.
struct GpuGroup {
  size_t first = 0;  // index into Facts::gpus
  size_t count = 0;
  std::string numbers;  // "GPU 0", "GPU 0-7"
  std::string label;    // "GPU 0-7 NVIDIA H200 (9.0)"
};

[[nodiscard]] std::vector<GpuGroup> gpu_groups(const Facts& facts);

// Returns the index into Facts::gpus of the first usable GPU, on which libtorch runs; nullopt if no GPU is usable.
[[nodiscard]] std::optional<size_t> gpu_of_run(const Facts& facts);

// Reports whether libtorch computed on this device ("cpu", "cuda:0").
[[nodiscard]] bool has_run(const LibtorchRun& run, std::string_view device);

// Returns the command that installs the same torch again: version and index; nullopt if no index is known to have it.
[[nodiscard]] std::optional<std::string> reinstall_torch(const Inventory& inventory);

// Returns "aarch64" for "aarch64-linux".
[[nodiscard]] std::string_view get_processor(std::string_view platform);

}  // namespace pbprobe
