// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Hidden commands: the processes that open shared objects, and that run kernels and foreign code.
#include "probes/cli/cli.hpp"
#include "probes/measure/child/child.hpp"
#include "probes/measure/child/load.hpp"

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
