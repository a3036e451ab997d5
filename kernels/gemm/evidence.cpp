// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "kernels/gemm/evidence.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

#include "core/json.hpp"

namespace pbprobe {
namespace {

constexpr std::array<EnumName<EvidenceLevel>, 5> kLevelNames{{
    {EvidenceLevel::executed, "executed"},
    {EvidenceLevel::executed_via_ptx, "executed-via-ptx"},
    {EvidenceLevel::emulated, "emulated"},
    {EvidenceLevel::assembled, "assembled"},
    {EvidenceLevel::not_built, "not-built"},
}};

struct EvidenceFile {
  std::string_view name;
  std::string_view text;
};

constexpr EvidenceFile kFiles[] = {
#include "kernels/evidence.inc"  // {name, text} of each file of kernels/evidence (kernels/CMakeLists.txt)
    {"", ""},
};

std::vector<EvidenceRecord> load() {
  std::vector<EvidenceRecord> records;
  for (const auto& file : kFiles) {
    if (file.text.empty()) continue;
    auto json = parse_json(file.text);
    auto read =
        json ? from_json<std::vector<EvidenceRecord>>(*json) : Result<std::vector<EvidenceRecord>>(json.error());
    if (!read) {
      // Embedded at build time and read by the tests: what is wrong here was wrong before it was shipped.
      std::fprintf(stderr, "pbprobe: kernels/evidence/%s: %s\n", std::string(file.name).c_str(),
                   read.error().message.c_str());
      std::abort();
    }
    records.insert(records.end(), read->begin(), read->end());
  }
  return records;
}

}  // namespace

std::span<const EnumName<EvidenceLevel>> enum_names(EvidenceLevel) {
  return kLevelNames;
}

const std::vector<EvidenceRecord>& evidence_records() {
  static const std::vector<EvidenceRecord> records = load();
  return records;
}

Evidence evidence_of(const Kernel& kernel, const TargetBuild& build, std::span<const EvidenceRecord> records) {
  Evidence evidence;
  if (!build.built) return evidence;
  evidence.level = EvidenceLevel::assembled;
  for (const auto& record : records) {
    // The cubin that is built cannot be the one that ran as PTX: what they share is their sources.
    const auto built = record.level == EvidenceLevel::executed_via_ptx ? build.source_digest : build.digest;
    if (record.kernel != kernel.name || record.digest != built) continue;
    if (record.level < evidence.level) {
      evidence.level = record.level;
      evidence.record = record;
    }
  }
  return evidence;
}

Evidence evidence_of(const Kernel& kernel) {
  return evidence_of(kernel, build_of(kernel), evidence_records());
}

}  // namespace pbprobe
