// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What `pbprobe gate` does: gathers the facts that the required level needs, and lets the judge decide.
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
  std::string policy;  // builder, hardware or a file; empty: builder, hardware where more than `shipped` is asked
  std::optional<Level> require;        // of SMs and ISAs, in place of the policy's
  std::optional<Emulation> emulation;  // start libtorch on this CPU instead
  bool emulated_loads = true;          // load libtorch on an emulated CPU of each claimed row
  std::optional<std::filesystem::path>
      baseline;  // a generic libtorch; none: the torch found, where `measured` is asked
  std::optional<std::filesystem::path> reference;  // another table than recipes/reference_builds.json
  std::filesystem::path program;                   // as in ReportOptions
  double budget_seconds = 0;                       // 0: 300
  std::function<void(std::string_view step)> progress;
};

// A report with its verdict. Where `shipped` is enough no machine is looked at, and nothing of the artifact
// runs but what an emulated CPU does as it loads libtorch's files (docs/decisions/0011). Errors: usage (the policy),
// not_found, unreadable, malformed: it could not be judged at all.
[[nodiscard]] Result<Report> make_gate(const GateRequest& request);

// A built-in policy by its name; a file's name has a slash in it or ends in .json.
[[nodiscard]] Result<Policy> load_policy(const std::string& name);

}  // namespace pbprobe
