// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What is claimed of a package that is not torch: each of its files with device code holds it.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/facts/environment.hpp"
#include "core/pep440.hpp"
#include "core/torch_symbols.hpp"
#include "probes/judge/device_code.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

// One library, or several that stand in for each other: sm90/ops.so and sm100/ops.so. Raw cubins are one for each
// folder.
struct Holder {
  std::string path;  // of the first
  std::set<std::string> cubins;
};

std::vector<Holder> holders_of(const Inventory& inventory) {
  std::map<std::string, Holder> holders;
  for (const auto& file : inventory.files) {
    const bool raw = !file.links;
    const std::string folder = file.path.substr(0, file.path.rfind('/') + 1);
    for (const auto* code : {&file.device_code, &file.self_loaded_code}) {
      if (!*code || ((*code)->cubin.empty() && (*code)->ptx.empty())) continue;
      Holder& holder = holders[without_numbers(raw ? folder : file.path)];
      if (holder.path.empty()) holder.path = file.path;
      for (const auto& [cubin, count] : (*code)->cubin) holder.cubins.insert(cubin);
    }
  }
  std::vector<Holder> all;
  for (auto& [name, holder] : holders) all.push_back(std::move(holder));
  return all;
}

bool holds(const Holder& holder, const Target& target) {
  const auto chip = chip_of(target);
  return std::any_of(holder.cubins.begin(), holder.cubins.end(), [&](const std::string& cubin) {
    const auto sm = parse_sm(cubin);
    return sm && chip && same_capability(*sm, *chip);
  });
}

Answer sms_are_in_each_file(const Facts& facts) {
  Answer answer;
  const auto holders = holders_of(*facts.inventory);
  for (const Target* target : facts.claimed_gpus) {
    if (holders.empty())
      answer.seen.push_back({say("{} is claimed, and no file of {} holds device code", target->id, facts.torch)});
    for (const auto& holder : holders) {
      if (holds(holder, *target)) continue;
      answer.seen.push_back(
          {say("{} is claimed, and {} of {} holds machine code only for {}", target->id, base_name(holder.path),
               facts.torch, holder.cubins.empty() ? "no SM" : fmt::format("{}", fmt::join(holder.cubins, ", "))),
           holder.path});
    }
  }
  return answer;
}

bool is_of_release(const std::string& toolkit, const MajorMinor& claimed) {
  const auto made_by = parse_major_minor(toolkit);
  return made_by && *made_by == claimed;
}

Answer cuda_is_as_claimed(const Facts& facts) {
  const Distribution row = distribution_of(*facts.inventory);
  const auto claimed = parse_major_minor(*facts.claim->cuda);
  if (!claimed || (row.cuda.empty() && row.toolkits.empty()))
    return {.unknown = Seen{.what = say("no file of {} tells its CUDA", facts.torch), .remedy = "leave cuda=… out"}};
  const std::string major = std::to_string(claimed->major);
  if (!row.cuda.empty() && std::find(row.cuda.begin(), row.cuda.end(), major) == row.cuda.end())
    return {.seen = {{say("CUDA {} is claimed, and {} links libraries of CUDA {}", *facts.claim->cuda, facts.torch,
                          fmt::format("{}", fmt::join(row.cuda, ", ")))}}};
  for (const auto& toolkit : row.toolkits) {
    if (is_of_release(toolkit, *claimed)) continue;
    return {.seen = {{say("CUDA {} is claimed, and cubins of {} were made by CUDA {}", *facts.claim->cuda, facts.torch,
                          toolkit)}}};
  }
  return {};
}

Answer torch_is_as_claimed(const Facts& facts) {
  const Inventory& inventory = *facts.inventory;
  const std::string& claimed = *facts.claim->torch;
  const auto version = parse_python_version(claimed);
  const auto& asked = inventory.packages.front().torch;
  if (asked && version && !satisfies(*version, *asked))
    return {.seen = {{say("torch {} is claimed, and METADATA of {} asks for torch {}", claimed, facts.torch, *asked)}}};
  const auto number = parse_major_minor(claimed);
  const std::string release = number ? fmt::format("{}.{}", number->major, number->minor) : claimed;
  if (TorchReleases::of({release}).empty())
    return {.unknown = Seen{.what = say("which symbols torch {} exports is not known: torch {} are", claimed,
                                        known_torch_releases()),
                            .remedy = "claim one of these"}};
  Answer answer;
  for (const auto& file : inventory.files) {
    if (!file.links || !file.links->torch_symbols.releases) continue;
    const auto& releases = *file.links->torch_symbols.releases;
    if (std::find(releases.begin(), releases.end(), release) != releases.end()) continue;
    answer.seen.push_back(
        {say("torch {} is claimed, and {} of {} takes symbols that only torch {} has", claimed, base_name(file.path),
             facts.torch, releases.empty() ? "of no single release" : in_ranges(releases)),
         file.path});
  }
  return answer;
}

// "cp313" of 3.13.
std::string tag_of(const std::string& python) {
  const auto version = parse_major_minor(python);
  return version ? fmt::format("cp{}{}", version->major, version->minor) : "";
}

Answer python_is_as_claimed(const Facts& facts) {
  const Distribution row = distribution_of(*facts.inventory);
  if (row.python.empty())
    return {.unknown = Seen{.what = say("no extension module of {} tells its Python", facts.torch),
                            .remedy = "leave python=… out: it is for any"}};
  const std::string tag = tag_of(*facts.claim->python);
  for (const auto& seen : row.python) {
    if (seen == tag || seen == "abi3") return {};
  }
  return {.seen = {{say("Python {} ({}) is claimed, and extension modules of {} are for {}", *facts.claim->python, tag,
                        facts.torch, fmt::format("{}", fmt::join(row.python, ", ")))}}};
}

}  // namespace

std::vector<Check> other_claims_checks() {
  using enum Need;
  return {
      {.id = "PB171",
       .subject = Subject::artifact,
       .level = Level::shipped,
       .severity = Severity::fail,
       .needs = {gpu_claim, inventory, other},
       .decides = true,
       .of_any = true,
       .proves = ClaimPart::sm,
       .question = "Does each file of another package than torch hold machine code for the claimed SMs?",
       .remedy =
           "build it with the SM in TORCH_CUDA_ARCH_LIST or CMAKE_CUDA_ARCHITECTURES, and look for a list of its own",
       .ask = sms_are_in_each_file},
      {.id = "PB172",
       .subject = Subject::artifact,
       .level = Level::shipped,
       .severity = Severity::fail,
       .needs = {cuda_claim, inventory, other},
       .decides = true,
       .of_any = true,
       .proves = ClaimPart::cuda,
       .question = "Is another package than torch built with the claimed CUDA?",
       .remedy = "build it with the claimed CUDA: look for another one among the build's inputs",
       .ask = cuda_is_as_claimed},
      {.id = "PB173",
       .subject = Subject::artifact,
       .level = Level::shipped,
       .severity = Severity::fail,
       .needs = {torch_claim, inventory, other},
       .decides = true,
       .of_any = true,
       .proves = ClaimPart::torch,
       .question = "Does another package load with the claimed torch?",
       .remedy = "build it beside the claimed torch, and let its METADATA ask for that",
       .ask = torch_is_as_claimed},
      {.id = "PB174",
       .subject = Subject::artifact,
       .level = Level::shipped,
       .severity = Severity::fail,
       .needs = {python_claim, inventory, other},
       .decides = true,
       .of_any = true,
       .proves = ClaimPart::python,
       .question = "Are the extension modules of another package for the claimed Python?",
       .remedy = "build it with the claimed Python",
       .ask = python_is_as_claimed},
  };
}

}  // namespace pbprobe
