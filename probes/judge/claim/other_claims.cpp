// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Judges claims of packages other than torch, and of single files. Each file with device code must hold the claimed SM.
#include "probes/judge/claim/other_claims.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/demangle.hpp"
#include "core/facts/environment.hpp"
#include "core/pep440.hpp"
#include "core/torch_symbols.hpp"
#include "probes/judge/gpu/code_holder.hpp"
#include "probes/judge/gpu/device_code.hpp"
#include "probes/judge/libraries/package_rows.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

std::string listed(const std::set<std::string>& code) {
  return code.empty() ? "no SM" : fmt::format("{}", fmt::join(code, ", "));
}

// Returns why nothing proves the claim if a claim file ignores all files; else nullopt.
std::optional<Seen> nothing_judged(const Facts& facts, const ClaimedFiles& whole) {
  if (!whole.inventory.files.empty() || facts.inventory->files.empty()) return std::nullopt;
  const auto parts = files_of_patterns(facts);
  const bool named = std::ranges::any_of(parts, [](const ClaimedFiles& part) { return !part.inventory.files.empty(); });
  if (named) return std::nullopt;
  return Seen{.what = say("the claim file ignores every file of {}: nothing proves the claim", facts.torch),
              .remedy = "ignore single files only"};
}

// Adds a fault for each holder with machine code for other chips. For exact claims.
void ask_nothing_else(Answer& answer, const Facts& facts, const ClaimedFiles& whole) {
  for (const auto& holder : find_holders(whole.inventory)) {
    std::set<std::string> others = holder.cubins();
    std::erase_if(others, [&](const std::string& name) {
      const auto sm = parse_sm(name);
      return std::ranges::any_of(facts.claimed_gpus, [&](const Target* target) {
        const auto chip = get_target_sm(*target);
        return sm && chip && same_capability(*sm, *chip);
      });
    });
    if (others.empty()) continue;
    answer.seen.push_back({say("only {} is claimed, and file {} in {} holds machine code for {} too",
                               facts.claimed_gpus.front()->id, base_name(holder.path), whole.name, listed(others)),
                           holder.path, "build the file only for that SM, or claim the others too"});
  }
}

Answer sms_are_in_each_file(const Facts& facts) {
  Answer answer;
  const ClaimedFiles whole = files_of_whole_claim(facts);
  for (const Target* target : facts.claimed_gpus) {
    const auto chip = get_target_sm(*target);
    if (chip) ask_machine_code(answer, target->id, {chip->major, chip->minor}, whole);
  }
  if (facts.claim->exact) ask_nothing_else(answer, facts, whole);
  answer.unknown = nothing_judged(facts, whole);
  return answer;
}

bool takes_torch(const File& file) {
  return file.links && file.links->torch_symbols.releases.has_value();
}

bool matches_release(const std::string& toolkit, const MajorMinor& claimed) {
  const auto made_by = parse_major_minor(toolkit);
  return made_by && *made_by == claimed;
}

Answer ask_cuda(const std::string& version, const ClaimedFiles& part) {
  const Distribution row = make_distribution(part.inventory);
  const auto claimed = parse_major_minor(version);
  if (!claimed || (row.cuda.empty() && row.toolkits.empty()))
    return {.unknown =
                Seen{.what = say("no file of {} shows its CUDA version", part.name), .remedy = "leave cuda=… out"}};
  std::vector<std::string> others = row.cuda;
  std::erase(others, std::to_string(claimed->major));
  if (!others.empty())
    return {.seen = {{say("CUDA {} is claimed, and {} links libraries of CUDA {}", version, part.name,
                          fmt::format("{}", fmt::join(others, ", ")))}}};
  for (const auto& toolkit : row.toolkits) {
    if (matches_release(toolkit, *claimed)) continue;
    return {
        .seen = {{say("CUDA {} is claimed, and cubins of {} were compiled by CUDA {}", version, part.name, toolkit)}}};
  }
  for (const auto& [sm, text] : row.ptx_versions) {
    const auto isa = parse_major_minor(text);
    const auto brought = isa ? cuda_of_ptx(*isa) : std::nullopt;
    if (isa && (!brought || *claimed < *brought))
      return {.seen = {{say(
                  "CUDA {} is claimed, and {} holds PTX for {} of ISA version {}, which only a later CUDA supports",
                  version, part.name, sm, text)}}};
  }
  return {};
}

Answer cuda_is_as_claimed(const Facts& facts) {
  return ask_cuda(*facts.claim->cuda, files_of_whole_claim(facts));
}

Answer torch_is_as_claimed(const Facts& facts) {
  const std::string& claimed = *facts.claim->torch;
  const auto version = parse_python_version(claimed);
  const auto& packages = facts.inventory->packages;
  const auto asked = packages.empty() ? std::nullopt : packages.front().torch;
  if (asked && version && !satisfies(*version, *asked))
    return {.seen = {{say("torch {} is claimed, and METADATA of {} requires torch {}", claimed, facts.torch, *asked)}}};
  const ClaimedFiles whole = files_of_whole_claim(facts);
  Answer answer = ask_torch_symbols(claimed, whole);
  if (asked && asked->find('@') != std::string::npos && !answer.unknown)
    answer.unknown =
        Seen{.what = say("METADATA of {} requires torch by a URL, which does not state torch's version: {}",
                         facts.torch, *asked),
             .remedy = "require a version: torch==2.11.0"};
  if (!answer.unknown) answer.unknown = nothing_judged(facts, whole);
  const bool shown = asked || std::ranges::any_of(whole.inventory.files, takes_torch);
  if (!shown && answer.seen.empty() && !answer.unknown)
    answer.unknown =
        Seen{.what = say("no file of {} uses symbols of torch, and METADATA does not require torch", facts.torch),
             .remedy = "leave torch=… out of the claim: the package loads with any torch"};
  return answer;
}

// Returns the path up to the first dot of the file name. Python imports by this name: with
// "ops.cpython-312-x86_64-linux-gnu.so" and "ops.cpython-313-…", each Python loads its own file.
std::string strip_module_tag(const std::string& path) {
  return path.substr(0, path.find('.', path.rfind('/') + 1));
}

// Returns a file that uses Python, and whose name does not tell which one. A library that another file needs may be
// for any Python.
const File* find_untagged_module(const Inventory& inventory) {
  std::set<std::string_view> needed;
  for (const auto& file : inventory.files) needed.insert(file.needed.begin(), file.needed.end());
  const auto found = std::ranges::find_if(inventory.files, [&](const File& file) {
    const auto name = base_name(file.path);
    return file.links && file.links->uses_python == true && python_of_module(name).empty() && !needed.contains(name);
  });
  return found == inventory.files.end() ? nullptr : &*found;
}

Answer ask_python(const std::string& claimed, const ClaimedFiles& part) {
  std::map<std::string, std::map<std::string, std::string>> modules;  // path of the first file by Python, by module
  for (const auto& file : part.inventory.files) {
    const std::string python = python_of_module(base_name(file.path));
    const bool for_any = file.links && file.links->uses_python == false;  // torch.ops.load_library() takes any name
    if (!python.empty() && !for_any) modules[strip_module_tag(file.path)].emplace(python, file.path);
  }
  if (modules.empty())
    return {.unknown = Seen{
                .what = say("no library of {} that uses Python states the Python version in its file name", part.name),
                .remedy = "leave python=… out of the claim: the package works with any Python"}};
  const std::string tag = format_python_tag(claimed);
  Answer answer;
  for (const auto& [module, files] : modules) {
    if (std::ranges::any_of(files, [&](const auto& one) { return imports_module(tag, one.first); })) continue;
    std::vector<std::string> seen;
    for (const auto& [python, path] : files) seen.push_back(python);
    answer.seen.push_back({say("Python {} ({}) is claimed, and extension modules of {} are for {}", claimed, tag,
                               part.name, fmt::format("{}", fmt::join(seen, ", "))),
                           files.begin()->second});
  }
  if (const File* file = find_untagged_module(part.inventory))
    answer.unknown = Seen{
        .what = say("file {} in {} uses Python, and the file name has no Python tag", base_name(file->path), part.name),
        .where = file->path,
        .remedy = "build the module with the suffix of its Python (.cpython-311-x86_64-linux-gnu.so), or of abi3"};
  return answer;
}

Answer python_is_as_claimed(const Facts& facts) {
  return ask_python(*facts.claim->python, files_of_whole_claim(facts));
}

// A pattern with an SM claims device code in each matching file, except the pattern "*".
void ask_device_code(Answer& answer, const FileClaim& claim, const ClaimedFiles& part) {
  if (claim.sms.empty() && claim.ptx.empty()) return;
  for (const auto& sm : claim.sms) ask_machine_code(answer, sm, *parse_sm(sm), part);
  for (const auto& ptx : claim.ptx) ask_ptx(answer, ptx, *parse_sm(ptx), part);
  if (claim.files == "*" || find_holders(part.inventory).empty()) return;
  for (const auto& file : part.inventory.files) {
    if (file.device_code || file.self_loaded_code) continue;
    answer.seen.push_back({say("{} is claimed, and file {} in {} holds no device code",
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
          {say("\"{}\", which the claim file ignores, matches no file of {}", ignored.files, facts.torch)});
    if (counts[i] > 0 && !facts.other && !facts.single_file)
      answer.seen.push_back(
          {say("the claim file ignores \"{}\", but {} is judged as a whole: the pattern has no effect", ignored.files,
               facts.torch),
           std::nullopt, "waive single findings in a policy: docs/gate.md"});
  }
  return answer;
}

}  // namespace

std::string format_python_tag(std::string_view python) {
  constexpr std::string_view kPypy = "pypy";
  const bool pypy = python.starts_with(kPypy);
  const bool free_threaded = python.ends_with('t');
  if (pypy) python.remove_prefix(kPypy.size());
  if (free_threaded) python.remove_suffix(1);
  const auto version = parse_major_minor(python);
  const char* const end = free_threaded ? "t" : "";
  return version ? fmt::format("{}{}{}{}", pypy ? "pp" : "cp", version->major, version->minor, end) : "";
}

namespace {

// A build without CUDA succeeds without compiling any kernel.
void ask_any_code(Answer& answer, const std::string& claimed, const std::vector<CodeHolder>& holders,
                  const ClaimedFiles& part) {
  const auto& files = part.inventory.files;
  if (!holders.empty() || files.empty()) return;
  const auto unread = std::ranges::find_if(files, [](const File& file) { return file.problem.has_value(); });
  if (unread != files.end()) {
    answer.unknown = Seen{
        .what = say("{} is claimed, and file {} in {} could not be read", claimed, base_name(unread->path), part.name)};
    return;
  }
  answer.seen.push_back(
      {say("{} is claimed, and no file of {} holds device code: it was built without CUDA", claimed, part.name),
       std::nullopt, "build it where nvcc is found (CUDA_HOME), with FORCE_CUDA=1 if the machine has no GPU"});
}

void ask_units(Answer& answer, const std::string& claimed, const HeldUnits& units, const char* kind,
               const std::set<std::string>& others, const CodeHolder& holder, const ClaimedFiles& part) {
  Sentence what = units.with == 0
                      ? say("{} is claimed, and file {} in {} holds {} only for {}", claimed, base_name(holder.path),
                            part.name, make_words(kind), listed(others))
                      : say("{} is claimed, and only {} of the {} translation units of file {} in {} {} {} for it",
                            claimed, units.with, units.all, base_name(holder.path), part.name,
                            select_by_number(units.with, "holds", "hold"), make_words(kind));
  answer.seen.push_back({std::move(what), holder.path});
}

void ask_idle_code(Answer& answer, const std::string& claimed, const Sm& sm, const CodeHolder& holder,
                   const ClaimedFiles& part) {
  const std::string name = fmt::format("{} of {}", base_name(holder.path), part.name);
  std::map<std::string, SmCensus> censuses;
  for (const File* file : holder.files) {
    if (!file->device_code || !file->device_code->census) continue;
    for (const auto& [cubin, census] : *file->device_code->census) add_census(censuses[cubin], census);
  }
  auto fault = find_idle_code(sum_census(censuses, sm), kOfPackage, name, claimed);
  if (fault) answer.seen.push_back({std::move(*fault), holder.path});
}

}  // namespace

void ask_machine_code(Answer& answer, const std::string& claimed, const Sm& sm, const ClaimedFiles& part) {
  const auto holders = find_holders(part.inventory);
  ask_any_code(answer, claimed, holders, part);
  for (const auto& holder : holders) {
    const HeldUnits units = holder.count_units_for_sm(sm);
    // Few kernels have code with a suffix.
    if (units.with == 0 || (sm.suffix == '\0' && units.with < units.all)) {
      ask_units(answer, claimed, units, "machine code", holder.cubins(), holder, part);
    } else {
      ask_idle_code(answer, claimed, sm, holder, part);
    }
  }
}

void ask_ptx(Answer& answer, const std::string& claimed, const Sm& sm, const ClaimedFiles& part) {
  const auto holders = find_holders(part.inventory);
  ask_any_code(answer, claimed, holders, part);
  for (const auto& holder : holders) {
    const HeldUnits units = holder.units_with_ptx(sm);
    if (units.with == 0 || (sm.suffix == '\0' && units.with < units.all))
      ask_units(answer, claimed, units, "PTX", holder.ptx(), holder, part);
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
    if (std::ranges::find(releases, release) != releases.end()) continue;
    const auto& unknown = file.links->torch_symbols.unknown;
    answer.seen.push_back(
        {unknown
             ? say("torch {} is claimed, and file {} in {} needs {}, which {}", claimed, base_name(file.path),
                   part.name, demangled(unknown->front()), make_words(explain_unknown_torch_name(unknown->front())))
             : say("torch {} is claimed, and file {} in {} uses symbols that only torch {} has", claimed,
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
       .needs = {gpu_claim, inventory, other},
       .decides = true,
       .of_any = true,
       .proves = ClaimPart::sm,
       .remedy = "build it with the SM in TORCH_CUDA_ARCH_LIST or CMAKE_CUDA_ARCHITECTURES, and look for a separate SM "
                 "list of this library in its build files",
       .ask = sms_are_in_each_file},
      {.id = "PB172",
       .needs = {cuda_claim, inventory, other},
       .decides = true,
       .of_any = true,
       .proves = ClaimPart::cuda,
       .remedy = "build it with the claimed CUDA: look for another one among the build's inputs",
       .ask = cuda_is_as_claimed},
      {.id = "PB173",
       .needs = {torch_claim, inventory, other},
       .decides = true,
       .of_any = true,
       .proves = ClaimPart::torch,
       .remedy = "build the package with the claimed torch installed, and require that torch in its METADATA",
       .ask = torch_is_as_claimed},
      {.id = "PB174",
       .needs = {python_claim, inventory, other},
       .decides = true,
       .of_any = true,
       .proves = ClaimPart::python,
       .remedy = "build the extension modules with the claimed Python",
       .ask = python_is_as_claimed},
      {.id = "PB175",
       .needs = {file_claim, inventory},
       .decides = true,
       .of_any = true,
       .proves = ClaimPart::files,
       .remedy = "build that library for the claimed targets, or claim fewer targets for the library",
       .ask = files_are_as_claimed},
      {.id = "PB176",
       .needs = {file_claim, inventory},
       .decides = true,
       .of_any = true,
       .proves = ClaimPart::files,
       .remedy = "if a library is missing, build it; else correct the pattern in the claim file: `pbprobe audit "
                 "ARTIFACT --format json` lists the files",
       .ask = patterns_name_files},
  };
}

}  // namespace pbprobe
