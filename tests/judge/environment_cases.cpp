// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// PB167 and later: packages beside a sound torch, on a machine with an H200 and a driver for CUDA 13.0.
#include <functional>

#include "tests/judge/planted.hpp"

namespace pbprobe::test {
namespace {

Distribution make_device_row(const char* name, std::map<std::string, int64_t> cubins = {}) {
  Distribution row{.name = name, .version = "1.0", .folder = std::string(name) + "-1.0.dist-info"};
  row.torch_abi = cubins.empty() ? TorchAbi::none : TorchAbi::cxx;
  row.cubin = std::move(cubins);
  return row;
}

Report make_row_report(
    Distribution row, const std::function<void(Environment&)>& change = [](Environment&) {}) {
  Report report = h200();
  Environment& environment = report.environment.emplace();
  environment.distributions = {{.name = "torch", .version = "2.11.0", .torch_abi = TorchAbi::own}, std::move(row)};
  change(environment);
  return report;
}

Distribution found(Distribution row, const char* id, Severity severity, std::string what, std::string where) {
  row.findings = {
      {.id = id, .severity = severity, .what = std::move(what), .where = std::move(where), .remedy = "fix it"}};
  row.worst = severity;
  return row;
}

Distribution cublas() {
  Distribution row = make_device_row("nvidia-cublas", {{"sm_90", 1}});
  row.version = "13.1.0.3";
  row.recorded.emplace().files = 3;
  return row;
}

Distribution make_ptx_row(const char* sm, const char* version) {
  Distribution row = make_device_row("ext", {{"sm_120", 1}});
  row.ptx = {{sm, 1}};
  row.ptx_versions = {{sm, version}};
  return row;
}

void add_stack_cases(std::vector<Case>& cases) {
  const std::string stack = " asks for an executable stack, and glibc 2.41 of this machine refuses it";
  const auto with_glibc = [](Report report, const char* version) {
    return with(std::move(report), [=](Report& r) { r.host->glibc = version; });
  };
  // A sound library, and a copy of it for a CPU level.
  const auto of_torch = [](bool plain, bool level) {
    return with(h200(), [=](Report& r) {
      File& file = file_named(r, "libtorch_cpu.so");
      if (!file.links) file.links.emplace();
      file.links->executable_stack = plain;
      File copy = file;
      copy.links->executable_stack = level;
      copy.path.insert(copy.path.rfind('/') + 1, "glibc-hwcaps/x86-64-v4/");
      r.inventory->files.push_back(std::move(copy));
    });
  };
  const std::string torch = "torch 2.11.0+cu130: libtorch_cpu.so" + stack;
  cases.push_back({"PB185", torch, with_glibc(of_torch(true, true), "2.41"), with_glibc(of_torch(true, true), "2.40")});
  cases.push_back(
      {"PB185", torch, with_glibc(of_torch(false, true), "2.41"), with_glibc(of_torch(true, false), "2.41")});
  const auto in_row = [](const char* name, std::map<std::string, int64_t> cubins) {
    return make_row_report(found(make_device_row(name, std::move(cubins)), "PB181", Severity::warn,
                                 std::string(name) + " 1.0: _C.so asks for an executable stack", "ext/_C.so"));
  };
  cases.push_back({"PB185", "ext 1.0: _C.so" + stack, with_glibc(in_row("ext", {{"sm_90", 1}}), "2.41"),
                   with_glibc(in_row("ext", {{"sm_90", 1}}), "2.36")});
  cases.push_back({"PB167", "pillow 1.0: _C.so asks for an executable stack", with_glibc(in_row("pillow", {}), "2.42"),
                   with_glibc(in_row("pillow", {}), "2.36")});
}

}  // namespace

void add_environment_cases(std::vector<Case>& cases) {
  const std::string lacks = "which neither the environment nor the system has";
  const auto sound = make_row_report(make_device_row("ext", {{"sm_90", 1}}));
  cases.push_back({"PB161", "ext 1.0: _C.so needs libcudart.so.7",
                   make_row_report(found(make_device_row("ext", {{"sm_90", 1}}), "PB161", Severity::fail,
                                         "ext 1.0: _C.so needs libcudart.so.7, " + lacks, "ext/_C.so")),
                   sound});
  cases.push_back({"PB167", "pillow 13.0.0: _imaging.so needs libtiff.so.7",
                   make_row_report(found(make_device_row("pillow"), "PB161", Severity::fail,
                                         "pillow 13.0.0: _imaging.so needs libtiff.so.7, " + lacks, "PIL/_imaging.so")),
                   make_row_report(make_device_row("pillow"))});
  const std::string processor = "nvidia-cublas 13.1.0.3 is built for aarch64, and torch for x86_64";
  cases.push_back(
      {"PB178", processor,
       make_row_report(found(cublas(), "PB178", Severity::fail, processor, "nvidia/cu13/lib/libcublas.so.13")),
       make_row_report(cublas())});
  const auto changed = [](const char* how, std::optional<std::string> owner) {
    Distribution row = cublas();
    row.recorded->changed = 1;
    row.recorded->reinstall = true;
    row.recorded->changed_libraries = {{"nvidia/cu13/lib/libcublasLt.so.13", how, std::move(owner)}};
    return found(std::move(row), "PB102", Severity::warn, "it has another", "nvidia/cu13/lib/libcublasLt.so.13");
  };
  cases.push_back(
      {"PB168", "nvidia-cublas 13.1.0.3: nvidia/cu13/lib/libcublasLt.so.13 has another SHA-256 than its RECORD",
       make_row_report(changed("another SHA-256", {}),
                       [](Environment& e) { e.reinstall = "python -m pip install nvidia-cublas==13.1.0.3"; }),
       make_row_report(cublas())});
  cases.push_back({"PB168", ": nvidia_cublas_cu12-12.8.dist-info wrote the same path",
                   make_row_report(changed("another size", "nvidia_cublas_cu12-12.8.dist-info")),
                   make_row_report(cublas())});
  Distribution lost = cublas();
  lost.recorded->missing = 1;
  lost.recorded->reinstall = true;
  lost.recorded->first_missing = {"nvidia/cu13/lib/libcublas.so.13"};
  cases.push_back({"PB168",
                   "1 of the 3 files that its RECORD lists are missing, the first is nvidia/cu13/lib/libcublas.so.13",
                   make_row_report(lost), make_row_report(cublas())});
  cases.push_back(
      {"PB169", "ext 1.0 holds no device code that runs on GPU 0 NVIDIA H200 (9.0): its device code is sm_80, sm_120",
       make_row_report(make_device_row("ext", {{"sm_80", 1}, {"sm_120", 2}})), sound});
  cases.push_back({"PB169", "its device code is sm_100f", make_row_report(make_device_row("ext", {{"sm_100f", 1}})),
                   make_row_report(make_device_row("nvidia-nccl-cu13", {{"sm_80a", 1}, {"sm_120", 2}}))});
  cases.push_back({"PB170",
                   "ext 1.0 has only PTX for GPU 0 NVIDIA H200 (9.0), of ISA 9.2, and the driver supports CUDA 13.0",
                   make_row_report(make_ptx_row("sm_80", "9.2")), make_row_report(make_ptx_row("sm_80", "9.0"))});
  cases.push_back({"PB170", "only PTX for GPU 0 NVIDIA H200 (9.0), of ISA 9.1",
                   make_row_report(make_ptx_row("sm_90", "9.1")), make_row_report(make_ptx_row("sm_90", "10.0"))});
}

void add_other_machine_cases(std::vector<Case>& cases) {
  add_stack_cases(cases);
  const auto with_cpu_needs = [](std::vector<std::string> needs) {
    Distribution row = make_device_row("ext");
    row.cpu_needs = std::move(needs);
    return with(make_row_report(row), [](Report& r) { std::erase(r.host->cpu.features, "avx"); });
  };
  cases.push_back({"PB218", "ext 1.0 is built for CPUs with avx, which Intel(R) Xeon(R) Processor lacks",
                   with_cpu_needs({"avx"}), with_cpu_needs({"popcnt"})});
  const auto with_glibc = [](const char* needed, const char* there, bool recorded) {
    Distribution row = make_device_row("ext");
    row.glibc = needed;
    return with(make_row_report(row, [](Environment& e) { e.interpreter = "/env/bin/python3.11"; }), [=](Report& r) {
      r.inventory->version_floors = std::map<std::string, std::string>{{"GLIBC", "2.28"}};
      r.host->glibc = there;
      if (recorded) r.problems = {std::string(kRecordedMachine)};
    });
  };
  cases.push_back({"PB184",
                   "torch 2.11.0+cu130 and ext 1.0 need glibc up to 2.28, and this machine has 2.17",
                   with_glibc("2.18", "2.17", true),
                   with_glibc("2.18", "2.28", true),
                   {"PB505"}});
  cases.push_back({"PB184",
                   "ext 1.0 needs glibc 2.34, and this machine has 2.28",
                   with_glibc("2.34", "2.28", true),
                   with_glibc("2.34", "2.28", false),
                   {"PB505"}});
}

}  // namespace pbprobe::test
