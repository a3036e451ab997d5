// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Evidence of a kernel as it is built here. The tests write it to kernels/evidence/<target>.json, which is embedded. A
// record counts only while its digest equals the digest of the code that is built.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "core/result.hpp"
#include "kernels/gemm/table.hpp"

namespace pbprobe {

enum class EvidenceLevel {
  executed,          // on that silicon
  executed_via_ptx,  // "compute_80 PTX, run on 9.0"
  emulated,          // under QEMU
  assembled,         // machine code exists; no record of a run
  not_built,
};

[[nodiscard]] std::span<const EnumName<EvidenceLevel>> enum_names(EvidenceLevel);

struct EvidenceRecord {
  std::string kernel;  // public name
  std::string digest;  // TargetBuild::digest; source_digest if PTX ran
  EvidenceLevel level = EvidenceLevel::executed;
  std::string device;                 // "NVIDIA H200, 9.0", "Intel Xeon Platinum 8581C"
  std::optional<std::string> driver;  // GPU
  std::optional<std::string> via;     // "compute_80 PTX, run on 9.0", "qemu-aarch64 7.2, -cpu max"
  std::vector<std::string> tiers;     // tiers of the checker: "exact", "random"
  int64_t shapes = 0;                 // number of checked shapes
  // GPU: launches of the stress suite without a fault and with equal results; unset if it did not run.
  std::optional<int64_t> launches;
  std::string date;  // "2026-11-21"
};

void fields(auto& visit, SameAs<EvidenceRecord> auto& record) {
  visit.constant("schema", "pbprobe.evidence/1");
  visit("kernel", record.kernel, "public name");
  visit("digest", record.digest, "SHA-256 of the cubin, or of the sources (CPU, PTX)");
  visit("level", record.level);
  visit("device", record.device);
  visit("driver", record.driver);
  visit("via", record.via, "the way it ran, if not on that silicon itself");
  visit("tiers", record.tiers, "tiers of the checker: exact, random");
  visit("shapes", record.shapes, "number of checked shapes");
  visit("launches", record.launches,
        "launches of the stress suite without a fault and with equal results; null if it did not run");
  visit("date", record.date, "year-month-day");
}

// Launches of the stress suite without which a GPU kernel that ran is only `assembled`.
constexpr int64_t kMinStressLaunches = 1'000'000;

struct Evidence {
  EvidenceLevel level = EvidenceLevel::not_built;
  std::optional<EvidenceRecord> record;  // the best one that fits the build; none for assembled
};

// Returns all embedded records. Errors: errors of parse_json and from_json.
[[nodiscard]] const Result<std::vector<EvidenceRecord>>& evidence_records();
// Returns the best record of this kernel with the digest of the build. A GPU kernel counts as executed only if its
// record has kMinStressLaunches. Ignores unreadable records: a test reads them all.
[[nodiscard]] Evidence find_evidence(const Kernel& kernel);
// Returns the best of `records` for this kernel and `build`. Overload for tests, which bring their own records and
// build.
[[nodiscard]] Evidence find_evidence(const Kernel& kernel, const TargetBuild& build,
                                     std::span<const EvidenceRecord> records);

}  // namespace pbprobe
