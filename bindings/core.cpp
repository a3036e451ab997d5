// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// pbprobe._core: the pipeline for Python. No torch headers, no kernels, no CUDA: what executes kernels is the program
// that the package ships, which the pipeline starts as a child.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/facts/json.hpp"
#include "core/printable.hpp"
#include "core/version.hpp"
#include "probes/pipeline/pipeline.hpp"
#include "probes/report/text.hpp"
#include "recipes/src/claim.hpp"

namespace py = pybind11;

namespace {

using Path = std::filesystem::path;

// The document as text, and whether it could run. Progress needs the lock that the work itself goes without.
std::pair<std::string, bool> report(const std::optional<Path>& artifact, const std::vector<Path>& roots,
                                    const std::optional<std::string>& claim, const Path& program,
                                    const std::vector<std::string>& python, bool quick, double budget_seconds,
                                    const std::optional<py::function>& progress) {
  std::optional<pbprobe::Claim> claimed;
  if (claim) {
    auto parsed = pbprobe::parse_claim(*claim);
    if (!parsed) throw py::value_error(pbprobe::printable(parsed.error().message));
    claimed = std::move(*parsed);
  }
  pbprobe::ReportOptions options{.artifact = artifact,
                                 .roots = roots,
                                 .claim = std::move(claimed),
                                 .program = program,
                                 .depth = quick ? pbprobe::Depth::quick : pbprobe::Depth::full,
                                 .python = python,
                                 .budget_seconds = budget_seconds};
  if (progress) {
    options.progress = [&progress](std::string_view step) {
      const py::gil_scoped_acquire lock;
      (*progress)(pbprobe::printable(step));
    };
  }
  const py::gil_scoped_release unlocked;
  const pbprobe::ReportResult result = pbprobe::make_report(options);
  return {pbprobe::dump_json(pbprobe::to_json(result.report), -1), result.could_run};
}

std::string render(const std::string& document, bool colour) {
  auto json = pbprobe::parse_json(document);
  if (!json) throw py::value_error(pbprobe::printable(json.error().message));
  auto report = pbprobe::from_json<pbprobe::Report>(*json);
  if (!report) throw py::value_error(pbprobe::printable(report.error().message));
  return pbprobe::render_report(*report, {.colour = colour});
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  module.doc() = "The pipeline of pbprobe, bound to Python. Use pbprobe.report() instead.";
  module.attr("version") = std::string(pbprobe::version());
  module.attr("commit") = std::string(pbprobe::commit());
  module.def("report", &report, py::arg("artifact"), py::arg("roots"), py::arg("claim"), py::arg("program"),
             py::arg("python"), py::arg("quick"), py::arg("budget_seconds"), py::arg("progress"),
             "(JSON of pbprobe.report/1, could it run) for an artifact, or for the torch found under one of the roots; "
             "budget_seconds 0 is the pipeline's default. ValueError names what is wrong in the claim.");
  module.def("render", &render, py::arg("document"), py::arg("colour"),
             "Text for people from JSON of pbprobe.report/1. ValueError names the key that is wrong.");
}
