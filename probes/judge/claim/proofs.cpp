// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/claim/proofs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "probes/judge/evidence/baseline.hpp"
#include "probes/judge/policy/obstacles.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

ClaimProof all_unknown(std::string detail = "") {
  return {Outcome::unknown, Outcome::unknown, Outcome::unknown, std::move(detail)};
}

ClaimProof not_loaded(std::string detail) {
  return {Outcome::fail, Outcome::unknown, Outcome::unknown, std::move(detail)};
}

std::optional<ClaimProof> nothing_ran(const Facts& facts) {
  if (facts.files_only) return ClaimProof{};
  if (facts.host == nullptr) return all_unknown("this machine was not looked at");
  if (facts.wrong_platform) return not_loaded("built for another processor than this one");
  if (facts.run == nullptr) return all_unknown("libtorch was not started");
  return std::nullopt;
}

Outcome worse(Outcome a, Outcome b) {
  if (a == Outcome::fail || b == Outcome::fail) return Outcome::fail;
  return a == Outcome::unknown || b == Outcome::unknown ? Outcome::unknown : Outcome::pass;
}

std::optional<Outcome> worse(std::optional<Outcome> a, std::optional<Outcome> b) {
  if (!a || !b) return std::nullopt;
  return worse(*a, *b);
}

// Fills `measured`, and `detail` from `ran`. Call after libtorch ran correctly on `device`.
void add_measured(ClaimProof& proof, const Facts& facts, std::string_view device, const std::string& ran) {
  Measured measured = summarize_gains(facts.report.baseline, device);
  proof.measured = measured.outcome;
  proof.detail = fmt::format("{}; {}", ran, measured.detail);
}

}  // namespace

Outcome judge_areas(const LibtorchRun& run, std::string_view device, std::string& detail) {
  bool any = false;
  bool all = true;
  for (const auto& area : run.areas) {
    if (area.device != device || area.skipped) continue;
    any = true;
    if (!area.problem) continue;
    detail = fmt::format("{} on {}: {}", area.area, device, *area.problem);
    if (!area.obstacle) return Outcome::fail;
    all = false;
  }
  if (!all) return Outcome::unknown;
  if (!any) detail = fmt::format("libtorch's areas were not run on {}", device);
  return any ? Outcome::pass : Outcome::unknown;
}

ClaimProof prove_sm(const Facts& facts, const Target& target) {
  if (auto proof = nothing_ran(facts)) return *proof;
  if (facts.gpus.empty()) return all_unknown("no GPU here");
  const auto index = gpu_of_run(facts);
  if (!index) return all_unknown("no GPU here can be used");
  const GpuOutcome& gpu = facts.gpus[*index];
  if (gpu.capability != target.capability)
    return all_unknown(fmt::format("libtorch is run on {}, which is not {}", gpu_label(gpu), target.id));
  if (gpu.code != GpuCode::native)
    return not_loaded(fmt::format("{} gets {}", gpu_label(gpu), gpu.best.value_or("nothing")));
  if (!facts.run->executed_on_gpu) return all_unknown(facts.run->problem.value_or("libtorch was not run on a GPU"));
  ClaimProof proof = all_unknown();
  if (!*facts.run->executed_on_gpu) {
    proof.executed = Outcome::fail;
    proof.detail = facts.run->problem.value_or("libtorch's matrix product on the GPU was not right");
    return proof;
  }
  proof.loaded = Outcome::pass;
  const std::string device = fmt::format("cuda:{}", gpu.gpu);
  proof.executed = judge_areas(*facts.run, device, proof.detail);
  if (proof.executed == Outcome::pass) add_measured(proof, facts, device, "ran on " + gpu_label(gpu));
  return proof;
}

ClaimProof prove_isa(const Facts& facts, const Target& target) {
  if (auto proof = nothing_ran(facts)) return *proof;
  const auto& here = facts.host->cpu.targets;
  if (std::find(here.begin(), here.end(), target.id) == here.end())
    return all_unknown(fmt::format("{} is not {}", facts.host->cpu.name, target.id));
  const LibtorchRun& run = *facts.run;
  if (!run.loaded && (run.obstacle || was_only_read(facts)))
    return all_unknown(run.problem.value_or("libtorch could not run"));
  if (!run.loaded)
    return not_loaded(run.problem.value_or("libtorch could not be loaded, and the loader gave no reason"));
  ClaimProof proof = all_unknown();
  proof.loaded = Outcome::pass;
  if (!run.executed) {
    proof.executed = run.obstacle ? Outcome::unknown : Outcome::fail;
    proof.detail = run.problem.value_or("libtorch's matrix product on the CPU was not right");
    return proof;
  }
  const std::string capability = run.cpu_capability.value_or("unknown");
  // An exact build has code only for the target. Other builds have this code only in their CPU capability.
  if (!facts.claim->exact && target.torch_cpu_capability && capability != *target.torch_cpu_capability) {
    proof.detail = fmt::format("libtorch took its {} code, and what is claimed is its {} code", capability,
                               *target.torch_cpu_capability);
    return proof;
  }
  proof.executed = judge_areas(run, "cpu", proof.detail);
  if (proof.executed == Outcome::pass)
    add_measured(proof, facts, "cpu", fmt::format("ran on {}, CPU capability {}", facts.host->cpu.name, capability));
  return proof;
}

ClaimProof prove_torch(const Facts& facts, const std::string& claimed) {
  if (facts.files_only) return {};
  if (facts.run == nullptr || !facts.run->version) return {.loaded = Outcome::unknown};
  const std::string_view release = get_release(*facts.run->version);
  const std::string_view wanted = get_release(claimed);  // libtorch returns the release even for a candidate
  const bool same = release.starts_with(wanted) && (release.size() == wanted.size() || release[wanted.size()] == '.');
  return {.loaded = same ? Outcome::pass : Outcome::fail,
          .detail = same ? "" : fmt::format("the loaded library says {}", *facts.run->version)};
}

ClaimProof both(const ClaimProof& one, const ClaimProof& other) {
  const bool two = !one.detail.empty() && !other.detail.empty() && one.detail != other.detail;
  return {.loaded = worse(one.loaded, other.loaded),
          .executed = worse(one.executed, other.executed),
          .measured = worse(one.measured, other.measured),
          .detail = two                  ? one.detail + "; " + other.detail
                    : one.detail.empty() ? other.detail
                                         : one.detail};
}

}  // namespace pbprobe
