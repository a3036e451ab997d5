// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/cli/cli.hpp"
#include "core/json.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace pbprobe::cli {
namespace {

int write_file(std::string_view text, const std::filesystem::path& file) {
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
  // Names of files and devices come from outside: bytes that are no UTF-8 are replaced, not thrown over.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int write_output(std::string_view text, const std::optional<std::filesystem::path>& file) {
  if (file) return write_file(text, *file);
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written) return kPassed;
  return print_error(make_error(ErrorCode::unreadable, "standard output cannot be written: {}", std::strerror(errno)));
}

int print_error(const Error& error) {
  clear_progress();
  fmt::print(stderr, "pbprobe: {}\n", error.message);
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
  if (::isatty(STDERR_FILENO) == 1) fmt::print(stderr, "\r\033[K{} …", step);
}

void clear_progress() {
  if (::isatty(STDERR_FILENO) == 1) fmt::print(stderr, "\r\033[K");
}

}  // namespace pbprobe::cli
