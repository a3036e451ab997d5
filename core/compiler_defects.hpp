// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Published defects of NVIDIA's compilers: recipes/compilers.json, embedded at build time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.hpp"

namespace pbprobe {

struct CompilerDefect {
  FIELD(std::string, source, "URL of the publication");
  FIELD(std::string, symptom, "effect, as the end of a sentence about the compiler");  // continues "ptxas 13.0.88 …"
  FIELD(std::string, used_by, "nvcc: cubins of a build; Triton: compilation at run time");
  FIELD(std::string, first, "first affected version of ptxas");  // "13.0"
  FIELD(std::string, last, "last version that the source names, with its refinements");
  FIELD(std::optional<std::string>, fixed, "release with the fix; null if none is known");
  FIELD(std::vector<std::string>, sms, "affected capabilities");  // "sm_120"
  FIELD(std::vector<std::string>, operators, "operators of torch's database that may show the defect");
};

struct CompilerDefects {
  SCHEMA("pbprobe.compilers/1");
  FIELD(std::vector<CompilerDefect>, defects, "defects with a public source");
};

[[nodiscard]] const std::vector<CompilerDefect>& all_compiler_defects();

// Reports whether `version` of ptxas has the defect: 13.1.80 if the last version is 13.1 or 13.1.80.
[[nodiscard]] bool has_defect(const CompilerDefect& defect, std::string_view version);

}  // namespace pbprobe
