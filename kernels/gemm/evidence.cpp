// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "kernels/gemm/evidence.hpp"

#include <array>

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

Result<std::vector<EvidenceRecord>> load() {
  std::vector<EvidenceRecord> records;
  for (const auto& file : kFiles) {
    if (file.text.empty()) continue;
    PBPROBE_TRY(const auto json, parse_json(file.text), "kernels/evidence/{}", file.name);
    PBPROBE_TRY(const auto read, from_json<std::vector<EvidenceRecord>>(json), "kernels/evidence/{}", file.name);
    records.insert(records.end(), read.begin(), read.end());
  }
  return records;
}

}  // namespace

std::span<const EnumName<EvidenceLevel>> enum_names(EvidenceLevel) {
  return kLevelNames;
}

const Result<std::vector<EvidenceRecord>>& evidence_records() {
  static const Result<std::vector<EvidenceRecord>> records = load();
  return records;
}

Evidence find_evidence(const Kernel& kernel, const TargetBuild& build, std::span<const EvidenceRecord> records) {
  Evidence evidence;
  if (!build.built) return evidence;
  evidence.level = EvidenceLevel::assembled;
  for (const auto& record : records) {
    // The cubin that is built cannot be the one that ran as PTX: what they share is their sources.
    const auto built = record.level == EvidenceLevel::executed_via_ptx ? build.source_digest : build.digest;
    if (record.kernel != kernel.name || record.digest != built) continue;
    const bool needs_stress = kernel.threads > 0 && record.level == EvidenceLevel::executed;
    if (needs_stress && record.launches.value_or(0) < kMinStressLaunches) continue;
    if (record.level < evidence.level) {
      evidence.level = record.level;
      evidence.record = record;
    }
  }
  return evidence;
}

Evidence find_evidence(const Kernel& kernel) {
  const auto& records = evidence_records();
  return find_evidence(kernel, build_of(kernel),
                       records.ok() ? std::span<const EvidenceRecord>(*records) : std::span<const EvidenceRecord>());
}

}  // namespace pbprobe
