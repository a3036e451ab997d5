// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The program's frame: one file a subcommand, each a few lines on top of the pipeline.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/facts/report.hpp"
#include "core/json.hpp"
#include "core/result.hpp"
#include "probes/cli/progress.hpp"
#include "probes/report/text.hpp"

namespace pbprobe::cli {

// Exit codes of report, audit and recipes verify.
inline constexpr int kPassed = 0;       // no failure: pass, or unknown without --strict
inline constexpr int kFailed = 1;       // a check failed
inline constexpr int kCouldNotRun = 2;  // or wrong usage

enum class Format { text, json, html };

// Runs a selected command: stores its exit code in `exit_code`; on an error, prints it and stores kCouldNotRun.
void set_run(CLI::App& command, int& exit_code, std::function<Result<int>()> run);

// The add_ functions add one subcommand each. A selected subcommand runs and stores its exit code in `exit_code`.
void add_report(CLI::App& app, int& exit_code);
void add_host(CLI::App& app, int& exit_code);
void add_targets(CLI::App& app, int& exit_code);
void add_audit(CLI::App& app, int& exit_code);
void add_gate(CLI::App& app, int& exit_code);
void add_verify(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);
void add_compare(CLI::App& app, int& exit_code);
void add_merge(CLI::App& app, int& exit_code);
void add_recommend(CLI::App& app, int& exit_code);  // also below `recipes`, its former place
void add_recipes(CLI::App& app, int& exit_code);
void add_explain(CLI::App& app, int& exit_code);
void add_drive(CLI::App& app, int& exit_code);    // hidden: requests of the Python package
void add_load(CLI::App& app, int& exit_code);     // hidden: the child that opens shared objects
void add_measure(CLI::App& app, int& exit_code);  // hidden: the child that runs kernels and foreign code

// Adds an option that accepts one of these names and rejects others with a list of them. `help` is its description.
template <class Value>
void add_choice(CLI::App& command, const std::string& name, Value& value,
                const std::vector<std::pair<std::string, Value>>& choices, const std::string& help) {
  std::string names;
  for (const auto& [word, meaning] : choices) names += (names.empty() ? "" : "|") + word;
  command
      .add_option_function<std::string>(
          name,
          [&value, choices, name, names](const std::string& given) {
            for (const auto& [word, meaning] : choices) {
              if (word == given) return void(value = meaning);
            }
            throw CLI::ValidationError(name, fmt::format("unknown \"{}\": choose one of {}", given, names));
          },
          help)
      ->option_text(names);
}

// --format text|json, and --color
void add_format(CLI::App& command, Format& format);
// --format text|json|html, --color, and --output FILE
void add_format_and_output(CLI::App& command, Format& format, std::optional<std::filesystem::path>& output);

// Adds --color auto|always|never, which affects later calls of text_options().
void add_colour(CLI::App& command);

// Accepts numbers in this range, not NaN: "seconds", "a share". --budget accepts up to a day.
inline constexpr double kMinSeconds = 0.1;
inline constexpr double kMaxSeconds = 86400;
[[nodiscard]] CLI::Validator number_between(double least, double most, std::string unit = "seconds");

// Returns the document as the command line prints it: indented, with a newline at the end.
[[nodiscard]] std::string json_text(const Json& json);

// Checks that the file can be written. `artifact`: what is judged; empty if it is not known. Errors: usage (a folder;
// a program or an archive; the artifact itself or a place inside it), unreadable (exists, but is not writable).
[[nodiscard]] Result<void> check_output_file(const std::filesystem::path& file,
                                             const std::filesystem::path& artifact = {});
// Writes to standard output, also for "-"; to a file atomically, through links, with the mode and the owner that it
// had; to a pipe or a device directly. Returns kPassed. Error: unreadable.
[[nodiscard]] Result<int> write_output(std::string_view text,
                                       const std::optional<std::filesystem::path>& file = std::nullopt);

// Describes an error of a command line, and names the --help to read.
[[nodiscard]] std::string usage_message(const CLI::ParseError& error, const CLI::App& app);

// Prints the error as one line on standard error. Returns kCouldNotRun.
int print_error(const Error& error);

// Returns the text style: colour and Unicode only on a terminal, or with --color. Respects NO_COLOR, TERM=dumb, and a
// locale without UTF-8.
[[nodiscard]] TextOptions text_options();

// Reports whether the locale supports Unicode.
[[nodiscard]] bool shows_unicode();

struct Documents {
  std::optional<std::filesystem::path> sarif;
  std::optional<std::filesystem::path> junit;
  std::optional<std::filesystem::path> markdown;
  [[nodiscard]] bool asked() const { return sarif || junit || markdown; }
};

void add_documents(CLI::App& command, Documents& documents);

// Checks that `output` and each document can be written. Call before any work. Errors as for check_output_file.
[[nodiscard]] Result<void> check_outputs(const std::optional<std::filesystem::path>& output, const Documents& documents,
                                         const std::filesystem::path& artifact);

// Writes the SARIF, JUnit and Markdown files that were asked for; none without a verdict. Errors as for write_output.
[[nodiscard]] Result<void> write_documents(const Report& report, const Documents& documents);

}  // namespace pbprobe::cli
