// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A merged fleet for people, schedulers and monitoring. They say what the document says, and compute nothing.
#pragma once

#include <string>

#include "core/facts/fleet.hpp"
#include "probes/report/text.hpp"

namespace pbprobe {

// The verdict first, what differs between nodes, the ten worst ranks, then a line a node (those that pass only where
// they are few, or the text is verbose), then collectives.
[[nodiscard]] std::string render_fleet(const Fleet& fleet, const TextOptions& options = {});

// A page in one file, under 500 KB, that fetches nothing: nodes by measurements, links as a matrix, late arrivals. Of a
// large fleet it has the worst.
[[nodiscard]] std::string html_of(const Fleet& fleet);

// One line: verdict, and the reason; for a prolog.
[[nodiscard]] std::string render_fleet_quiet(const Fleet& fleet, const TextOptions& options = {});

// Hosts to leave out, one a line: sbatch --exclude, and grep -v -x -f on a hostfile.
[[nodiscard]] std::string exclude_list(const Fleet& fleet);

// For node_exporter's textfile collector: base units, one HELP and TYPE a metric.
[[nodiscard]] std::string prometheus_of(const Fleet& fleet);

// JUnit XML: a case for each rank, and one for what differs.
[[nodiscard]] std::string junit_of(const Fleet& fleet);

}  // namespace pbprobe
