// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/claim/variant_of.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/cpu_needs.hpp"
#include "core/facts/environment.hpp"
#include "core/sm.hpp"
#include "core/strings.hpp"
#include "probes/judge/claim/other_claims.hpp"

namespace pbprobe {
namespace {

class Deriving {
 public:
  explicit Deriving(const Inventory& inventory)
      : inventory_(inventory), row_(make_distribution(inventory)), all_{.inventory = inventory, .name = row_.name} {
    derived_.variant.label = "derived";
  }

  DerivedVariant run() {
    add_sms();
    add_cuda();
    add_cpu();
    add_blas();
    for (const auto& release : row_.torch_abi == TorchAbi::own ? std::vector<std::string>() : row_.torch_releases)
      add("abi_dependency", "torch", release);
    return std::move(derived_);
  }

 private:
  void add(const char* provider, const std::string& feature, const std::string& value) {
    derived_.variant.properties.push_back({provider, feature, value});
  }

  // States an SM if each unit of device code in each file has it. Properties know no suffix.
  void add_sms() {
    std::set<Sm> plain;
    for (const auto& [name, count] : row_.cubin) {
      const auto sm = parse_sm(name);
      if (!sm) continue;
      plain.insert({sm->major, sm->minor});
      if (sm->suffix == '\0') continue;
      const Sm same{sm->major, sm->minor};
      const auto without = row_.cubin.find(sm_name(same));
      derived_.notes.push_back(
          fmt::format("{}_real cannot state a suffix: {} of the cubins for {} are {}, which runs {}; {} have no suffix",
                      get_sm_number(*sm), count, format_capability(same), name,
                      sm->suffix == 'a' ? "on that chip only" : "in that chip's family only",
                      without == row_.cubin.end() ? 0 : without->second));
    }
    for (const auto& sm : plain) state(sm, "real");
    for (const auto& [name, count] : row_.ptx) {
      const auto sm = parse_sm(name);
      if (sm && sm->suffix == '\0') state(*sm, "virtual");
    }
  }

  void state(const Sm& sm, const std::string& kind) {
    const std::string value = fmt::format("{}_{}", get_sm_number(sm), kind);
    Answer answer;
    if (kind == "real") {
      ask_machine_code(answer, value, sm, all_);
    } else {
      ask_ptx(answer, value, sm, all_);
    }
    if (answer.seen.empty()) return add("nvidia", "sm_arch", value);
    derived_.notes.push_back(
        fmt::format("{} is not stated: {} of the files with device code have units without it, the first {}", value,
                    answer.seen.size(), answer.seen.front().where.value_or("")));
  }

  void add_cuda() {
    int64_t most = 0;
    for (const auto& major : row_.cuda) most = std::max<int64_t>(most, std::stoll(major));
    if (most > 0) add("nvidia", "cuda_version_lower_bound", fmt::format("{}.0", most));
    if (row_.cuda.size() > 1)
      derived_.notes.push_back(
          fmt::format("it links libraries of CUDA {}: the newest is the bound", fmt::join(row_.cuda, " and ")));
  }

  // Adds the lowest x86-64 level that covers the needed features, or the highest level and single features.
  void add_cpu() {
    std::vector<std::string> needs;
    std::string machine;
    for (const auto& file : inventory_.files) {
      if (!file.host_code) continue;
      machine = file.machine.value_or(machine);
      for (const auto& [feature, count] : file.host_code->unguarded) {
        if (std::find(needs.begin(), needs.end(), feature) == needs.end()) needs.push_back(feature);
      }
    }
    if (needs.empty()) return;
    const bool x86 = machine == "x86_64";
    std::vector<std::string> missing = needs;
    for (const char* level : {"v2", "v3", "v4"}) {
      if (!x86) break;
      const auto has = list_hwcaps_features(fmt::format("lib/glibc-hwcaps/x86-64-{}/lib.so", level));
      if (!has) continue;
      missing = missing_features(needs, *has);
      if (!missing.empty() && level != std::string("v4")) continue;
      add("x86_64", "level", level);
      break;
    }
    for (const auto& feature : missing) add(x86 ? "x86_64" : "aarch64", feature == "pni" ? "sse3" : feature, "on");
  }

  void add_blas() {
    for (const auto& blas : {std::pair("mkl", "MKL"), {"openblas", "OpenBLAS"}}) {
      const bool there = std::any_of(inventory_.files.begin(), inventory_.files.end(), [&](const File& file) {
        const std::string library = std::string("lib") + blas.first;
        const auto named = [&](const std::string& one) { return one.starts_with(library); };
        return std::any_of(file.needed.begin(), file.needed.end(), named) ||
               (file.links && std::find(file.links->contains.begin(), file.links->contains.end(), blas.second) !=
                                  file.links->contains.end());
      });
      if (there) add("blas_lapack", "library", blas.first);
    }
  }

  const Inventory& inventory_;
  const Distribution row_;
  const ClaimedFiles all_;
  DerivedVariant derived_;
};

}  // namespace

DerivedVariant derive_variant(const Inventory& inventory) {
  return Deriving(inventory).run();
}

}  // namespace pbprobe
