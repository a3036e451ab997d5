// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/host/host.hpp"

#include "core/facts/json.hpp"
#include "probes/cli/cli.hpp"

namespace pbprobe::cli {
namespace {

enum class HostFormat { text, json, nix };

std::string render(const Host& host, HostFormat format) {
  switch (format) {
    case HostFormat::json: return json_text(to_json(host));
    case HostFormat::nix: return render_nix_features(host);
    case HostFormat::text: break;
  }
  return render_host(host, text_options());
}

Result<int> run(HostFormat format) {
  PBPROBE_TRY(const Host host, detect_host(system_sources()));
  return write_output(render(host, format));
}

}  // namespace

void add_host(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("host",
                                     "List the CPU features, GPUs and driver of this machine\n"
                                     "Examples:\n"
                                     "  pbprobe host\n"
                                     "  pbprobe host --format json > host.json\n"
                                     "  pbprobe host --format nix      # system-features for nix.conf");
  static HostFormat format = HostFormat::text;
  add_choice<HostFormat>(*command, "--format", format,
                         {{"text", HostFormat::text}, {"json", HostFormat::json}, {"nix", HostFormat::nix}},
                         "text, json, or nix (system features)");
  add_colour(*command);
  set_run(*command, exit_code, [] { return run(format); });
}

}  // namespace pbprobe::cli
