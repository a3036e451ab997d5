// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/gpu/served.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/demangle.hpp"
#include "core/facts/device_code.hpp"
#include "probes/judge/evidence/baseline.hpp"
#include "probes/judge/libraries/package_rows.hpp"

namespace pbprobe {
namespace {

constexpr size_t kNamedKernels = 10;

// Code of one kernel in all files.
struct Code {
  std::string mangled;  // first name of the kernel
  std::set<Sm> cubins;
  std::set<Sm> ptx;
};

using Kernels = std::map<std::string, Code>;

void take(const std::optional<DeviceCode>& code, Kernels& kernels) {
  if (!code) return;
  visit_kernels(*code, [&](const std::string& name, const Sm& sm, bool is_ptx) {
    Code& known = kernels[stable_name(name)];
    if (known.mangled.empty()) known.mangled = name;
    (is_ptx ? known.ptx : known.cubins).insert(sm);
  });
}

Kernels collect_kernels(const Inventory& inventory) {
  Kernels kernels;
  for (const auto& file : inventory.files) {
    take(file.device_code, kernels);
    take(file.self_loaded_code, kernels);
  }
  return kernels;
}

template <class Which>
bool any(const std::set<Sm>& sms, Which which) {
  return std::ranges::any_of(sms, which);
}

GpuCode choose_gpu_code(const Code& code, const Sm& gpu) {
  const auto runs = [&](const Sm& cubin) { return cubin_runs_on(cubin, gpu); };
  if (any(code.cubins, [&](const Sm& cubin) { return runs(cubin) && same_capability(cubin, gpu); }))
    return GpuCode::native;
  if (any(code.cubins, runs)) return GpuCode::same_major;
  return any(code.ptx, [&](const Sm& ptx) { return ptx_runs_on(ptx, gpu); }) ? GpuCode::ptx : GpuCode::none;
}

// Reports whether only a suffix keeps a cubin or PTX of this kernel from running on `gpu`.
bool is_kept_by_suffix(const Code& code, const Sm& gpu) {
  return any(code.cubins,
             [&](const Sm& cubin) {
               return cubin.suffix != '\0' && cubin_runs_on({cubin.major, cubin.minor}, gpu);
             }) ||
         any(code.ptx, [&](const Sm& ptx) {
           return ptx.suffix != '\0' && ptx_runs_on({ptx.major, ptx.minor}, gpu);
         });
}

std::vector<std::string> list_target_names(const Code& code) {
  std::vector<std::string> names;
  for (const auto& sm : code.cubins) names.push_back(sm_name(sm));
  for (const auto& sm : code.ptx) names.push_back(compute_name(sm));
  return names;
}

// Returns the code that most kernels get; on a tie, the worse one.
GpuCode find_highest_count(const ServedGpu& gpu) {
  GpuCode most = GpuCode::unknown;
  int64_t count = 0;
  for (const auto& [code, kernels] : {std::pair(GpuCode::native, gpu.native),
                                      {GpuCode::same_major, gpu.same_major},
                                      {GpuCode::ptx, gpu.ptx},
                                      {GpuCode::none, gpu.none}}) {
    if (kernels == 0 || kernels < count) continue;
    most = code;
    count = kernels;
  }
  return most;
}

// Groups kernels without code for a GPU by the SMs that they have code for. Names the first kernel of each function.
class UnsupportedKernels {
 public:
  void add(const Code& code) {
    auto only_for = list_target_names(code);
    auto& [group, functions] = groups_[only_for];
    group.only_for = std::move(only_for);
    ++group.kernels;
    if (group.first.size() < kNamedKernels && functions.insert(function_name(code.mangled)).second)
      group.first.push_back(code.mangled);
  }
  std::vector<LackingKernels> most_first() && {
    std::vector<LackingKernels> all;
    for (auto& [only_for, group] : groups_) all.push_back(std::move(group.first));
    std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.kernels > b.kernels; });
    return all;
  }

 private:
  std::map<std::vector<std::string>, std::pair<LackingKernels, std::set<std::string>>> groups_;
};

// Reports whether the driver compiles the PTX. Decides by the SM with the lowest version: ptx_versions has only the
// highest version of each SM.
std::optional<bool> takes_ptx(const MajorMinor& driver, const Inventory& inventory, const Sm& gpu) {
  std::optional<MajorMinor> least;
  for (const auto& file : inventory.files) {
    if (!file.device_code) continue;
    for (const auto& [name, text] : file.device_code->ptx_versions) {
      const auto sm = parse_sm(name);
      const auto version = parse_major_minor(text);
      if (sm && version && ptx_runs_on(*sm, gpu) && (!least || *version < *least)) least = version;
    }
  }
  const auto cuda = least ? cuda_of_ptx(*least) : std::nullopt;
  return cuda ? std::optional(*cuda <= driver) : std::nullopt;
}

}  // namespace

ServedGpu count_gpu_kernels(const Inventory& inventory, const Sm& gpu, const std::optional<MajorMinor>& driver) {
  ServedGpu served{.sm = sm_name(gpu)};
  UnsupportedKernels lacking;
  for (const auto& [name, code] : collect_kernels(inventory)) {
    switch (choose_gpu_code(code, gpu)) {
      case GpuCode::native: ++served.native; break;
      case GpuCode::same_major: ++served.same_major; break;
      case GpuCode::ptx: ++served.ptx; break;
      case GpuCode::none:
      case GpuCode::unknown:
        ++served.none;
        if (is_kept_by_suffix(code, gpu)) ++served.kept_by_suffix;
        lacking.add(code);
    }
  }
  served.code = find_highest_count(served);
  if (driver && served.ptx > 0) served.ptx_taken = takes_ptx(*driver, inventory, gpu);
  served.lacking = std::move(lacking).most_first();
  return served;
}

}  // namespace pbprobe
