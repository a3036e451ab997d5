// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Compares the claimed versions, BLAS and platform with the artifact's files.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/facts/environment.hpp"
#include "core/pep440.hpp"
#include "probes/judge/claim/other_claims.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

Answer cannot_tell(std::string what, std::string remedy) {
  return {.seen = {}, .unknown = Seen{.what = std::move(what), .remedy = std::move(remedy)}};
}

// Returns the store name without its hash of 32 letters; "" if the artifact is not in a Nix store.
std::string store_name(const Inventory& inventory) {
  constexpr size_t kHash = 32;
  constexpr std::string_view kLetters = "0123456789abcdfghijklmnpqrsvwxyz";  // Nix base 32
  const bool known = inventory.store_closure && !inventory.store_closure->outputs.empty();
  std::string_view path = known ? inventory.store_closure->outputs.front() : inventory.artifact;
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    if (part.size() > kHash + 1 && part[kHash] == '-' && part.find_first_not_of(kLetters) == kHash)
      return std::string(part.substr(kHash + 1));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return {};
}

// Reports whether `begin` ends at a part of `name`: "-python313-cpu-avx" begins "-python313-cpu-avx-2.10.0", but not
// "-python313-cpu-avx2-2.10.0".
bool begins_name(std::string_view name, std::string_view begin) {
  return name.starts_with(begin) && (name.size() == begin.size() || name[begin.size()] == '-');
}

// Signs of one BLAS in a file, with the word that a claim uses for this BLAS.
struct BlasSign {
  std::string_view claim;
  std::string_view file;     // prefix of the name of a needed library
  std::string_view content;  // name in Links::contains
};
constexpr std::array<BlasSign, 4> kBlas{{
    {"mkl", "libmkl_", "MKL"},
    {"openblas", "libopenblas", "OpenBLAS"},
    {"nvpl", "libnvpl_blas", "NVPL"},
    {"the system's libblas", "libblas.so", ""},
}};

bool shows(const File& file, const BlasSign& sign) {
  const auto names = [](const std::vector<std::string>& list, auto test) { return std::ranges::any_of(list, test); };
  if (names(file.needed, [&](const std::string& name) { return name.starts_with(sign.file); })) return true;
  return file.links && names(file.links->contains, [&](const std::string& name) { return name == sign.content; });
}

// Returns the file that holds the versions, by layout.
std::string version_file(const Inventory& inventory) {
  if (inventory.layout == "libtorch") return "build-version";
  if (inventory.layout == "debian") return "TorchConfigVersion.cmake";
  return "torch/version.py";
}

Answer torch_is_claimed(const Facts& facts) {
  if (!facts.claim->torch) return {};
  if (!facts.inventory->torch_version)
    return cannot_tell("the files of this build do not state torch's version",
                       "audit the whole package: torch/version.py has its version");
  const auto there = parse_python_version(*facts.inventory->torch_version);
  const auto claimed = parse_python_version(*facts.claim->torch);
  if (there && claimed && is_release(*there, *claimed)) return {};
  // Candidates, nightlies and unnumbered source builds differ from the release only in the suffix.
  PythonVersion plain = there.value_or(PythonVersion{});
  plain.pre.reset();
  plain.post.reset();
  plain.dev.reset();
  const bool other_stage = there && claimed && is_release(plain, *claimed);
  return {.seen = {{.what = say("torch {} is claimed, and the files state torch {}", *facts.claim->torch,
                                *facts.inventory->torch_version),
                    .where = version_file(*facts.inventory),
                    .remedy = other_stage ? std::optional(fmt::format(
                                                "build the release itself, and call it so: PYTORCH_BUILD_VERSION={} "
                                                "PYTORCH_BUILD_NUMBER=1",
                                                *facts.claim->torch))
                                          : std::nullopt}}};
}

Answer cuda_is_claimed(const Facts& facts) {
  const bool cpu_build_claimed = facts.claim->exact && facts.claimed_gpus.empty() && !facts.claim->cuda;
  if (cpu_build_claimed) {
    if (!facts.cuda_build) return {};
    return {.seen = {{.what = say("a CPU build is claimed, and {} is built with CUDA {}", facts.torch,
                                  facts.inventory->cuda_version.value_or("of unknown version")),
                      .remedy = "build it without CUDA (USE_CUDA=0)"}}};
  }
  const bool cuda_claimed = facts.claim->cuda || !facts.claimed_gpus.empty();
  if (!cuda_claimed) return {};
  const std::string claimed = facts.claim->cuda ? "CUDA " + *facts.claim->cuda : "a CUDA build";
  if (!facts.cuda_build && facts.inventory->torch_version)
    return {.seen = {{say("{} is claimed, and {} is a CPU build", make_words(claimed), facts.torch)}}};
  if (!facts.claim->cuda) return {};
  if (!facts.inventory->cuda_version)
    return cannot_tell("the files of this build do not state its CUDA version",
                       "audit the whole package: torch/version.py has its CUDA version");
  if (parse_major_minor(*facts.inventory->cuda_version) == parse_major_minor(*facts.claim->cuda)) return {};
  return {.seen = {{.what = say("{} is claimed, and the files state CUDA {}", make_words(claimed),
                                *facts.inventory->cuda_version),
                    .where = version_file(*facts.inventory)}}};
}

Answer python_is_claimed(const Facts& facts) {
  if (!facts.claim->python) return {};
  if (!facts.inventory->python_abi)
    return cannot_tell("the files hold no extension module whose name states the Python version",
                       "audit the whole package: the name of torch/_C*.so states the Python version");
  const std::string abi = format_python_tag(*facts.claim->python);
  const std::string& seen = *facts.inventory->python_abi;
  if (!imports_module(abi, seen))
    return {.seen = {{say("Python {} ({}) is claimed, and torch's extension module is for {}", *facts.claim->python,
                          abi, seen)}}};
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    const std::string module = python_of_module(base_name(file.path));
    const bool for_any = file.links && file.links->uses_python == false;
    if (!is_own(*facts.inventory, file) || module.empty() || for_any || imports_module(abi, module)) continue;
    answer.seen.push_back(
        {say("Python {} ({}) is claimed, and {} is for {}", *facts.claim->python, abi, base_name(file.path), module),
         file.path});
  }
  return answer;
}

Answer blas_is_claimed(const Facts& facts) {
  if (!facts.claim->blas) return {};
  if (!tells(facts, ClaimPart::blas)) return {};
  const File* file = file_named(*facts.inventory, kLibtorchCpu);
  std::vector<std::string_view> found;
  for (const auto& sign : kBlas) {
    if (file != nullptr && shows(*file, sign)) found.push_back(sign.claim);
  }
  if (found.empty())
    return cannot_tell(
        "no BLAS was found in libtorch_cpu.so, neither among the libraries that it needs nor by its symbols",
        "audit libtorch_cpu.so before it is stripped");
  const bool has_claimed = std::ranges::find(found, *facts.claim->blas) != found.end();
  if (has_claimed && found.size() == 1) return {};
  const Sentence has =
      say("BLAS {} is claimed, and libtorch_cpu.so has {}", *facts.claim->blas, fmt::join(found, " and "));
  if (!has_claimed) return {.seen = {{has, file->path}}};
  return cannot_tell(has.text + ": which of them multiplies is not known", "build it with the claimed BLAS only");
}

// Recipes set the variant as the store name. The torch of nixpkgs has no variant in its store name.
Answer store_name_is_claimed(const Facts& facts) {
  constexpr std::string_view kBegin = "pytorch";
  const std::string_view claimed = facts.claim->text;
  const std::string name = store_name(*facts.inventory);
  const size_t mark = name.find(kBegin);
  if (!claimed.starts_with(kBegin) || mark == std::string_view::npos) return {};
  const size_t own = name.find("-python", mark);
  const size_t wanted = claimed.find("-python");
  if (own == std::string_view::npos || wanted == std::string_view::npos) return {};
  if (begins_name(std::string_view(name).substr(own), claimed.substr(wanted))) return {};
  return {.seen = {{say("the recipe {} is claimed, and the name in the Nix store is {}", claimed, name)}}};
}

Answer processor_is_claimed(const Facts& facts) {
  for (const auto* targets : {&facts.claimed_cpus, &facts.claimed_gpus}) {
    const Target* other = find_foreign_target(facts, *targets);
    if (other == nullptr) continue;
    return {.seen = {{say("{} is claimed, which exists on {} only, and this build is for {}", other->id,
                          fmt::join(other->platforms, " and "), *facts.inventory->platform)}}};
  }
  return {};
}

}  // namespace

bool cuda_matches_claim(const Facts& facts) {
  return cuda_is_claimed(facts).seen.empty();
}

bool processor_matches_claim(const Facts& facts) {
  return processor_is_claimed(facts).seen.empty();
}

std::vector<Check> claims_checks() {
  using enum Need;
  return {
      {.id = "PB105",
       .needs = {torch_claim, inventory, whole},
       .decides = true,
       .proves = ClaimPart::torch,
       .remedy = "build the claimed version: look at the source that the recipe uses",
       .ask = torch_is_claimed},
      {.id = "PB106",
       .needs = {claim, inventory, whole},
       .decides = true,
       .proves = ClaimPart::cuda,
       .remedy = "build it with the claimed CUDA: look for another one among the build's inputs",
       .ask = cuda_is_claimed},
      {.id = "PB107",
       .needs = {python_claim, inventory, whole},
       .decides = true,
       .proves = ClaimPart::python,
       .remedy = "build it with the claimed Python",
       .ask = python_is_claimed},
      {.id = "PB108",
       .needs = {blas_claim, inventory},
       .decides = true,
       .proves = ClaimPart::blas,
       .remedy = "build it with the claimed BLAS (the BLAS variable of torch's build)",
       .ask = blas_is_claimed},
      {.id = "PB109",
       .needs = {claim, inventory},
       .decides = true,
       .of_processor = true,
       .remedy = "build torch on the platform of the claimed target, or claim a target of the build's platform",
       .ask = processor_is_claimed},
      {.id = "PB132",
       .subject = Subject::closure,
       .needs = {claim, inventory, whole},
       .remedy = "build the claimed recipe with the pname that `pbprobe recipes show NAME` prints, or claim the "
                 "variant in the store name",
       .ask = store_name_is_claimed},
  };
}

}  // namespace pbprobe
