// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// PB531 and later: run-time compilers.
#include "tests/judge/planted.hpp"

namespace pbprobe::test {
namespace {

const Preflight kSound{
    .cxx_compiler = {.called = "g++", .path = "/usr/bin/g++"},
    .c_compiler = CalledCompiler{.called = "gcc or clang", .path = "/usr/bin/gcc"},
    .python_header = PythonHeader{"/usr/include/python3.11/Python.h", true},
    .driver = LinkedDriver{.name = "libcuda.so.1",
                           .ldconfig = "/sbin/ldconfig",
                           .ldconfig_there = true,
                           .folders = {"/usr/lib/x86_64-linux-gnu"},
                           .path = "/usr/lib/x86_64-linux-gnu/libcuda.so.1"},
    .ptxas = {{.name = "ptxas", .path = "bin/ptxas", .compiler = Compiler{"12.8.93", {"sm_80", "sm_90", "sm_90a"}}},
              {.name = "ptxas-blackwell",
               .path = "bin/ptxas-blackwell",
               .compiler = Compiler{"12.9.86", {"sm_100", "sm_100a", "sm_121", "sm_121a"}}}},
    .caches = {{"Triton", "/home/u/.triton/cache", "TRITON_CACHE_DIR", {}},
               {"TorchInductor", "/tmp/torchinductor_u", "TORCHINDUCTOR_CACHE_DIR", {}},
               {"CUDA driver", "/home/u/.nv/ComputeCache", "CUDA_CACHE_PATH", {}}}};

template <class Change>
Report on(Report report, Change change) {
  report.preflight = kSound;
  report.host->driver.library = "/run/opengl-driver/lib/libcuda.so.1";
  change(*report.preflight);
  return report;
}

template <class Change>
Report change_h200(Change change) {
  return on(h200(), change);
}

void sound(Preflight&) {}

void add_called_cases(std::vector<Case>& cases) {
  const auto no_c = [](Preflight& p) { p.c_compiler->path.reset(); };
  const auto no_cxx = [](Preflight& p) { p.cxx_compiler.path.reset(); };
  cases.push_back({"PB531", "no gcc or clang or g++ on PATH: torch.compile and Triton fail",
                   change_h200([&](Preflight& p) {
                     no_c(p);
                     no_cxx(p);
                   }),
                   change_h200(sound)});
  // Without a GPU, Triton is not used.
  cases.push_back({"PB531", "no gcc or clang on PATH: Triton fails", change_h200(no_c), on(cpu_report(), no_c)});
  cases.push_back({"PB531",
                   "no g++ on PATH: torch.compile fails on the CPU",
                   on(cpu_report(), no_cxx),
                   change_h200(sound),
                   {"PB309"}});
  cases.push_back({"PB531", "CC=ccache gcc names no program (Triton takes it as one path, without arguments)",
                   change_h200([](Preflight& p) {
                     p.c_compiler = CalledCompiler{"ccache gcc", "CC", {}};
                   }),
                   change_h200([](Preflight& p) {
                     p.c_compiler = CalledCompiler{"clang-18", "CC", "/usr/bin/clang-18"};
                   })});
  cases.push_back({"PB532",
                   "/usr/include/python3.11/Python.h is missing",
                   on(cpu_report(), [](Preflight& p) { p.python_header->there = false; }),
                   change_h200([](Preflight& p) { p.python_header.reset(); }),
                   {"PB309"}});
}

void add_driver_link_cases(std::vector<Case>& cases) {
  const auto driver = [](LinkedDriver found) { return [found](Preflight& p) { p.driver = found; }; };
  const LinkedDriver no_ldconfig{.name = "libcuda.so.1", .ldconfig = "/sbin/ldconfig"};
  cases.push_back({"PB533", "Triton asks /sbin/ldconfig for the folder of libcuda, and that program is missing",
                   change_h200(driver(no_ldconfig)), on(cpu_report(), driver(no_ldconfig))});
  cases.push_back({"PB533", "the cache of /sbin/ldconfig has no libcuda.so.1",
                   change_h200(driver({.name = "libcuda.so.1", .ldconfig = "/sbin/ldconfig", .ldconfig_there = true})),
                   change_h200(driver({.name = "libcuda.so.1"}))});  // the Triton of Nix needs no ldconfig
  cases.push_back(
      {"PB533", "TRITON_LIBCUDA_PATH=/opt: this folder holds no libcuda.so.1",
       change_h200(driver({.name = "libcuda.so.1", .variable = "TRITON_LIBCUDA_PATH", .folders = {"/opt"}})),
       change_h200(driver({.name = "libcuda.so.1",
                           .variable = "TRITON_LIBCUDA_PATH",
                           .folders = {"/opt"},
                           .path = "/opt/libcuda.so.1"}))});
  cases.push_back(
      {"PB533", "this Triton links with the library libcuda.so, which is not in /usr/lib",
       change_h200(driver(
           {.name = "libcuda.so", .ldconfig = "/sbin/ldconfig", .ldconfig_there = true, .folders = {"/usr/lib"}})),
       change_h200(sound)});
}

void add_ptxas_cases(std::vector<Case>& cases) {
  const Report gb10 = gpu_report("NVIDIA GB10", "12.1");
  const auto knows = [](size_t which, std::vector<std::string> names) {
    return [=](Preflight& p) { p.ptxas[which].compiler->knows = names; };
  };
  // Triton calls the other ptxas for Blackwell, and each ptxas for the capability with a suffix.
  cases.push_back({"PB534", "ptxas 12.8.93 does not support sm_90a, for which Triton compiles here",
                   change_h200(knows(0, {"sm_90"})), change_h200(knows(1, {"sm_90"}))});
  cases.push_back({"PB534",
                   "ptxas-blackwell 12.9.86 does not support sm_121a",
                   on(gb10, knows(1, {"sm_121", "sm_120a"})),
                   on(gb10, knows(0, {"sm_80"})),
                   {"PB303"}});
  cases.push_back({"PB534", "Triton cannot start bin/ptxas: No such file or directory",
                   change_h200([](Preflight& p) { p.ptxas[0].problem = "No such file or directory"; }),
                   change_h200(sound)});
  cases.push_back({"PB534",
                   "does not support sm_90a, for which Triton compiles here; TRITON_PTXAS_PATH=/no/ptxas names no file",
                   change_h200([&](Preflight& p) {
                     knows(0, {"sm_80"})(p);
                     p.ptxas[0].variable = "TRITON_PTXAS_PATH";
                     p.ptxas[0].ignored = "/no/ptxas";
                   }),
                   change_h200([](Preflight& p) {  // Triton falls back to its own ptxas
                     p.ptxas[0].variable = "TRITON_PTXAS_PATH";
                     p.ptxas[0].ignored = "/no/ptxas";
                   })});
  // The judge checks the ptxas that the variable names, not the ptxas in the package.
  cases.push_back({"PB534", "ptxas 12.8.93 does not support sm_90a", change_h200(knows(0, {})),
                   with(change_h200(sound), [](Report& r) {
                     r.inventory->files.push_back({.path = "triton/backends/nvidia/bin/ptxas",
                                                   .component = "PTX compiler",
                                                   .compiler = Compiler{"12.8.93", {"sm_80"}}});
                   })});
}

void add_cache_cases(std::vector<Case>& cases) {
  const auto lost = [](std::set<size_t> which) {
    return [which](Preflight& p) {
      for (const size_t cache : which) p.caches[cache].problem = "this user may not write to /home";
    };
  };
  cases.push_back({"PB535",
                   "compiled code cannot be stored in the cache of Triton (/home/u/.triton/cache), TorchInductor "
                   "(/tmp/torchinductor_u): this user may not write to /home",
                   change_h200(lost({0, 1, 2})), change_h200(lost({2}))});  // without PTX, the driver caches nothing
  cases.push_back({"PB535",
                   "in the cache of TorchInductor: the name of the cache folder contains the user's name",
                   on(cpu_report(),
                      [](Preflight& p) {
                        p.caches[1].path.clear();
                        p.caches[1].problem =
                            "the name of the cache folder contains the user's name, and user 1000 has none: set USER";
                      }),
                   on(cpu_report(), lost({0, 2})),
                   {"PB309"}});
}

}  // namespace

void add_preflight_cases(std::vector<Case>& cases) {
  add_called_cases(cases);
  add_driver_link_cases(cases);
  add_ptxas_cases(cases);
  add_cache_cases(cases);
}

}  // namespace pbprobe::test
