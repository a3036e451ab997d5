// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Additional formats of a verdict for other programs: --sarif, --junit, --markdown.
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

// Checks that each document can be written. Call before any work. Errors as for check_output_file.
[[nodiscard]] Result<void> check_documents(const Documents& documents, const std::filesystem::path& artifact);

// Writes the documents of a report with a verdict. Reports errors. Returns kPassed or kCouldNotRun.
[[nodiscard]] int write_documents(const Report& report, const Documents& documents);

}  // namespace pbprobe::cli
