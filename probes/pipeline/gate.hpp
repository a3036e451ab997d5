// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Implementation of `pbprobe gate`: collects the facts that the required level needs, and calls the judge.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/facts/report.hpp"
#include "core/result.hpp"
#include "probes/pipeline/emulate.hpp"

namespace pbprobe {

struct GateRequest {
  std::filesystem::path artifact;
  Claim claim;
  std::string policy;                              // builder, hardware or a file; chosen by `require` if empty
  std::optional<Level> require;                    // level for SMs and ISAs; replaces the policy's level
  std::optional<Emulation> emulation;              // start libtorch on this CPU instead
  bool emulated_loads = true;                      // load libtorch on an emulated CPU of each claimed row
  bool imports = true;                             // import an installed torch by an interpreter that fits
  bool operators = false;                          // also compare torch's operators on this machine
  std::optional<std::filesystem::path> baseline;   // generic libtorch; null for the default
  std::optional<std::filesystem::path> reference;  // table that replaces recipes/reference_builds.json
  std::filesystem::path program;                   // see ReportOptions
  double budget_seconds = 0;                       // 0 for 300
  std::function<void(std::string_view step)> progress;
};

// Returns a report with its verdict. If `shipped` is sufficient, it inspects no machine and runs nothing of the
// artifact outside a sandbox: there, an emulated CPU loads libtorch's files (docs/decisions/0011), and Python imports
// an installed torch. Errors: usage (the policy),
// not_found, unreadable, malformed, if the artifact cannot be judged.
[[nodiscard]] Result<Report> make_gate(const GateRequest& request);

// Returns the built-in policy `name`; reads a file instead if `name` contains a slash or ends in .json. Errors: usage
// (no such policy), not_found, unreadable, malformed.
[[nodiscard]] Result<Policy> load_policy(const std::string& name);

}  // namespace pbprobe
