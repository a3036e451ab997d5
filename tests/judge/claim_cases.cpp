// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// PB314 and later: claimed SMs, compared with libtorch and the libraries beside it.
#include <algorithm>
#include <functional>

#include "probes/judge/facts.hpp"
#include "tests/judge/planted.hpp"

namespace pbprobe::test {
namespace {

// Returns a build only for sm121 by CUDA 13.0: 444 translation units, one of which also has sm_121a.
Report sm121_build(bool exact = true) {
  Report report = claimed({.exact = exact, .targets = {"sm121"}, .cuda = "13.0"});
  report.inventory->platform = "aarch64-linux";
  report.inventory->wheel_tags = std::nullopt;
  std::erase_if(report.inventory->files, [](const File& file) {
    return file.component == kLibtorch && file.device_code && !file.path.ends_with("/libtorch_cuda.so");
  });
  for (auto& file : report.inventory->files) {
    if (file.component == "NCCL" || file.component == "cuDNN" || file.component == "cuBLAS")
      file.device_code = DeviceCode{.cubin = {{"sm_121", 12}}};
  }
  libtorch_cuda(report).links = std::nullopt;  // the erased files had MAGMA
  libtorch_cuda(report).device_code = DeviceCode{.cubin = {{"sm_121", 444}, {"sm_121a", 1}},
                                                 .unit_sets = {{"sm_121", 443}, {"sm_121 sm_121a", 1}},
                                                 .toolkits = {{"13.0", 2}}};
  return report;
}

Report change_sm121_build(const std::function<void(DeviceCode&)>& change, bool exact = true) {
  return with(sm121_build(exact), [&](Report& r) { change(*libtorch_cuda(r).device_code); });
}

File& nccl(Report& report) {
  return *std::find_if(report.inventory->files.begin(), report.inventory->files.end(),
                       [](const File& file) { return file.component == "NCCL"; });
}

void add_claimed_unit_cases(std::vector<Case>& cases) {
  // Code for 12.0 runs on 12.1, but is not the claimed code.
  cases.push_back({"PB314", "sm121 is claimed, and libtorch_cuda.so holds machine code only for sm_120",
                   change_sm121_build(
                       [](DeviceCode& code) {
                         code.cubin = {{"sm_120", 444}};
                         code.unit_sets = {{"sm_120", 444}};
                       },
                       false),
                   sm121_build(false)});
  // An exact claim adds no second fault for units that lack the SM.
  cases.push_back({"PB314", "sm121 is claimed, and only 443 of the 444 translation units of libtorch_cuda.so hold",
                   change_sm121_build([](DeviceCode& code) {
                     code.cubin = {{"sm_90", 1}, {"sm_121", 443}, {"sm_121a", 1}};
                     code.unit_sets = {{"sm_90", 1}, {"sm_121", 442}, {"sm_121 sm_121a", 1}};
                   }),
                   sm121_build()});
  cases.push_back({"PB314", "sm121 is claimed, and libtorch holds no device code",
                   with(sm121_build(), [](Report& r) { libtorch_cuda(r).device_code.reset(); }), sm121_build()});
  // Public wheels have a handful of sm_121a cubins.
  cases.push_back({"PB314", "sm121 is claimed, and only 1 of the 444 translation units of libtorch_cuda.so holds",
                   change_sm121_build(
                       [](DeviceCode& code) {
                         code.cubin = {{"sm_120", 444}, {"sm_121a", 1}};
                         code.unit_sets = {{"sm_120", 443}, {"sm_120 sm_121a", 1}};
                       },
                       false),
                   change_sm121_build(
                       [](DeviceCode& code) {
                         code.cubin = {{"sm_120", 444}, {"sm_121", 444}};
                         code.unit_sets = {{"sm_120 sm_121", 444}};
                       },
                       false)});
  cases.push_back({"PB315", "libtorch_cuda.so holds only PTX (sm_121)", change_sm121_build([](DeviceCode& code) {
                     code = {.ptx = {{"sm_121", 444}}};
                   }),
                   sm121_build()});
  cases.push_back({"PB315", "libnccl.so.2 holds only PTX (sm_80)",
                   with(sm121_build(),
                        [](Report& r) {
                          nccl(r).device_code = DeviceCode{.ptx = {{"sm_80", 12}}};
                        }),
                   sm121_build()});
  cases.push_back({"PB316", "libtorch_cuda.so holds machine code for sm_90, sm_120 too",
                   change_sm121_build([](DeviceCode& code) {
                     code.cubin["sm_120"] = code.cubin["sm_90"] = 444;
                     code.unit_sets = {{"sm_120 sm_121 sm_90", 444}};
                   }),
                   change_sm121_build(
                       [](DeviceCode& code) {
                         code.cubin["sm_120"] = 444;
                         code.unit_sets = {{"sm_120 sm_121", 444}};
                       },
                       false)});
  cases.push_back({"PB317", "libtorch_cuda.so holds PTX for sm_121 beside its machine code",
                   change_sm121_build([](DeviceCode& code) { code.ptx["sm_121"] = 444; }),
                   change_sm121_build([](DeviceCode& code) { code.ptx["sm_121"] = 444; }, false)});
}

void add_claimed_library_cases(std::vector<Case>& cases) {
  cases.push_back({"PB318", "NCCL holds machine code only for sm_80, sm_90, none of which runs there",
                   with(sm121_build(false),
                        [](Report& r) {
                          nccl(r).device_code = DeviceCode{.cubin = {{"sm_80", 12}, {"sm_90", 12}}};
                        }),
                   with(sm121_build(false), [](Report& r) {  // NVIDIA's own libraries run sm_120 code on 12.1
                     nccl(r).device_code = DeviceCode{.cubin = {{"sm_80", 12}, {"sm_120", 12}}};
                   })});
  cases.push_back({"PB319", "NCCL holds machine code for sm_80 too",
                   with(sm121_build(), [](Report& r) { nccl(r).device_code->cubin["sm_80"] = 12; }), sm121_build()});
  // A static NCCL brings its own SMs, which is no fault of torch's build.
  cases.push_back({"PB319", "libraries linked into libtorch_cuda.so hold machine code for sm_80, sm_90 too",
                   with(sm121_build(),
                        [](Report& r) {
                          libtorch_cuda(r).links = Links{.contains = {"MAGMA", "NCCL", "NVSHMEM"}};
                          auto& code = *libtorch_cuda(r).device_code;
                          code.cubin["sm_80"] = code.cubin["sm_90"] = 12;
                          code.unit_sets["sm_121 sm_80 sm_90"] = 12;
                        }),
                   sm121_build()});
  cases.push_back(
      {"PB319",
       "libtorch_cuda.so also holds machine code for sm_90, sm_100 in its constants, and the claim says `only`",
       with(sm121_build(),
            [](Report& r) {  // another toolkit made it, which is no fault
              libtorch_cuda(r).self_loaded_code =
                  DeviceCode{.cubin = {{"sm_90", 14}, {"sm_100", 15}}, .toolkits = {{"12.9", 29}}};
            }),
       with(sm121_build(), [](Report& r) {
         libtorch_cuda(r).self_loaded_code = DeviceCode{.cubin = {{"sm_121", 14}}, .toolkits = {{"12.9", 14}}};
       })});
}

void add_claimed_code_cases(std::vector<Case>& cases) {
  cases.push_back({"PB320", "1 kernel of libtorch_cuda.so for sm_121 does nothing but trap: topk",
                   with(sm121_build(),
                        [](Report& r) {
                          libtorch_cuda(r).self_loaded_code = DeviceCode{.cubin = {{"sm_121", 14}}};
                          libtorch_cuda(r).self_loaded_code->census = {
                              {{"sm_121", {.kernels = 14, .trap_kernels = 1, .only_traps = {"_Z4topk"}}}}};
                        }),
                   with(sm121_build(), [](Report& r) {
                     libtorch_cuda(r).self_loaded_code = DeviceCode{.cubin = {{"sm_121", 14}}};
                     libtorch_cuda(r).self_loaded_code->census = {{{"sm_121", {.kernels = 14}}}};
                   })});
  cases.push_back({"PB320", "2 kernels of libtorch_cuda.so for sm_121 do nothing but trap: gemm()",
                   change_sm121_build([](DeviceCode& code) {
                     code.census = {{{"sm_121", {.kernels = 900, .trap_kernels = 2, .only_traps = {"_Z4gemmv"}}}}};
                   }),
                   change_sm121_build([](DeviceCode& code) {  // traps only in code for another chip
                     code.census = {{{"sm_121", {.kernels = 900}}, {"sm_90", {.trap_kernels = 2}}}};
                   })});
  cases.push_back({"PB321", "compiled by different CUDA toolkits: 1 by CUDA 12.9, 2 by CUDA 13.0",
                   change_sm121_build([](DeviceCode& code) { code.toolkits["12.9"] = 1; }), sm121_build()});
  cases.push_back({"PB322", "CUDA 13.0 is claimed, and cubins of libtorch_cuda.so were compiled by CUDA 13.2",
                   change_sm121_build([](DeviceCode& code) {
                     code.toolkits = {{"13.2", 3}};
                   }),
                   sm121_build()});
  const auto older = [](int64_t count) {  // static libraries bring fewer than the file's own
    return change_sm121_build([=](DeviceCode& code) { code.toolkits = {{"13.0", 2}, {"12.9", count}}; });
  };
  cases.push_back({"PB322",
                   "CUDA 13.0 is claimed, and cubins of libtorch_cuda.so were compiled by CUDA 12.9",
                   older(9),
                   older(1),
                   {"PB321"}});
  cases.push_back({"PB322", "CUDA 13.0 is claimed, and cubins of libtorch_cuda.so were compiled by CUDA 12.9",
                   change_sm121_build([](DeviceCode& code) {
                     code.toolkits = {{"12.9", 3}};
                   }),
                   sm121_build()});
  const auto for_sm100 = [](std::map<std::string, int64_t> cubins) {
    return with(sm121_build(), [&](Report& r) {
      r.claim->targets = {"sm100"};
      for (auto& file : r.inventory->files) {
        if (file.device_code) file.device_code->cubin = {{"sm_100", 12}};
      }
      DeviceCode& code = *libtorch_cuda(r).device_code;
      code.cubin = cubins;
      code.unit_sets.clear();
      for (const auto& [sm, count] : cubins) code.unit_sets[sm] = count;
    });
  };
  cases.push_back(
      {"PB323",
       "sm100 is claimed, and no file of libtorch holds machine code for sm_100a, which code with tcgen05.mma needs",
       for_sm100({{"sm_100", 444}}), for_sm100({{"sm_100", 444}, {"sm_100a", 59}})});
}

}  // namespace

void add_claim_cases(std::vector<Case>& cases) {
  add_claimed_unit_cases(cases);
  add_claimed_library_cases(cases);
  add_claimed_code_cases(cases);
}

}  // namespace pbprobe::test
