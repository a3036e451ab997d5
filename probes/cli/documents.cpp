// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/cli/documents.hpp"
#include "probes/cli/cli.hpp"
#include "probes/report/attest.hpp"
#include "probes/report/markdown.hpp"

namespace pbprobe::cli {

void add_documents(CLI::App& command, Documents& documents) {
  command.add_option("--sarif", documents.sarif, "Write the findings to this file as SARIF 2.1.0, for code scanning");
  command.add_option("--junit", documents.junit, "Write the checks to this file as JUnit XML");
  command.add_option("--markdown", documents.markdown, "Write the verdict to this file as Markdown, for a job summary");
}

Result<void> check_documents(const Documents& documents, const std::filesystem::path& artifact) {
  for (const auto& file : {documents.sarif, documents.junit, documents.markdown}) {
    if (file) PBPROBE_CHECK(check_output_file(*file, artifact));
  }
  return {};
}

int write_documents(const Report& report, const Documents& documents) {
  if (!report.verdict) return kPassed;
  int written = kPassed;
  const auto write = [&](const std::optional<std::filesystem::path>& file, std::string (*text_of)(const Report&)) {
    if (file && written == kPassed) written = write_output(text_of(report), file);
  };
  write(documents.sarif, render_sarif);
  write(documents.junit, render_junit);
  write(documents.markdown, render_markdown);
  return written;
}

}  // namespace pbprobe::cli
