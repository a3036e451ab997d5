// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/facts.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/facts/other_package.hpp"
#include "core/package_index.hpp"

namespace pbprobe {
namespace {

template <class T>
const T* get_pointer(const std::optional<T>& value) {
  return value ? &*value : nullptr;
}

// Counts the translation units with device code: the count of the most frequent cubin or PTX.
int64_t count_file_units(const File& file) {
  if (!file.device_code) return 0;
  int64_t most = 0;
  for (const auto* cubins : {&file.device_code->cubin, &file.device_code->ptx}) {
    for (const auto& [name, count] : *cubins) most = std::max(most, count);
  }
  return most;
}

const File* file_with_most_units(const Inventory& inventory) {
  const File* most = nullptr;
  for (const auto& file : inventory.files) {
    if (!is_own(inventory, file) || count_file_units(file) == 0) continue;
    if (most == nullptr || count_file_units(file) > count_file_units(*most)) most = &file;
  }
  return most;
}

bool built_for_other_processor(const Host& host, const Inventory& inventory) {
  if (inventory.platform) return get_processor(*inventory.platform) != host.cpu.architecture;
  return std::ranges::any_of(inventory.files, [&](const File& file) {
    const bool host_code = file.machine && *file.machine != "cuda";
    return is_own(inventory, file) && host_code && *file.machine != host.cpu.architecture;
  });
}

std::string torch_name(const Inventory* inventory) {
  if (inventory == nullptr) return "torch";
  if (inventory->torch_version) return "torch " + *inventory->torch_version;
  if (const Package* package = other_package(*inventory)) return name_and_version(*package);
  return std::string(base_name(inventory->artifact));
}

std::string describe_code_choice(const CodeChoice& choice, const std::string& capability) {
  switch (choice.code) {
    case GpuCode::native:
      return fmt::format("{} machine code for exactly this chip ({} cubins)", *choice.best, choice.best_count);
    case GpuCode::same_major: {
      std::string few;
      if (choice.exact) few = fmt::format("; {} of {} cubins are {}", choice.exact_count, choice.units, *choice.exact);
      return fmt::format("{} machine code runs unchanged on {}{}", *choice.best, capability, few);
    }
    case GpuCode::ptx:
      return fmt::format("{} PTX, which the driver compiles at the first start: up to a minute", *choice.best);
    case GpuCode::none:
      if (choice.exact)
        return fmt::format("only {} of {} cubins are for {} ({}), the rest has no code that runs there",
                           choice.exact_count, choice.units, capability, *choice.exact);
      return fmt::format("no machine code or PTX that runs on {}", capability);
    case GpuCode::unknown: return "pbprobe did not read the device code";
  }
  return "";
}

CodeChoice find_code_choice(const Facts& facts, const Gpu& gpu) {
  if (facts.inventory == nullptr) return {};
  if (is_other_library(facts)) return {};
  if (facts.wrong_platform || !facts.cuda_build) return {.code = GpuCode::none};
  const auto capability = parse_sm(gpu.capability);
  if (facts.main_file == nullptr || !capability) return {};
  return choose_code(*facts.main_file->device_code, *capability);
}

std::string describe_holdings(const Facts& facts, const Gpu& gpu, const CodeChoice& choice) {
  if (facts.inventory == nullptr) return "no torch was read";
  if (facts.wrong_platform)
    return fmt::format("built for {}: no code of the build runs here",
                       facts.inventory->platform.value_or("another processor"));
  if (is_other_library(facts)) return "a library beside torch: whether torch has code for this GPU is not known";
  if (!facts.cuda_build) return "a CPU build: it has no GPU code";
  return describe_code_choice(choice, gpu.capability);
}

// Returns why no GPU can be judged; nullopt if the driver lists any.
std::optional<std::string> missing_gpu(const Host& host) {
  if (!host.gpus.empty()) return std::nullopt;
  if (!host.driver.sentence.empty()) return host.driver.sentence;
  return "the driver lists none";
}

// Reports whether a claim file states what a single library other than libtorch must hold.
bool is_library_with_claim_file(const Facts& facts) {
  if (!facts.single_file || facts.claim == nullptr || !facts.claim->files || facts.inventory->files.empty())
    return false;
  return !base_name(facts.inventory->files.front().path).starts_with(kLibtorch);
}

void take_claim(Facts& facts) {
  facts.claim = get_pointer(facts.report.claim);
  if (facts.claim == nullptr) return;
  for (const auto& id : facts.claim->targets) {
    const Target* target = find_target(id);
    if (target == nullptr) continue;
    (target->kind == TargetKind::gpu ? facts.claimed_gpus : facts.claimed_cpus).push_back(target);
  }
}

}  // namespace

std::optional<MajorMinor> local_cuda(std::string_view version) {
  const size_t mark = version.find("+cu");
  if (mark == std::string_view::npos) return std::nullopt;
  const std::string_view digits = version.substr(mark + 3);
  if (digits.size() != 3 || digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return parse_major_minor(fmt::format("{}.{}", digits.substr(0, 2), digits.substr(2)));
}

Facts derive_facts(const Report& report) {
  Facts facts{.report = report,
              .host = get_pointer(report.host),
              .inventory = get_pointer(report.inventory),
              .measurements = get_pointer(report.measurements)};
  facts.files_only = facts.inventory != nullptr && facts.host == nullptr && facts.measurements == nullptr &&
                     facts.report.problems.empty();
  take_claim(facts);
  if (facts.measurements != nullptr) facts.run = get_pointer(facts.measurements->libtorch);
  facts.torch = torch_name(facts.inventory);
  if (facts.inventory != nullptr) {
    facts.single_file = facts.inventory->layout == "file";
    facts.other = facts.files_only && (other_package(*facts.inventory) != nullptr || is_library_with_claim_file(facts));
    facts.main_file = file_with_most_units(*facts.inventory);
    facts.cuda_build = facts.inventory->cuda_version || facts.main_file != nullptr;
    facts.wrong_platform = facts.host != nullptr && built_for_other_processor(*facts.host, *facts.inventory);
  }
  if (facts.host == nullptr) return facts;
  facts.no_gpu = missing_gpu(*facts.host);
  for (const auto& gpu : facts.host->gpus) {
    const CodeChoice choice = find_code_choice(facts, gpu);
    facts.gpus.push_back({.gpu = gpu.index,
                          .name = gpu.name,
                          .capability = gpu.capability,
                          .code = choice.code,
                          .best = choice.best,
                          .sentence = describe_holdings(facts, gpu, choice)});
    facts.choices.push_back(choice);
  }
  return facts;
}

const Target* find_foreign_target(const Facts& facts, const std::vector<const Target*>& targets) {
  if (facts.inventory == nullptr || !facts.inventory->platform) return nullptr;
  const auto other = std::ranges::find_if(targets, [&](const Target* target) {
    const auto& there = target->platforms;
    return std::ranges::find(there, *facts.inventory->platform) == there.end();
  });
  return other == targets.end() ? nullptr : *other;
}

const FalseEntry* first_false_entry(const DeviceCode& code) {
  return code.first_false_entries.empty() ? nullptr : &code.first_false_entries.front();
}

bool has_own_sms(const File& file) {
  constexpr std::array<std::string_view, 4> kNames{"MAGMA", "NCCL", "cuDNN", "cuBLAS"};
  return file.component && std::ranges::find(kNames, *file.component) != kNames.end();
}

bool is_other_library(const Facts& facts) {
  if (!facts.single_file || facts.cuda_build || facts.inventory->files.empty()) return false;
  return facts.inventory->files.front().component != kLibtorch;
}

bool is_own(const Inventory& inventory, const File& file) {
  return file.component == kLibtorch || (inventory.layout == "file" && !has_own_sms(file));
}

bool tells(const Facts& facts, ClaimPart part) {
  if (!facts.single_file || facts.inventory->files.empty()) return true;
  const File& file = facts.inventory->files.front();
  switch (part) {
    case ClaimPart::sm: return file.device_code.has_value();
    case ClaimPart::isa: return file.host_code.has_value();
    case ClaimPart::cuda: return file.device_code && !file.device_code->toolkits.empty();
    case ClaimPart::blas: return base_name(file.path).starts_with(kLibtorchCpu);
    case ClaimPart::files: return true;
    case ClaimPart::torch:
    case ClaimPart::python: return false;
  }
  return false;
}

ClaimParts claim_parts(const Facts& facts) {
  ClaimParts parts;
  const auto take = [&](bool claimed, ClaimPart part, const char* name) {
    if (claimed) (tells(facts, part) ? parts.known : parts.unknown).emplace_back(name);
  };
  take(!facts.claimed_gpus.empty(), ClaimPart::sm, "SM");
  take(!facts.claimed_cpus.empty(), ClaimPart::isa, "ISA");
  take(facts.claim->torch.has_value(), ClaimPart::torch, "torch");
  take(facts.claim->cuda.has_value(), ClaimPart::cuda, "CUDA");
  take(facts.claim->python.has_value(), ClaimPart::python, "Python");
  take(facts.claim->blas.has_value(), ClaimPart::blas, "BLAS");
  take(facts.claim->files.has_value(), ClaimPart::files, "files");
  return parts;
}

const File* file_named(const Inventory& inventory, std::string_view begin) {
  for (const auto& file : inventory.files) {
    if (base_name(file.path).starts_with(begin)) return &file;
  }
  return nullptr;
}

std::string_view get_release(std::string_view version) {
  version = version.substr(0, version.find_first_not_of("0123456789."));
  while (version.ends_with('.')) version.remove_suffix(1);
  return version;
}

std::optional<std::string> reinstall_torch(const Inventory& inventory) {
  if (inventory.packages.empty()) return std::nullopt;
  return make_torch_reinstall(inventory.packages.front().version.value_or(""));
}

std::string without_numbers(std::string_view path) {
  std::string text;
  for (const char c : path) {
    if (c < '0' || c > '9') {
      text += c;
    } else if (!text.ends_with('#')) {
      text += '#';
    }
  }
  return text;
}

std::string gpu_label(const GpuOutcome& gpu) {
  return fmt::format("GPU {} {} ({})", gpu.gpu, gpu.name, gpu.capability);
}

std::vector<GpuGroup> gpu_groups(const Facts& facts) {
  const auto alike = [](const GpuOutcome& a, const GpuOutcome& b) {
    return a.name == b.name && a.capability == b.capability && a.code == b.code && a.best == b.best;
  };
  std::vector<GpuGroup> groups;
  for (size_t i = 0; i < facts.gpus.size(); ++i) {
    if (groups.empty() || !alike(facts.gpus[groups.back().first], facts.gpus[i])) groups.push_back({.first = i});
    GpuGroup& group = groups.back();
    const GpuOutcome& first = facts.gpus[group.first];
    group.count += 1;
    group.numbers =
        group.count == 1 ? fmt::format("GPU {}", first.gpu) : fmt::format("GPU {}-{}", first.gpu, facts.gpus[i].gpu);
    group.label = fmt::format("{} {} ({})", group.numbers, first.name, first.capability);
  }
  return groups;
}

std::optional<size_t> gpu_of_run(const Facts& facts) {
  for (size_t i = 0; i < facts.gpus.size(); ++i) {
    if (!facts.host->gpus[i].problem) return i;
  }
  return std::nullopt;
}

bool has_run(const LibtorchRun& run, std::string_view device) {
  return std::ranges::any_of(run.figures, [&](const LibtorchFigure& figure) { return figure.device == device; });
}

std::string_view get_processor(std::string_view platform) {
  return platform.substr(0, platform.find('-'));
}

}  // namespace pbprobe
