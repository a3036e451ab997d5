// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A merged fleet rendered for people, schedulers and monitoring. Contains only facts of the document.
#pragma once

#include <string>

#include "probes/fleet/facts.hpp"
#include "probes/report/text.hpp"

namespace pbprobe {

// Renders the verdict, the differences between nodes, the ten worst ranks, one line per node, and collectives. Lists
// passing nodes only in small fleets, or if the text is verbose.
[[nodiscard]] std::string render_fleet(const Fleet& fleet, const TextOptions& options = {});

// Renders one self-contained HTML page under 500 KB: nodes by measurements, links as a matrix, late arrivals. For a
// large fleet it shows the worst nodes.
[[nodiscard]] std::string render_html(const Fleet& fleet);

// Renders one line for a job prolog: verdict and reason.
[[nodiscard]] std::string render_fleet_quiet(const Fleet& fleet, const TextOptions& options = {});

// Hosts to leave out, one a line: sbatch --exclude, and grep -v -x -f on a hostfile.
[[nodiscard]] std::string exclude_list(const Fleet& fleet);

// Renders metrics for the textfile collector of node_exporter: base units, one HELP and TYPE per metric.
[[nodiscard]] std::string render_prometheus(const Fleet& fleet);

// Renders JUnit XML with one case per rank, and one for the differences.
[[nodiscard]] std::string render_junit(const Fleet& fleet);

}  // namespace pbprobe
