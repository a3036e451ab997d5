// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/rows.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "probes/judge/checks.hpp"
#include "probes/judge/evidence/baseline.hpp"
#include "probes/judge/libraries/package_rows.hpp"
#include "probes/judge/policy/obstacles.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

// Proof of a claimed target by running libtorch. Only a run on this very target proves anything. Outcome of each level;
// nullopt if only files were judged.
struct ClaimProof {
  std::optional<Outcome> loaded;
  std::optional<Outcome> executed;
  std::optional<Outcome> measured;
  std::string detail;
};

ClaimProof all_unknown(std::string detail = "") {
  return {Outcome::unknown, Outcome::unknown, Outcome::unknown, std::move(detail)};
}

ClaimProof not_loaded(std::string detail) {
  return {Outcome::fail, Outcome::unknown, Outcome::unknown, std::move(detail)};
}

std::optional<ClaimProof> nothing_ran(const Facts& facts) {
  if (facts.files_only) return ClaimProof{};
  if (facts.host == nullptr) return all_unknown("pbprobe did not inspect this machine");
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

// Judges the areas that ran on `device`: pass, fail, or unknown if none or not all ran. Sets `detail` to the reason.
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
  if (!index) return all_unknown("this machine has no usable GPU");
  const GpuOutcome& gpu = facts.gpus[*index];
  if (gpu.capability != target.capability)
    return all_unknown(fmt::format("libtorch runs on {}, which is not the claimed {}", gpu_label(gpu), target.id));
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
  if (std::ranges::find(here, target.id) == here.end())
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
    proof.detail = fmt::format("libtorch selected its code for CPU capability {}, and its code for {} is claimed",
                               capability, *target.torch_cpu_capability);
    return proof;
  }
  proof.executed = judge_areas(run, "cpu", proof.detail);
  if (proof.executed == Outcome::pass)
    add_measured(proof, facts, "cpu", fmt::format("ran on {}, CPU capability {}", facts.host->cpu.name, capability));
  return proof;
}

// Compares the claimed release with the release that the loaded library returns.
ClaimProof prove_torch(const Facts& facts, const std::string& claimed) {
  if (facts.files_only) return {};
  if (facts.run == nullptr || !facts.run->version) return {.loaded = Outcome::unknown};
  const std::string_view release = get_release(*facts.run->version);
  const std::string_view wanted = get_release(claimed);  // libtorch returns the release even for a candidate
  const bool same = release.starts_with(wanted) && (release.size() == wanted.size() || release[wanted.size()] == '.');
  return {.loaded = same ? Outcome::pass : Outcome::fail,
          .detail = same ? "" : fmt::format("the loaded library says {}", *facts.run->version)};
}

// Takes the worse outcome of each level, and joins the details.
ClaimProof both(const ClaimProof& one, const ClaimProof& other) {
  const bool two = !one.detail.empty() && !other.detail.empty() && one.detail != other.detail;
  return {.loaded = worse(one.loaded, other.loaded),
          .executed = worse(one.executed, other.executed),
          .measured = worse(one.measured, other.measured),
          .detail = two                  ? one.detail + "; " + other.detail
                    : one.detail.empty() ? other.detail
                                         : one.detail};
}

Outcome known(bool good) {
  return good ? Outcome::pass : Outcome::fail;
}

std::string rate(double gflops) {
  return gflops >= 10000 ? fmt::format("{:.1f} TFLOP/s", gflops / 1000) : fmt::format("{:.0f} GFLOP/s", gflops);
}

// Lists, for each data type, the figure of the largest problem on this device.
std::string describe_figures(const LibtorchRun& run, std::string_view device) {
  std::map<std::string, const LibtorchFigure*> largest;
  const auto work = [](const LibtorchFigure& figure) {
    return static_cast<double>(figure.m) * static_cast<double>(figure.n) * static_cast<double>(figure.k);
  };
  for (const auto& figure : run.figures) {
    if (figure.device != device) continue;
    const LibtorchFigure*& kept = largest[figure.dtype];
    if (kept == nullptr || work(figure) > work(*kept)) kept = &figure;
  }
  std::vector<std::string> parts;
  for (const auto& [dtype, figure] : largest)
    parts.push_back(fmt::format("{} {} ({}×{}×{})", dtype, rate(figure->gflops), figure->m, figure->n, figure->k));
  return fmt::format("{}", fmt::join(parts, ", "));
}

void add_detail(std::string& detail, const std::string& more) {
  if (more.empty()) return;
  if (!detail.empty()) detail += "; ";
  detail += more;
}

// Ignores findings in packages beside torch, which have their own rows.
bool fails_on_cpu(const std::vector<Finding>& findings) {
  return std::ranges::any_of(findings, [&](const Finding& finding) {
    return finding.severity == Severity::fail && finding.level == Level::shipped && finding.subject != Subject::gpu &&
           !finding.distribution;
  });
}

// Fills `measured` if a baseline was timed.
void fill_measured(ClaimRow& row, const Facts& facts, std::string_view device) {
  if (row.executed == Outcome::pass && facts.report.baseline)
    row.measured = summarize_gains(facts.report.baseline, device).outcome;
}

// Fills the levels that running proves: unknown until the level below is reached, nullopt if nothing ran.
void fill_cpu(ClaimRow& row, const Facts& facts) {
  if (facts.run == nullptr || was_only_read(facts)) return;
  row.loaded = row.executed = Outcome::unknown;
  // A step that could not run proves nothing.
  if (facts.run->loaded || !facts.run->obstacle) row.loaded = known(facts.run->loaded);
  if (facts.run->executed || (facts.run->loaded && !facts.run->obstacle)) row.executed = known(facts.run->executed);
  fill_measured(row, facts, "cpu");
  if (facts.run->cpu_capability) add_detail(row.detail, "CPU capability " + *facts.run->cpu_capability);
  add_detail(row.detail, describe_figures(*facts.run, "cpu"));
}

void fill_gpu(ClaimRow& row, const Facts& facts, size_t index) {
  if (facts.run == nullptr || was_only_read(facts)) return;
  const std::string device = fmt::format("cuda:{}", facts.gpus[index].gpu);
  const auto& areas = facts.run->areas;
  if (gpu_of_run(facts) == index) {
    row.loaded = row.executed = Outcome::unknown;
    if (facts.run->executed_on_gpu) row.executed = known(*facts.run->executed_on_gpu);
  } else if (std::ranges::any_of(areas, [&](const LibtorchArea& area) { return area.device == device; })) {
    row.loaded = Outcome::unknown;
    std::string why;
    row.executed = judge_areas(*facts.run, device, why);
    if (row.executed != Outcome::pass) add_detail(row.detail, why);
  }
  if (has_run(*facts.run, device)) row.executed = Outcome::pass;
  if (row.executed == Outcome::pass) row.loaded = Outcome::pass;
  fill_measured(row, facts, device);
  add_detail(row.detail, describe_figures(*facts.run, device));
}

ClaimRow cpu_row(const Facts& facts, const std::vector<Finding>& findings) {
  ClaimRow row{.claim = "CPU " + facts.host->cpu.name, .shipped = Outcome::unknown};
  if (facts.inventory != nullptr) row.shipped = known(!fails_on_cpu(findings));
  if (facts.wrong_platform) {
    row.detail = "built for " + facts.inventory->platform.value_or("another processor");
  } else {
    fill_cpu(row, facts);
  }
  return row;
}

ClaimRow gpu_row(const Facts& facts, size_t index) {
  const GpuOutcome& gpu = facts.gpus[index];
  ClaimRow row{.claim = gpu_label(gpu)};
  if (gpu.code == GpuCode::unknown) {
    row.shipped = Outcome::unknown;
  } else {
    row.shipped = known(gpu.code != GpuCode::none);
  }
  if (gpu.code == GpuCode::none) return row;
  fill_gpu(row, facts, index);
  // A problem of another GPU does not count here, but a problem of the driver counts for all GPUs.
  const bool usable = !facts.host->gpus[index].problem && driver_supports_cuda(facts);
  if (!usable && row.loaded != Outcome::pass) row.loaded = Outcome::fail;
  return row;
}

// pbprobe's own kernels prove that the machine can run a target. Each row is verified before it is timed.
std::vector<ClaimRow> kernel_rows(const Measurements& measurements) {
  std::map<std::string, std::map<std::string, const BenchRow*>> fastest;
  for (const auto& row : measurements.rows) {
    const BenchRow*& kept = fastest[row.target][row.dtype];
    if (kept == nullptr || row.gflops > kept->gflops) kept = &row;
  }
  std::vector<ClaimRow> rows;
  for (const auto& [target, types] : fastest) {
    ClaimRow claim{.claim = "kernels " + target, .executed = Outcome::pass, .measured = Outcome::pass};
    for (const auto& [dtype, row] : types) {
      if (row->disturbed) claim.measured = Outcome::unknown;
      std::string peak;
      if (row->peak_fraction && !launch_decides(*row))
        peak = fmt::format(" ({:.0f} % of peak)", *row->peak_fraction * 100);
      add_detail(claim.detail,
                 fmt::format("{} {}{} ({}×{}×{})", dtype, rate(row->gflops), peak, row->m, row->n, row->k));
    }
    rows.push_back(std::move(claim));
  }
  return rows;
}

// Outcome of "shipped" by the checks of a claimed part: unknown without a check, or without an answer.
struct Shipped {
  const std::vector<Finding>& findings;
  const std::vector<std::string>& unanswered;

  template <class Which>
  Outcome by(Which which) const {
    bool any = false;
    bool unknown = false;
    for (const auto& check : all_checks()) {
      if (!which(check)) continue;
      any = true;
      const bool failed = std::ranges::any_of(findings, [&](const Finding& finding) {
        return finding.id == check.id && finding.severity == Severity::fail;
      });
      if (failed) return Outcome::fail;
      unknown = unknown || std::ranges::find(unanswered, check.id) != unanswered.end();
    }
    return any && !unknown ? Outcome::pass : Outcome::unknown;
  }
  // Omits checks that need a whole artifact if a single file is judged.
  Outcome of(ClaimPart part, const Facts& facts) const {
    return by([&](const Check& check) {
      const bool asked = !(facts.single_file && needs(check, Need::whole)) && (!facts.other || check.of_any);
      return check.proves == part && asked;
    });
  }
  // Fails if a target exists only on other processors, or if a build without CUDA claims an SM.
  Outcome of(const std::vector<const Target*>& targets, ClaimPart part, const Facts& facts) const {
    const bool whole_torch = facts.inventory != nullptr && !facts.single_file && !facts.other;
    if (part == ClaimPart::sm && whole_torch && !facts.cuda_build) return Outcome::fail;
    const bool elsewhere = by([](const Check& check) { return check.of_processor; }) == Outcome::fail;
    if (elsewhere && find_foreign_target(facts, targets) != nullptr) return Outcome::fail;
    return of(part, facts);
  }
};

std::string join_target_ids(const std::vector<const Target*>& targets, bool exact) {
  std::vector<std::string_view> ids;
  for (const Target* target : targets) ids.push_back(target->id);
  return fmt::format("{}{}", fmt::join(ids, ", "), exact ? " only" : "");
}

ClaimProof prove_all(const Facts& facts, const std::vector<const Target*>& targets,
                     ClaimProof (*prove)(const Facts&, const Target&)) {
  ClaimProof all = prove(facts, *targets.front());
  for (size_t i = 1; i < targets.size(); ++i) all = both(all, prove(facts, *targets[i]));
  return all;
}

std::string get_file_patterns(const Claim& claim) {
  std::vector<std::string_view> patterns;
  for (const auto& one : *claim.files) patterns.push_back(one.files);
  return patterns.empty() ? "all" : fmt::format("{}", fmt::join(patterns, ", "));
}

std::string describe_ignored_files(const Claim& claim) {
  std::string text;
  for (const auto& [files, reason] : claim.ignored.value_or(std::vector<IgnoredFiles>()))
    add_detail(text, fmt::format("{} left out: {}", files, reason));
  return text;
}

std::vector<ClaimRow> claimed_rows(const Facts& facts, const Shipped& shipped) {
  const Claim& claim = *facts.claim;
  const ClaimParts parts = claim_parts(facts);
  std::vector<ClaimRow> rows;
  const auto add = [&](const char* what, const std::string& claimed, Outcome outcome, const std::string& detail,
                       const ClaimProof& proof = {}) {
    const bool known = std::ranges::find(parts.unknown, what) == parts.unknown.end();
    rows.push_back({.claim = what,
                    .claimed = claimed,
                    .shipped = known ? outcome : Outcome::unknown,
                    .loaded = proof.loaded,
                    .executed = proof.executed,
                    .measured = proof.measured,
                    .detail = known ? detail : "this single file does not show whether the claim is true"});
    add_detail(rows.back().detail, proof.detail);
  };
  const auto seen = [](const std::optional<std::string>& value) { return value ? "it is " + *value : ""; };
  const Inventory none;
  const Inventory& inventory = facts.inventory != nullptr ? *facts.inventory : none;
  if (!facts.claimed_gpus.empty())
    add("SM", join_target_ids(facts.claimed_gpus, claim.exact), shipped.of(facts.claimed_gpus, ClaimPart::sm, facts),
        "", prove_all(facts, facts.claimed_gpus, prove_sm));
  if (!facts.claimed_cpus.empty())
    add("ISA", join_target_ids(facts.claimed_cpus, claim.exact), shipped.of(facts.claimed_cpus, ClaimPart::isa, facts),
        seen(inventory.platform), prove_all(facts, facts.claimed_cpus, prove_isa));
  if (claim.torch)
    add("torch", *claim.torch, shipped.of(ClaimPart::torch, facts), seen(inventory.torch_version),
        prove_torch(facts, *claim.torch));
  if (claim.cuda) add("CUDA", *claim.cuda, shipped.of(ClaimPart::cuda, facts), seen(inventory.cuda_version));
  if (claim.python) add("Python", *claim.python, shipped.of(ClaimPart::python, facts), seen(inventory.python_abi));
  if (claim.blas) add("BLAS", *claim.blas, shipped.of(ClaimPart::blas, facts), "");
  if (claim.files)
    add("files", get_file_patterns(claim), shipped.of(ClaimPart::files, facts), describe_ignored_files(claim));
  return rows;
}

// Describes the code that a GPU runs. `which` lists all GPUs with this code.
std::string code_that_ran(const GpuOutcome& gpu, const std::string& which) {
  const std::string best = gpu.best.value_or("unknown");
  switch (gpu.code) {
    case GpuCode::native: return fmt::format("; GPU {} runs {}, native", which, best);
    case GpuCode::same_major:
      return fmt::format("; it is not built for GPU {}, which runs {} code (compatible)", which, best);
    case GpuCode::ptx:
      return fmt::format("; GPU {} runs {} PTX, compiled by the driver at the first start", which, best);
    case GpuCode::none:
    case GpuCode::unknown: break;
  }
  return "";
}

// Returns "1-7" or "1, 3".
std::string format_gpu_numbers(const std::vector<int64_t>& gpus) {
  const bool in_a_row = gpus.size() > 2 && gpus.back() - gpus.front() + 1 == static_cast<int64_t>(gpus.size());
  return in_a_row ? fmt::format("{}-{}", gpus.front(), gpus.back()) : fmt::format("{}", fmt::join(gpus, ", "));
}

}  // namespace

std::vector<ClaimRow> claim_rows(const Facts& facts, const std::vector<Finding>& findings,
                                 const std::vector<std::string>& unanswered) {
  std::vector<ClaimRow> rows;
  if (facts.claim != nullptr) rows = claimed_rows(facts, {findings, unanswered});
  if (facts.host != nullptr) {
    for (size_t i = 0; i < facts.gpus.size(); ++i) rows.push_back(gpu_row(facts, i));
    if (facts.gpus.empty() && facts.cuda_build && !facts.wrong_platform)
      rows.push_back({.claim = "GPU", .shipped = Outcome::unknown, .detail = "no GPU here"});
    rows.push_back(cpu_row(facts, findings));
  }
  if (facts.measurements != nullptr) {
    for (auto& row : kernel_rows(*facts.measurements)) rows.push_back(std::move(row));
  }
  return rows;
}

std::string what_files_hold(const Facts& facts) {
  if (facts.claim == nullptr) return "nothing in the files is wrong: " + find_holdings(facts)->sentence;
  std::string text = fmt::format("{} holds what \"{}\" claims", facts.torch, facts.claim->text);
  const ClaimParts parts = claim_parts(facts);
  if (!parts.unknown.empty())
    text += fmt::format(", but for what one file does not tell: {}", fmt::join(parts.unknown, ", "));
  return text;
}

std::string what_runs(const Facts& facts) {
  std::string text = fmt::format("{} computes correctly on this CPU", facts.torch);
  if (!facts.cuda_build) return text;
  std::vector<int64_t> ran;
  std::vector<int64_t> others;
  std::map<std::string, std::vector<int64_t>> by_code;  // GPUs by code_that_ran() without a GPU
  std::vector<const GpuOutcome*> first;                 // first GPU with each code
  for (size_t i = 0; i < facts.gpus.size(); ++i) {
    const GpuOutcome& gpu = facts.gpus[i];
    if (gpu_row(facts, i).executed != Outcome::pass) {
      others.push_back(gpu.gpu);
      continue;
    }
    ran.push_back(gpu.gpu);
    auto& alike = by_code[code_that_ran(gpu, "")];
    if (alike.empty()) first.push_back(&gpu);
    alike.push_back(gpu.gpu);
  }
  if (!ran.empty()) text += fmt::format(" and GPU {}", format_gpu_numbers(ran));
  for (const GpuOutcome* gpu : first) text += code_that_ran(*gpu, format_gpu_numbers(by_code[code_that_ran(*gpu, "")]));
  if (!others.empty()) text += fmt::format("; not tested on GPU {}", format_gpu_numbers(others));
  return text;
}

}  // namespace pbprobe
