// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Evidence: what is known about a kernel as it is built here. The tests write it to kernels/evidence/<target>.json,
// which is embedded; a record counts only while its digest is that of the code that is built.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.hpp"
#include "core/result.hpp"
#include "kernels/gemm/table.hpp"

namespace pbprobe {

enum class EvidenceLevel {
  executed,          // on that silicon
  executed_via_ptx,  // "compute_80 PTX, run on 9.0"
  emulated,          // under QEMU
  assembled,         // machine code is there; nothing is known to have run it
  not_built,
};

[[nodiscard]] std::span<const EnumName<EvidenceLevel>> enum_names(EvidenceLevel);

struct EvidenceRecord {
  std::string kernel;  // public name
  std::string digest;  // of TargetBuild; its source_digest where PTX ran
  EvidenceLevel level = EvidenceLevel::executed;
  std::string device;                 // "NVIDIA H200, 9.0", "Intel Xeon Platinum 8581C"
  std::optional<std::string> driver;  // GPU
  std::optional<std::string> via;     // "compute_80 PTX, run on 9.0", "qemu-aarch64 7.2, -cpu max"
  std::vector<std::string> tiers;     // of the checker: "exact", "random"
  int64_t shapes = 0;                 // how many were checked
  std::optional<int64_t> launches;    // GPU: of the stress suite, without a fault and with equal results; null: none
  std::string date;                   // "2026-11-21"
};

template <class Visitor, SameAs<EvidenceRecord> T>
void fields(Visitor& visit, T& record) {
  visit.constant("schema", "pbprobe.evidence/1");
  visit("kernel", record.kernel, "public name");
  visit("digest", record.digest, "SHA-256 of the cubin, or of the sources: a CPU's, and where PTX ran");
  visit("level", record.level);
  visit("device", record.device);
  visit("driver", record.driver);
  visit("via", record.via, "how, where it did not run on that silicon itself");
  visit("tiers", record.tiers, "what the checker compared: exact, random");
  visit("shapes", record.shapes, "how many shapes were checked");
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

// All records that were embedded. Errors: those of parse_json and from_json.
[[nodiscard]] const Result<std::vector<EvidenceRecord>>& evidence_records();
// Returns the best record of this kernel whose digest is the build's. A GPU kernel counts as executed only if its
// record has kMinStressLaunches. Unreadable records count as none: a test reads them all.
[[nodiscard]] Evidence evidence_of(const Kernel& kernel);
// The same over other records and another build, for tests.
[[nodiscard]] Evidence evidence_of(const Kernel& kernel, const TargetBuild& build,
                                   std::span<const EvidenceRecord> records);

}  // namespace pbprobe
