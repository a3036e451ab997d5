// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/compiler_defects.hpp"

#include "core/cuda_releases.hpp"
#include "core/json.hpp"
#include "core/strings.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kDefectsJson =
#include "compilers.inc"  // recipes/compilers.json as string literals (cmake/Embed.cmake)
    ;

std::vector<CompilerDefect> load_defects() {
  auto parsed = parse_json(kDefectsJson);
  auto table = parsed ? from_json<CompilerDefects>(*parsed) : Result<CompilerDefects>(parsed.error());
  return embedded(std::move(table), "recipes/compilers.json").defects;
}

}  // namespace

const std::vector<CompilerDefect>& all_compiler_defects() {
  static const std::vector<CompilerDefect> defects = load_defects();
  return defects;
}

bool has_defect(const CompilerDefect& defect, std::string_view version) {
  return !version_less(version, defect.first) &&
         (is_version_of(version, defect.last) || version_less(version, defect.last));
}

}  // namespace pbprobe
