// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// PB2xx, PB301 to PB313, PB5xx: checks of a machine.
#include <algorithm>

#include "tests/judge/planted.hpp"

namespace pbprobe::test {
namespace {

Report gb10() {
  return gpu_report("NVIDIA GB10", "12.1");
}

void add_cpu_cases(std::vector<Case>& cases) {
  cases.push_back({"PB201", "the CPU features of none of pbprobe's targets",
                   with(h200(), [](Report& r) { r.host->cpu.targets.clear(); }), h200()});
  const auto with_fbgemm = [](std::vector<std::string> targets) {
    return with(h200(), [&](Report& r) {
      r.host->cpu.targets = std::move(targets);
      r.host->cpu.features = {"pni", "ssse3", "sse4_1", "sse4_2"};
      File& file = r.inventory->files.emplace_back();
      file.path = "torch/lib/libtorch_cpu.so";
      file.component = "libtorch";
      file.links.emplace().contains = {"FBGEMM"};
    });
  };
  cases.push_back({"PB201",
                   "has no avx: torch computes with its code for every CPU, and dynamically quantized layers can end",
                   with_fbgemm({}), with_fbgemm({"avx"})});
  cases.push_back({"PB202", "selects its AVX2 code",
                   with(h200(), [](Report& r) { r.measurements->libtorch->cpu_capability = "AVX2"; }),
                   with(h200(), [](Report& r) {  // without AVX-512, AVX2 is the best capability
                     r.measurements->libtorch->cpu_capability = "AVX2";
                     std::erase_if(r.host->cpu.targets, [](const auto& id) { return id.find("512") != id.npos; });
                   })});
}

HostCode host_code(std::map<std::string, int64_t> unguarded, std::vector<CodeOffender> offenders = {}) {
  HostCode code{.functions_from = ".symtab", .unguarded = std::move(unguarded), .offenders = std::move(offenders)};
  code.minimum_cpu = "x86_64";
  code.cpu_capabilities = {{"AVX2", {.functions = 2, .features = {{"avx2", 9}, {"fma", 4}}}},
                           {"AVX512", {.functions = 2, .features = {{"avx512f", 9}}}},
                           {"DEFAULT", {.functions = 2}}};
  return code;
}

HostCode make_avx512_code() {
  return host_code({{"avx512f", 90}, {"avx512vl", 3}, {"avx512dq", 2}, {"avx512bw", 5}});
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

Claim claim_cpu(std::string target, bool exact) {
  return {.text = "claimed", .exact = exact, .targets = {std::move(target)}, .cuda = "13.0"};
}

void add_host_code_cases(std::vector<Case>& cases) {
  const auto lacks_avx512 = [](Report& r) {
    std::erase_if(r.host->cpu.features, [](const auto& name) { return name.starts_with("avx512"); });
    std::erase_if(r.host->cpu.targets, [](const auto& id) { return id.find("512") != id.npos; });
    r.measurements->libtorch->cpu_capability = "AVX2";
  };
  const HostCode wide = host_code({{"avx512f", 7}}, {offender(CodeClass::unguarded, {"avx512f"})});
  const auto beside = [&](const char* level) {
    return with(counted(host_code({})), [&](Report& r) {
      File copy = libtorch_cpu(r);
      copy.path = fmt::format("torch/lib/glibc-hwcaps/{}/libtorch_cpu.so", level);
      copy.host_code = wide;
      r.inventory->files.push_back(std::move(copy));
    });
  };
  cases.push_back({"PB150", "needs avx512f, which the level of its folder does not promise: at::native::f() (.text)",
                   beside("x86-64-v3"), beside("x86-64-v4")});
  cases.push_back(
      {"PB150", "needs avx512f", beside("x86-64-v2"), counted(wide)});  // PB203 covers files outside of glibc-hwcaps
  cases.push_back({"PB203", "needs avx512f, which", with(counted(wide), lacks_avx512), counted(wide)});
  HostCode at_load = wide;
  at_load.at_load = {{"avx512f", 2}};
  HostCode by_default = wide;
  by_default.cpu_capabilities["DEFAULT"].features = {{"avx512f", 5}};
  cases.push_back(
      {"PB210", "this library needs avx512f, which", with(counted(at_load), lacks_avx512), counted(at_load)});
  cases.push_back({"PB210", "or uses its default CPU capability", with(counted(by_default), lacks_avx512),
                   with(counted(wide), lacks_avx512)});  // a guard is possible: PB203
  cases.push_back({"PB204", "needs avx2 as soon as the library is loaded",
                   counted(host_code({{"avx2", 3}}, {offender(CodeClass::static_initializer, {"avx2"})})),
                   counted(host_code({{"avx2", 9}}, {offender(CodeClass::static_initializer, {"avx2"}),
                                                     offender(CodeClass::unguarded, {"avx2"})}))});
}

// Another library of torch with many marks does not answer for the library with the kernels.
void add_kernel_mark_cases(std::vector<Case>& cases) {
  const auto with_c10 = [](int64_t instructions) {
    HostCode kernels = host_code({{"avx2", 9}, {"fma", 4}});
    kernels.unguarded_instructions = instructions;
    return with(counted(kernels, claim_cpu("avx2", true)), [](Report& r) {
      for (auto& file : r.inventory->files) {
        if (!file.path.ends_with("/libc10.so")) continue;
        file.host_code = host_code({{"avx2", 90000}});
        file.host_code->cpu_capabilities.clear();  // libc10 has no kernels
        file.host_code->unguarded_instructions = 100000;
      }
    });
  };
  cases.push_back({"PB208", "and of 1000000 instructions that run on every CPU only 9 use avx2, fma", with_c10(1000000),
                   with_c10(1000)});
}

void add_claimed_isa_cases(std::vector<Case>& cases) {
  HostCode initialized = host_code({{"avx", 40}, {"fma", 3}}, {offender(CodeClass::static_initializer, {"fma"})});
  initialized.at_load = {{"fma", 3}};
  HostCode used_too = initialized;
  used_too.unguarded["fma"] = 4;
  used_too.offenders.push_back(offender(CodeClass::unguarded, {"fma"}));
  HostCode used_with_avx2 = used_too;
  used_with_avx2.unguarded["avx2"] = 9;
  // PB204 alone reports features that only initializers use.
  cases.push_back({"PB204", "needs fma as soon as the library is loaded", counted(initialized, claim_cpu("avx", true)),
                   counted(used_too, claim_cpu("avx2", false))});
  cases.push_back({"PB207", "unguarded code needs fma, which avx lacks", counted(used_too, claim_cpu("avx", true)),
                   counted(used_with_avx2, claim_cpu("avx2", true))});
  cases.push_back({"PB207", "unguarded code needs fma, which avx lacks", counted(used_too, claim_cpu("avx", false)),
                   counted(used_too, claim_cpu("avx2", false))});  // AVX2 CPUs have FMA
  cases.push_back({"PB205", "kept the copy of it that was compiled for one CPU capability and needs amx_fp16",
                   counted(host_code({}, {offender(CodeClass::capability_leak, {"amx_fp16"})})),
                   counted(host_code({}, {offender(CodeClass::capability_leak, {"f16c"})}))});  // this host has F16C
  cases.push_back({"PB206", "the AVX512 CPU capability holds no such instruction",
                   with(counted(host_code({})),
                        [](Report& r) {
                          libtorch_cpu(r).host_code->cpu_capabilities["AVX512"].features = {{"avx2", 3}};
                        }),
                   counted(host_code({}))});
  const HostCode vex =
      host_code({{"avx", 40}, {"avx2", 10}, {"fma", 2}}, {offender(CodeClass::default_capability, {"avx2"})});
  cases.push_back({"PB207", "unguarded code needs avx2, fma, which avx lacks: at::native::f() (.text)",
                   counted(vex, claim_cpu("avx", true)), counted(vex, claim_cpu("avx2", true))});
  cases.push_back({"PB208", "avx2 is claimed, and no unguarded code of libtorch uses avx2, fma",
                   counted(host_code({}), claim_cpu("avx2", true)), counted(host_code({}), claim_cpu("avx2", false))});
  const auto of_all = [](int64_t instructions) {
    HostCode code = host_code({{"avx2", 9}, {"fma", 4}});
    code.unguarded_instructions = instructions;
    return code;
  };
  cases.push_back({"PB208", "and of 1000000 instructions that run on every CPU only 9 use avx2, fma",
                   counted(of_all(1000000), claim_cpu("avx2", true)), counted(of_all(1000), claim_cpu("avx2", true))});
  // A flag is missing, or a later flag disabled it. Claims that are not exact, and small libraries, pass without it.
  const auto of_a_library = [](std::map<std::string, int64_t> unguarded) {
    HostCode code = host_code(std::move(unguarded));
    code.unguarded_instructions = 60000;
    return code;
  };
  const HostCode by_fma = of_a_library({{"avx", 40}, {"fma", 90}});
  const HostCode half512 = of_a_library({{"avx512f", 90}, {"avx512vl", 3}});
  HostCode few512 = half512;
  few512.unguarded_instructions = 49999;
  cases.push_back(
      {"PB208",
       "avx2 is claimed with `only`, and unguarded code of libtorch never uses avx2: the build lacked a compiler flag",
       counted(by_fma, claim_cpu("avx2", true)), counted(by_fma, claim_cpu("avx2", false))});
  cases.push_back({"PB208", "unguarded code of libtorch never uses avx512dq, avx512bw: the build lacked a compiler",
                   counted(half512, claim_cpu("avx512", true)), counted(few512, claim_cpu("avx512", true))});
  const HostCode plain512 = make_avx512_code();
  HostCode with_bf16 = plain512;
  with_bf16.unguarded["avx512_bf16"] = 1;
  cases.push_back({"PB209", "and no unguarded instruction needs avx512_bf16: the build is the same as for avx512",
                   counted(plain512, claim_cpu("avx512bf16", true)),
                   counted(with_bf16, claim_cpu("avx512bf16", true))});
}

Report loading(LoadCode code, const char* target) {
  const HostCode used = std::string(target) == "avx2" ? host_code({{"avx2", 9}, {"fma", 4}}) : make_avx512_code();
  return with(counted(used, claim_cpu(target, true)), [&](Report& r) {
    libtorch_cpu(r).host_code->code_bytes = 900;
    libtorch_cpu(r).machine = "x86_64";
    libtorch_cpu(r).load_code = std::move(code);
  });
}

Report emulated(LoadOutcome outcome) {
  return with(loading({}, "avx2"), [&](Report& r) {
    r.emulated_loads = {{.target = "avx2", .cpu = "Haswell", .outcome = outcome, .library = "libc10.so", .what = "it"}};
  });
}

void add_load_code_cases(std::vector<Case>& cases) {
  const LoadCode holds{.functions = 2, .open = {offender(CodeClass::static_initializer, {"avx512f"})}};
  cases.push_back({"PB211", "may call at::native::f(), which needs avx512f, and avx2 lacks that",
                   loading(holds, "avx2"), loading(holds, "avx512")});
  const auto needs = [](const char* feature) {
    return with(loading({}, "avx2"), [&](Report& r) {
      libtorch_cpu(r).needed = {"libgomp.so.1"};
      r.inventory->files.push_back({.path = "torch/lib/libgomp.so.1",
                                    .machine = "x86_64",
                                    .load_code = LoadCode{.functions = 1, .features = {{feature, 2}}}});
    });
  };
  const auto capability_with = [](const char* feature) {
    return with(loading({}, "avx2"),
                [&](Report& r) { libtorch_cpu(r).host_code->cpu_capabilities["AVX2"].features[feature] = 1; });
  };
  cases.push_back({"PB207", "the code for torch's CPU capability AVX2 needs avx_ifma", capability_with("avx_ifma"),
                   capability_with("bmi2")});
  cases.push_back(
      {"PB212", "this library needs avx512f while it is loaded, which avx2 lacks", needs("avx512f"), needs("avx2")});
  cases.push_back({"PB213", "this file is for the processor aarch64, and libc10.so is for x86_64",
                   with(loading({}, "avx2"), [](Report& r) { libtorch_cpu(r).machine = "aarch64"; }),
                   loading({}, "avx2")});
  cases.push_back({"PB214", "an instruction that pbprobe does not know: f (.text) at 0x10: 62",
                   loading({.functions = 1, .unknown_opcode = "f (.text) at 0x10: 62"}, "avx2"), loading({}, "avx2")});
  cases.push_back({"PB217", "set_fast_math makes the CPU flush subnormal numbers to zero",
                   loading({.functions = 1, .flushes = "set_fast_math"}, "avx2"), loading({.functions = 1}, "avx2")});
  cases.push_back({"PB215", "the process on an emulated CPU of avx2 (Haswell) died while it loaded this library",
                   emulated(LoadOutcome::died), emulated(LoadOutcome::loaded)});
  cases.push_back({"PB216", "none of torch's CPU kernels (capability DEFAULT)",
                   with(loading({}, "avx2"), [](Report& r) { libtorch_cpu(r).host_code->cpu_capabilities.clear(); }),
                   loading({}, "avx2")});
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
  cases.push_back({"PB303", "code that was compiled for an earlier chip of its generation, sm_120", gb10(),
                   with(gb10(), [](Report& r) { libtorch_cuda(r).device_code->cubin["sm_121"] = 444; })});
  cases.push_back({"PB304", "sources disagree",
                   with(gpu_report("Orin", "8.7"),
                        [](Report& r) {
                          libtorch_cuda(r).device_code = {.cubin = {{"sm_80", 444}, {"sm_90", 444}}};
                        }),
                   with(gpu_report("Orin", "8.7"), [](Report& r) {
                     libtorch_cuda(r).device_code = {.cubin = {{"sm_87", 444}, {"sm_90", 444}}};
                   })});
  cases.push_back({"PB305", "is a build without CUDA: it does not use GPU 0 NVIDIA H200 (9.0)",
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
  cases.push_back({"PB309", "no GPU is visible", cpu_report(), h200()});
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
  cases.push_back({"PB506", "the loaded library states 2.10.0",
                   with(h200(), [](Report& r) { r.measurements->libtorch->version = "2.10.0"; }),
                   with(h200(), [](Report& r) { r.inventory->torch_version = "2.11.0.dev20260101+cu130"; })});
  cases.push_back({"PB508", "softmax on cpu: element 3 is 1, and must be 0.1",
                   with(h200(),
                        [](Report& r) {
                          r.measurements->libtorch->areas = {
                              {"sort", "cpu", std::nullopt, std::nullopt},
                              {"softmax", "cpu", "element 3 is 1, and must be 0.1", std::nullopt}};
                        }),
                   with(h200(), [](Report& r) {
                     r.measurements->libtorch->areas = {{"sort", "cpu", std::nullopt, "not asked"}};
                   })});
  const auto with_loader = [](bool finds_libcuda) {
    return with(h200(), [&](Report& r) {
      r.measurements->libtorch->loader =
          ForeignLoader{"/nix/store/x-glibc-2.40/lib/ld-linux-x86-64.so.2", "2.40", "ldconfig", finds_libcuda};
    });
  };
  cases.push_back(
      {"PB513", "libtorch's code wrote to the channel of pbprobe's results: 24 bytes that begin with",
       with(h200(),
            [](Report& r) {
              r.measurements->libtorch->intruded =
                  "24 bytes that begin with \"{\"finished\": true}\", while /opt/libtorch_cpu.so was loaded";
            }),
       h200()});
  cases.push_back({"PB509", "libcuda is not reachable for this torch", with_loader(false), with_loader(true)});
}

void add_baseline_cases(std::vector<Case>& cases) {
  const auto softmax = [](double low, double high) {
    return with(h200(), [&](Report& r) { r.baseline = beside({area_gain("softmax", "cpu", low, high)}); });
  };
  cases.push_back({"PB520", "slower than the baseline: softmax on cpu: 0.92 times as fast (0.90 to 0.94)",
                   softmax(0.90, 0.94), softmax(1.1, 1.2)});
  cases.push_back({"PB521", "no gain shown: softmax on cpu: 1.00 times as fast (0.99 to 1.01)", softmax(0.99, 1.01),
                   softmax(1.1, 1.2)});
  const auto sized = [&](int64_t bytes) {
    Report report = softmax(1.1, 1.2);
    report.baseline->bytes = bytes << 20;
    return report;
  };
  cases.push_back({"PB522",
                   "1000 MB against 1000 MB of the baseline (+0 %; specialized builds promise 50 to 70 % less)",
                   sized(1000), sized(999)});
}

void add_start_cases(std::vector<Case>& cases) {
  const auto with_library = [](LibtorchLibrary library) {
    return with(h200(), [&](Report& r) {
      r.inventory->component_versions = {{"cuDNN", "9.19.0.56"}, {"NCCL", "2.28.9"}};
      r.measurements->libtorch->libraries = {std::move(library)};
    });
  };
  const LibtorchLibrary good{"cuDNN", "9.19.0", "9.19.0", "/opt/libcudnn.so.9"};
  cases.push_back({"PB510", "libtorch loaded cuDNN 9.13.0, and was compiled with 9.19.0",
                   with_library({"cuDNN", "9.19.0", "9.13.0", "/usr/lib/libcudnn.so.9"}), with_library(good)});
  cases.push_back({"PB510", "libtorch loaded NCCL 2.27.3, and the installed package of NCCL has version 2.28.9",
                   with_library({"NCCL", "2.27.3", "2.27.3", "/usr/lib/libnccl.so.2"}),
                   with_library({"NCCL", "2.28.9", "2.28.9", {}})});
  const auto with_start = [](LibtorchStart start) {
    return with(h200(), [&](Report& r) { r.measurements->libtorch->starts = {std::move(start)}; });
  };
  cases.push_back({"PB511", "the first tensor on cuda:0 took 31 s (as it stands)",
                   with_start({"as it stands", "cuda:0", 31.0, {}, {}, {}}),
                   with_start({"as it stands", "cuda:0", 2.5, {}, {}, {}})});
  // A slow start with forced PTX is no fault of a build with machine code.
  cases.push_back({"PB511", "the first tensor on cuda:0 took 25 s (filled driver cache)",
                   with_start({"filled driver cache", "cuda:0", 25.0, {}, {}, {}}),
                   with_start({"CUDA_FORCE_PTX_JIT=1", "cuda:0", 25.0, {}, {}, {}})});
  const std::string no_cubin = "aten::neg.out: libtorch threw an exception";
  cases.push_back({"PB512", "with CUDA_DISABLE_PTX_JIT=1 libtorch does not compute on cuda:0: " + no_cubin,
                   with_start({"CUDA_DISABLE_PTX_JIT=1", "cuda:0", {}, {}, {}, no_cubin}),
                   // A build without PTX fails with forced PTX, which is no fault.
                   with_start({"CUDA_FORCE_PTX_JIT=1", "cuda:0", {}, {}, {}, no_cubin})});
}

}  // namespace

void add_machine_cases(std::vector<Case>& cases) {
  add_cpu_cases(cases);
  add_host_code_cases(cases);
  add_claimed_isa_cases(cases);
  add_kernel_mark_cases(cases);
  add_load_code_cases(cases);
  add_gpu_cases(cases);
  add_driver_cases(cases);
  add_running_cases(cases);
  add_baseline_cases(cases);
  add_start_cases(cases);
}

}  // namespace pbprobe::test
