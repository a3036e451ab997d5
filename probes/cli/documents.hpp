// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The verdict in the formats of other programs, beside what is printed: --sarif, --junit, --markdown.
#pragma once

#include <filesystem>
#include <optional>

#include <CLI/CLI.hpp>

#include "core/facts/report.hpp"
#include "core/result.hpp"

namespace pbprobe::cli {

struct Documents {
  std::optional<std::filesystem::path> sarif;
  std::optional<std::filesystem::path> junit;
  std::optional<std::filesystem::path> markdown;
  [[nodiscard]] bool asked() const { return sarif || junit || markdown; }
};

void add_documents(CLI::App& command, Documents& documents);

// Before any work: whether each can be written. Errors as check_output_file's.
[[nodiscard]] Result<void> check_documents(const Documents& documents, const std::filesystem::path& artifact);

// Of a report with a verdict. Returns kPassed or kCouldNotRun, having reported why.
[[nodiscard]] int write_documents(const Report& report, const Documents& documents);

}  // namespace pbprobe::cli
