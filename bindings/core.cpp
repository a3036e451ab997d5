// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// pbprobe._core: documents as text, without a process. No torch headers, no kernels, no CUDA: reports are made by the
// program that the package ships (pbprobe/_program.py), which Ctrl-C can end.
#include <pybind11/pybind11.h>

#include <string>

#include "core/facts/json.hpp"
#include "core/printable.hpp"
#include "core/version.hpp"
#include "probes/report/text.hpp"

namespace py = pybind11;

namespace {

std::string render(const std::string& document, bool colour) {
  auto json = pbprobe::parse_json(document);
  if (!json) throw py::value_error(pbprobe::printable(json.error().message));
  auto report = pbprobe::from_json<pbprobe::Report>(*json);
  if (!report) throw py::value_error(pbprobe::printable(report.error().message));
  return pbprobe::render_report(*report, {.colour = colour});
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  module.doc() = "Renders documents for pbprobe.Report; use pbprobe.Report instead.";
  module.attr("version") = std::string(pbprobe::version());
  module.attr("commit") = std::string(pbprobe::commit());
  module.def("render", &render, py::arg("document"), py::arg("colour"),
             "Renders JSON of pbprobe.report/1 as text. ValueError names the wrong key.");
}
