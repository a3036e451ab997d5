// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <fmt/ranges.h>

#include "probes/cli/cli.hpp"
#include "probes/pipeline/evidence.hpp"

namespace pbprobe::cli {
namespace {

struct VerifyArguments {
  std::filesystem::path folder;
  TrustedKeys keys;
  std::optional<std::filesystem::path> artifact;
};

Result<int> run(const VerifyArguments& options) {
  show_progress("verifying " + options.folder.string());
  const auto verified = verify_evidence(options.folder, options.keys, options.artifact);
  clear_progress();
  if (!verified && verified.error().code != ErrorCode::malformed) return verified.error();
  if (!verified) {
    print_error(verified.error());
    return kFailed;
  }
  std::vector<std::string> names;
  for (const auto& key : options.keys) names.push_back(key.string());
  const std::string of = options.artifact ? fmt::format(", and matches {}", options.artifact->string()) : "";
  return write_output(
      fmt::format("{}: signed by {}, unchanged{}\n", options.folder.string(), fmt::join(names, " or "), of));
}

}  // namespace

void add_verify(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("verify",
                                     "Check that evidence is unchanged since it was signed\n"
                                     "Examples:\n"
                                     "  pbprobe verify evidence --key pbprobe.pub\n"
                                     "  pbprobe verify evidence --key pbprobe.pub --artifact torch.whl\n"
                                     "Exit code: 0 unchanged, 1 changed, 2 could not run");
  static VerifyArguments options;
  command->add_option("DIR", options.folder, "Folder from `pbprobe gate --evidence`")->required();
  command
      ->add_option("--key", options.keys,
                   "Public key (PEM): openssl pkey -in KEY -pubout; repeat for several accepted keys")
      ->required()
      ->allow_extra_args(false);
  command->add_option("--artifact", options.artifact, "Artifact that was judged; compares the digest of each file");
  set_run(*command, exit_code, [] { return run(options); });
}

}  // namespace pbprobe::cli
