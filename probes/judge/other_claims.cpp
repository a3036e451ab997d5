// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What is claimed of a package that is not torch, and of single files of any: each file with device code holds it.
#include "probes/judge/other_claims.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/demangle.hpp"
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
  std::set<std::string> ptx;
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
      for (const auto& [ptx, count] : (*code)->ptx) holder.ptx.insert(ptx);
    }
  }
  std::vector<Holder> all;
  for (auto& [name, holder] : holders) all.push_back(std::move(holder));
  return all;
}

// With a suffix exactly that; without one any code for the capability.
bool holds(const std::set<std::string>& code, const Sm& wanted) {
  return std::any_of(code.begin(), code.end(), [&](const std::string& name) {
    const auto sm = parse_sm(name);
    return sm && (wanted.suffix == '\0' ? same_capability(*sm, wanted) : *sm == wanted);
  });
}

std::string listed(const std::set<std::string>& code) {
  return code.empty() ? "no SM" : fmt::format("{}", fmt::join(code, ", "));
}

Answer sms_are_in_each_file(const Facts& facts) {
  Answer answer;
  const ClaimedFiles whole = files_of_whole_claim(facts);
  for (const Target* target : facts.claimed_gpus) {
    const auto chip = chip_of(*target);
    if (chip) ask_machine_code(answer, target->id, {chip->major, chip->minor}, whole);
  }
  return answer;
}

bool is_of_release(const std::string& toolkit, const MajorMinor& claimed) {
  const auto made_by = parse_major_minor(toolkit);
  return made_by && *made_by == claimed;
}

Answer ask_cuda(const std::string& version, const ClaimedFiles& part) {
  const Distribution row = make_distribution(part.inventory);
  const auto claimed = parse_major_minor(version);
  if (!claimed || (row.cuda.empty() && row.toolkits.empty()))
    return {.unknown = Seen{.what = say("no file of {} tells its CUDA", part.name), .remedy = "leave cuda=… out"}};
  const std::string major = std::to_string(claimed->major);
  if (!row.cuda.empty() && std::find(row.cuda.begin(), row.cuda.end(), major) == row.cuda.end())
    return {.seen = {{say("CUDA {} is claimed, and {} links libraries of CUDA {}", version, part.name,
                          fmt::format("{}", fmt::join(row.cuda, ", ")))}}};
  for (const auto& toolkit : row.toolkits) {
    if (is_of_release(toolkit, *claimed)) continue;
    return {.seen = {{say("CUDA {} is claimed, and cubins of {} were made by CUDA {}", version, part.name, toolkit)}}};
  }
  return {};
}

Answer cuda_is_as_claimed(const Facts& facts) {
  return ask_cuda(*facts.claim->cuda, files_of_whole_claim(facts));
}

Answer torch_is_as_claimed(const Facts& facts) {
  const std::string& claimed = *facts.claim->torch;
  const auto version = parse_python_version(claimed);
  const auto& asked = facts.inventory->packages.front().torch;
  if (asked && version && !satisfies(*version, *asked))
    return {.seen = {{say("torch {} is claimed, and METADATA of {} asks for torch {}", claimed, facts.torch, *asked)}}};
  return ask_torch_symbols(claimed, files_of_whole_claim(facts));
}

// "cp313" of 3.13.
std::string tag_of(const std::string& python) {
  const auto version = parse_major_minor(python);
  return version ? fmt::format("cp{}{}", version->major, version->minor) : "";
}

Answer ask_python(const std::string& claimed, const ClaimedFiles& part) {
  const Distribution row = make_distribution(part.inventory);
  if (row.python.empty())
    return {.unknown = Seen{.what = say("no extension module of {} tells its Python", part.name),
                            .remedy = "leave python=… out: it is for any"}};
  const std::string tag = tag_of(claimed);
  for (const auto& seen : row.python) {
    if (seen == tag || seen == "abi3") return {};
  }
  return {.seen = {{say("Python {} ({}) is claimed, and extension modules of {} are for {}", claimed, tag, part.name,
                        fmt::format("{}", fmt::join(row.python, ", ")))}}};
}

Answer python_is_as_claimed(const Facts& facts) {
  return ask_python(*facts.claim->python, files_of_whole_claim(facts));
}

// Who names a file and an SM says that the file holds device code; "*" is of those that do.
void ask_device_code(Answer& answer, const FileClaim& claim, const ClaimedFiles& part) {
  if (claim.sms.empty() && claim.ptx.empty()) return;
  for (const auto& sm : claim.sms) ask_machine_code(answer, sm, *parse_sm(sm), part);
  for (const auto& ptx : claim.ptx) ask_ptx(answer, ptx, *parse_sm(ptx), part);
  if (claim.files == "*" || holders_of(part.inventory).empty()) return;
  for (const auto& file : part.inventory.files) {
    if (file.device_code || file.self_loaded_code) continue;
    answer.seen.push_back({say("{} is claimed, and {} of {} holds no device code",
                               fmt::format("{}", fmt::join(claim.sms.empty() ? claim.ptx : claim.sms, ", ")),
                               base_name(file.path), part.name),
                           file.path});
  }
}

Answer files_are_as_claimed(const Facts& facts) {
  Answer all;
  for (const auto& part : files_of_patterns(facts)) {
    if (part.inventory.files.empty()) continue;  // PB176
    ask_device_code(all, *part.claim, part);
    if (part.claim->cuda) add_answer(all, ask_cuda(*part.claim->cuda, part));
    if (part.claim->torch) add_answer(all, ask_torch_symbols(*part.claim->torch, part));
    if (part.claim->python) add_answer(all, ask_python(*part.claim->python, part));
  }
  return all;
}

Answer patterns_name_files(const Facts& facts) {
  Answer answer;
  for (const auto& part : files_of_patterns(facts)) {
    if (part.inventory.files.empty())
      answer.seen.push_back({say("\"{}\" of the claim file decides on no file of {}", part.claim->files, facts.torch)});
  }
  const auto counts = ignored_counts(facts);
  for (size_t i = 0; i < counts.size(); ++i) {
    const IgnoredFiles& ignored = (*facts.claim->ignored)[i];
    if (counts[i] == 0)
      answer.seen.push_back(
          {say("\"{}\", which the claim file ignores, names no file of {}", ignored.files, facts.torch)});
    if (counts[i] > 0 && !facts.other && !facts.single_file)
      answer.seen.push_back({say("\"{}\" is ignored, and {} is judged whole", ignored.files, facts.torch), std::nullopt,
                             "waive single findings in a policy: docs/gate.md"});
  }
  return answer;
}

}  // namespace

void ask_machine_code(Answer& answer, const std::string& claimed, const Sm& sm, const ClaimedFiles& part) {
  const auto holders = holders_of(part.inventory);
  if (holders.empty() && !part.inventory.files.empty())
    answer.seen.push_back({say("{} is claimed, and no file of {} holds device code", claimed, part.name)});
  for (const auto& holder : holders) {
    if (holds(holder.cubins, sm)) continue;
    answer.seen.push_back({say("{} is claimed, and {} of {} holds machine code only for {}", claimed,
                               base_name(holder.path), part.name, listed(holder.cubins)),
                           holder.path});
  }
}

void ask_ptx(Answer& answer, const std::string& claimed, const Sm& sm, const ClaimedFiles& part) {
  const auto holders = holders_of(part.inventory);
  if (holders.empty() && !part.inventory.files.empty())
    answer.seen.push_back({say("{} is claimed, and no file of {} holds device code", claimed, part.name)});
  for (const auto& holder : holders) {
    if (holds(holder.ptx, sm)) continue;
    answer.seen.push_back({say("{} is claimed, and {} of {} holds PTX only for {}", claimed, base_name(holder.path),
                               part.name, listed(holder.ptx)),
                           holder.path});
  }
}

Answer ask_torch_symbols(const std::string& claimed, const ClaimedFiles& part) {
  const auto number = parse_major_minor(claimed);
  const std::string release = number ? fmt::format("{}.{}", number->major, number->minor) : claimed;
  if (TorchReleases::of({release}).empty())
    return {.unknown = Seen{.what = say("which symbols torch {} exports is not known: torch {} are", claimed,
                                        known_torch_releases()),
                            .remedy = "claim one of these"}};
  Answer answer;
  for (const auto& file : part.inventory.files) {
    if (!file.links || !file.links->torch_symbols.releases) continue;
    const auto& releases = *file.links->torch_symbols.releases;
    if (std::find(releases.begin(), releases.end(), release) != releases.end()) continue;
    const auto& unknown = file.links->torch_symbols.unknown;
    answer.seen.push_back(
        {unknown
             ? say("torch {} is claimed, and {} of {} needs {}, which {}", claimed, base_name(file.path), part.name,
                   demangled(unknown->front()), in_words(explain_unknown_torch_name(unknown->front())))
             : say("torch {} is claimed, and {} of {} takes symbols that only torch {} has", claimed,
                   base_name(file.path), part.name, releases.empty() ? "of no single release" : join_ranges(releases)),
         file.path});
  }
  return answer;
}

void add_answer(Answer& all, Answer one) {
  std::move(one.seen.begin(), one.seen.end(), std::back_inserter(all.seen));
  if (one.unknown && !all.unknown) all.unknown = std::move(one.unknown);
}

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
      {.id = "PB175",
       .subject = Subject::artifact,
       .level = Level::shipped,
       .severity = Severity::fail,
       .needs = {file_claim, inventory},
       .decides = true,
       .of_any = true,
       .proves = ClaimPart::files,
       .question = "Does each file that a claim file names hold what is claimed of it?",
       .remedy = "build that library with it, or claim less of it",
       .ask = files_are_as_claimed},
      {.id = "PB176",
       .subject = Subject::artifact,
       .level = Level::shipped,
       .severity = Severity::fail,
       .needs = {file_claim, inventory},
       .decides = true,
       .of_any = true,
       .proves = ClaimPart::files,
       .question = "Is each pattern of a claim file one of files that are there?",
       .remedy = "was a library lost? Else correct the pattern: `pbprobe audit ARTIFACT --format json` lists the files",
       .ask = patterns_name_files},
  };
}

}  // namespace pbprobe
