// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/fleet/merge.hpp"
#include "core/json.hpp"
#include "probes/cli/cli.hpp"
#include "probes/fleet/render.hpp"

namespace pbprobe::cli {
namespace {

namespace fs = std::filesystem;

struct MergeArguments {
  MergeRequest request;
  std::optional<fs::path> output;
  std::optional<fs::path> exclude;
  std::optional<fs::path> prometheus;
  std::optional<fs::path> junit;
  std::optional<fs::path> html;
  bool strict = false;
  bool quiet = false;
  bool verbose = false;
  Format format = Format::text;
};

Result<int> write_outputs(const Fleet& fleet, const MergeArguments& options) {
  if (options.output) PBPROBE_CHECK(write_output(json_text(to_json(fleet)), options.output));
  if (options.exclude) PBPROBE_CHECK(write_output(exclude_list(fleet), options.exclude));
  if (options.prometheus) PBPROBE_CHECK(write_output(render_prometheus(fleet), options.prometheus));
  if (options.junit) PBPROBE_CHECK(write_output(render_junit(fleet), options.junit));
  if (options.html) PBPROBE_CHECK(write_output(render_html(fleet), options.html));
  if (options.format == Format::json) return write_output(json_text(to_json(fleet)));
  TextOptions text = text_options();
  text.verbose = options.verbose;
  return write_output(options.quiet ? render_fleet_quiet(fleet, text) : render_fleet(fleet, text));
}

Result<int> run(MergeArguments& options) {
  for (const auto& file : {options.output, options.exclude, options.prometheus, options.junit, options.html}) {
    if (file) PBPROBE_CHECK(check_output_file(*file));
  }
  options.request.progress = show_progress;
  PBPROBE_TRY(const Fleet fleet, merge_documents(options.request));
  clear_progress();
  PBPROBE_CHECK(write_outputs(fleet, options));
  const bool failed = fleet.outcome == Outcome::fail || (options.strict && fleet.outcome != Outcome::pass);
  return failed ? kFailed : kPassed;
}

void add_outputs(CLI::App& command, MergeArguments& options) {
  command.add_option("--output", options.output, "Write the fleet to this file as JSON (pbprobe.fleet/1)");
  command.add_option("--exclude", options.exclude, "Write the hosts to exclude to this file, one per line");
  command.add_option("--prometheus", options.prometheus,
                     "Write this file for node_exporter's textfile collector: NAME.prom");
  command.add_option("--junit", options.junit, "Write the ranks to this file as JUnit XML");
  command.add_option("--html", options.html, "Write an HTML page: nodes, links, late arrivals");
}

}  // namespace

void add_merge(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "merge",
      "Find slow, wrong or different nodes in the reports of a fleet\n"
      "Examples:\n"
      "  pbprobe merge node-*.json --output fleet.json\n"
      "  pbprobe merge fleet/ --baseline last-week.json --exclude exclude.txt\n"
      "  pbprobe merge fleet/ --expect hosts.txt --strict     a host without a report fails\n"
      "Reports are written by `python -m pbprobe.fleet`. A figure is slow where median - x > max(k * 1.4826 * MAD, "
      "floor), k from\n"
      "the false-alarm rate; versions, files and results are compared between equal devices.\n"
      "Exit code: 0 nothing failed (with --strict: all passed), 1 something failed, 2 could not run");
  static MergeArguments options;
  command->add_option("REPORT", options.request.documents, "Reports of nodes, or folders of reports")->required();
  add_outputs(*command, options);
  command->add_option("--baseline", options.request.baseline,
                      "Earlier fleet to compare with: the JSON of an earlier --output");
  command->add_option("--expect", options.request.expected, "File of expected hosts, one per line");
  command
      ->add_option("--false-alarms", options.request.false_alarm_rate,
                   "Share of sound ranks that the rule may call slow: 0.0001 is one in 10,000")
      ->check(number_between(1e-9, 0.1, "a share"));
  command->add_option("--floor", options.request.floor, "Ignore differences below this share of the median: 0.03")
      ->check(number_between(0, 0.9, "a share"));
  command->add_flag("--strict", options.strict, "Also exit with 1 if a rank gave no answer");
  command->add_flag("--quiet", options.quiet, "One line");
  command->add_flag("--verbose", options.verbose, "List every node, and the rule for each figure");
  add_format(*command, options.format);
  set_run(*command, exit_code, [] { return run(options); });
}

}  // namespace pbprobe::cli
