// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/cli/cli.hpp"
#include "core/json.hpp"
#include "core/printable.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace pbprobe::cli {

Result<void> check_output_file(const std::filesystem::path& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status)) return {};
  return make_error(ErrorCode::usage, "{} is {}: name a file, or leave --output out and redirect what is printed",
                    file.string(), std::filesystem::is_directory(status) ? "a folder" : "no regular file");
}

namespace {

int write_file(std::string_view text, const std::filesystem::path& file) {
  if (const auto usable = check_output_file(file); !usable) return print_error(usable.error());
  // Written beside it and renamed: a reader sees the old document or the new one, never half of it.
  const std::filesystem::path partial = file.string() + fmt::format(".{}.partial", ::getpid());
  std::FILE* stream = std::fopen(partial.c_str(), "wb");
  bool written = stream != nullptr && std::fwrite(text.data(), 1, text.size(), stream) == text.size();
  if (stream != nullptr) written = std::fclose(stream) == 0 && written;
  std::error_code error;
  if (written) std::filesystem::rename(partial, file, error);
  if (written && !error) return kPassed;
  const std::string reason = error ? error.message() : std::strerror(errno);
  std::filesystem::remove(partial, error);
  return print_error(make_error(ErrorCode::unreadable, "{} cannot be written: {}: name a file in a folder of yours",
                                file.string(), reason));
}

}  // namespace

void add_format(CLI::App& command, Format& format) {
  add_choice<Format>(command, "--format", format, {{"text", Format::text}, {"json", Format::json}}, "text or json");
}

std::string json_text(const Json& json) {
  return dump_json(json) + "\n";
}

int write_output(std::string_view text, const std::optional<std::filesystem::path>& file) {
  const std::string shown = printable_lines(text, !file && text_options().colour);
  if (file) return write_file(shown, *file);
  const bool written = std::fwrite(shown.data(), 1, shown.size(), stdout) == shown.size() && std::fflush(stdout) == 0;
  if (written) return kPassed;
  return print_error(make_error(ErrorCode::unreadable, "standard output cannot be written: {}", std::strerror(errno)));
}

int print_error(const Error& error) {
  clear_progress();
  fmt::print(stderr, "pbprobe: {}\n", printable(error.message));
  return kCouldNotRun;
}

TextOptions text_options() {
  if (::isatty(STDOUT_FILENO) != 1) return {};
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string_view(value != nullptr ? value : "");
  };
  std::string_view locale = variable("LC_ALL");
  if (locale.empty()) locale = variable("LC_CTYPE");
  if (locale.empty()) locale = variable("LANG");
  TextOptions options;
  options.colour = variable("NO_COLOR").empty() && !variable("TERM").empty() && variable("TERM") != "dumb";
  options.unicode = locale.find("UTF-8") != locale.npos || locale.find("utf8") != locale.npos;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 60) options.width = size.ws_col;
  return options;
}

void show_progress(std::string_view step) {
  if (::isatty(STDERR_FILENO) == 1) fmt::print(stderr, "\r\033[K{} …", printable(step));
}

void clear_progress() {
  if (::isatty(STDERR_FILENO) == 1) fmt::print(stderr, "\r\033[K");
}

}  // namespace pbprobe::cli
