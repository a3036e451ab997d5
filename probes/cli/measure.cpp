// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/cli/cli.hpp"
#include "probes/measure/child/child.hpp"

namespace pbprobe::cli {

void add_measure(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("measure", "Run kernels and foreign code; started by the other commands");
  command->group("");  // hidden
  static int request = -1;
  static int result = -1;
  command->add_option("--request-fd", request)->required();
  command->add_option("--result-fd", result)->required();
  static bool isolated = false;
  command->add_flag("--isolated", isolated);
  command->callback([&exit_code] {
    std::set_terminate(__gnu_cxx::__verbose_terminate_handler);  // libtorch throws its own exceptions
    exit_code = measure_main(request, result, isolated);
  });
}

}  // namespace pbprobe::cli
