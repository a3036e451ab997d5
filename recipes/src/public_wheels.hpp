// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// recipes/public_wheels.json, embedded at build time: the SMs in the public wheels of torch and related packages.
// Advice for a machine is a pure function of the facts of the host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/claim.hpp"
#include "core/facts/host.hpp"
#include "core/facts/inventory.hpp"
#include "core/facts/reference.hpp"
#include "core/facts/verdict.hpp"
#include "core/result.hpp"
#include "core/sm.hpp"

namespace pbprobe {

struct PublicWheel {
  FIELD(std::string, package, "name in METADATA");
  FIELD(std::string, version, "version in METADATA");
  FIELD(std::string, platform, "x86_64-linux or aarch64-linux");
  FIELD(std::string, wheel, "file name");
  FIELD(std::optional<std::string>, torch, "required torch in METADATA; null for any, or none");
  FIELD(std::vector<std::string>, cuda, "toolkit of torch; for others the major versions of linked CUDA libraries");
  FIELD(std::optional<int64_t>, min_driver, "first driver branch of the lowest version; null without CUDA libraries");
  FIELD(std::vector<std::string>, sms, "machine code in most units of torch; for others, in any unit");
  FIELD(std::vector<std::string>, few, "machine code in a few units of torch");
  FIELD(std::vector<std::string>, ptx, "PTX");
};

// Package version that the index has only as source.
struct AbsentWheel {
  FIELD(std::string, package, "name of the package");
  FIELD(std::string, version, "requested version");
  FIELD(std::string, platform, "x86_64-linux or aarch64-linux");
};

struct PublicWheels {
  SCHEMA("pbprobe.public_wheels/1");
  FIELD(std::string, read, "date of reading the wheels");  // "2026-11-25"
  FIELD(std::vector<PublicWheel>, wheels, "wheels by package, oldest first");
  FIELD(std::vector<AbsentWheel>, absent, "package versions that the index has only as source");
};

[[nodiscard]] const PublicWheels& public_wheels();

// Parses the table. Errors: malformed, with the key.
[[nodiscard]] Result<PublicWheels> parse_public_wheels(std::string_view text);

// Advice about one wheel: for all GPUs of the machine if one torch has code for each, else for one GPU.
struct WheelAdvice {
  FIELD(std::string, package, "name of the package");
  FIELD(std::string, version, "version that matches the torch");
  FIELD(GpuCode, code, "worst code for any of the GPUs; unknown without device code") = GpuCode::unknown;
  FIELD(std::optional<int64_t>, min_driver, "first driver branch for the CUDA of the wheel and the GPUs");
  FIELD(std::optional<int64_t>, max_driver, "last driver branch for the GPUs; null if current drivers support them");
  FIELD(std::string, sentence, "one sentence");
};

struct WheelsAdvice {
  FIELD(std::string, read, "date of reading the wheels");
  FIELD(std::vector<WheelAdvice>, wheels, "torch first, then related packages; empty if no torch runs here");
  FIELD(bool, serves_mixed_gpus, "the machine has several SMs, and torch has code for each") = false;
  FIELD(std::vector<std::string>, commands, "commands that install torch and matching packages");
  FIELD(std::optional<std::string>, warning,
        "warning of torch on this GPU, and whether it is true; null without a GPU");
  FIELD(std::vector<std::string>, not_possible, "impossible choices with reasons");
};

// Returns the last driver branch that supports each GPU of the machine; nullopt if current drivers do.
[[nodiscard]] std::optional<int64_t> max_driver(const Host& host);

// Selects the wheels for a machine: for all of its GPUs if one torch has code for each, else for `gpu`. gpu: null if no
// GPU is to be used.
[[nodiscard]] WheelsAdvice advise_wheels(const Host& host, const Gpu* gpu, const PublicWheels& table = public_wheels());

// Public builds to compare with, one per torch version, CUDA version and platform: recipes/reference_builds.json.
struct ReferenceBuilds {
  SCHEMA("pbprobe.reference_builds/1");
  FIELD(std::vector<ReferenceBuild>, builds, "oldest first");
};

[[nodiscard]] const ReferenceBuilds& reference_builds();

// Parses the table. Errors: malformed, with the key.
[[nodiscard]] Result<ReferenceBuilds> parse_reference_builds(std::string_view text);

// Returns the public build to compare with a build of this version and claim; empty if the table lacks the version.
[[nodiscard]] ReferenceBuild find_reference(const Inventory& build, const Claim& claim,
                                            const ReferenceBuilds& table = reference_builds());

}  // namespace pbprobe
