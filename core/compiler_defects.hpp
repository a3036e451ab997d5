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
  std::string source;                  // URL of the publication
  std::string symptom;                 // continues "ptxas 13.0.88 …"
  std::string used_by;                 // "nvcc": cubins of a build; "Triton": compilation at run time
  std::string first;                   // first affected version: "13.0"
  std::string last;                    // last version that the source names, with its refinements
  std::optional<std::string> fixed;    // release with the fix; null if none is known
  std::vector<std::string> sms;        // affected capabilities: "sm_120"
  std::vector<std::string> operators;  // torch's operators that may show the defect
};

struct CompilerDefects {
  std::vector<CompilerDefect> defects;
};

[[nodiscard]] const std::vector<CompilerDefect>& all_compiler_defects();

// Reports whether `version` of ptxas has the defect: 13.1.80 if the last version is 13.1 or 13.1.80.
[[nodiscard]] bool has_defect(const CompilerDefect& defect, std::string_view version);

void fields(auto& visit, SameAs<CompilerDefect> auto& defect) {
  visit("source", defect.source, "URL of the publication");
  visit("symptom", defect.symptom, "effect, as the end of a sentence about the compiler");
  visit("used_by", defect.used_by, "nvcc: cubins of a build; Triton: compilation at run time");
  visit("first", defect.first, "first affected version of ptxas");
  visit("last", defect.last, "last version that the source names, with its refinements");
  visit("fixed", defect.fixed, "release with the fix; null if none is known");
  visit("sms", defect.sms, "affected capabilities");
  visit("operators", defect.operators, "operators of torch's database that may show the defect");
}

void fields(auto& visit, SameAs<CompilerDefects> auto& table) {
  visit.constant("schema", "pbprobe.compilers/1");
  visit("defects", table.defects, "defects with a public source");
}

}  // namespace pbprobe
