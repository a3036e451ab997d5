// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Every check with a planted fault, which it must find and nothing else may, and a sound twin, which must stay silent.
#include "probes/judge/checks.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include <gmock/gmock.h>

#include "probes/judge/facts.hpp"
#include "probes/judge/judge.hpp"
#include "tests/judge/cases.hpp"

namespace pbprobe::test {
namespace {

struct Case {
  std::string id;
  std::string says;  // part of what the finding says
  Report planted;
  Report twin;
  std::set<std::string> beside{};  // findings below fail that come with the fault by their nature
};

Report h200() {
  return gpu_report("NVIDIA H200", "9.0");
}
Report gb10() {
  return gpu_report("NVIDIA GB10", "12.1");
}

template <class Change>
Report with(Report report, Change change) {
  change(report);
  return report;
}

BenchRow bench_row(double ratio) {
  return {.kernel = "gemm_bf16",
          .target = "fast",
          .dtype = "bf16",
          .m = 1024,
          .n = 1024,
          .k = 1024,
          .layout = "nt",
          .out = "fp32",
          .gflops = 100 * ratio,
          .best = true,
          .samples_us = {1, 1, 1},
          .peers = {{"libtorch", {.gflops = 100, .ratio = ratio, .samples_us = {1, 1, 1}}}}};
}

void add_file_cases(std::vector<Case>& cases) {
  cases.push_back({"PB101",
                   "header needs 64 bytes, 12 left",
                   with(cpu_report(),
                        [](Report& r) {
                          libtorch_cuda(r).problem = "header needs 64 bytes, 12 left";
                          libtorch_cuda(r).device_code.reset();
                        }),
                   cpu_report(),
                   {"PB309"}});
  cases.push_back({"PB102", "permission denied",
                   with(h200(), [](Report& r) { r.inventory->problems = {"nvidia/x.so: permission denied"}; }),
                   h200()});
  cases.push_back({"PB103", "holds no libtorch_cpu.so",
                   with(h200(),
                        [](Report& r) {
                          std::erase_if(r.inventory->files,
                                        [](const File& f) { return f.path.ends_with("libtorch_cpu.so"); });
                        }),
                   h200()});
  cases.push_back({"PB104", "built for aarch64-linux",
                   with(h200(),
                        [](Report& r) {
                          r.inventory->platform = "aarch64-linux";
                          r.measurements.reset();
                        }),
                   h200()});
}

Report claimed(Claim claim) {
  claim.text = "the claim";
  return audit_report(std::move(claim));
}

void add_claim_cases(std::vector<Case>& cases) {
  cases.push_back(
      {"PB105", "torch 2.10.0 is claimed, and the files say 2.11.0+cu130", claimed({.torch = "2.10.0"}),
       with(claimed({.torch = "2.11"}), [](Report& r) { r.inventory->torch_version = "2.11.0a0+gitabc"; })});
  cases.push_back({"PB106", "CUDA 12.8 is claimed, and the files say 13.0", claimed({.cuda = "12.8"}),
                   claimed({.cuda = "13.0.2"})});
  cases.push_back({"PB106", "CUDA 13.0 is claimed, and torch 2.11.0+cpu is a CPU build",
                   with(claimed({.cuda = "13.0"}), make_cpu_build), claimed({.cuda = "13.0"})});
  cases.push_back({"PB106", "a CPU build is claimed, and torch 2.11.0+cu130 is built with CUDA 13.0",
                   claimed({.exact = true}), with(claimed({.exact = true}), make_cpu_build)});
  cases.push_back({"PB107", "Python 3.13 (cp313) is claimed, and torch's extension module is for cp311",
                   claimed({.python = "3.13"}), claimed({.python = "3.11"})});
  cases.push_back({"PB108", "BLAS openblas is claimed, and libtorch_cpu.so has mkl", claimed({.blas = "openblas"}),
                   claimed({.blas = "mkl"})});
  cases.push_back({"PB109", "armv9 is claimed, which is found on aarch64-linux, and this is built for x86_64-linux",
                   claimed({.targets = {"armv9"}}), claimed({.targets = {"avx2"}})});
}

// A build for sm121 alone, made by CUDA 13.0: 444 translation units, a few with the a variant beside it.
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
  libtorch_cuda(report).links = std::nullopt;  // its MAGMA lay in the file that is gone
  libtorch_cuda(report).device_code = DeviceCode{.cubin = {{"sm_121", 444}, {"sm_121a", 1}},
                                                 .unit_sets = {{{"sm_121", 443}, {"sm_121 sm_121a", 1}}},
                                                 .toolkits = {{{"13.0", 2}}}};
  return report;
}

Report sm121_build_with(const std::function<void(DeviceCode&)>& change, bool exact = true) {
  return with(sm121_build(exact), [&](Report& r) { change(*libtorch_cuda(r).device_code); });
}

File& nccl(Report& report) {
  return *std::find_if(report.inventory->files.begin(), report.inventory->files.end(),
                       [](const File& file) { return file.component == "NCCL"; });
}

void add_claimed_unit_cases(std::vector<Case>& cases) {
  // Same major, runs on 12.1, and is not what is claimed.
  cases.push_back({"PB314", "sm121 is claimed, and libtorch_cuda.so holds machine code for sm_120 alone",
                   sm121_build_with(
                       [](DeviceCode& code) {
                         code.cubin = {{"sm_120", 444}};
                         code.unit_sets = {{{"sm_120", 444}}};
                       },
                       false),
                   sm121_build(false)});
  // A handful of a files, as in the public wheels.
  cases.push_back({"PB314", "sm121 is claimed, and 1 of the 444 translation units of libtorch_cuda.so hold",
                   sm121_build_with(
                       [](DeviceCode& code) {
                         code.cubin = {{"sm_120", 444}, {"sm_121a", 1}};
                         code.unit_sets = {{{"sm_120", 443}, {"sm_120 sm_121a", 1}}};
                       },
                       false),
                   sm121_build_with(
                       [](DeviceCode& code) {
                         code.cubin = {{"sm_120", 444}, {"sm_121", 444}};
                         code.unit_sets = {{{"sm_120 sm_121", 444}}};
                       },
                       false)});
  cases.push_back({"PB315", "libtorch_cuda.so holds PTX alone (sm_121)", sm121_build_with([](DeviceCode& code) {
                     code = {.ptx = {{"sm_121", 444}}};
                   }),
                   sm121_build()});
  cases.push_back({"PB315", "libnccl.so.2 holds PTX alone (sm_80)",
                   with(sm121_build(),
                        [](Report& r) {
                          nccl(r).device_code = DeviceCode{.ptx = {{"sm_80", 12}}};
                        }),
                   sm121_build()});
  cases.push_back({"PB316", "libtorch_cuda.so holds machine code for sm_90, sm_120 too",
                   sm121_build_with([](DeviceCode& code) {
                     code.cubin["sm_120"] = code.cubin["sm_90"] = 444;
                     code.unit_sets = {{{"sm_120 sm_121 sm_90", 444}}};
                   }),
                   sm121_build_with(
                       [](DeviceCode& code) {
                         code.cubin["sm_120"] = 444;
                         code.unit_sets = {{{"sm_120 sm_121", 444}}};
                       },
                       false)});
  cases.push_back({"PB317", "libtorch_cuda.so holds PTX for sm_121 beside its machine code",
                   sm121_build_with([](DeviceCode& code) { code.ptx["sm_121"] = 444; }),
                   sm121_build_with([](DeviceCode& code) { code.ptx["sm_121"] = 444; }, false)});
}

void add_claimed_library_cases(std::vector<Case>& cases) {
  cases.push_back({"PB318", "NCCL holds machine code for sm_80, sm_90 alone, none of which runs there",
                   with(sm121_build(false),
                        [](Report& r) {
                          nccl(r).device_code = DeviceCode{.cubin = {{"sm_80", 12}, {"sm_90", 12}}};
                        }),
                   with(sm121_build(false), [](Report& r) {  // NVIDIA's own libraries run sm_120 code on 12.1
                     nccl(r).device_code = DeviceCode{.cubin = {{"sm_80", 12}, {"sm_120", 12}}};
                   })});
  cases.push_back({"PB319", "NCCL holds machine code for sm_80 too",
                   with(sm121_build(), [](Report& r) { nccl(r).device_code->cubin["sm_80"] = 12; }), sm121_build()});
  // NCCL linked into libtorch_cuda.so, with the SMs that it was built for: no fault of torch's build.
  cases.push_back({"PB319", "libraries linked into libtorch_cuda.so hold machine code for sm_80, sm_90 too",
                   with(sm121_build(),
                        [](Report& r) {
                          libtorch_cuda(r).links = Links{.contains = {"MAGMA", "NCCL", "NVSHMEM"}};
                          auto& code = *libtorch_cuda(r).device_code;
                          code.cubin["sm_80"] = code.cubin["sm_90"] = 12;
                          (*code.unit_sets)["sm_121 sm_80 sm_90"] = 12;
                        }),
                   sm121_build()});
  cases.push_back({"PB320", "2 kernels of libtorch_cuda.so for sm_121 do nothing but trap: _Z3gemm",
                   sm121_build_with([](DeviceCode& code) {
                     code.census = {{{"sm_121", {.kernels = 900, .trap_kernels = 2, .only_traps = {"_Z3gemm"}}}}};
                   }),
                   sm121_build_with([](DeviceCode& code) {  // of another chip's code
                     code.census = {{{"sm_121", {.kernels = 900}}, {"sm_90", {.trap_kernels = 2}}}};
                   })});
  cases.push_back({"PB321", "made by different toolkits: 1 by CUDA 12.9, 2 by CUDA 13.0",
                   sm121_build_with([](DeviceCode& code) { (*code.toolkits)["12.9"] = 1; }), sm121_build()});
  cases.push_back({"PB322", "CUDA 13.0 is claimed, and cubins of libtorch_cuda.so were made by CUDA 13.2",
                   sm121_build_with([](DeviceCode& code) {
                     code.toolkits = {{{"13.2", 3}}};
                   }),
                   sm121_build()});
  cases.push_back({"PB322", "CUDA 13.0 is claimed, and cubins of libtorch_cuda.so were made by CUDA 12.9",
                   sm121_build_with([](DeviceCode& code) {
                     code.toolkits = {{{"12.9", 3}}};
                   }),
                   sm121_build()});
}

Report audited() {
  return audit_report();
}

void add_cuda_cases(std::vector<Case>& cases) {
  cases.push_back({"PB110", "built with CUDA 13.0, and it needs libcudart.so.12 (there it is libcudart.so.13)",
                   with(audited(), [](Report& r) { libtorch_cuda(r).needed[2] = "libcudart.so.12"; }),
                   with(audited(), [](Report& r) { EXPECT_EQ(libtorch_cuda(r).needed[2], "libcudart.so.13"); })});
  cases.push_back({"PB111", "most of CUDA's libraries are those of release 13.0.2; not cuFFT 11.4.1.4",
                   with(audited(), [](Report& r) { (*r.inventory->component_versions)["cuFFT"] = "11.4.1.4"; }),
                   audited()});
  cases.push_back(
      {"PB112",
       "CUDA 13.0 is claimed, and these are of no release of it: cuFFT 11.4.1.4",
       with(claimed({.cuda = "13.0"}), [](Report& r) { (*r.inventory->component_versions)["cuFFT"] = "11.4.1.4"; }),
       claimed({.cuda = "13.0"}),
       {"PB111"}});
  const auto with_ptxas = [](std::vector<std::string> knows) {
    return [knows](Report& r) {
      r.inventory->files.push_back({.path = "triton/backends/nvidia/bin/ptxas",
                                    .component = "PTX compiler",
                                    .compiler = Compiler{.version = "12.8.93", .knows = knows}});
    };
  };
  cases.push_back({"PB113", "ptxas 12.8.93 knows no 9.0", with(claimed({.targets = {"sm90"}}), with_ptxas({"sm_80"})),
                   with(claimed({.targets = {"sm90"}}), with_ptxas({"sm_80", "sm_90a"}))});
  cases.push_back({"PB114", "ptxas 12.8.93 knows no 9.0", with(h200(), with_ptxas({"sm_80", "sm_120"})),
                   with(h200(), with_ptxas({"sm_80", "sm_90"}))});
}

void add_closure_cases(std::vector<Case>& cases) {
  const auto needing = [](std::vector<Dependency> dependencies) {
    return [dependencies](Report& r) { libtorch_cuda(r).links->dependencies = dependencies; };
  };
  const Dependency gomp{"libgomp.so.1", Provider::system, "/usr/lib/libgomp.so.1", "the system's default folders"};
  cases.push_back(
      {"PB115", "libtorch_cuda.so needs libnccl.so.2, which neither its RPATH nor the system's folders hold",
       with(audited(), needing({{"libnccl.so.2"}})), with(audited(), needing({{"libcuda.so.1", Provider::driver}}))});
  const auto opening = [](Provider provider) {
    return [provider](Report& r) {
      File& file = file_named(r, "libcudnn_ops.so.9");
      file.links.emplace();
      file.links->opened = {{{"libcudnn_heuristic.so", provider}, {"libibverbs.so.1", Provider::unresolved}}};
    };
  };
  cases.push_back({"PB116", "libcudnn_ops.so.9 opens libcudnn_heuristic.so as it runs, which is not there",
                   with(audited(), opening(Provider::unresolved)), with(audited(), opening(Provider::artifact))});
  cases.push_back({"PB117", "2 OpenMP libraries are loaded together",
                   with(audited(), needing({gomp, {"libiomp5.so", Provider::artifact, "torch/lib/libiomp5.so"}})),
                   with(audited(), needing({gomp, gomp}))});
  cases.push_back({"PB118", "where a stub of the driver lies",
                   with(audited(), [](Report& r) { libtorch_cuda(r).rpath = {"/opt/cuda/lib64/stubs"}; }),
                   with(audited(), [](Report& r) { libtorch_cuda(r).rpath = {"/opt/cuda/lib64"}; })});
  cases.push_back({"PB118", "it ships a libcuda",
                   with(audited(),
                        [](Report& r) {
                          r.inventory->files.push_back({.path = "torch/lib/libcuda.so.1", .soname = "libcuda.so.1"});
                        }),
                   with(audited(), [](Report& r) {
                     r.inventory->files.push_back({.path = "torch/lib/libcudart.so.13", .soname = "libcudart.so.13"});
                   })});
}

void add_package_cases(std::vector<Case>& cases) {
  cases.push_back({"PB119", "torch's package asks for cuDNN 9.19.0.56, and 9.11.0.98 is installed",
                   with(audited(), [](Report& r) { (*r.inventory->component_versions)["cuDNN"] = "9.11.0.98"; }),
                   audited()});
  cases.push_back({"PB120", "its package says torch 2.10.0, and its files say 2.11.0+cu130",
                   with(audited(), [](Report& r) { (*r.inventory->component_versions)["torch"] = "2.10.0"; }),
                   audited()});
  cases.push_back({"PB120", "its version 2.11.0+cu128 says CUDA 12.8, and it is built with 13.0",
                   with(audited(), [](Report& r) { r.inventory->torch_version = "2.11.0+cu128"; }), audited()});
  cases.push_back({"PB121", "says cp313t, and torch's extension module is for cp311",
                   with(audited(), [](Report& r) { r.inventory->wheel_tags = {"cp313-cp313t-manylinux_2_28_x86_64"}; }),
                   audited()});
  cases.push_back({"PB121", "says linux_aarch64, and its files are built for x86_64-linux",
                   with(audited(), [](Report& r) { r.inventory->wheel_tags = {"cp311-cp311-linux_aarch64"}; }),
                   with(audited(), [](Report& r) { r.inventory->wheel_tags = {"cp311-cp311-linux_x86_64"}; })});
  cases.push_back({"PB121", "promises glibc 2.28, and libtorch needs 2.34",
                   with(audited(),
                        [](Report& r) {
                          r.inventory->version_floors = Versions{{"GLIBC", "2.34"}};
                        }),
                   audited()});
  cases.push_back({"PB122", "12 of its names have the strings before C++11, and 570 those since",
                   with(audited(), [](Report& r) { file_named(r, "libtorch_cpu.so").links->pre_cxx11_names = 12; }),
                   with(audited(), [](Report& r) {  // old wheels had the old strings throughout
                     file_named(r, "libtorch_cpu.so").links->pre_cxx11_names = 570;
                     file_named(r, "libtorch_cpu.so").links->cxx11_names = 0;
                     r.inventory->torch_version = "2.5.1";
                     r.inventory->component_versions->erase("torch");
                   })});
  cases.push_back({"PB123", "do not say which commit",
                   with(audited(), [](Report& r) { r.inventory->git_version = "Unknown"; }), audited()});
  cases.push_back({"PB124", "libtorch_cpu.so has no oneDNN",
                   with(audited(), [](Report& r) { file_named(r, "libtorch_cpu.so").links->contains = {"OpenBLAS"}; }),
                   with(audited(), [](Report& r) {
                     file_named(r, "libtorch_cpu.so").links->contains = {"OpenBLAS"};
                     file_named(r, "libtorch_cpu.so").needed = {"libdnnl.so.3"};
                   })});
  cases.push_back({"PB125", "libtorch_cuda.so needs no cuDNN",
                   with(audited(), [](Report& r) { libtorch_cuda(r).needed = {"libcudart.so.13"}; }), audited()});
  cases.push_back({"PB126", "it has no MAGMA",
                   with(audited(), [](Report& r) { file_named(r, "libtorch_cuda_linalg.so").links->contains.clear(); }),
                   audited()});
  cases.push_back({"PB128", "it links to a shared object that is not there",
                   with(audited(), [](Report& r) { r.inventory->broken_links = {{"lib/libtorch_old.so"}}; }),
                   with(audited(), [](Report& r) { r.inventory->broken_links.emplace(); })});
  const auto no_nvshmem = [](Report& r) {
    std::erase_if(r.inventory->files, [](const File& file) { return file.path.ends_with("libtorch_nvshmem.so"); });
  };
  cases.push_back(
      {"PB127", "no file of libtorch needs NVSHMEM", with(audited(), no_nvshmem), with(audited(), [&](Report& r) {
         no_nvshmem(r);
         r.inventory->torch_version = "2.8.0+cu130";  // before it came
         r.inventory->component_versions->at("torch") = "2.8.0";
       })});
}

void add_cpu_cases(std::vector<Case>& cases) {
  cases.push_back(
      {"PB201", "the features of no target", with(h200(), [](Report& r) { r.host->cpu.targets.clear(); }), h200()});
  cases.push_back({"PB202", "takes its AVX2 code",
                   with(h200(), [](Report& r) { r.measurements->libtorch->cpu_capability = "AVX2"; }),
                   with(h200(), [](Report& r) {  // no AVX-512 on this CPU: AVX2 is the best there is
                     r.measurements->libtorch->cpu_capability = "AVX2";
                     std::erase_if(r.host->cpu.targets, [](const auto& id) { return id.find("512") != id.npos; });
                   })});
}

HostCode host_code(std::map<std::string, int64_t> unguarded, std::vector<CodeOffender> offenders = {}) {
  HostCode code{.functions_from = ".symtab", .unguarded = std::move(unguarded), .offenders = std::move(offenders)};
  code.least_cpu = "x86_64";
  code.tiers = {{"AVX2", {.functions = 2, .features = {{"avx2", 9}, {"fma", 4}}}},
                {"AVX512", {.functions = 2, .features = {{"avx512f", 9}}}},
                {"DEFAULT", {.functions = 2}}};
  return code;
}

File& libtorch_cpu(Report& report) {
  for (auto& file : report.inventory->files) {
    if (file.path.ends_with("/libtorch_cpu.so")) return file;
  }
  ADD_FAILURE() << "the recorded torch has no libtorch_cpu.so";
  return report.inventory->files.front();
}

Report counted(HostCode code, std::optional<Claim> claim = {}) {
  Report report = h200();
  libtorch_cpu(report).host_code = std::move(code);
  report.claim = std::move(claim);
  return report;
}

CodeOffender offender(CodeClass code_class, std::vector<std::string> features) {
  return {.function = "at::native::f()",
          .section = ".text",
          .code_class = code_class,
          .features = std::move(features),
          .instructions = 3};
}

Claim claim_of(std::string target, bool exact) {
  return {.text = "claimed", .exact = exact, .targets = {std::move(target)}, .cuda = "13.0"};
}

void add_host_code_cases(std::vector<Case>& cases) {
  const auto lacks_avx512 = [](Report& r) {
    std::erase_if(r.host->cpu.features, [](const auto& name) { return name.starts_with("avx512"); });
    std::erase_if(r.host->cpu.targets, [](const auto& id) { return id.find("512") != id.npos; });
    r.measurements->libtorch->cpu_capability = "AVX2";
  };
  const HostCode wide = host_code({{"avx512f", 7}}, {offender(CodeClass::unguarded, {"avx512f"})});
  cases.push_back({"PB203", "needs avx512f, which", with(counted(wide), lacks_avx512), counted(wide)});
  HostCode at_load = wide;
  at_load.at_load = {{"avx512f", 2}};
  HostCode by_default = wide;
  by_default.tiers["DEFAULT"].features = {{"avx512f", 5}};
  cases.push_back({"PB210", "it needs avx512f, which", with(counted(at_load), lacks_avx512), counted(at_load)});
  cases.push_back({"PB210", "or takes its default tier", with(counted(by_default), lacks_avx512),
                   with(counted(wide), lacks_avx512)});  // a function of its own may be guarded: PB203
  cases.push_back({"PB204", "needs avx2 as soon as the library is loaded",
                   counted(host_code({{"avx2", 3}}, {offender(CodeClass::static_initializer, {"avx2"})})),
                   counted(host_code({{"avx2", 9}}, {offender(CodeClass::static_initializer, {"avx2"}),
                                                     offender(CodeClass::unguarded, {"avx2"})}))});
  cases.push_back({"PB205", "took a tier's copy of it, which needs amx_fp16",
                   counted(host_code({}, {offender(CodeClass::tier_leak, {"amx_fp16"})})),
                   counted(host_code({}, {offender(CodeClass::tier_leak, {"f16c"})}))});  // this host has it
  cases.push_back({"PB206", "the AVX512 tier holds no such instruction",
                   with(counted(host_code({})),
                        [](Report& r) {
                          libtorch_cpu(r).host_code->tiers["AVX512"].features = {{"avx2", 3}};
                        }),
                   counted(host_code({}))});
  const HostCode vex = host_code({{"avx", 40}, {"avx2", 10}}, {offender(CodeClass::default_tier, {"avx2"})});
  cases.push_back({"PB207", "unguarded code needs avx2, which avx has not: at::native::f() (.text)",
                   counted(vex, claim_of("avx", true)), counted(vex, claim_of("avx2", true))});
  cases.push_back({"PB208", "avx2 is claimed, and no unguarded code of libtorch uses avx2, fma",
                   counted(host_code({}), claim_of("avx2", true)), counted(host_code({}), claim_of("avx2", false))});
  const HostCode plain512 = host_code({{"avx512f", 90}, {"avx512vl", 3}});
  cases.push_back({"PB209", "avx512bf16: 0 unguarded instructions need avx512_bf16: the same code as avx512",
                   counted(plain512, claim_of("avx512bf16", true)),
                   counted(host_code({{"avx512f", 90}, {"avx512_bf16", 1}}), claim_of("avx512bf16", true))});
}

void add_gpu_cases(std::vector<Case>& cases) {
  cases.push_back({"PB301", "no machine code or PTX that runs on 6.1",
                   with(gpu_report("GTX 1080", "6.1"),
                        [](Report& r) {
                          r.measurements->libtorch->executed_on_gpu = false;
                          r.measurements->libtorch->problem = "no kernel image is available for execution";
                        }),
                   gpu_report("NVIDIA A100", "8.0")});
  cases.push_back({"PB302", "compute_80 PTX",
                   with(h200(),
                        [](Report& r) {
                          libtorch_cuda(r).device_code = {.ptx = {{"sm_80", 444}}};
                        }),
                   h200()});
  cases.push_back({"PB303", "code made for an earlier chip of its generation, sm_120", gb10(),
                   with(gb10(), [](Report& r) { libtorch_cuda(r).device_code->cubin["sm_121"] = 444; })});
  cases.push_back({"PB304", "told differently",
                   with(gpu_report("Orin", "8.7"),
                        [](Report& r) {
                          libtorch_cuda(r).device_code = {.cubin = {{"sm_80", 444}, {"sm_90", 444}}};
                        }),
                   with(gpu_report("Orin", "8.7"), [](Report& r) {
                     libtorch_cuda(r).device_code = {.cubin = {{"sm_87", 444}, {"sm_90", 444}}};
                   })});
  cases.push_back({"PB305", "is a CPU build: it leaves GPU 0 NVIDIA H200 (9.0) unused",
                   with(h200(),
                        [](Report& r) {
                          make_cpu_build(r);
                          r.measurements->libtorch->executed_on_gpu.reset();
                        }),
                   with(cpu_report(), make_cpu_build)});
}

void add_driver_cases(std::vector<Case>& cases) {
  cases.push_back({"PB306", "built with CUDA 13.0, and the driver supports 12.8",
                   with(h200(), [](Report& r) { r.host->driver.cuda_version = "12.8"; }), h200()});
  cases.push_back({"PB307", "built with CUDA 13.2, and the driver supports 13.0",
                   with(h200(),
                        [](Report& r) {
                          r.inventory->cuda_version = "13.2";
                          r.inventory->torch_version = "2.11.0+cu132";
                        }),
                   with(h200(), [](Report& r) { r.host->driver.cuda_version = "13.2"; })});
  cases.push_back({"PB308", "GPU 0 NVIDIA H200: fell off the bus",
                   with(h200(), [](Report& r) { r.host->gpus[0].problem = "fell off the bus"; }), h200()});
  cases.push_back({"PB309", "no GPU is here", cpu_report(), h200()});
  cases.push_back({"PB310", "none of libtorch's files holds device code",
                   with(h200(),
                        [](Report& r) {
                          std::erase_if(r.inventory->files, [](const File& f) {
                            return f.component == "libtorch" && f.device_code.has_value();
                          });
                        }),
                   h200()});
  cases.push_back({"PB311", "NCCL holds no code that runs on GPU 0 NVIDIA H200",
                   with(h200(),
                        [](Report& r) {
                          for (auto& file : r.inventory->files) {
                            if (file.component == "NCCL") file.device_code = {.cubin = {{"sm_120", 12}}};
                          }
                        }),
                   h200()});
  cases.push_back({"PB312", "older than pbprobe needs",
                   with(h200(),
                        [](Report& r) {
                          r.host->driver.state = DriverState::too_old;
                          r.host->driver.sentence = "The driver is older than pbprobe needs";
                        }),
                   h200()});
  cases.push_back({"PB313", "libtorch_cuda_linalg.so holds no code that runs on GPU 0 Tesla T4 (7.5)",
                   gpu_report("Tesla T4", "7.5"), h200()});
}

void add_running_cases(std::vector<Case>& cases) {
  cases.push_back({"PB501", "died of SIGILL",
                   with(h200(),
                        [](Report& r) {
                          r.measurements->libtorch = LibtorchRun{.path = "/opt", .problem = "loading died of SIGILL"};
                        }),
                   h200()});
  cases.push_back({"PB502", "the product was wrong",
                   with(h200(),
                        [](Report& r) {
                          r.measurements->libtorch->executed = false;
                          r.measurements->libtorch->problem = "the product was wrong";
                        }),
                   h200()});
  cases.push_back({"PB503", "device-side assert",
                   with(h200(),
                        [](Report& r) {
                          r.measurements->libtorch->executed_on_gpu = false;
                          r.measurements->libtorch->problem = "device-side assert";
                        }),
                   h200()});
  cases.push_back({"PB504", "wrong result",
                   with(h200(), [](Report& r) { r.measurements->problems = {"gemm_fp32: wrong result"}; }), h200()});
  cases.push_back(
      {"PB505", "could not be read", with(h200(), [](Report& r) { r.problems = {"x could not be read"}; }), h200()});
  cases.push_back({"PB506", "the loaded library says 2.10.0",
                   with(h200(), [](Report& r) { r.measurements->libtorch->version = "2.10.0"; }),
                   with(h200(), [](Report& r) { r.inventory->torch_version = "2.11.0.dev20260101+cu130"; })});
  cases.push_back({"PB507", "3.0 times as fast", with(h200(), [](Report& r) { r.measurements->rows = {bench_row(3)}; }),
                   with(h200(), [](Report& r) { r.measurements->rows = {bench_row(1.1)}; })});
  cases.push_back({"PB508", "softmax on cpu: element 3 is 1, and must be 0.1",
                   with(h200(),
                        [](Report& r) {
                          r.measurements->libtorch->areas = {{"sort", "cpu", std::nullopt},
                                                             {"softmax", "cpu", "element 3 is 1, and must be 0.1"}};
                        }),
                   with(h200(), [](Report& r) {
                     r.measurements->libtorch->areas = {{"sort", "cpu", std::nullopt}};
                   })});
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> built;
    add_file_cases(built);
    add_claim_cases(built);
    add_claimed_unit_cases(built);
    add_claimed_library_cases(built);
    add_cuda_cases(built);
    add_closure_cases(built);
    add_package_cases(built);
    add_cpu_cases(built);
    add_host_code_cases(built);
    add_gpu_cases(built);
    add_driver_cases(built);
    add_running_cases(built);
    return built;
  }();
  return all;
}

const Check& check_of(const std::string& id) {
  const auto checks = all_checks();
  const auto found = std::find_if(checks.begin(), checks.end(), [&](const Check& check) { return check.id == id; });
  EXPECT_NE(found, checks.end()) << id << " is not in the catalogue";
  return *found;
}

TEST(Catalogue, EveryCheckHasAPlantedFaultAndATwin) {
  std::set<std::string> planted, known;
  for (const auto& c : cases()) planted.insert(c.id);
  for (const auto& check : all_checks()) known.insert(std::string(check.id));
  EXPECT_EQ(planted, known);
}

TEST(Catalogue, IdsAreUniqueAndInOrderAndEveryRowIsWhole) {
  std::string last;
  for (const auto& check : all_checks()) {
    EXPECT_LT(last, check.id);
    last = check.id;
    EXPECT_THAT(last, testing::MatchesRegex("PB[1-5][0-9][0-9]"));
    EXPECT_TRUE(check.question.ends_with("?")) << check.id;
    EXPECT_GT(check.remedy.size(), 10U) << check.id;
    EXPECT_NE(check.ask, nullptr) << check.id;
  }
}

TEST(Catalogue, MarkdownHasARowForEachCheck) {
  const std::string text = checks_markdown();
  for (const auto& check : all_checks()) EXPECT_THAT(text, testing::HasSubstr("| " + std::string(check.id) + " |"));
}

TEST(Checks, FindTheirPlantedFaultAndNothingElse) {
  for (const auto& c : cases()) {
    SCOPED_TRACE(c.id);
    const Check& check = check_of(c.id);
    const Verdict verdict = judge(c.planted);
    bool found = false;
    for (const auto& finding : verdict.findings) {
      if (finding.id == c.id) {
        found = true;
        EXPECT_EQ(finding.severity, check.severity);
        EXPECT_THAT(finding.what, testing::HasSubstr(c.says));
        EXPECT_FALSE(finding.remedy.empty());
      } else {
        const bool expected = c.beside.count(finding.id) == 1 && finding.severity != Severity::fail;
        EXPECT_TRUE(expected) << finding.id << ": " << finding.what;
      }
    }
    EXPECT_TRUE(found) << "verdict: " << verdict.reason;
    EXPECT_EQ(verdict.outcome == Outcome::fail, check.severity == Severity::fail) << verdict.reason;
    if (check.severity == Severity::fail) {
      EXPECT_THAT(verdict.reason, testing::HasSubstr(c.says));
      EXPECT_TRUE(verdict.fix && !verdict.fix->empty());
    }
  }
}

TEST(Checks, AreSilentOnTheSoundTwin) {
  for (const auto& c : cases()) {
    SCOPED_TRACE(c.id);
    const Verdict verdict = judge(c.twin);
    for (const auto& finding : verdict.findings) {
      EXPECT_NE(finding.id, c.id) << finding.what;
      EXPECT_NE(finding.severity, Severity::fail) << finding.id << ": " << finding.what;
    }
    EXPECT_NE(verdict.outcome, Outcome::fail);
  }
}

}  // namespace
}  // namespace pbprobe::test
