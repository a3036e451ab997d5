// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// PB330 and later: false fatbin entries, a CUDA build without its library, kernels that do nothing.
#include <algorithm>
#include <functional>

#include "tests/judge/planted.hpp"

namespace pbprobe::test {
namespace {

// Returns the public build with its true claim and census.
Report sm90_build() {
  Report report = claimed({.targets = {"sm90"}, .cuda = "13.0"});
  auto& code = *libtorch_cuda(report).device_code;
  code.census = {{{"sm_90", {.kernels = 21495, .cubins = 444, .empty_cubins = 42, .idle_kernels = 172}},
                  {"sm_90a", {.kernels = 247, .cubins = 4, .empty_cubins = 0, .idle_kernels = 128}},
                  {"sm_80", {.kernels = 21495, .cubins = 444, .empty_cubins = 42, .idle_kernels = 274}}}};
  return report;
}

Report change_sm90_build(const std::function<void(DeviceCode&)>& change) {
  return with(sm90_build(), [&](Report& r) { change(*libtorch_cuda(r).device_code); });
}

File& find_component_file(Report& report, const std::string& component) {
  return *std::find_if(report.inventory->files.begin(), report.inventory->files.end(),
                       [&](const File& file) { return file.component == component; });
}

Report make_nccl_report(const SmCensus& census) {
  return with(sm90_build(), [&](Report& r) {
    find_component_file(r, "NCCL").device_code = DeviceCode{
        .cubin = {{"sm_80", 12}, {"sm_90", 12}}, .census = {{{"sm_80", {.kernels = 85}}, {"sm_90", census}}}};
  });
}

// Returns a report with a cuBLAS like version 13.1 for SM 12.1: all kernels are for the lower minor, except an idle
// one.
Report make_cublas_report(const SmCensus& census) {
  Report report = claimed({.targets = {"sm86"}});
  find_component_file(report, "cuBLAS").device_code =
      DeviceCode{.cubin = {{"sm_80", 40}, {"sm_86", 1}},
                 .census = {{{"sm_80", census}, {"sm_86", {.kernels = 1, .cubins = 1, .idle_kernels = 1}}}},
                 .false_entries = 0};
  return report;
}

// Adds a second cuBLAS file next to the sound one.
Report add_second_cublas(std::map<std::string, int64_t> cubins) {
  return with(sm90_build(), [&](Report& r) {
    File& file = r.inventory->files.emplace_back();
    file = {.path = "nvidia/cublas/lib/libcublasLt.so.13", .component = "cuBLAS"};
    if (!cubins.empty()) file.device_code = DeviceCode{.cubin = std::move(cubins), .false_entries = 0};
  });
}

void plant_false_entries(DeviceCode& code) {
  code.false_entries = 545;
  code.first_false_entries = {{.label = "cubin for sm_103", .offset = 0x1f40, .seen = "an ELF file for sm_120"}};
}

void add_entry_cases(std::vector<Case>& cases) {
  cases.push_back({"PB330",
                   "545 of the fatbin entries of libtorch_cuda.so do not match their headers: the cubin for sm_103 at "
                   "offset 0x1f40 is an ELF file for sm_120",
                   change_sm90_build(plant_false_entries), sm90_build()});
  cases.push_back({"PB330", "1 of the fatbin entries of libnccl.so.2 does not match its header: the cubin for sm_90",
                   with(sm90_build(),
                        [](Report& r) {
                          find_component_file(r, "NCCL").device_code->false_entries = 1;
                          find_component_file(r, "NCCL").device_code->first_false_entries = {
                              {{.label = "cubin for sm_90", .offset = 64, .seen = "not an ELF file"}}};
                        }),
                   sm90_build()});
  // PB102 covers libraries without a claim.
  cases.push_back({"PB102", "1 of its fatbin entries does not match its header: the PTX for sm_80 at 0x40 is PTX for",
                   with(sm90_build(),
                        [](Report& r) {
                          File& file = r.inventory->files.emplace_back();
                          file = {.path = "nvidia/lib/libcufft.so.12", .component = "cuFFT"};
                          file.device_code.emplace().false_entries = 1;
                          file.device_code->first_false_entries = {
                              {{.label = "PTX for sm_80", .offset = 64, .seen = "PTX for sm_90"}}};
                        }),
                   sm90_build()});
  // Units without machine code lack the claimed SM.
  cases.push_back({"PB314", "sm90 is claimed, and only 444 of the 543 translation units of libtorch_cuda.so hold",
                   change_sm90_build([](DeviceCode& code) { code.units_without_code = 99; }),
                   change_sm90_build([](DeviceCode& code) { code.units_without_code = 0; })});
  cases.push_back({"PB315",
                   "libtorch_cuda_linalg.so holds only LTO-IR (sm_90): a device linker must compile it before it runs",
                   with(sm90_build(),
                        [](Report& r) {
                          file_named(r, "libtorch_cuda_linalg.so").device_code = DeviceCode{.lto_ir = {{"sm_90", 9}}};
                        }),
                   sm90_build()});
  cases.push_back(
      {"PB315", "libtorch_cuda_linalg.so holds only Tile IR (sm_90): a driver for CUDA 13.1 or later",
       with(sm90_build(),
            [](Report& r) {
              file_named(r, "libtorch_cuda_linalg.so").device_code =
                  DeviceCode{.other_entries = {{{"Tile IR", {{"sm_90", 1}}}}}};
            }),
       with(sm90_build(), [](Report& r) {
         file_named(r, "libtorch_cuda_linalg.so").device_code->other_entries = {{{"Tile IR", {{"sm_90", 1}}}}};
       })});
}

void remove(Report& report, const std::string& end) {
  std::erase_if(report.inventory->files, [&](const File& file) { return file.path.ends_with("/" + end); });
}

void add_library_cases(std::vector<Case>& cases) {
  cases.push_back({"PB331", "torch 2.11.0+cu130 is a CUDA build, and has no libtorch_cuda.so",
                   with(sm90_build(), [](Report& r) { remove(r, "libtorch_cuda.so"); }), sm90_build()});
  cases.push_back(
      {"PB331", "libtorch_cuda.so holds no device code: the device code of libtorch_cuda_linalg.so does not replace it",
       with(sm90_build(), [](Report& r) { libtorch_cuda(r).device_code.reset(); }), sm90_build()});
}

void add_idle_cases(std::vector<Case>& cases) {
  cases.push_back(
      {"PB332", "sm90 is claimed, and 7300 of the 21742 kernels of libtorch_cuda.so for it do nothing: mul",
       change_sm90_build([](DeviceCode& code) {
         code.census->at("sm_90").idle_kernels = 7172;
         code.census->at("sm_90").idle = {"_Z3mul"};
       }),
       change_sm90_build([](DeviceCode& code) { code.census->at("sm_90").idle_kernels = 1713; })});  // 2.10.0
  cases.push_back({"PB332", "sm90 is claimed, and 150 of the 448 cubins of libtorch_cuda.so for it hold no kernel",
                   change_sm90_build([](DeviceCode& code) { code.census->at("sm_90").empty_cubins = 150; }),
                   change_sm90_build([](DeviceCode& code) { code.census->at("sm_80").empty_cubins = 150; })});
  cases.push_back({"PB332",
                   "sm90 is claimed, and no cubin of libtorch_cuda.so for it holds a kernel (cubins for it: 448)",
                   change_sm90_build([](DeviceCode& code) {
                     code.census->at("sm_90") = {.cubins = 444, .empty_cubins = 444};
                     code.census->at("sm_90a") = {.cubins = 4, .empty_cubins = 4};
                   }),
                   sm90_build()});
  cases.push_back({"PB332", "sm90 is claimed, and 87 of the 87 kernels of NCCL for it do nothing: nccl",
                   make_nccl_report({.kernels = 87, .cubins = 12, .idle_kernels = 87, .idle = {"_Z4nccl"}}),
                   make_nccl_report({.kernels = 85, .cubins = 12, .idle_kernels = 27})});
  // The driver takes the latest code, even if older code would do something.
  cases.push_back({"PB332", "sm90 is claimed, and no cubin of NCCL for it holds a kernel (cubins for it: 12)",
                   make_nccl_report({.cubins = 12, .empty_cubins = 12}),
                   make_nccl_report({.kernels = 87, .cubins = 12})});
  cases.push_back({"PB332", "sm86 is claimed, and 300 of the 400 kernels of cuBLAS for it do nothing",
                   make_cublas_report({.kernels = 400, .cubins = 40, .idle_kernels = 300}),
                   make_cublas_report({.kernels = 400, .cubins = 40})});
  cases.push_back({"PB332", "sm90 is claimed, and none of the 247 kernels of libtorch_cuda.so for sm_90a does anything",
                   change_sm90_build([](DeviceCode& code) { code.census->at("sm_90a").idle_kernels = 247; }),
                   change_sm90_build([](DeviceCode& code) { code.census->at("sm_90a").idle_kernels = 246; })});
  cases.push_back({"PB318", "sm90 is claimed, and libcublasLt.so.13 holds no device code at all", add_second_cublas({}),
                   add_second_cublas({{"sm_90", 12}})});
  cases.push_back({"PB318", "sm90 is claimed, and libcublasLt.so.13 holds machine code only for sm_80, none of which",
                   add_second_cublas({{"sm_80", 12}}), add_second_cublas({{"sm_80", 12}, {"sm_90a", 12}})});
  // Half of the kernels for sm_90a may be idle, because few units have any: no second fault.
  cases.push_back({"PB314", "sm90 is claimed, and only 44 of the 444 translation units of libtorch_cuda.so hold",
                   change_sm90_build([](DeviceCode& code) {
                     code.unit_sets = {{"sm_80", 400}, {"sm_80 sm_90a", 44}};
                     code.census->erase("sm_90");
                   }),
                   sm90_build()});
  cases.push_back({"PB318", "NCCL holds machine code only for sm_80, none of which runs there",
                   with(sm90_build(),
                        [](Report& r) {
                          find_component_file(r, "NCCL").device_code.reset();
                          find_component_file(r, "NCCL").self_loaded_code = DeviceCode{.cubin = {{"sm_80", 12}}};
                        }),
                   with(sm90_build(), [](Report& r) {
                     find_component_file(r, "NCCL").device_code.reset();
                     find_component_file(r, "NCCL").self_loaded_code = DeviceCode{.cubin = {{"sm_90", 12}}};
                   })});
}

Report make_reference_report(ReferenceCode code) {
  return with(sm90_build(), [&](Report& r) {
    auto& census = *libtorch_cuda(r).device_code->census;
    census.at("sm_90").code_bytes = 600'000'000;
    r.reference = ReferenceBuild{.torch = "2.11.0", .build = "the wheel", .code = {{"sm_80", {1, 1, 1}}}};
    r.reference->code["sm_90"] = code;
  });
}

void add_reference_cases(std::vector<Case>& cases) {
  const Report alike = make_reference_report({.units = 456, .kernels = 21747, .code_bytes = 620'000'000});
  cases.push_back({"PB335",
                   "libtorch_cuda.so holds 444 translation units for it; the same file in the reference build the "
                   "wheel holds 600 for sm_90",
                   make_reference_report({.units = 600, .kernels = 21747, .code_bytes = 620'000'000}), alike});
  cases.push_back({"PB335",
                   "libtorch_cuda.so holds 21742 kernels for it; the same file in the reference build the wheel holds "
                   "30000 for sm_90",
                   make_reference_report({.units = 444, .kernels = 30000, .code_bytes = 620'000'000}), alike});
  cases.push_back({"PB335",
                   "libtorch_cuda.so holds 600000000 bytes of code for it; the same file in the reference build the "
                   "wheel holds 1600000000",
                   make_reference_report({.units = 444, .kernels = 21747, .code_bytes = 1'600'000'000}), alike});
  const auto linalg = [](int64_t kernels, const std::string& magma) {
    return with(make_reference_report({.units = 444, .kernels = 21747, .code_bytes = 620'000'000}), [&](Report& r) {
      File& file = r.inventory->files.emplace_back();
      file = {.path = "torch/lib/libtorch_cuda_linalg.so", .component = "libtorch"};
      file.links.emplace().versions["MAGMA"] = "2.6.1";
      file.links->torch_symbols.cxx = 500;
      file.device_code = {.cubin = {{"sm_90", 99}}, .unit_sets = {{"sm_90", 99}}, .false_entries = 0};
      file.device_code->census = {{"sm_90", {.kernels = 1673, .cubins = 99, .code_bytes = 54'000'000}}};
      r.reference->files["libtorch_cuda_linalg.so"] = {.linked = {{"MAGMA", magma}},
                                                       .code = {{"sm_80", {99, kernels, 54'000'000}}}};
    });
  };
  cases.push_back({"PB333",
                   "libtorch_cuda_linalg.so holds 1673 kernels for it; the same file in the reference build the wheel "
                   "holds 3000 for sm_80",
                   linalg(3000, "2.6.1"), linalg(3000, "2.9.0")});
  cases.push_back(
      {"PB333",
       "libtorch_cuda_linalg.so uses no symbol of torch, and so registers nothing with torch: the library is a stub",
       with(linalg(3000, "2.9.0"), [](Report& r) { r.inventory->files.back().links->torch_symbols = {}; }),
       linalg(3000, "2.9.0")});
  const auto missing = [](int64_t count) {
    return with(sm90_build(), [&](Report& r) {
      r.baseline = beside({});
      r.baseline->missing_kernels = {{{.sm = "sm_90",
                                       .baseline_sm = "sm_90",
                                       .kernels = 21495,
                                       .missing = count,
                                       .first = {"_Z3addi", "_Z3mul"}}}};
    });
  };
  cases.push_back({"PB336",
                   "1200 of the 21495 kernels that the baseline has for sm_90 are missing for sm_90: add(int), mul",
                   missing(1200), missing(12)});
}

// Returns a report in which libtorch_cuda.so has `here` for SM 9.0 and `other` for SM 8.0; the release has `release`.
Report make_families(std::map<std::string, int64_t> here, std::map<std::string, int64_t> other,
                     std::map<std::string, int64_t> release) {
  return with(make_reference_report({.units = 444, .kernels = 21747, .code_bytes = 620'000'000}), [&](Report& r) {
    r.inventory->cuda_version = r.reference->cuda = "13.0";
    r.reference->families = std::move(release);
    auto& census = *libtorch_cuda(r).device_code->census;
    census.at("sm_90").families = std::move(here);
    census["sm_80"] = {.kernels = 21742, .cubins = census.at("sm_90").cubins, .families = std::move(other)};
  });
}

void add_family_cases(std::vector<Case>& cases) {
  const std::map<std::string, int64_t> whole{{"reduce_kernel", 684}, {"radixSortKVInPlace", 200}};
  const std::map<std::string, int64_t> without_sort{{"reduce_kernel", 684}, {"radixSortKVInPlace", 20}};
  const std::map<std::string, int64_t> with_flash{
      {"flash_fwd_kernel", 300}, {"reduce_kernel", 684}, {"radixSortKVInPlace", 200}};
  const std::map<std::string, int64_t> less_flash{
      {"flash_fwd_kernel", 1}, {"reduce_kernel", 684}, {"radixSortKVInPlace", 200}};
  const std::map<std::string, int64_t> none;
  cases.push_back({"PB337",
                   "sm90 is claimed, and 180 of the 884 kernels that libtorch_cuda.so holds for sm_80 are missing for "
                   "the claimed target: radixSortKVInPlace (180)",
                   make_families(without_sort, whole, none), make_families(whole, whole, none)});
  cases.push_back({"PB337",
                   "sm90 is claimed, and 180 of the 884 kernels that libtorch_cuda.so has in the reference build the "
                   "wheel are missing for the claimed target: radixSortKVInPlace (180)",
                   make_families(without_sort, without_sort, whole), make_families(whole, whole, with_flash)});
  cases.push_back({"PB337",
                   "libtorch_cuda.so has in the reference build the wheel are missing for the claimed target: "
                   "flash_fwd_kernel (299)",
                   make_families(less_flash, less_flash, with_flash),
                   make_families(with_flash, with_flash, with_flash)});
}

}  // namespace

void add_device_cases(std::vector<Case>& cases) {
  add_entry_cases(cases);
  add_library_cases(cases);
  add_idle_cases(cases);
  add_reference_cases(cases);
  add_family_cases(cases);
}

}  // namespace pbprobe::test
