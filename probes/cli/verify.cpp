// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/cli/cli.hpp"
#include "probes/pipeline/evidence.hpp"

namespace pbprobe::cli {
namespace {

int run(const std::filesystem::path& folder, const std::filesystem::path& key) {
  const auto verified = verify_evidence(folder, key);
  if (verified)
    return write_output(fmt::format("{}: signed by {}, and as it was signed\n", folder.string(), key.string()));
  print_error(verified.error());
  return verified.error().code == ErrorCode::malformed ? kFailed : kCouldNotRun;
}

}  // namespace

void add_verify(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("verify",
                                     "Whether evidence is as it was signed, byte for byte\n"
                                     "Example:\n"
                                     "  pbprobe verify evidence --key pbprobe.pub\n"
                                     "Exit code: 0 it is, 1 it is not, 2 could not run");
  static std::filesystem::path folder;
  static std::filesystem::path key;
  command->add_option("DIR", folder, "The folder that `pbprobe gate --evidence` wrote")->required();
  command->add_option("--key", key, "Public key (PEM): openssl pkey -in KEY -pubout")->required();
  command->callback([&exit_code] { exit_code = run(folder, key); });
}

}  // namespace pbprobe::cli
