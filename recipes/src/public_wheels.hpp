// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// recipes/public_wheels.json: which SMs the public wheels of torch and of what runs beside it hold, embedded at build
// time; and which of them are for a machine. A pure function of the host's facts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/facts/host.hpp"
#include "core/facts/verdict.hpp"
#include "core/result.hpp"
#include "core/sm.hpp"

namespace pbprobe {

struct PublicWheel {
  std::string package;
  std::string version;
  std::string platform;              // "x86_64-linux"
  std::string wheel;                 // its file's name
  std::optional<std::string> torch;  // which torch it asks for: "==2.15.0"; null: any, or none
  std::vector<std::string> cuda;     // "13.2" of torch, majors of the others' libraries
  std::optional<int64_t> min_driver;
  std::vector<std::string> sms;  // of most translation units of torch; of others, of any
  std::vector<std::string> few;  // of a handful of units of torch
  std::vector<std::string> ptx;
};

// What the index has only the source of.
struct AbsentWheel {
  std::string package;
  std::string version;
  std::string platform;
};

struct PublicWheels {
  std::string read;  // the day on which they were read: "2026-11-25"
  std::vector<PublicWheel> wheels;
  std::vector<AbsentWheel> absent;
};

[[nodiscard]] const PublicWheels& public_wheels();

// Errors: malformed, with the key.
[[nodiscard]] Result<PublicWheels> parse_public_wheels(std::string_view text);

// One wheel on one GPU.
struct WheelAdvice {
  std::string package;
  std::string version;
  GpuCode code = GpuCode::unknown;  // what the GPU gets of it; unknown: it has no code for GPUs, or there is no GPU
  std::optional<int64_t> min_driver;
  std::string sentence;
};

struct WheelsAdvice {
  std::string read;                       // the day on which the wheels were read
  std::vector<WheelAdvice> wheels;        // torch first; empty: none runs here
  std::vector<std::string> commands;      // that install torch and what fits it
  std::optional<std::string> warning;     // torch's own on this GPU, and whether it is true; null: no GPU
  std::vector<std::string> not_possible;  // and why
};

// `gpu`: null where there is none to serve.
[[nodiscard]] WheelsAdvice advise_wheels(const Host& host, const Gpu* gpu, const PublicWheels& table = public_wheels());

template <class Visitor, SameAs<PublicWheel> T>
void fields(Visitor& visit, T& wheel) {
  visit("package", wheel.package, "as METADATA names it");
  visit("version", wheel.version, "likewise");
  visit("platform", wheel.platform, "x86_64-linux or aarch64-linux");
  visit("wheel", wheel.wheel, "its file's name");
  visit("torch", wheel.torch, "which torch its METADATA asks for; null: any, or none");
  visit("cuda", wheel.cuda, "of torch its toolkit; of others the majors of the libraries that they link");
  visit("min_driver", wheel.min_driver, "first driver branch of the least of them; null: it links none");
  visit("sms", wheel.sms, "machine code of most translation units of torch; of others, of any");
  visit("few", wheel.few, "machine code of a handful of torch's units");
  visit("ptx", wheel.ptx, "PTX, likewise");
}

template <class Visitor, SameAs<AbsentWheel> T>
void fields(Visitor& visit, T& wheel) {
  visit("package", wheel.package, "of which the index has only the source");
  visit("version", wheel.version, "that was asked for");
  visit("platform", wheel.platform, "x86_64-linux or aarch64-linux");
}

template <class Visitor, SameAs<PublicWheels> T>
void fields(Visitor& visit, T& table) {
  visit.constant("schema", "pbprobe.public_wheels/1");
  visit("read", table.read, "the day on which they were read");
  visit("wheels", table.wheels, "by package, oldest first");
  visit("absent", table.absent, "of which there is no wheel");
}

template <class Visitor, SameAs<WheelAdvice> T>
void fields(Visitor& visit, T& advice) {
  visit("package", advice.package, "its name");
  visit("version", advice.version, "that fits the torch");
  visit("code", advice.code, "what the GPU gets of it; unknown: it holds no device code");
  visit("min_driver", advice.min_driver, "first driver branch");
  visit("sentence", advice.sentence, "one sentence");
}

template <class Visitor, SameAs<WheelsAdvice> T>
void fields(Visitor& visit, T& advice) {
  visit("read", advice.read, "the day on which the wheels were read");
  visit("wheels", advice.wheels, "torch first, then what runs beside it; empty: none runs here");
  visit("commands", advice.commands, "that install torch and what fits it");
  visit("warning", advice.warning, "torch's own on this GPU, and whether it is true; null: no GPU");
  visit("not_possible", advice.not_possible, "and why");
}

}  // namespace pbprobe
