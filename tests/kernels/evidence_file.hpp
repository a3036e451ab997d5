// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Files of evidence as the tests write them: one a target, whose kernels several processes run at once.
#pragma once

#include <filesystem>

#include "core/result.hpp"
#include "kernels/gemm/evidence.hpp"

namespace pbprobe::test {

// Adds a record to the file, under a lock. Keeps records of the same kernel and code that ran on other devices, and
// drops records of older code. Errors: unreadable (cannot be opened, locked, read or written); errors of parse_json and
// from_json. On error, the file is unchanged.
[[nodiscard]] Result<void> add_record(const std::filesystem::path& file, const EvidenceRecord& record);

// Stores how often the stress suite launched a kernel in the record of the same kernel, digest and device. Errors:
// usage (the file has no such record: kernels_test writes it); errors of add_record().
[[nodiscard]] Result<void> add_launches(const std::filesystem::path& file, std::string_view kernel,
                                        std::string_view digest, std::string_view device, int64_t launches);

}  // namespace pbprobe::test
