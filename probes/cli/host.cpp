// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/host/host.hpp"

#include "core/json.hpp"
#include "probes/cli/cli.hpp"

namespace pbprobe::cli {
namespace {

int run(Format format) {
  auto host = detect_host(system_sources());
  if (!host) return print_error(host.error());
  return write_output(format == Format::json ? json_text(to_json(*host)) : render_host(*host, text_options()));
}

}  // namespace

void add_host(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("host", "What this machine has: CPU features, GPUs, driver");
  static Format format = Format::text;
  add_format(*command, format);
  command->callback([&exit_code] { exit_code = run(format); });
}

}  // namespace pbprobe::cli
