// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "recipes/src/recommend.hpp"

#include <algorithm>
#include <string_view>

#include "core/facts/json.hpp"
#include "core/host/host.hpp"
#include "core/open_file.hpp"
#include "probes/cli/cli.hpp"
#include "probes/report/page.hpp"

namespace pbprobe::cli {
namespace {

struct RecommendArguments {
  std::optional<std::filesystem::path> host;
  std::string workload;
  Format format = Format::text;
};

Result<Host> read_host(const std::filesystem::path& path) {
  const auto text = read_whole_file(path);
  if (!text)
    return make_error(text.error().code, "{}: write one with `pbprobe host --format json`", text.error().message);
  PBPROBE_TRY(const auto json, parse_json(*text), "{}", path.string());
  // A complete report has the host as one of its sections.
  const auto section = json.is_object() ? json.find("host") : json.end();
  PBPROBE_TRY(auto host, from_json<Host>(section != json.end() && section->is_object() ? *section : json), "{}",
              path.string());
  return host;
}

// Wraps sentences to the terminal's width; keeps commands unchanged.
std::string wrap_sentences(std::string_view text) {
  text::Page page(text_options());
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    if (indent < 4)
      page.paragraph(line.substr(indent), indent);
    else
      page.line({{std::string(line)}});
  }
  return std::move(page).take();
}

Result<int> run(const RecommendArguments& options) {
  PBPROBE_TRY(const Host host, options.host ? read_host(*options.host) : detect_host(system_sources()));
  PBPROBE_TRY(const Recommendation answer, recommend(host, options.workload));
  return write_output(options.format == Format::json ? json_text(to_json(answer))
                                                     : wrap_sentences(render_recommendation(answer)));
}

}  // namespace

void add_recommend(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("recommend",
                         "Recommend a build for a machine, with the reason: a variant of the matrix, or a pip wheel\n"
                         "Examples:\n"
                         "  pbprobe recommend\n"
                         "  pbprobe recommend --workload infer-int8\n"
                         "  pbprobe recommend --host host.json --format json");
  static RecommendArguments options;
  command->add_option("--host", options.host, "Host as JSON (`pbprobe host --format json`); default: this machine");
  command->add_option("--workload", options.workload, "train (default), infer-bf16, infer-int8 or dev");
  add_format(*command, options.format);
  set_run(*command, exit_code, [] { return run(options); });
}

}  // namespace pbprobe::cli
