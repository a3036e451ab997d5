// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/fleet/merge.hpp"

#include <algorithm>
#include <sstream>

#include "core/json.hpp"
#include "core/open_file.hpp"
#include "core/parallel.hpp"
#include "probes/fleet/judge.hpp"
#include "probes/pipeline/pipeline.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMerged = "fleet.json";  // result of an earlier merge in the folder
constexpr uint64_t kMaxFleetBytes = 4ULL << 30;     // a baseline of 100,000 nodes

Result<std::vector<fs::path>> list_report_files(const std::vector<fs::path>& named) {
  std::vector<fs::path> files;
  for (const auto& path : named) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    std::vector<fs::path> inside;
    for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (it->path().extension() == ".json" && name != kMerged) inside.push_back(it->path());
    }
    if (error) return make_error(ErrorCode::unreadable, "{} cannot be listed: {}", path.string(), error.message());
    std::ranges::sort(inside);
    files.insert(files.end(), inside.begin(), inside.end());
  }
  if (files.empty())
    return make_error(ErrorCode::not_found, "no report to merge: name the files that the nodes wrote, or their folder");
  return files;
}

Result<NodeReport> read_node(const fs::path& file) {
  PBPROBE_TRY(const std::string text, read_whole_file(file));
  PBPROBE_TRY(const Json json, parse_json(text), "{}", file.string());
  PBPROBE_TRY(NodeReport node, from_json<NodeReport>(json), "{}", file.string());
  return node;
}

Result<std::vector<std::string>> read_hosts(const fs::path& file) {
  PBPROBE_TRY(const std::string text, read_whole_file(file), "--expect");
  std::vector<std::string> hosts;
  std::istringstream lines(text);
  for (std::string host; lines >> host;) hosts.push_back(host);
  return hosts;
}

}  // namespace

Result<Fleet> load_fleet(const fs::path& file) {
  PBPROBE_TRY(const std::string text, read_whole_file(file, kMaxFleetBytes));
  PBPROBE_TRY(const Json json, parse_json(text), "{}", file.string());
  PBPROBE_TRY(Fleet fleet, from_json<Fleet>(json), "{}", file.string());
  return fleet;
}

Result<Fleet> merge_documents(const MergeRequest& request) {
  FleetPolicy policy{.false_alarm_rate = request.false_alarm_rate, .floor = request.floor};
  if (request.expected) {
    PBPROBE_TRY(policy.expected, read_hosts(*request.expected));
  }
  if (request.baseline) {
    PBPROBE_TRY(policy.baseline, load_fleet(*request.baseline), "--baseline");
    policy.baseline_name = request.baseline->string();
  }
  PBPROBE_TRY(const auto files, list_report_files(request.documents));
  if (request.progress) request.progress(fmt::format("reading {} reports", files.size()));
  std::vector<std::optional<Result<NodeReport>>> read(files.size());
  run_tasks(files.size(), 0, [&](size_t i) { read[i] = read_node(files[i]); });
  std::vector<NodeReport> nodes;
  std::vector<std::string> problems;
  nodes.reserve(files.size());
  for (auto& node : read) {
    if (node->ok()) {
      nodes.push_back(std::move(*node).value());
    } else {
      problems.push_back(node->error().message);
    }
    node.reset();
  }
  if (nodes.empty()) return make_error(ErrorCode::malformed, "no report can be read: {}", problems.front());
  if (request.progress) request.progress(fmt::format("judging {} reports", nodes.size()));
  Fleet fleet = judge_fleet(nodes, policy, std::move(problems));
  fleet.created = new_report().created;
  return fleet;
}

}  // namespace pbprobe
