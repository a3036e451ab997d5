// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Ranks that share CPUs or a GPU: they slow each other down, and no speed of theirs says anything of the machine.
#include <cstdlib>
#include <map>
#include <set>

#include <fmt/format.h>

#include "probes/fleet/ranks.hpp"

namespace pbprobe {
namespace {

constexpr const char* kFewerRanks =
    "start no more ranks than the node has CPUs and GPUs (torchrun --nproc-per-node, srun --ntasks-per-node)";

void add_cpus(const std::string& list, std::set<std::string>& cpus) {
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    cpus.insert(list.substr(at, end - at));
    at = end + 1;
  }
}

// Returns how many CPUs these ranks of one host have together: by their affinities and the container's limit. 0 if a
// rank does not tell its CPUs.
size_t count_cpus(const std::vector<JudgedRank*>& ranks) {
  std::set<std::string> cpus;
  size_t limit = SIZE_MAX;
  for (const JudgedRank* rank : ranks) {
    const std::string own = get_fact(*rank, "cpus");
    if (own.empty()) return 0;
    add_cpus(own, cpus);
    const double most = std::strtod(get_fact(*rank, "cpu_limit").c_str(), nullptr);
    if (most > 0) limit = std::min(limit, std::max<size_t>(static_cast<size_t>(most), 1));
  }
  return std::min(cpus.size(), limit);
}

void mark(const std::vector<JudgedRank*>& ranks, const std::string& shared) {
  for (JudgedRank* rank : ranks) {
    rank->is_crowded = true;
    add_finding(rank->row, FleetFault::error, Outcome::unknown,
                fmt::format("{} ranks share {}, and each needs its own CPU or GPU: "
                            "speeds and links are not judged",
                            ranks.size(), shared),
                kFewerRanks);
  }
}

}  // namespace

void find_crowded_ranks(JudgedRanks& ranks) {
  std::map<std::string, std::vector<JudgedRank*>> by_host;
  std::map<std::pair<std::string, std::string>, std::vector<JudgedRank*>> by_gpu;
  for (auto& rank : ranks) {
    if (rank.report == nullptr) continue;
    by_host[rank.host].push_back(&rank);
    if (rank.row.uuid) by_gpu[{rank.host, *rank.row.uuid}].push_back(&rank);
  }
  for (const auto& [host, all] : by_host) {
    const size_t cpus = count_cpus(all);
    if (cpus > 0 && all.size() > cpus) mark(all, fmt::format("{} CPU{}", cpus, cpus == 1 ? "" : "s"));
  }
  for (const auto& [gpu, all] : by_gpu) {
    if (all.size() > 1 && !all.front()->is_crowded) mark(all, "one GPU");
  }
}

}  // namespace pbprobe
