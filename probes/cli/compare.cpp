// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "core/facts/json.hpp"
#include "probes/cli/cli.hpp"
#include "probes/evidence/folder.hpp"
#include "probes/judge/evidence/comparison.hpp"
#include "probes/pipeline/pipeline.hpp"
#include "probes/report/attest.hpp"
#include "probes/report/text.hpp"

namespace pbprobe::cli {
namespace {

enum class FailOn { nothing, regressed };
enum class CompareFormat { text, json, markdown, html };

struct CompareArguments {
  std::vector<std::filesystem::path> sides;
  FailOn fail_on = FailOn::nothing;
  CompareFormat format = CompareFormat::text;
  std::optional<std::filesystem::path> output;
};

// Reads one side of the comparison: the inventory, and from a report also the machine and the figures.
Result<Report> read_side(const std::filesystem::path& given) {
  show_progress("reading " + given.string());
  std::error_code error;
  const auto evidence = given / kReportFile;  // a folder written by a gate
  const auto& named = std::filesystem::exists(evidence, error) ? evidence : given;
  PBPROBE_TRY(Report side, make_audit({.artifact = named, .audit = {.kernel_names = true}}));
  side.inventory->artifact = given.string();  // the name given by the user tells two reports of one artifact apart
  PBPROBE_TRY(const auto document, load_report(named));
  if (document) {
    side.host = document->host;
    side.measurements = document->measurements;
  }
  return side;
}

Result<ComparisonList> compare(const CompareArguments& options) {
  ComparisonList list;
  std::optional<Report> first;
  for (const auto& named : options.sides) {
    PBPROBE_TRY(Report side, read_side(named));
    if (first) {
      list.comparisons.push_back(compare_reports(*first, side));
    } else {
      first = std::move(side);
    }
  }
  return list;
}

std::string rendered(const ComparisonList& list, const CompareArguments& options) {
  if (options.format == CompareFormat::json) return json_text(to_json(list));
  if (options.format == CompareFormat::markdown) return render_markdown(list);
  if (options.format == CompareFormat::html) return render_html(list);
  return render_comparisons(list, options.output ? TextOptions{} : text_options());
}

Result<int> run(const CompareArguments& options) {
  for (const auto& side : options.sides) PBPROBE_CHECK(check_outputs(options.output, {}, side));
  PBPROBE_TRY(const ComparisonList list, compare(options));
  clear_progress();
  PBPROBE_CHECK(write_output(rendered(list, options), options.output));
  const auto& all = list.comparisons;
  const bool regressed = std::ranges::any_of(all, has_regressed);
  return options.fail_on == FailOn::regressed && regressed ? kFailed : kPassed;
}

}  // namespace

void add_compare(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("compare",
                         "Compare builds or reports: facts, then figures\n"
                         "Examples:\n"
                         "  pbprobe compare torch-2.10.0.whl torch-2.11.0.whl\n"
                         "  pbprobe compare yesterday.json today.json --fail-on regressed\n"
                         "  pbprobe compare before.json after.json --format html --output compare.html\n"
                         "  pbprobe compare generic.whl result-sm90 result-sm121     each against the first\n"
                         "A figure is faster or slower if every sample of one run is beyond every sample of the other, "
                         "the medians\n"
                         "differ by 3 %, and chance would not do that; else no difference is shown.\n"
                         "Exit code: 0, 1 by --fail-on, 2 could not run");
  static CompareArguments options;
  command
      ->add_option("ARTIFACT", options.sides,
                   "Two or more artifacts (as for `pbprobe audit`), JSON reports or evidence folders; each is compared "
                   "with the first")
      ->required()
      ->expected(2, 100);
  add_choice<FailOn>(*command, "--fail-on", options.fail_on,
                     {{"nothing", FailOn::nothing}, {"regressed", FailOn::regressed}},
                     "regressed: exit with 1 if an SM, PTX, a kernel, a file of libtorch or a CPU capability is lost, "
                     "a better CPU is needed, or a figure is slower");
  add_choice<CompareFormat>(*command, "--format", options.format,
                            {{"text", CompareFormat::text},
                             {"json", CompareFormat::json},
                             {"markdown", CompareFormat::markdown},
                             {"html", CompareFormat::html}},
                            "text, json, markdown (for a job summary), or html (one page)");
  command->add_option("--output", options.output, "Write to FILE (default -: standard output)");
  add_colour(*command);
  set_run(*command, exit_code, [] { return run(options); });
}

}  // namespace pbprobe::cli
