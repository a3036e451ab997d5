// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Catalogue of checks: PB1xx files, PB2xx CPU, PB3xx GPU, PB4xx recipes, PB5xx running. An id is never used again for
// another check.
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

// Input that a check needs. Without a needed fact, a check has no answer; without the claim, it is not asked.
enum class Need : uint8_t {
  host,
  inventory,
  whole,      // an artifact, not one file of it
  run,        // libtorch was started
  claim,      // something is claimed
  gpu_claim,  // at least one claimed SM
  cpu_claim,  // at least one claimed CPU ISA
  torch_claim,
  cuda_claim,
  python_claim,
  blas_claim,
  file_claim,     // a claim file names single files
  wheel_variant,  // the artifact has a variant.json
  cuda_build,     // the artifact is a CUDA build, or claims to be
  package,        // the artifact has metadata of a Python package
  store,          // the artifact is in a Nix store
  baseline,       // comparison with another libtorch
  reference,      // code counts of other builds of this version
  record,         // comparison with RECORD and metadata
  environment,    // the artifact is installed among other packages
  rows,           // one row for each package beside torch
  processors,     // comparison of processors of an installed artifact and its environment
  other,          // package other than torch
  preflight,      // search for run-time compilers
  imports,        // import of torch and of modules that link torch
  operators,      // comparison of torch's operators with double precision
  emulated,       // an emulated CPU of a claimed target loaded the artifact, or died
};

// Parts of a claim, in the order of the report's rows.
enum class ClaimPart : uint8_t { sm, isa, torch, cuda, python, blas, files };

// One fault that a check saw.
struct Seen {
  Sentence what;
  std::optional<std::string> where = std::nullopt;
  std::optional<std::string> remedy = std::nullopt;        // replaces the catalogue's remedy
  std::optional<std::string> distribution = std::nullopt;  // package beside torch that has the fault
};

// Result of one check: its faults, none if it passed; `unknown` if it could not decide.
struct Answer {
  std::vector<Seen> seen;
  std::optional<Seen> unknown = std::nullopt;  // reason for a missing answer
};

// A row of the catalogue. A row omits members that have their default value.
struct Check {
  std::string_view id;
  Subject subject = Subject::artifact;  // default: the subject of the list in checks.cpp
  Level level = Level::shipped;
  Severity severity = Severity::fail;
  std::vector<Need> needs = {};
  bool decides = false;       // the verdict is unknown without an answer
  bool integrity = false;     // all other answers depend on this check: no policy may lower its severity
  bool of_any = false;        // also asked of packages without torch
  bool by_glibc = false;      // silent if the glibc of a machine is known: a check with that machine's version answers
  bool is_cause = false;      // a fault of this check makes others fail: its findings come first
  bool of_processor = false;  // failure means that the build is for another processor than the claim or this machine
  bool searches_system = false;                    // the answer depends on libraries in this machine's system folders
  std::optional<ClaimPart> proves = std::nullopt;  // part of a claim that is shipped only if this check passes
  std::string_view remedy;
  Answer (*ask)(const Facts& facts) = nullptr;
};

// Names the needs of a check: "inventory", "a baseline".
[[nodiscard]] std::vector<std::string_view> list_needs(const Check& check);

// Returns the catalogue, sorted by id.
[[nodiscard]] std::span<const Check> all_checks();

// Returns nullptr if the catalogue has no such check.
[[nodiscard]] const Check* find_check(std::string_view id);

// Returns why the check `id` was retired; "" if it was not. Policies may still name retired ids.
[[nodiscard]] std::string_view explain_retirement(std::string_view id);

[[nodiscard]] bool needs(const Check& check, Need need);

// Reports whether any check has this need.
[[nodiscard]] bool asks(Need need);

// Returns the content of docs/checks.md.
[[nodiscard]] std::string checks_markdown();

}  // namespace pbprobe
