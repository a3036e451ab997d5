// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/child/load.hpp"
#include "probes/cli/cli.hpp"

namespace pbprobe::cli {

void add_load(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("load", "Open shared objects; started by the other commands");
  command->group("");  // hidden
  static LoadRequest request;
  command->add_option("--emulator", request.emulator)->allow_extra_args(false);
  command->add_option("--seconds", request.seconds);
  command->add_option("--start", request.start)->allow_extra_args(false);
  command->add_option("--writable", request.writable);
  command->add_option("FILES", request.files);
  command->callback([&exit_code] {
    std::set_terminate(__gnu_cxx::__verbose_terminate_handler);  // libtorch throws its own exceptions
    exit_code = load_main(request);
  });
}

}  // namespace pbprobe::cli
