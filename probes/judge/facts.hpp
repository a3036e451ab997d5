// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The report's facts as the checks ask for them, with what several checks derive from them.
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

struct Facts {
  const Report& report;
  const Host* host = nullptr;
  const Inventory* inventory = nullptr;
  const Measurements* measurements = nullptr;
  const LibtorchRun* run = nullptr;
  const Claim* claim = nullptr;
  std::vector<const Target*> claimed_gpus;
  std::vector<const Target*> claimed_cpus;
  bool single_file = false;  // not a whole artifact: what a single file shows
  bool files_only = false;   // no machine was looked at: what is judged is only the artifact
  bool other = false;        // only files were read, and the package is another one than torch

  bool cuda_build = false;            // the artifact says so, or its libtorch holds device code
  const File* main_file = nullptr;    // libtorch's file with the most units of device code
  bool wrong_platform = false;        // built for another processor: nothing of it can run here
  std::string torch;                  // "torch 2.11.0+cu130"
  std::optional<std::string> no_gpu;  // why there is no GPU to judge; null: there is one
  std::vector<GpuOutcome> gpus;       // one for each GPU of the host
  std::vector<CodeChoice> choices;    // in the same order
};

[[nodiscard]] Facts derive_facts(const Report& report);

// torch's own libraries. A file that was given by itself is what was asked about, unless it belongs to a library that
// has its own list of SMs.
[[nodiscard]] bool is_own(const Inventory& inventory, const File& file);

// MAGMA, NCCL, cuDNN, cuBLAS: they hold SMs of their own choice.
[[nodiscard]] bool has_own_sms(const File& file);

// Reports whether a single library beside torch was given: no build of torch, with CUDA or without.
[[nodiscard]] bool is_other_library(const Facts& facts);

// The first entry that is not what it says; null: there is none.
[[nodiscard]] const FalseEntry* first_false_entry(const DeviceCode& code);

// The first of these targets that the artifact's platform has not; null: there is none, or the platform is unknown.
[[nodiscard]] const Target* of_other_processor(const Facts& facts, const std::vector<const Target*>& targets);

// Whether the artifact can tell it at all: of a single file, what its own bytes say.
[[nodiscard]] bool tells(const Facts& facts, ClaimPart part);

// The claimed ones, as the report's rows call them.
struct ClaimParts {
  std::vector<std::string> known;
  std::vector<std::string> unknown;
};
[[nodiscard]] ClaimParts claim_parts(const Facts& facts);

// The first file whose base name begins so; null: there is none.
[[nodiscard]] const File* file_named(const Inventory& inventory, std::string_view begin);

// "2.11.0+cu130", "2.11.0a0" and "2.11.0.dev20260101" are 2.11.0.
[[nodiscard]] std::string_view release_of(std::string_view version);

// "cu130" of "2.11.0+cu130" is 13.0.
[[nodiscard]] std::optional<MajorMinor> local_cuda(std::string_view version);

// "libtorchcodec_core#.so": files whose names differ by numbers only stand in for each other. Each links another
// FFmpeg, or is for another SM, and the package takes the one that fits.
[[nodiscard]] std::string without_numbers(std::string_view path);

// "GPU 0 NVIDIA H200 (9.0)".
[[nodiscard]] std::string gpu_label(const GpuOutcome& gpu);

// GPUs beside each other that get the same from this torch are reported once.
struct GpuGroup {
  size_t first = 0;  // index into Facts::gpus
  size_t count = 0;
  std::string numbers;  // "GPU 0", "GPU 0-7"
  std::string label;    // "GPU 0-7 NVIDIA H200 (9.0)"
};

[[nodiscard]] std::vector<GpuGroup> gpu_groups(const Facts& facts);

// The GPU that libtorch is run on, as an index into Facts::gpus: the first that can be used. Nothing where there is
// none.
[[nodiscard]] std::optional<size_t> gpu_of_run(const Facts& facts);

// Did libtorch compute on this device ("cpu", "cuda:0")?
[[nodiscard]] bool ran_on(const LibtorchRun& run, std::string_view device);

// Returns the command that installs the same torch again: version and index; nullopt if no index is known to have it.
[[nodiscard]] std::optional<std::string> reinstall_torch(const Inventory& inventory);

// The processor of "aarch64-linux".
[[nodiscard]] std::string_view processor_of(std::string_view platform);

}  // namespace pbprobe
