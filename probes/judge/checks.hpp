// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The one catalogue of checks. PB1xx files, PB2xx CPU, PB3xx GPU, PB4xx recipes, PB5xx running. An id is stable, and
// never used again for another check.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/finding.hpp"
#include "probes/judge/say.hpp"

namespace pbprobe {

struct Facts;  // probes/judge/facts.hpp

// What a check reads. Without a fact the question has no answer; without the claim it is not asked.
enum class Need : uint8_t {
  host,
  inventory,
  whole,      // an artifact, not one file of it
  run,        // libtorch was started
  claim,      // something is claimed
  gpu_claim,  // at least one SM is
  cpu_claim,  // at least one CPU ISA is
  torch_claim,
  cuda_claim,
  python_claim,
  blas_claim,     // this is
  file_claim,     // a claim file names single files
  wheel_variant,  // it has a variant.json
  cuda_build,     // the artifact is one, or says so
  package,        // the artifact has what a Python package says of itself
  store,          // it lies in a Nix store
  baseline,       // it was held beside another libtorch
  reference,      // what builds of its version hold was asked for
  record,         // it was held against its RECORD and its own metadata
  environment,    // it is installed among other packages
  rows,           // the packages beside torch were read, a row each
  processors,     // it is installed, and its files' processors were compared with the environment's
  other,          // the package is another one than torch
  preflight,      // what compiles as programs run was looked for
  imports,        // torch was imported, and what links it
  operators,      // torch's operators were compared with double precision
  emulated,       // an emulated CPU of a claimed row has loaded it, or died of it
};

// What a claim may say, in the order of the report's rows.
enum class ClaimPart : uint8_t { sm, isa, torch, cuda, python, blas, files };

// One fault that a check saw.
struct Seen {
  Sentence what;
  std::optional<std::string> where = std::nullopt;
  std::optional<std::string> remedy = std::nullopt;        // where the catalogue's can be put more exactly
  std::optional<std::string> distribution = std::nullopt;  // the package beside torch that has it
};

struct Answer {
  std::vector<Seen> seen;
  std::optional<Seen> unknown = std::nullopt;  // why there is no answer
};

// A row of the catalogue. A row omits members that have their default value.
struct Check {
  std::string_view id;
  Subject subject = Subject::artifact;
  Level level = Level::shipped;
  Severity severity = Severity::note;
  std::vector<Need> needs = {};
  bool decides = false;       // without an answer to it the verdict is unknown
  bool integrity = false;     // it protects what every other answer rests on: no policy makes less of it
  bool of_any = false;        // asked of packages without a torch too
  bool is_cause = false;      // what it finds makes other checks fail: its findings come first
  bool of_processor = false;  // what fails it is for no CPU or GPU of the claimed ones' processor
  std::optional<ClaimPart> proves = std::nullopt;  // the part of a claim that is shipped only where it passes
  std::string_view question;
  std::string_view remedy;
  Answer (*ask)(const Facts& facts) = nullptr;
};

// What must be known for it, in words: "inventory", "a baseline".
[[nodiscard]] std::vector<std::string_view> needs_of(const Check& check);

// In the order of their ids.
[[nodiscard]] std::span<const Check> all_checks();

// Null: the catalogue has no such check.
[[nodiscard]] const Check* find_check(std::string_view id);

// Returns why the check of this id is no longer asked; empty if there was none. Policies may still name the id.
[[nodiscard]] std::string_view explain_retirement(std::string_view id);

[[nodiscard]] bool needs(const Check& check, Need need);

// Is there a check that needs it?
[[nodiscard]] bool asks(Need need);

// docs/checks.md.
[[nodiscard]] std::string checks_markdown();

}  // namespace pbprobe
