// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "core/printable.hpp"
#include "core/temp_folder.hpp"
#include "core/version.hpp"
#include "kernels/gemm/table.hpp"
#include "kernels/gemm/toolkit.hpp"
#include "probes/cli/cli.hpp"

namespace {

constexpr std::string_view kTooLittleMemory =
    "pbprobe: too little memory: free some, or raise the limit (`ulimit -v`, cgroup)\n";

// Destructors of JSON allocate, and cannot throw.
[[noreturn]] void end_where_memory_ran_out() {
  if (const auto exception = std::current_exception()) {
    try {
      std::rethrow_exception(exception);
    } catch (const std::bad_alloc&) {
      pbprobe::remove_temp_folders();
      if (::write(STDERR_FILENO, kTooLittleMemory.data(), kTooLittleMemory.size()) < 0) std::abort();
      ::_exit(pbprobe::cli::kCouldNotRun);
    } catch (...) {  // the usual handler prints the exception
    }
  }
  __gnu_cxx::__verbose_terminate_handler();
  std::abort();
}

// Takes the numbers of standard streams that the parent closed, so that no file gets them. The streams stay unwritable:
// writing a result to a closed stream is an error.
void take_closed_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (::fcntl(stream, F_GETFD) < 0 && ::open("/dev/null", O_RDONLY) < 0) std::abort();
  }
}

// Prints where standard error may be closed: fmt::print would throw out of a handler.
void print_fault(const std::string& text) {
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

std::string version_text() {
  std::vector<std::string_view> built;
  for (const auto& build : pbprobe::target_builds()) {
    if (build.built) built.push_back(build.target);
  }
  return fmt::format("pbprobe {} ({})\ntargets compiled in: {}\nCUDA compilers: {}", pbprobe::version(),
                     pbprobe::commit(), fmt::join(built, " "), pbprobe::cuda_compilers());
}

// Lists a command by the first line of its description. `pbprobe COMMAND --help` prints the whole description.
class ShortCommandList : public CLI::Formatter {
  std::string make_subcommand(const CLI::App* command) const override {
    constexpr size_t kColumns = 14;
    const std::string description = command->get_description();
    return fmt::format("  {:<{}}{}\n", command->get_display_name(true), kColumns,
                       description.substr(0, description.find('\n')));
  }
};

int print_text(const std::string& text) {
  const auto written = pbprobe::cli::write_output(text);
  return written ? *written : pbprobe::cli::print_error(written.error());
}

int run(int argc, char** argv) {
  int exit_code = pbprobe::cli::kPassed;
  CLI::App app(
      "Does this PyTorch build deliver the specialization that it claims, on this machine?\n"
      "Examples:\n"
      "  pbprobe report                      judge the torch of the active environment on this machine\n"
      "  pbprobe audit torch-2.11.0.whl      read what a build ships, without running it\n"
      "  pbprobe bench --shape 1024x1024x1024 --against libtorch\n"
      "`pbprobe COMMAND --help` lists the options of a command.",
      "pbprobe");
  app.formatter(std::make_shared<ShortCommandList>());  // commands inherit it
  app.set_version_flag("--version", version_text, "Version, commit, compiled targets, and their CUDA compilers");
  app.require_subcommand(0, 1);  // with 0, the message names the unknown word
  app.fallthrough(false);
  pbprobe::cli::add_report(app, exit_code);
  pbprobe::cli::add_host(app, exit_code);
  pbprobe::cli::add_targets(app, exit_code);
  pbprobe::cli::add_audit(app, exit_code);
  pbprobe::cli::add_gate(app, exit_code);
  pbprobe::cli::add_verify(app, exit_code);
  pbprobe::cli::add_bench(app, exit_code);
  pbprobe::cli::add_compare(app, exit_code);
  pbprobe::cli::add_merge(app, exit_code);
  pbprobe::cli::add_recommend(app, exit_code);
  pbprobe::cli::add_recipes(app, exit_code);
  pbprobe::cli::add_explain(app, exit_code);
  pbprobe::cli::add_drive(app, exit_code);
  pbprobe::cli::add_measure(app, exit_code);
  pbprobe::cli::add_load(app, exit_code);
  if (argc == 1) {
    static_cast<void>(print_text(app.help()));
    return pbprobe::cli::kCouldNotRun;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    std::ostringstream text;
    app.exit(success, text, text);
    return print_text(text.str());
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "{}", pbprobe::cli::usage_message(error, app));
    return pbprobe::cli::kCouldNotRun;
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  take_closed_streams();
  std::set_terminate(end_where_memory_ran_out);
  // The children have ways of their own to end.
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first != "measure" && first != "load") pbprobe::cli::clean_up_when_stopped();
  std::signal(SIGCHLD, SIG_DFL);  // the parent may ignore SIGCHLD: then the end of a child is not reported
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    print_fault(std::string(kTooLittleMemory));
    return pbprobe::cli::kCouldNotRun;
  } catch (const std::exception& error) {  // a defect of pbprobe: print no stack trace
    print_fault(fmt::format("pbprobe: internal error: {}: report it with the command that you typed\n",
                            pbprobe::printable(error.what())));
    return pbprobe::cli::kCouldNotRun;
  }
}
