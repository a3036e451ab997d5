// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tests/core/host/recorded_host.hpp"
#include "core/json.hpp"
#include "paths.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>

namespace pbprobe::host {
namespace {

const std::string kFolder = std::string(PBPROBE_SOURCE_DIR) + "/tests/core/host/";

uint64_t number(const Json& text) {
  return std::stoull(text.get<std::string>(), nullptr, 0);
}

void add_x86(const Json& record, HostSources& sources) {
  std::map<std::pair<uint32_t, uint32_t>, CpuidRegisters> leaves;
  for (const auto& row : record.at("cpuid")) {
    const auto value = [&](int i) { return static_cast<uint32_t>(number(row[i])); };
    leaves[{value(0), row[1].get<uint32_t>()}] = {value(2), value(3), value(4), value(5)};
  }
  sources.cpuid = [leaves](uint32_t leaf, uint32_t subleaf) {
    const auto found = leaves.find({leaf, subleaf});
    return found == leaves.end() ? CpuidRegisters{} : found->second;
  };
  sources.xcr0 = [xcr0 = number(record.at("xcr0"))] { return xcr0; };
  sources.amx_permission = [granted = record.at("amx_permission").get<bool>()] { return granted; };
  std::vector<uint32_t> hybrid;
  for (const auto& leaf : record.value("hybrid_leaves", Json::array()))
    hybrid.push_back(static_cast<uint32_t>(number(leaf)));
  sources.hybrid_leaves = [hybrid] { return hybrid; };
}

void add_aarch64(const Json& record, const FakeRoot& root, HostSources& sources) {
  sources.hwcap = number(record.at("hwcap"));
  sources.hwcap2 = number(record.at("hwcap2"));
  std::optional<int64_t> bytes;
  if (!record.at("sve_bytes").is_null()) bytes = record.at("sve_bytes").get<int64_t>();
  sources.sve_bytes = [bytes] { return bytes; };
  for (size_t cpu = 0; cpu < record.at("midrs").size(); ++cpu) {
    root.write(fmt::format("/sys/devices/system/cpu/cpu{}/regs/identification/midr_el1", cpu),
               fmt::format("{:#018x}\n", number(record.at("midrs")[cpu])));
  }
}

}  // namespace

std::vector<std::string> recorded_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder + "recorded")) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Json read_json(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(kFolder + path).rdbuf();
  auto json = parse_json(text.str());
  if (!json) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), json.error().message.c_str());
    std::abort();
  }
  return *json;
}

Json read_recorded(const std::string& name) {
  return read_json("recorded/" + name + ".json");
}

HostSources make_recorded_sources(const Json& record, const FakeRoot& root) {
  HostSources sources;
  sources.architecture = record.at("architecture").get<std::string>();
  sources.root = root.path();
  sources.kernel = "6.1.0";
  const auto cpus = record.at("cpus").get<int>();
  root.write("/sys/devices/system/cpu/online", cpus == 1 ? "0\n" : fmt::format("0-{}\n", cpus - 1));
  if (sources.architecture == "x86_64") {
    add_x86(record, sources);
  } else {
    add_aarch64(record, root, sources);
  }
  return sources;
}

}  // namespace pbprobe::host
