// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/host/host.hpp"

#include "core/facts/json.hpp"
#include "probes/cli/cli.hpp"
#include "probes/report/host_names.hpp"

namespace pbprobe::cli {
namespace {

enum class HostFormat { text, json, variant, conda, nix };

std::string render(const Host& host, HostFormat format) {
  switch (format) {
    case HostFormat::json: return json_text(to_json(host));
    case HostFormat::variant: return host_names(host, Naming::variant);
    case HostFormat::conda: return host_names(host, Naming::conda);
    case HostFormat::nix: return host_names(host, Naming::nix);
    case HostFormat::text: break;
  }
  return render_host(host, text_options());
}

int run(HostFormat format) {
  auto host = detect_host(system_sources());
  return host ? write_output(render(*host, format)) : print_error(host.error());
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
  add_choice<HostFormat>(
      *command, "--format", format,
      {{"text", HostFormat::text},
       {"json", HostFormat::json},
       {"variant", HostFormat::variant},
       {"conda", HostFormat::conda},
       {"nix", HostFormat::nix}},
      "text, json, or the names that other systems use: variant (properties of variant wheels, drafts of PEP 817 and "
      "825), conda (virtual packages), nix (system features)");
  add_colour(*command);
  command->callback([&exit_code] { exit_code = run(format); });
}

}  // namespace pbprobe::cli
