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
  std::string package;
  std::string version;
  std::string platform;              // "x86_64-linux"
  std::string wheel;                 // file name
  std::optional<std::string> torch;  // required torch: "==2.15.0"; nullopt for any, or none
  std::vector<std::string> cuda;     // "13.2" for torch; for others the major versions of their CUDA libraries
  std::optional<int64_t> min_driver;
  std::vector<std::string> sms;  // machine code in most units of torch; for others, in any unit
  std::vector<std::string> few;  // machine code in a few units of torch
  std::vector<std::string> ptx;
};

// Package version that the index has only as source.
struct AbsentWheel {
  std::string package;
  std::string version;
  std::string platform;
};

struct PublicWheels {
  std::string read;  // date of reading: "2026-11-25"
  std::vector<PublicWheel> wheels;
  std::vector<AbsentWheel> absent;
};

[[nodiscard]] const PublicWheels& public_wheels();

// Parses the table. Errors: malformed, with the key.
[[nodiscard]] Result<PublicWheels> parse_public_wheels(std::string_view text);

// Advice about one wheel on one GPU.
struct WheelAdvice {
  std::string package;
  std::string version;
  GpuCode code = GpuCode::unknown;  // worst code for any of the GPUs; unknown without device code or GPU
  std::optional<int64_t> min_driver;
  std::optional<int64_t> max_driver;
  std::string sentence;
};

struct WheelsAdvice {
  std::string read;                       // date of reading the wheels
  std::vector<WheelAdvice> wheels;        // torch first; empty if no torch runs here
  bool serves_mixed_gpus = false;         // the machine has several SMs, and torch has code for each
  std::vector<std::string> commands;      // commands that install torch and matching packages
  std::optional<std::string> warning;     // warning of torch on this GPU, and whether it is true; nullopt without a GPU
  std::vector<std::string> not_possible;  // with reasons
};

// Returns the last driver branch that supports each GPU of the machine; nullopt if current drivers do.
[[nodiscard]] std::optional<int64_t> max_driver(const Host& host);

// Selects the wheels for a machine: for all of its GPUs if one torch has code for each, else for `gpu`. gpu: null if no
// GPU is to be used.
[[nodiscard]] WheelsAdvice advise_wheels(const Host& host, const Gpu* gpu, const PublicWheels& table = public_wheels());

void fields(auto& visit, SameAs<PublicWheel> auto& wheel) {
  visit("package", wheel.package, "name in METADATA");
  visit("version", wheel.version, "version in METADATA");
  visit("platform", wheel.platform, "x86_64-linux or aarch64-linux");
  visit("wheel", wheel.wheel, "file name");
  visit("torch", wheel.torch, "required torch in METADATA; null for any, or none");
  visit("cuda", wheel.cuda, "toolkit of torch; for others the major versions of linked CUDA libraries");
  visit("min_driver", wheel.min_driver, "first driver branch of the lowest version; null without CUDA libraries");
  visit("sms", wheel.sms, "machine code in most units of torch; for others, in any unit");
  visit("few", wheel.few, "machine code in a few units of torch");
  visit("ptx", wheel.ptx, "PTX");
}

void fields(auto& visit, SameAs<AbsentWheel> auto& wheel) {
  visit("package", wheel.package, "name of the package");
  visit("version", wheel.version, "requested version");
  visit("platform", wheel.platform, "x86_64-linux or aarch64-linux");
}

void fields(auto& visit, SameAs<PublicWheels> auto& table) {
  visit.constant("schema", "pbprobe.public_wheels/1");
  visit("read", table.read, "date of reading the wheels");
  visit("wheels", table.wheels, "wheels by package, oldest first");
  visit("absent", table.absent, "package versions that the index has only as source");
}

void fields(auto& visit, SameAs<WheelAdvice> auto& advice) {
  visit("package", advice.package, "name of the package");
  visit("version", advice.version, "version that matches the torch");
  visit("code", advice.code, "worst code for any of the GPUs; unknown without device code");
  visit("min_driver", advice.min_driver, "first driver branch for the CUDA of the wheel and the GPUs");
  visit("max_driver", advice.max_driver, "last driver branch for the GPUs; null if current drivers support them");
  visit("sentence", advice.sentence, "one sentence");
}

void fields(auto& visit, SameAs<WheelsAdvice> auto& advice) {
  visit("read", advice.read, "date of reading the wheels");
  visit("wheels", advice.wheels, "torch first, then related packages; empty if no torch runs here");
  visit("serves_mixed_gpus", advice.serves_mixed_gpus, "the machine has several SMs, and torch has code for each");
  visit("commands", advice.commands, "commands that install torch and matching packages");
  visit("warning", advice.warning, "warning of torch on this GPU, and whether it is true; null without a GPU");
  visit("not_possible", advice.not_possible, "impossible choices with reasons");
}

// Public builds to compare with, one per torch version, CUDA version and platform: recipes/reference_builds.json.
struct ReferenceBuilds {
  std::vector<ReferenceBuild> builds;
};

[[nodiscard]] const ReferenceBuilds& reference_builds();

// Parses the table. Errors: malformed, with the key.
[[nodiscard]] Result<ReferenceBuilds> parse_reference_builds(std::string_view text);

// Returns the public build to compare with a build of this version and claim; empty if the table lacks the version.
[[nodiscard]] ReferenceBuild find_reference(const Inventory& build, const Claim& claim,
                                            const ReferenceBuilds& table = reference_builds());

void fields(auto& visit, SameAs<ReferenceBuilds> auto& table) {
  visit.constant("schema", "pbprobe.reference_builds/1");
  visit("builds", table.builds, "oldest first");
}

}  // namespace pbprobe
