// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/cli/cli.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "core/printable.hpp"
#include "core/strings.hpp"
#include "probes/report/attest.hpp"

namespace pbprobe::cli {

constexpr int kMinWidth = 60;  // columns
constexpr int kMaxWidth = 500;

namespace {

enum class ColourWhen { automatic, always, never };

ColourWhen& colour_when() {
  static ColourWhen when = ColourWhen::automatic;
  return when;
}

}  // namespace

void add_format(CLI::App& command, Format& format) {
  add_choice<Format>(command, "--format", format, {{"text", Format::text}, {"json", Format::json}}, "text or json");
  add_colour(command);
}

void add_format_and_output(CLI::App& command, Format& format, std::optional<std::filesystem::path>& output) {
  add_choice<Format>(command, "--format", format,
                     {{"text", Format::text}, {"json", Format::json}, {"html", Format::html}},
                     "text, json, or html (one self-contained page)");
  command.add_option("--output", output, "Write to FILE (default -: standard output)");
  add_colour(command);
}

void add_colour(CLI::App& command) {
  add_choice<ColourWhen>(
      command, "--color", colour_when(),
      {{"auto", ColourWhen::automatic}, {"always", ColourWhen::always}, {"never", ColourWhen::never}},
      "Colours and signs; auto: on a terminal, unless NO_COLOR is set");
}

CLI::Validator number_between(double least, double most, std::string unit) {
  const std::string name = upper(unit.substr(unit.rfind(' ') + 1));
  return {[least, most, unit = std::move(unit)](std::string& given) {
            double number = 0;
            const bool parsed = CLI::detail::lexical_cast(given, number);
            return parsed && number >= least && number <= most
                       ? std::string()
                       : fmt::format("{}: give {}, from {} to {}", given, unit, least, most);
          },
          fmt::format("{} in [{} - {}]", name, least, most)};
}

void set_run(CLI::App& command, int& exit_code, std::function<Result<int>()> run) {
  command.callback([&exit_code, run = std::move(run)] {
    const auto code = run();
    exit_code = code ? *code : print_error(code.error());
  });
}

std::string json_text(const Json& json) {
  return dump_json(json) + "\n";
}

int print_error(const Error& error) {
  clear_progress();
  fmt::print(stderr, "pbprobe: {}\n", printable(error.message));
  return kCouldNotRun;
}

namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Returns the width in COLUMNS, which applies to files and pipes too.
std::optional<int> stated_width() {
  const std::string_view stated = variable("COLUMNS");
  int columns = 0;
  const auto [end, error] = std::from_chars(stated.data(), stated.data() + stated.size(), columns);
  const bool whole = error == std::errc() && end == stated.data() + stated.size();
  return whole && columns >= kMinWidth ? std::optional(std::min(columns, kMaxWidth)) : std::nullopt;
}

}  // namespace

bool shows_unicode() {
  std::string_view locale = variable("LC_ALL");
  if (locale.empty()) locale = variable("LC_CTYPE");
  if (locale.empty()) locale = variable("LANG");
  return locale.find("UTF-8") != locale.npos || locale.find("utf8") != locale.npos;
}

TextOptions text_options() {
  TextOptions options;
  const auto stated = stated_width();
  if (stated) options.width = *stated;
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  const bool wanted = variable("NO_COLOR").empty() && !variable("TERM").empty() && variable("TERM") != "dumb";
  options.colour =
      colour_when() == ColourWhen::always || (colour_when() == ColourWhen::automatic && terminal && wanted);
  options.unicode = (terminal || colour_when() == ColourWhen::always) && shows_unicode();
  if (!terminal) return options;
  winsize size{};
  if (!stated && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= kMinWidth)
    options.width = std::min<int>(size.ws_col, kMaxWidth);
  return options;
}

void add_documents(CLI::App& command, Documents& documents) {
  command.add_option("--sarif", documents.sarif, "Write the findings to this file as SARIF 2.1.0, for code scanning");
  command.add_option("--junit", documents.junit, "Write the checks to this file as JUnit XML");
  command.add_option("--markdown", documents.markdown, "Write the verdict to this file as Markdown, for a job summary");
}

Result<void> check_outputs(const std::optional<std::filesystem::path>& output, const Documents& documents,
                           const std::filesystem::path& artifact) {
  for (const auto& file : {output, documents.sarif, documents.junit, documents.markdown}) {
    if (file) PBPROBE_CHECK(check_output_file(*file, artifact));
  }
  return {};
}

Result<void> write_documents(const Report& report, const Documents& documents) {
  if (!report.verdict) return {};
  if (documents.sarif) PBPROBE_CHECK(write_output(render_sarif(report), documents.sarif));
  if (documents.junit) PBPROBE_CHECK(write_output(render_junit(report), documents.junit));
  if (documents.markdown) PBPROBE_CHECK(write_output(render_markdown(report), documents.markdown));
  return {};
}

}  // namespace pbprobe::cli
