// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// PB16x and PB17x: packages other than torch, next to torch or with their own claim.
#include <functional>

#include "core/search_rules.hpp"
#include "tests/judge/planted.hpp"

namespace pbprobe::test {
namespace {

// Returns a report of another package next to torch.
Report make_package_report(const std::function<void(Inventory&)>& change) {
  Report report;
  Inventory& inventory = report.inventory.emplace();
  inventory.artifact = "site-packages";
  inventory.layout = "distribution";
  inventory.packages = {{.folder = "ext-1.0.dist-info", .name = "ext", .version = "1.0", .torch = "==2.11.0"}};
  inventory.torch_beside = "2.11.0+cu130";
  inventory.loading = {{.path = "ext/_C.so"}};
  change(inventory);
  return report;
}

// Returns a report of another package's wheel with a claim.
Report claimed_of_other(
    const Claim& claim, const std::function<void(Inventory&)>& change = [](Inventory&) {}) {
  Report report;
  Inventory& inventory = report.inventory.emplace();
  inventory.artifact = "ext-1.0-cp311-cp311-linux_x86_64.whl";
  inventory.layout = "wheel";
  inventory.packages = {{.folder = "ext-1.0.dist-info", .name = "ext", .version = "1.0"}};
  File& file = inventory.files.emplace_back();
  file.path = "ext/_C.cpython-311-x86_64-linux-gnu.so";
  file.machine = "x86_64";
  file.links.emplace().torch_symbols = {.cxx = 1, .first = {"_ZN3c101fEv"}, .releases = {{"2.10", "2.11"}}};
  file.needed = {"libcudart.so.13"};
  file.device_code.emplace().cubin = {{"sm_90a", 1}, {"sm_120", 1}};
  report.claim = claim;
  report.claim->text = "claimed";
  change(inventory);
  return report;
}

// A variant of MKL with a library called as MKL, which nothing needs, or a module does.
Report add_mkl(bool needed) {
  return claimed_of_other({.targets = {"sm90"}}, [=](Inventory& i) {
    i.variant = {.label = "x", .properties = {{"blas_lapack", "library", "mkl"}}};
    i.files.emplace_back().path = "ext.libs/libmkl_rt.so.2";
    if (needed) i.files[0].needed.push_back("libmkl_rt.so.2");
  });
}

// Adds cases of libraries from outside of the packages, and of files that the system refuses.
void add_outside_cases(std::vector<Case>& cases) {
  cases.push_back({"PB164", "ext 1.0 requires torch>=2.9,<2.11, and torch 2.11.0+cu130 is installed",
                   make_package_report([](Inventory& i) { i.packages.front().torch = ">=2.9,<2.11"; }),
                   make_package_report([](Inventory& i) { i.packages.front().torch = ">=2.9,<2.12"; })});
  const Report sound = make_package_report([](Inventory&) {});
  const auto lacking = [](const char* how) {
    return make_package_report([=](Inventory& i) {
      i.loading->front().unresolved = {{.name = "f",
                                        .version = "libx.so.1",
                                        .needed_by = "/env/ext/_C.so",
                                        .library = "/old/libx.so.1",
                                        .how = how}};
    });
  };
  cases.push_back({"PB163", "_C.so needs f@libx.so.1, which /old/libx.so.1 (found by LD_LIBRARY_PATH) does not define",
                   lacking("LD_LIBRARY_PATH"), sound});
  cases.push_back({"PB163", "which /old/libx.so.1 does not define", lacking("DT_RUNPATH of /env/ext/_C.so"), sound});
  const auto redirected = [](std::vector<RedirectedLibrary> libraries) {
    return make_package_report([=](Inventory& i) { i.redirected = libraries; });
  };
  cases.push_back({"PB180",
                   "libcudnn_ops.so.9 is taken from /old/libcudnn_ops.so.9 (found by LD_LIBRARY_PATH), and not",
                   redirected({{.name = "libcudnn_ops.so.9",
                                .needed_by = "/env/nvidia/cudnn/lib/libcudnn.so.9",
                                .taken = "/old/libcudnn_ops.so.9",
                                .how = "LD_LIBRARY_PATH",
                                .installed = "/env/nvidia/cudnn/lib/libcudnn_ops.so.9"}}),
                   redirected({})});
  const auto stack = [](std::optional<bool> executable) {
    return make_package_report([=](Inventory& i) {
      i.files = {{.path = "ext/_C.so"}};
      i.files.front().links.emplace().executable_stack = executable;
    });
  };
  cases.push_back({"PB181", "ext 1.0: _C.so asks for an executable stack", stack(true), stack(false)});
  cases.push_back({"PB181", "ext 1.0: _C.so asks for an executable stack", stack(true), stack(std::nullopt)});
  const auto of_two = [](const char* taken) {  // two files of one name, of which only the first has a plain stack
    return make_package_report([=](Inventory& i) {
      i.files = {{.path = "ext/a/libx.so"}, {.path = "ext/b/libx.so"}, {.path = "ext/_C.so"}};
      for (auto& file : i.files) file.links.emplace().executable_stack = file.path == "ext/b/libx.so";
      i.files[2].links->dependencies = {{"libx.so", Provider::artifact, taken, "DT_RUNPATH of ext/_C.so"}};
    });
  };
  cases.push_back({"PB181", "libx.so asks for an executable stack", of_two("ext/b/libx.so"), of_two("ext/a/libx.so")});
}

void add_unknown_name_cases(std::vector<Case>& cases) {
  cases.push_back({"PB173", "torch 2.11.0 is claimed, and METADATA of ext 1.0 requires torch ==2.10.0",
                   claimed_of_other({.torch = "2.11.0"}, [](Inventory& i) { i.packages.front().torch = "==2.10.0"; }),
                   claimed_of_other({.torch = "2.10.0"}, [](Inventory& i) { i.packages.front().torch = "==2.10.0"; })});
  const auto unknown = [](const char* name) {
    return claimed_of_other({.torch = "2.11.0"}, [=](Inventory& i) {
      i.files.front().links->torch_symbols.unknown = {name};
      i.files.front().links->torch_symbols.releases = std::vector<std::string>();
    });
  };
  cases.push_back({"PB173", "needs c10::invented(), which none of torch 2.8 to 2.15 has", unknown("_ZN3c108inventedEv"),
                   claimed_of_other({.torch = "2.11.0"})});
  cases.push_back({"PB173", "has: the file was built with _GLIBCXX_USE_CXX11_ABI=0, for torch 2.6 or older",
                   unknown("_ZN3c106detail14torchCheckFailEPKcS2_jRKSs"), claimed_of_other({.torch = "2.11.0"})});
}

// A twin by its number excuses missing libraries, and no missing symbol.
void add_numbered_case(std::vector<Case>& cases) {
  const auto numbered = [](std::vector<UnresolvedSymbol> unresolved) {
    return make_package_report([&](Inventory& i) {
      i.loading = {{.path = "ext/_fa2_C.so"}, {.path = "ext/_fa3_C.so", .unresolved = std::move(unresolved)}};
    });
  };
  cases.push_back({"PB163", "_fa3_C.so needs f(), which nothing defines",
                   numbered({{.name = "_Z1fv", .needed_by = "/env/ext/_fa3_C.so"}}), numbered({})});
}

void add_missing_library_cases(std::vector<Case>& cases) {
  add_numbered_case(cases);
  const Report sound = make_package_report([](Inventory&) {});
  cases.push_back({"PB161",
                   "_C.so needs libcudart.so.12 (nvidia-cuda-runtime-cu12), libcudnn.so.9 (nvidia-cudnn-cu12) and "
                   "libmade-up.so.1, which neither the environment nor the system has; 1 more of its files does not "
                   "load; they also need libnccl.so.2 (nvidia-nccl-cu12)",
                   make_package_report([](Inventory& i) {
                     i.loading->front().missing_libraries = {{"libcudart.so.12", "/env/ext/_C.so"},
                                                             {"libcudnn.so.9", "/env/ext/_C.so"},
                                                             {"libmade-up.so.1", "/env/ext/libx.so"}};
                     i.loading->push_back({.path = "ext/other.so",
                                           .missing_libraries = {{"libnccl.so.2", "/env/ext/other.so"},
                                                                 {"libcudnn.so.9", "/env/ext/other.so"}}});
                   }),
                   sound});
}

// Gives the library these units of device code: number of units by set of SMs.
void plant_units(Inventory& inventory, std::map<std::string, int64_t> sets) {
  DeviceCode& code = *inventory.files[0].device_code;
  code.unit_sets = std::move(sets);
  code.cubin.clear();
  for (const auto& [set, count] : code.unit_sets) {
    for (size_t at = 0; at < set.size();) {
      const size_t end = std::min(set.find(' ', at), set.size());
      code.cubin[set.substr(at, end - at)] += count;
      at = end + 1;
    }
  }
}

Report claimed_of_units(const Claim& claim, const std::map<std::string, int64_t>& sets) {
  return claimed_of_other(claim, [&](Inventory& i) { plant_units(i, sets); });
}

// Returns a library for sm_120 with idle kernels, and with cubins that hold only idle kernels.
Report claimed_of_idle(int64_t idle_kernels, int64_t idle_cubins) {
  return claimed_of_other({.targets = {"sm120"}}, [&](Inventory& i) {
    SmCensus census{.kernels = 36, .cubins = 6, .code_bytes = 9000, .idle_kernels = idle_kernels};
    census.idle = {"_Z4idlev"};
    census.idle_cubins = idle_cubins;
    i.files[0].device_code->census.emplace()["sm_120"] = census;
  });
}

File make_module(const char* name) {
  return {.path = std::string("ext/") + name, .machine = "x86_64", .links = Links{}};
}

}  // namespace

void add_unit_cases(std::vector<Case>& cases) {
  cases.push_back({"PB171",
                   "sm90 is claimed, and only 1 of the 10 translation units of file _C.cpython-311-x86_64-linux-gnu.so "
                   "in ext 1.0 holds machine code for it",
                   claimed_of_units({.targets = {"sm90"}}, {{"sm_120", 9}, {"sm_120 sm_90", 1}}),
                   claimed_of_units({.targets = {"sm90"}}, {{"sm_120 sm_90", 10}})});
  cases.push_back({"PB171", " is claimed, and only 5 of the 10 translation units of",
                   claimed_of_units({.targets = {"sm90", "sm120"}}, {{"sm_120", 5}, {"sm_90", 5}}),
                   claimed_of_units({.targets = {"sm90", "sm120"}}, {{"sm_120 sm_90", 10}})});
  // Units for Hopper's own instructions do not count for other SMs.
  cases.push_back({"PB171", "sm120 is claimed, and only 1 of the 10 translation units of",
                   claimed_of_units({.targets = {"sm120"}}, {{"sm_90a", 9}, {"sm_120", 1}}),
                   claimed_of_units({.targets = {"sm120"}}, {{"sm_90a", 3}, {"sm_120", 7}})});
  const auto two = [](const char* second) {
    return claimed_of_other({.targets = {"sm90"}}, [&](Inventory& i) {
      i.files[0].device_code->cubin = {{"sm_90", 1}};
      i.files[0].path = "ext/_fa2_C.abi3.so";
      i.files.push_back(i.files[0]);
      i.files[1].path = "ext/_fa3_C.abi3.so";
      i.files[1].device_code->cubin = {{second, 1}};
    });
  };
  cases.push_back({"PB171", "sm90 is claimed, and file _fa3_C.abi3.so in ext 1.0 holds machine code only for sm_80",
                   two("sm_80"), two("sm_90")});
  const auto raw = [](int64_t of_100) {
    return claimed_of_other({.targets = {"sm90", "sm100"}}, [&](Inventory& i) {
      File cubin{.path = "ext/a.cubin", .machine = "cuda"};
      i.files.clear();
      for (int64_t k = 0; k < 10; ++k) {
        cubin.device_code.emplace().cubin = {{"sm_90", 1}};
        i.files.push_back(cubin);
        if (k >= of_100) continue;
        cubin.device_code->cubin = {{"sm_100", 1}};
        i.files.push_back(cubin);
      }
    });
  };
  cases.push_back(
      {"PB171",
       "sm100 is claimed, and only 1 of the 10 translation units of file a.cubin in ext 1.0 holds machine code for it",
       raw(1), raw(10)});
  cases.push_back(
      {"PB171", "only sm90 is claimed, and file _C.cpython-311-x86_64-linux-gnu.so in ext 1.0 holds machine code for",
       claimed_of_units({.exact = true, .targets = {"sm90"}}, {{"sm_120 sm_90", 3}}),
       claimed_of_units({.exact = true, .targets = {"sm90"}}, {{"sm_90 sm_90a", 3}})});
  cases.push_back({"PB171",
                   "36 of the 36 kernels of _C.cpython-311-x86_64-linux-gnu.so of ext 1.0 for it do nothing: idle",
                   claimed_of_idle(36, 6), claimed_of_idle(12, 0)});
  cases.push_back({"PB171",
                   "all kernels of 3 of the 6 cubins of _C.cpython-311-x86_64-linux-gnu.so of ext 1.0 for it do",
                   claimed_of_idle(18, 3), claimed_of_idle(18, 1)});
  cases.push_back({"PB171", "sm90 is claimed, and no file of ext 1.0 holds device code: it was built without CUDA",
                   claimed_of_other({.targets = {"sm90"}}, [](Inventory& i) { i.files[0].device_code.reset(); }),
                   claimed_of_other({.targets = {"sm90"}})});
}

void add_version_cases(std::vector<Case>& cases) {
  cases.push_back({"PB172", "CUDA 12.8 is claimed, and ext 1.0 links libraries of CUDA 13",
                   claimed_of_other({.cuda = "12.8"},
                                    [](Inventory& i) {
                                      i.files[0].needed = {"libcublas.so.12", "libcudart.so.13"};
                                    }),
                   claimed_of_other({.cuda = "12.8"}, [](Inventory& i) { i.files[0].needed = {"libcublas.so.12"}; })});
  const auto with_ptx = [](const char* isa) {
    return claimed_of_other({.cuda = "12.8"}, [&](Inventory& i) {
      i.files[0].needed = {"libcudart.so.12"};
      i.files[0].device_code->ptx = {{"sm_90", 1}};
      i.files[0].device_code->ptx_versions = {{"sm_90", isa}};
    });
  };
  cases.push_back(
      {"PB172",
       "CUDA 12.8 is claimed, and ext 1.0 holds PTX for sm_90 of ISA version 9.0, which only a later CUDA supports",
       with_ptx("9.0"), with_ptx("8.7")});
  const auto modules = [](const char* claimed, std::vector<const char*> names) {
    return claimed_of_other({.python = claimed}, [&](Inventory& i) {
      i.files.clear();
      for (const char* name : names) i.files.push_back(make_module(name));
    });
  };
  cases.push_back({"PB174", "Python 3.13 (cp313) is claimed, and extension modules of ext 1.0 are for cp312",
                   modules("3.13", {"a.cpython-313-x86_64-linux-gnu.so", "b.cpython-312-x86_64-linux-gnu.so"}),
                   modules("3.13", {"a.cpython-313-x86_64-linux-gnu.so", "a.cpython-312-x86_64-linux-gnu.so"})});
  const auto with_python = [](std::optional<bool> uses) {
    return claimed_of_other({.python = "3.13"}, [&](Inventory& i) {
      i.files = {make_module("a.cpython-313-x86_64-linux-gnu.so"), make_module("b.cpython-312-x86_64-linux-gnu.so")};
      i.files[1].links.emplace().uses_python = uses;
    });
  };
  cases.push_back({"PB174", "Python 3.13 (cp313) is claimed, and extension modules of ext 1.0 are for cp312",
                   with_python(std::nullopt), with_python(false)});
  cases.push_back({"PB174", "Python 3.13 (cp313) is claimed, and extension modules of ext 1.0 are for cp313t",
                   modules("3.13", {"a.cpython-313t-x86_64-linux-gnu.so"}), modules("3.13", {"a.abi3.so"})});
}

void add_whole_cases(std::vector<Case>& cases) {
  const auto linked = [](std::optional<int64_t> unlinked) {
    return claimed_of_other({.targets = {"sm90"}}, [&](Inventory& i) { i.files[0].device_code->unlinked = unlinked; });
  };
  cases.push_back({"PB334",
                   "_C.cpython-311-x86_64-linux-gnu.so holds relocatable device code (2 entries of nvcc -rdc=true)",
                   linked(2), linked(std::nullopt)});
  const auto needing = [](const char* library) {
    return claimed_of_other({.targets = {"sm90"}}, [&](Inventory& i) { i.files[0].needed = {library}; });
  };
  cases.push_back({"PB183", "needs /opt/build/libspam.so: the loader opens that path on every machine",
                   needing("/opt/build/libspam.so"), needing("libspam.so")});
  cases.push_back({"PB183", "_C.cpython-311-x86_64-linux-gnu.so is for cp311, and needs libpython3.12.so.1.0",
                   needing("libpython3.12.so.1.0"), needing("libpython3.11.so.1.0")});
  const auto embedding = [](const char* path, const char* library) {
    return claimed_of_other({.targets = {"sm90"}}, [&](Inventory& i) {
      i.files[0].path = path;
      i.files[0].needed = {library};
      i.wheel_tags = {{"cp311-cp311-linux_x86_64"}};
    });
  };
  cases.push_back({"PB183", "_C.abi3.so is for abi3, and needs libpython3.11.so.1.0",
                   embedding("ext/_C.abi3.so", "libpython3.11.so.1.0"), embedding("ext/_C.abi3.so", "libpython3.so")});
  cases.push_back({"PB183", "host.so is for cp311, and needs libpython3.10.so.1.0",
                   embedding("ext/host.so", "libpython3.10.so.1.0"), embedding("ext/host.so", "libpython3.11.so.1.0")});
  const auto local = [](const char* version) {
    return claimed_of_other({.targets = {"sm90"}},
                            [&](Inventory& i) { i.packages.front().version = std::string("1.0") + version; });
  };
  cases.push_back({"PB120", "the package's version 1.0+cu128 says CUDA 12.8, and its files are built with CUDA 13",
                   local("+cu128"), local("+cu130")});
  const auto recorded = [](std::vector<std::string> faults) {
    return claimed_of_other({.targets = {"sm90"}}, [&](Inventory& i) { i.faults = std::move(faults); });
  };
  cases.push_back(
      {"PB182", "RECORD does not list ext/x.so", recorded({"RECORD does not list ext/x.so"}), recorded({})});
}

void add_loading_cases(std::vector<Case>& cases) {
  add_missing_library_cases(cases);
  const Report sound = make_package_report([](Inventory&) {});
  cases.push_back({"PB161", "ext 1.0: _C.so needs libcudart.so.7, which neither the environment nor the system has",
                   make_package_report([](Inventory& i) {
                     i.loading->front().missing_libraries = {{"libcudart.so.7", "/env/ext/_C.so"}};
                   }),
                   make_package_report([](Inventory& i) {  // a file with the same name except its number loads
                     i.loading = {{.path = "ext/core6.so", .missing_libraries = {{"libav.so.6", "/env/ext/core6.so"}}},
                                  {.path = "ext/core7.so"}};
                   })});
  cases.push_back({"PB162", "_C.so needs symbol version GLIBC_2.99, but /lib/libc.so.6 does not define it",
                   make_package_report([](Inventory& i) {
                     i.loading->front().missing_versions = {{"GLIBC_2.99", "/lib/libc.so.6", "/env/ext/_C.so"}};
                   }),
                   sound});
  cases.push_back({"PB163", "/env/libx.so, which _C.so loads, needs f(), which nothing defines",
                   make_package_report([](Inventory& i) {
                     i.loading->front().unresolved = {{.name = "_Z1fv", .needed_by = "/env/libx.so"}};
                   }),
                   sound});
  cases.push_back({"PB163",
                   "which torch 2.11.0+cu130 lacks: the package loads only with torch 2.9; its METADATA requires "
                   "torch==2.11.0, and torch 2.11.0+cu130 is",
                   make_package_report([](Inventory& i) {
                     i.loading->front().unresolved = {
                         {.name = "_ZN3c101fEv", .needed_by = "/env/ext/_C.so", .releases = {"2.9"}}};
                   }),
                   sound});
  // The installed release has the symbol, but in another library or another build.
  cases.push_back({"PB163", "nothing defines that is loaded with it: this release of torch has it in a library that it",
                   make_package_report([](Inventory& i) {
                     i.loading->front().unresolved = {
                         {.name = "_ZN3c101fEv", .needed_by = "/env/ext/_C.so", .releases = {"2.8", "2.11"}}};
                   }),
                   sound});
  cases.push_back({"PB163", "needs c10::g(), which torch 2.11.0+cu130 lacks: the package loads only with torch 2.8",
                   make_package_report([](Inventory& i) {
                     i.loading->front().unresolved = {
                         {.name = "_ZN3c101fEv", .needed_by = "/env/ext/_C.so", .releases = {"2.8", "2.11"}},
                         {.name = "_ZN3c101gEv", .needed_by = "/env/ext/_C.so", .releases = {"2.8"}}};
                   }),
                   sound});
  add_outside_cases(cases);
  const auto needing = [](std::vector<std::string> needed, std::string torch = "2.11.0+cu130") {
    return make_package_report([=](Inventory& i) {
      i.torch_beside = torch;
      i.packages.front().torch.reset();
      i.files = {{.path = "ext/_C.so", .needed = needed}};
    });
  };
  cases.push_back({"PB165", "ext 1.0: _C.so needs libcudart.so.12, and torch 2.11.0+cu130 is built with CUDA 13",
                   needing({"libc10.so", "libcudart.so.12"}), needing({"libc10.so", "libcudart.so.13"})});
  // A module that does not link torch may use its own CUDA; so may any module next to a CPU build.
  cases.push_back({"PB165", "needs libcublas.so.12", needing({"libtorch_cuda.so", "libcublas.so.12"}),
                   needing({"libcudart.so.12"})});
  cases.push_back({"PB165", "needs libcudart.so.13, and torch 2.9.1+cu126 is built with CUDA 12",
                   needing({"libc10.so", "libcudart.so.13"}, "2.9.1+cu126"),
                   needing({"libc10.so", "libcudart.so.13"}, "2.9.1+cpu")});
}

void add_part_cases(std::vector<Case>& cases) {
  const auto of_other_processor = [](bool whole, int64_t files) {
    return make_package_report([=](Inventory& i) {
      i.loading->front().missing_libraries = {{"libx.so", "/env/ext/_C.so", "/env/x/libx.so"}};
      i.other_processor = {.processor = "aarch64",
                           .expected = "x86_64",
                           .known_by = "the environment's Python",
                           .files = files,
                           .first = "ext/_C.so",
                           .whole = whole};
    });
  };
  cases.push_back({"PB178", "ext 1.0 is built for aarch64, and the environment's Python for x86_64",
                   of_other_processor(true, 3), make_package_report([](Inventory&) {})});
  cases.push_back(
      {"PB178",
       "ext 1.0: _C.so cannot load: the file is for aarch64, and the environment's Python for x86_64; 1 more of",
       of_other_processor(false, 2), make_package_report([](Inventory&) {})});
  const auto left = [](const char* folder, const char* artifact, const char* path) {
    return make_package_report([=](Inventory& i) {
      i.artifact = artifact;
      i.layout = "distribution";
      i.packages.front().folder = folder;
      i.files = {{.path = path}, {.path = path}};
    });
  };
  const char* const says = "no installed package recorded 2 files with machine code in ext: a package left them";
  const Report left_over = left("", "/env/site-packages", "ext/_C.so");
  cases.push_back({"PB179", says, left_over, left("ext-1.0.dist-info", "/env/site-packages", "ext/_C.so")});
  cases.push_back({"PB179", says, left_over, left("", "/usr/lib/python3/dist-packages", "ext/_C.so")});
  cases.push_back({"PB179", says, left_over, left("", "/env/site-packages", "ext-1.0.egg/ext/_C.so")});
  const auto parts = [](const char* lacks, std::vector<std::string> needed = {}) {
    return make_package_report([=](Inventory& i) {
      i.loading = {{.path = "ext/_C.so"},
                   {.path = "ext/_D.so"},
                   {.path = "ext/extra.so", .missing_libraries = {{lacks, "/env/ext/extra.so"}}}};
      i.files = {{.path = "ext/extra.so", .needed = needed}};
    });
  };
  const Report sound = make_package_report([](Inventory&) {});
  cases.push_back({"PB166", "ext 1.0: extra.so needs libtensor.so.2, which neither", parts("libtensor.so.2"), sound});
  cases.push_back({"PB161", "extra.so needs libtensor.so.2", parts("libtensor.so.2", {"libc10.so"}), sound});
  cases.push_back({"PB161", "extra.so needs libcudart.so.12", parts("libcudart.so.12"), sound});
  const auto opening = [](std::string_view by, const char* torch) {
    return make_package_report([=](Inventory& i) {
      i.torch_beside = torch;
      i.files = {{.path = "ext.libs/libcudnn-1a2b3c4d.so.8.9.7"}};
      i.files.front().links.emplace().opened = {
          {.name = "libcudnn_ops_infer.so.8", .path = "/env/nvidia/cudnn/lib/libcudnn.so.9", .by = std::string(by)}};
    });
  };
  const char* const opens =
      "libcudnn-1a2b3c4d.so.8.9.7 opens libcudnn_ops_infer.so.8 (nvidia-cudnn-cu12), and the environment has "
      "libcudnn.so.9";
  cases.push_back({"PB186", opens, opening(kUnopened, "2.11.0+cu130"), opening("LD_LIBRARY_PATH", "2.11.0+cu130")});
  cases.push_back({"PB186", opens, opening(kUnopened, "2.11.0+cu130"), opening(kUnopened, "2.11.0+cpu")});
}

void add_claims_of_other_cases(std::vector<Case>& cases) {
  cases.push_back({"PB171",
                   "sm80 is claimed, and file _C.cpython-311-x86_64-linux-gnu.so in ext 1.0 holds machine code only",
                   claimed_of_other({.targets = {"sm90", "sm80"}}), claimed_of_other({.targets = {"sm90", "sm120"}})});
  cases.push_back({"PB172", "CUDA 12.8 is claimed, and ext 1.0 links libraries of CUDA 13",
                   claimed_of_other({.cuda = "12.8"}), claimed_of_other({.cuda = "13.0"})});
  cases.push_back({"PB173",
                   "file _C.cpython-311-x86_64-linux-gnu.so in ext 1.0 uses symbols that only torch 2.10 to 2.11 has",
                   claimed_of_other({.torch = "2.12.0"}), claimed_of_other({.torch = "2.11.0"})});
  add_unknown_name_cases(cases);
  cases.push_back({"PB174", "Python 3.13 (cp313) is claimed, and extension modules of ext 1.0 are for cp311",
                   claimed_of_other({.python = "3.13"}), claimed_of_other({.python = "3.11"})});
  const auto with_files = [](Claim claim, FileClaim one) {
    claim.files.emplace().push_back(std::move(one));
    return claim;
  };
  const auto ignoring = [](Claim claim, const char* files) {
    claim.ignored.emplace().push_back({files, "host code"});
    return claim;
  };
  const auto of_files = [&](FileClaim one) { return claimed_of_other(with_files({}, std::move(one))); };
  cases.push_back({"PB175", "file _C.cpython-311-x86_64-linux-gnu.so in ext/*.so of ext 1.0 holds",
                   claimed_of_other(with_files({}, {.files = "ext/*.so", .sms = {"sm_90"}}),
                                    [](Inventory& i) {
                                      i.files[0].device_code->cubin = {{"sm_120", 1}};
                                    }),
                   of_files({.files = "ext/*.so", .sms = {"sm_90", "sm_90a"}})});
  cases.push_back({"PB175", "and file _C.cpython-311-x86_64-linux-gnu.so in _C* of ext 1.0 holds PTX",
                   of_files({.files = "_C*", .ptx = {"compute_90"}}), of_files({.files = "_C*", .sms = {"sm_120"}})});
  cases.push_back({"PB175", "torch 2.12 is claimed", of_files({.files = "*", .torch = "2.12"}),
                   of_files({.files = "*", .torch = "2.11", .python = "3.11"})});
  cases.push_back({"PB176", "\"ext/_D*\" of the claim file decides on no file of ext 1.0",
                   claimed_of_other(with_files({.targets = {"sm90"}}, {.files = "ext/_D*", .sms = {"sm_90"}})),
                   claimed_of_other(with_files({.targets = {"sm90"}}, {.files = "ext/_C*", .sms = {"sm_90"}}))});
  cases.push_back({"PB176", "\"_D*\", which the claim file ignores, matches no file of ext 1.0",
                   claimed_of_other(ignoring({.targets = {"sm90"}}, "_D*")),
                   claimed_of_other(ignoring({.cuda = "13.0"}, "_E*"),
                                    [](Inventory& i) { i.files.emplace_back().path = "ext/_E.so"; })});
  const auto variant = [&](VariantProperty property) {
    return claimed_of_other({.targets = {"sm90"}}, [&](Inventory& i) {
      i.variant = {.label = "x", .properties = {std::move(property)}};
      i.files[0].host_code.emplace().unguarded = {{"avx2", 7}};
    });
  };
  cases.push_back({"PB177",
                   "nvidia :: sm_arch :: 80_real is claimed, and file _C.cpython-311-x86_64-linux-gnu.so in ext 1.0",
                   variant({"nvidia", "sm_arch", "80_real"}), variant({"nvidia", "sm_arch", "90_real"})});
  cases.push_back({"PB177", "nvidia :: sm_arch :: 120_virtual is claimed",
                   variant({"nvidia", "sm_arch", "120_virtual"}), variant({"nvidia", "sm_arch", "120_real"})});
  cases.push_back({"PB177", "lower_bound :: 12.8, and ext links libraries of CUDA 13",
                   variant({"nvidia", "cuda_version_lower_bound", "12.8"}),
                   variant({"nvidia", "cuda_version_lower_bound", "13.0"})});
  cases.push_back({"PB177", "needs avx2 on every CPU, which the properties of x in variant.json do not state",
                   variant({"x86_64", "level", "v2"}), variant({"x86_64", "level", "v3"})});
  cases.push_back({"PB177", "blas_lapack :: library :: mkl, and no file links or contains that library",
                   variant({"blas_lapack", "library", "mkl"}), variant({"blas_lapack", "library", "other"})});
  cases.push_back({"PB177", "variant.json states blas_lapack :: library :: mkl", add_mkl(false), add_mkl(true)});
  cases.push_back({"PB177", "uses symbols that only torch 2.10 to 2.11 has",
                   variant({"abi_dependency", "torch", "2.9"}), variant({"abi_dependency", "torch", "2.10"})});
}

}  // namespace pbprobe::test
