// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/judge/checks.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "probes/judge/questions.hpp"

namespace pbprobe {
namespace {

using enum Need;
constexpr bool kDecides = true;
constexpr bool kAdds = false;

std::vector<Check> other_checks() {
  using L = Level;
  using S = Severity;
  return {
      {"PB201",
       L::shipped,
       S::note,
       {host},
       kAdds,
       "Can this CPU run a target of the table?",
       "use a build for the processor's base instruction set",
       ask::cpu_has_target},
      {"PB202",
       L::executed,
       S::warn,
       {host, run},
       kAdds,
       "Does libtorch take the best CPU code that this CPU can run?",
       "unset ATEN_CPU_CAPABILITY; where it is not set, this build has lost its tier: use another",
       ask::cpu_tier},
      {"PB203",
       L::shipped,
       S::warn,  // a guard may lie where names do not tell it; what runs for certain is PB210's
       {host, inventory},
       kAdds,
       "Does other code that runs everywhere need only what this CPU has?",
       "use a build for a lesser CPU: `pbprobe host` names this machine's targets",
       ask::cpu_runs_unguarded_code},
      {"PB204",
       L::shipped,
       S::fail,
       {inventory},
       kAdds,
       "Do static initializers need no more than the rest of the code?",
       "compile what is initialized statically without the tier's flags, or initialize it on first use",
       ask::initializers_are_plain},
      {"PB205",
       L::shipped,
       S::warn,
       {inventory},
       kAdds,
       "Did the linker keep no tier's copy of a function that runs everywhere?",
       "give inline functions of a tier's source file internal linkage, or link the default tier's objects first",
       ask::no_tier_code_leaks},
      {"PB206",
       L::shipped,
       S::warn,
       {inventory},
       kAdds,
       "Does libtorch have the CPU tiers that torch builds?",
       "build with a compiler that knows them, and without options that leave kernels out",
       ask::has_its_tiers},
      {"PB207",
       L::claimed,
       S::fail,
       {cpu_claim, inventory},
       kDecides,
       "Does libtorch run on the CPU that is claimed?",
       "build all of it with the claimed target's flags, or claim the CPU that it needs",
       ask::claimed_cpu_suffices},
      {"PB208",
       L::claimed,
       S::fail,
       {cpu_claim, inventory},
       kDecides,
       "Is libtorch built for the CPU that is claimed?",
       "build it with the claimed target's flags, or claim no such CPU",
       ask::claimed_cpu_is_delivered},
      {"PB209",
       L::claimed,
       S::warn,
       {cpu_claim, inventory},
       kAdds,
       "Does libtorch use what the claimed CPU adds to the one before it?",
       "nothing to mend if compilers give it none: then it is no faster than the build for the CPU before it",
       ask::claimed_sub_row_differs},
      {"PB210",
       L::loaded,
       S::fail,
       {host, inventory},
       kAdds,
       "Does this CPU have what libtorch's static initializers and default tier need?",
       "use a build for a lesser CPU: `pbprobe host` names this machine's targets",
       ask::cpu_loads_libtorch},
      {"PB301",
       L::shipped,
       S::fail,
       {host, inventory},
       kDecides,
       "Does libtorch hold code that runs on each GPU here?",
       "install a torch built for this GPU",
       ask::gpu_code_runs},
      {"PB302",
       L::shipped,
       S::warn,
       {host, inventory},
       kAdds,
       "Is it machine code, not PTX alone?",
       "use a build with machine code for this GPU, and check its results: PTX is compiled at the first start",
       ask::gpu_code_is_machine_code},
      {"PB303",
       L::shipped,
       S::note,
       {host, inventory},
       kAdds,
       "Is it machine code for exactly this chip?",
       "nothing to mend: a build for exactly this chip may be faster",
       ask::gpu_code_is_native},
      {"PB304",
       L::shipped,
       S::warn,
       {host, inventory},
       kAdds,
       "Is it beyond doubt that the image runs on this chip?",
       "compute something on that GPU and compare it, or use a build for exactly this chip",
       ask::gpu_code_is_uncontested},
      {"PB305",
       L::shipped,
       S::fail,
       {host, inventory, whole},
       kAdds,
       "Is the GPU of this machine used by this torch?",
       "install a CUDA build of torch",
       ask::gpu_is_used},
      {"PB306",
       L::loaded,
       S::fail,
       {host, inventory},
       kAdds,
       "Does the driver support the build's CUDA generation?",
       "update the NVIDIA driver, or install a torch built with an older CUDA",
       ask::driver_knows_cuda_major},
      {"PB307",
       L::loaded,
       S::warn,
       {host, inventory},
       kAdds,
       "Is the driver as new as the build's CUDA version?",
       "update the NVIDIA driver before using torch.compile or PTX",
       ask::driver_knows_cuda_minor},
      {"PB308",
       L::loaded,
       S::fail,
       {host},
       kAdds,
       "Can every GPU that the driver lists be used?",
       "look at `nvidia-smi` and `dmesg`; a reset or a reboot may bring it back",
       ask::gpu_is_usable},
      {"PB309",
       L::loaded,
       S::note,
       {host, inventory},
       kAdds,
       "Does a CUDA build find a GPU here?",
       "run `pbprobe report` on the machine with the GPU; in a container, pass the GPU and its driver into it",
       ask::gpu_is_visible},
      {"PB310",
       L::shipped,
       S::fail,
       {inventory, whole},
       kAdds,
       "Does a CUDA build hold device code?",
       "install this torch again: libtorch_cuda.so is missing or empty",
       ask::has_device_code},
      {"PB311",
       L::shipped,
       S::warn,
       {host, inventory},
       kAdds,
       "Do MAGMA, NCCL, cuDNN and cuBLAS hold code that runs on each GPU here?",
       "use a build whose libraries hold code for this GPU",
       ask::other_libraries_run},
      {"PB312",
       L::loaded,
       S::note,
       {host},
       kAdds,
       "Is the driver new enough for pbprobe's own GPU kernels?",
       "update the NVIDIA driver to measure on the GPU",
       ask::driver_runs_our_kernels},
      {"PB313",
       L::shipped,
       S::warn,
       {host, inventory},
       kAdds,
       "Do libtorch's smaller files hold code that runs on each GPU here?",
       "what this file does (linear algebra, for example) fails on that GPU: use a build that holds code for it",
       ask::other_libtorch_files_run},
      {"PB314",
       L::shipped,
       S::fail,
       {gpu_claim, inventory},
       kDecides,
       "Does libtorch hold machine code for the claimed SM in every translation unit that has any?",
       "build it for that SM: look at TORCH_CUDA_ARCH_LIST as the build saw it",
       ask::claimed_sm_is_throughout},
      {"PB315",
       L::shipped,
       S::fail,
       {gpu_claim, inventory},
       kAdds,
       "Are libtorch, MAGMA, NCCL, cuDNN and cuBLAS machine code, not PTX alone?",
       "build it with the SM as a real architecture (12.1, not 12.1+PTX of an older one)",
       ask::claimed_sm_is_machine_code},
      {"PB316",
       L::shipped,
       S::fail,
       {gpu_claim, inventory},
       kAdds,
       "Does libtorch hold machine code for the claimed SM alone, where the claim is exact?",
       "build it for that SM alone, or claim the others too",
       ask::nothing_but_claimed_sms},
      {"PB317",
       L::shipped,
       S::warn,
       {gpu_claim, inventory},
       kAdds,
       "Is libtorch free of PTX, where the claim is exact?",
       "leave +PTX out of TORCH_CUDA_ARCH_LIST, unless later chips are to run it",
       ask::no_ptx_beside_claimed_sms},
      {"PB318",
       L::shipped,
       S::fail,
       {gpu_claim, inventory},
       kAdds,
       "Do MAGMA, NCCL, cuDNN and cuBLAS hold machine code that runs on the claimed SM?",
       "build or take that library for the claimed SM",
       ask::other_libraries_hold_claimed_sm},
      {"PB319",
       L::shipped,
       S::note,
       {gpu_claim, inventory},
       kAdds,
       "Do the libraries beside libtorch hold the claimed SM alone, where the claim is exact?",
       "nothing to mend: they keep SM lists of their own, and are larger for it",
       ask::other_libraries_hold_more},
      {"PB320",
       L::shipped,
       S::warn,
       {gpu_claim, inventory},
       kAdds,
       "By the census of --full, does each kernel for the claimed SM do something else than trap?",
       "look at what guards the kernel's code, `__CUDA_ARCH__` for example: it was compiled for a chip that it leaves "
       "out",
       ask::no_claimed_kernel_only_traps},
      {"PB321",
       L::shipped,
       S::warn,
       {gpu_claim, inventory},
       kAdds,
       "Are all cubins of a libtorch file made by one CUDA release?",
       "look for a second toolkit among the build's inputs, or a static library that another one made",
       ask::one_toolkit_a_file},
      {"PB322",
       L::shipped,
       S::fail,
       {claim, inventory},
       kAdds,
       "Are libtorch's cubins made by the claimed CUDA?",
       "build it with the claimed toolkit: look at the nvcc that the build found",
       ask::images_are_of_claimed_cuda},
      {"PB323",
       L::shipped,
       S::fail,
       {gpu_claim, inventory, whole},
       kAdds,
       "Has libtorch the image that the claimed SM's tensor instructions need, where the claim is exact?",
       "look at the flags of torch's files for scaled and grouped products: torch adds that architecture by itself",
       ask::tensor_paths_have_their_image},
      {"PB501",
       L::loaded,
       S::fail,
       {inventory, run},
       kDecides,
       "Does libtorch load?",
       "install this torch again in a clean environment, and try `python -c \"import torch\"`",
       ask::libtorch_loads},
      {"PB502",
       L::executed,
       S::fail,
       {inventory, run},
       kAdds,
       "Does libtorch compute a matrix product right?",
       "use a build for this CPU: `pbprobe host` names its targets",
       ask::libtorch_computes},
      {"PB503",
       L::executed,
       S::fail,
       {host, inventory, run},
       kDecides,
       "Does libtorch compute on a GPU of this host?",
       "run `pbprobe report --full` on a machine whose GPU is free",
       ask::libtorch_computes_on_gpu},
      {"PB504",
       L::measured,
       S::fail,
       {},
       kAdds,
       "Were pbprobe's own kernels right, and did measuring end well?",
       "run it again on an idle machine; if it stays, test the hardware or report it with `--format json`",
       ask::kernels_are_right},
      {"PB505",
       L::executed,
       S::warn,
       {},
       kAdds,
       "Could every step of the report run?",
       "mend what the sentence names, and run it again",
       ask::steps_ran},
      {"PB506",
       L::loaded,
       S::warn,
       {inventory, run},
       kAdds,
       "Does the loaded library have the version of its files?",
       "install this torch again in a clean environment: two versions are mixed",
       ask::version_agrees},
      {"PB507",
       L::measured,
       S::note,
       {},
       kAdds,
       "Is libtorch about as fast as pbprobe's kernels?",
       "a build for exactly this machine may be faster: measure it with `pbprobe bench --against libtorch`",
       ask::libtorch_keeps_up},
      {"PB508",
       L::executed,
       S::fail,
       {inventory, run},
       kAdds,
       "Does libtorch compute right in every area?",
       "install this torch again; if it stays, this build is wrong for this machine: take another one, and report it",
       ask::areas_are_right},
  };
}

const std::vector<Check>& table() {
  static const std::vector<Check> checks = [] {
    std::vector<Check> all = file_checks();
    for (auto& check : other_checks()) all.push_back(std::move(check));
    return all;
  }();
  return checks;
}

std::string_view word_for(Need need) {
  switch (need) {
    case Need::host: return "host";
    case Need::inventory: return "inventory";
    case Need::whole: return "a whole artifact";
    case Need::run: return "a started libtorch";
    case Need::claim: return "claim";
    case Need::gpu_claim: return "claimed SM";
    case Need::cpu_claim: return "claimed ISA";
  }
  return "";
}

}  // namespace

std::span<const Check> all_checks() {
  return table();
}

bool asks(Need need) {
  return std::any_of(table().begin(), table().end(), [&](const Check& check) {
    return std::find(check.needs.begin(), check.needs.end(), need) != check.needs.end();
  });
}

std::string checks_markdown() {
  std::string text =
      "# Checks\n\n"
      "Written by `make generate` from the catalogue in `probes/judge`. An identifier is stable, and never "
      "used again for another check. A check whose facts are missing has no answer; where it decides, the verdict is "
      "then unknown, and unknown is not pass. What needs a claim is asked where there is one; where no machine was "
      "looked "
      "at (`pbprobe audit`), what needs a host or a started libtorch is not asked, and of one file alone nothing that "
      "needs a whole artifact.\n\n"
      "| check | level | severity | asks | needs | decides | remedy |\n|---|---|---|---|---|---|---|\n";
  for (const auto& check : all_checks()) {
    std::vector<std::string_view> needs;
    for (const Need need : check.needs) needs.push_back(word_for(need));
    text +=
        fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", check.id, name_of(check.level), name_of(check.severity),
                    check.question, fmt::join(needs, ", "), check.decides ? "yes" : "", check.remedy);
  }
  return text;
}

}  // namespace pbprobe
