// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// PB1xx: files, versions, the closure, packages.
#include "core/search_rules.hpp"
#include "tests/judge/planted.hpp"

namespace pbprobe::test {
namespace {

void add_reading_cases(std::vector<Case>& cases) {
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

void add_claimed_version_cases(std::vector<Case>& cases) {
  cases.push_back({"PB105", "torch 2.10.0 is claimed, and the files state torch 2.11.0+cu130",
                   claimed({.torch = "2.10.0"}), claimed({.torch = "2.11"})});
  for (const char* other : {"2.11.0rc1", "2.11.0a0+git70d99e9", "2.11.0.post1", "2.11.0.dev20260101+cu130"})
    cases.push_back({"PB105", std::string("torch 2.11.0 is claimed, and the files state torch ") + other,
                     with(claimed({.torch = "2.11.0"}),
                          [&](Report& r) {
                            r.inventory->torch_version = other;
                            r.inventory->component_versions->erase("torch");
                          }),
                     claimed({.torch = "2.11.0"})});
  cases.push_back({"PB106", "CUDA 12.8 is claimed, and the files state CUDA 13.0", claimed({.cuda = "12.8"}),
                   claimed({.cuda = "13.0.2"})});
  cases.push_back({"PB106", "CUDA 13.0 is claimed, and torch 2.11.0+cpu is a CPU build",
                   with(claimed({.cuda = "13.0"}), make_cpu_build), claimed({.cuda = "13.0"})});
  cases.push_back({"PB106", "a CPU build is claimed, and torch 2.11.0+cu130 is built with CUDA 13.0",
                   claimed({.exact = true}), with(claimed({.exact = true}), make_cpu_build)});
  cases.push_back({"PB107", "Python 3.13 (cp313) is claimed, and torch's extension module is for cp311",
                   claimed({.python = "3.13"}), claimed({.python = "3.11"})});
  const auto also = [](const char* module) {
    return with(claimed({.python = "3.11"}), [&](Report& r) {
      r.inventory->files.push_back({.path = module, .component = "libtorch", .machine = "x86_64", .links = Links{}});
    });
  };
  cases.push_back({"PB107", "Python 3.11 (cp311) is claimed, and _dl.cpython-312-x86_64-linux-gnu.so is for cp312",
                   also("torch/_dl.cpython-312-x86_64-linux-gnu.so"),
                   also("torch/_dl.cpython-311-x86_64-linux-gnu.so")});
  cases.push_back({"PB108", "BLAS openblas is claimed, and libtorch_cpu.so has mkl", claimed({.blas = "openblas"}),
                   claimed({.blas = "mkl"})});
  cases.push_back({"PB109", "armv9 is claimed, which exists on aarch64-linux only, and this build is for x86_64-linux",
                   claimed({.targets = {"armv9"}}), claimed({.targets = {"avx2"}})});
}

Report audited() {
  return audit_report();
}

void add_pinned_toolkit_cases(std::vector<Case>& cases) {
  // The METADATA of torch 2.7.1 pins NVRTC of 12.6.2 beside libraries of 12.6.3.
  const auto torch27 = [](std::string nvrtc) {
    return [nvrtc](Report& r) {
      Inventory& inventory = *r.inventory;
      inventory.torch_version = "2.7.1+cu126";
      inventory.cuda_version = "12.6";
      inventory.stated_versions.clear();
      inventory.required_versions.reset();
      for (auto& file : inventory.files) {
        std::erase_if(file.needed, [](const std::string& name) {
          return name.starts_with("libcu") && !name.starts_with("libcudnn");
        });
        if (file.device_code) file.device_code->toolkits.clear();
      }
      inventory.component_versions = {{"CUDA runtime", "12.6.77"}, {"CUPTI", "12.6.80"},     {"NVRTC", nvrtc},
                                      {"cuBLAS", "12.6.4.1"},      {"cuFFT", "11.3.0.4"},    {"cuRAND", "10.3.7.77"},
                                      {"cuSOLVER", "11.7.1.2"},    {"nvJitLink", "12.9.86"}, {"cuFile", "1.11.1.6"}};
    };
  };
  cases.push_back({"PB111", "most CUDA libraries belong to CUDA release 12.6, but these do not: NVRTC 12.8.93",
                   with(audited(), torch27("12.8.93")), with(audited(), torch27("12.6.77"))});
  cases.push_back({"PB112",
                   "CUDA 12.6 is claimed, and these libraries belong to no release of it: NVRTC 12.8.93",
                   with(claimed({.cuda = "12.6"}), torch27("12.8.93")),
                   with(claimed({.cuda = "12.6"}), torch27("12.6.77")),
                   {"PB111"}});
  // The installed torch requires exactly this version.
  const auto pinning = [](std::string pinned) {
    return [pinned](Report& r) {
      (*r.inventory->component_versions)["cuFFT"] = "11.4.1.4";
      r.inventory->required_versions = {{"cuFFT", pinned}};
    };
  };
  cases.push_back({"PB111",
                   "but these do not: cuFFT 11.4.1.4",
                   with(audited(), pinning("12.0.0.61")),
                   with(audited(), pinning("11.4.1.4")),
                   {"PB119"}});
}

void add_cuda_cases(std::vector<Case>& cases) {
  cases.push_back({"PB110",
                   "torch is built with CUDA 13.0, and it needs libraries of another release: libcudart.so.12 (there "
                   "it is libcudart.so.13)",
                   with(audited(), [](Report& r) { libtorch_cuda(r).needed[2] = "libcudart.so.12"; }),
                   with(audited(), [](Report& r) { EXPECT_EQ(libtorch_cuda(r).needed[2], "libcudart.so.13"); })});
  cases.push_back({"PB111", "most CUDA libraries belong to CUDA release 13.0, but these do not: cuFFT 11.4.1.4",
                   with(audited(), [](Report& r) { (*r.inventory->component_versions)["cuFFT"] = "11.4.1.4"; }),
                   audited()});
  cases.push_back(
      {"PB112",
       "CUDA 13.0 is claimed, and these libraries belong to no release of it: cuFFT 11.4.1.4",
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
  cases.push_back({"PB113", "ptxas 12.8.93 does not support 9.0",
                   with(claimed({.targets = {"sm90"}}), with_ptxas({"sm_80"})),
                   with(claimed({.targets = {"sm90"}}), with_ptxas({"sm_80", "sm_90a"}))});
  cases.push_back({"PB114", "ptxas 12.8.93 does not support 9.0", with(h200(), with_ptxas({"sm_80", "sm_120"})),
                   with(h200(), with_ptxas({"sm_80", "sm_90"}))});
}

// The link shows that torch brings the library along.
void add_broken_link_case(std::vector<Case>& cases) {
  const auto with_broken_link = [](Dependency dependency) {
    return with(audited(), [&](Report& r) {
      libtorch_cuda(r).links->dependencies = {std::move(dependency)};
      r.inventory->broken_links = {"torch/lib/libgomp.so.1"};
    });
  };
  cases.push_back({"PB140",
                   "libtorch_cuda.so needs libgomp.so.1, a file of libtorch that is missing",
                   with_broken_link({"libgomp.so.1"}),
                   with_broken_link({"libgomp.so.1", Provider::system}),
                   {"PB128"}});
}

void add_closure_cases(std::vector<Case>& cases) {
  const auto needing = [](std::vector<Dependency> dependencies) {
    return [dependencies](Report& r) { libtorch_cuda(r).links->dependencies = dependencies; };
  };
  const Dependency gomp{"libgomp.so.1", Provider::system, "/usr/lib/libgomp.so.1", "the system's default folders"};
  cases.push_back(
      {"PB115", "libtorch_cuda.so needs libnccl.so.2, which neither its RPATH nor the system's folders hold",
       with(audited(), needing({{"libnccl.so.2"}})), with(audited(), needing({{"libcuda.so.1", Provider::driver}}))});
  Dependency not_searched{"libgomp.so.1"};
  not_searched.by = kNotSearched;
  cases.push_back({"PB115", "libtorch_cuda.so needs libgomp.so.1", with(audited(), needing({{"libgomp.so.1"}})),
                   with(audited(), needing({not_searched}))});
  const auto without_linalg = [](Report& r) {
    std::erase_if(r.inventory->files, [](const File& f) { return f.path.ends_with("libtorch_cuda_linalg.so"); });
  };
  const auto opening_linalg = [](Report& r) {
    libtorch_cuda(r).links->opened = {Dependency{"libtorch_cuda_linalg.so"}};
  };
  cases.push_back({"PB140", "libtorch_cuda.so needs libc10_made_up.so, a file of libtorch that is missing",
                   with(audited(), needing({{"libc10_made_up.so"}})),
                   with(audited(), needing({{"libtorch_cpu.so", Provider::artifact, "torch/lib/libtorch_cpu.so"}}))});
  cases.push_back({"PB140",
                   "libtorch_cuda.so opens libtorch_cuda_linalg.so",
                   with(with(audited(), without_linalg), opening_linalg),
                   with(audited(), opening_linalg),
                   {"PB126"}});
  add_broken_link_case(cases);
  // The file exists, but the RUNPATH does not lead to it.
  cases.push_back({"PB140", "libtorch_cuda.so needs libc10.so, which is in none of the folders of its RPATH",
                   with(audited(), needing({{"libc10.so"}})),
                   with(audited(), needing({{"libc10.so", Provider::artifact, "torch/lib/libc10.so"}}))});
  const auto opening = [](Provider provider) {
    return [provider](Report& r) {
      File& file = file_named(r, "libcudnn_ops.so.9");
      file.links.emplace();
      file.links->opened = {{{"libcudnn_heuristic.so", provider}, {"libibverbs.so.1", Provider::unresolved}}};
    };
  };
  cases.push_back({"PB116", "libcudnn_ops.so.9 opens libcudnn_heuristic.so at run time, and that file is missing",
                   with(audited(), opening(Provider::unresolved)), with(audited(), opening(Provider::artifact))});
  cases.push_back({"PB117", "2 OpenMP libraries are loaded together",
                   with(audited(), needing({gomp, {"libiomp5.so", Provider::artifact, "torch/lib/libiomp5.so"}})),
                   with(audited(), needing({gomp, gomp}))});
  cases.push_back({"PB118", "which holds a stub of the driver",
                   with(audited(), [](Report& r) { libtorch_cuda(r).rpath = {"/opt/cuda/lib64/stubs"}; }),
                   with(audited(), [](Report& r) { libtorch_cuda(r).rpath = {"/opt/cuda/lib64"}; })});
  cases.push_back({"PB118", "the package ships a libcuda",
                   with(audited(),
                        [](Report& r) {
                          r.inventory->files.push_back({.path = "torch/lib/libcuda.so.1", .soname = "libcuda.so.1"});
                        }),
                   with(audited(), [](Report& r) {
                     r.inventory->files.push_back({.path = "torch/lib/libcudart.so.13", .soname = "libcudart.so.13"});
                   })});
}

Report saying(std::vector<StatedVersion> stated) {
  return with(audited(), [&](Report& r) { r.inventory->stated_versions = std::move(stated); });
}

Report packaged(std::vector<Package> packages) {
  return with(audited(), [&](Report& r) { r.inventory->packages = std::move(packages); });
}

Report make_rpath_report(std::string folder) {
  return with(claimed({}), [&](Report& r) { libtorch_cuda(r).rpath = {"$ORIGIN", std::move(folder)}; });
}

Report make_release_report(const std::string& torch, const std::string& package) {
  return with(audited(), [&](Report& r) {
    r.inventory->torch_version = package;
    r.inventory->component_versions->erase("torch");
    file_named(r, "libtorch_cpu.so").links->versions = {{"torch", torch}};
  });
}

void add_identity_cases(std::vector<Case>& cases) {
  cases.push_back({"PB120", "torch-2.10.0.dist-info says torch 2.10.0, and torch's files say 2.11.0+cu130",
                   saying({{"torch", "torch-2.10.0.dist-info", "2.10.0"}}),
                   saying({{"torch", "torch-2.11.0.dist-info", "2.11.0"}, {"torch", "torch/version.py:3", "2.9.1"}})});
  cases.push_back({"PB120", "x.whl says torch 2.11.0rc1", saying({{"torch", "x.whl", "2.11.0rc1"}}),
                   saying({{"torch", "x.whl", "2.11"}, {"CUDA", "x", "12.8"}})});
  const Package torch{"torch-2.11.0.dist-info", "torch", "2.11.0"};
  cases.push_back({"PB134",
                   "2 packages, and torch is one package: torch-2.11.0.dist-info (torch 2.11.0), torch-2.9.1.dist-info "
                   "(torch 2.9.1)",
                   packaged({torch, {"torch-2.9.1.dist-info", "torch", "2.9.1"}}), packaged({torch})});
  cases.push_back({"PB134", "the package's metadata names numpy 2.0",
                   packaged({{"torch-2.11.0.dist-info", "numpy", "2.0"}}),
                   packaged({{"torch-2.11.0.dist-info", std::nullopt, std::nullopt}})});
  cases.push_back({"PB135", "torch/version.py:1 says torch 2.9.1, and torch/version.py:2 says 2.11.0+cu130",
                   saying({{"torch", "torch/version.py:1", "2.9.1"}, {"torch", "torch/version.py:2", "2.11.0+cu130"}}),
                   saying({{"torch", "torch/version.py:1", "2.11.0+cu130"},
                           {"CUDA", "torch/version.py:2", "13.0"},
                           {"torch", "torch/version.py:3", "2.11.0+cu130"}})});
  cases.push_back({"PB136", "the code of libtorch_cpu.so returns the version torch 2.10.0",
                   make_release_report("2.10.0", "2.11.0+cu130"), make_release_report("2.11.0", "2.11.0+cu130")});
  // The version in the code does not distinguish a candidate from the release.
  cases.push_back({"PB136", "the package states 2.12.0a0+git1", make_release_report("2.11.0", "2.12.0a0+git1"),
                   make_release_report("2.12.0", "2.12.0a0+git1")});
}

void add_runpath_cases(std::vector<Case>& cases) {
  for (const auto& [folder, twin] : {std::pair("", "$ORIGIN"),
                                     {".", "$ORIGIN/."},
                                     {"../lib", "$ORIGIN/../lib"},
                                     {"/tmp/libs", "/usr/lib/tmp"},
                                     {"/usr/../var/tmp", "/lib64"},
                                     {"/dev/shm/x", "/usr/lib/x86_64-linux-gnu"}})
    cases.push_back(
        {"PB137",
         std::string("libtorch_cuda.so looks for libraries in ") + (*folder == '\0' ? "\"\", which means" : folder),
         make_rpath_report(folder), make_rpath_report(twin)});
  const auto open = [](const char* folder) {
    return with(make_rpath_report("/usr/lib/x"), [&](Report& r) { r.inventory->open_folders = {folder}; });
  };
  cases.push_back({"PB137", "in /usr/lib/x, which every user may write to", open("/usr/lib/x"), open("/usr/lib/y")});
  for (const auto& [folder, twin] : {std::pair("/home/someone/pytorch/torch/lib", "/usr/local/cuda-13.0/lib64"),
                                     {"/root/pytorch", "/nix/store/0123456789abcdfghijklmnpqrsvwxyz-x/lib"},
                                     {"$ORIGIN/../../../../../../lib", "$ORIGIN/../../../../lib"}})
    cases.push_back({"PB138", std::string("libtorch_cuda.so looks for libraries in ") + folder,
                     make_rpath_report(folder), make_rpath_report(twin)});
  cases.push_back({"PB139", "in /opt/intel/lib, which belongs neither to its package, nor to the system, nor to CUDA",
                   make_rpath_report("/opt/intel/lib"), make_rpath_report("/opt/cuda/lib")});
  const auto bare = [](std::vector<std::string> folders) {
    return with(claimed({}), [&](Report& r) { libtorch_cuda(r).rpath = std::move(folders); });
  };
  cases.push_back({"PB137", "\"\", which means", bare({""}), bare({})});
  // libcusparseLt has such a RUNPATH, which torch's builder cannot fix.
  const auto theirs = [](Report& r) { file_named(r, "libcublas.so.13").runpath = {"$ORIGIN", ""}; };
  cases.push_back({"PB137", "\"\", which means", bare({"$ORIGIN", ""}), with(claimed({}), theirs)});
}

void add_package_cases(std::vector<Case>& cases) {
  cases.push_back({"PB119", "torch's package requires cuDNN 9.19.0.56, and version 9.11.0.98 is installed",
                   with(audited(), [](Report& r) { (*r.inventory->component_versions)["cuDNN"] = "9.11.0.98"; }),
                   audited()});
  cases.push_back({"PB120", "the package's version 2.11.0+cpu says cpu, and torch is built with CUDA 13.0",
                   with(audited(), [](Report& r) { r.inventory->torch_version = "2.11.0+cpu"; }), audited()});
  cases.push_back({"PB120", "the package's version 2.11.0+cu128 says CUDA 12.8, and torch is built with CUDA 13.0",
                   with(audited(), [](Report& r) { r.inventory->torch_version = "2.11.0+cu128"; }), audited()});
  cases.push_back({"PB121", "says cp313t, and torch's extension module is for cp311",
                   with(audited(), [](Report& r) { r.inventory->wheel_tags = {"cp313-cp313t-manylinux_2_28_x86_64"}; }),
                   audited()});
  cases.push_back({"PB121", "says linux_aarch64, and its files are built for x86_64-linux",
                   with(audited(), [](Report& r) { r.inventory->wheel_tags = {"cp311-cp311-linux_aarch64"}; }),
                   with(audited(), [](Report& r) { r.inventory->wheel_tags = {"cp311-cp311-linux_x86_64"}; })});
  cases.push_back({"PB121", "promises to run with glibc 2.28, and libtorch needs glibc 2.34",
                   with(audited(),
                        [](Report& r) {
                          r.inventory->version_floors = Versions{{"GLIBC", "2.34"}};
                        }),
                   audited()});
  const auto wheel_named = [](const char* name) {
    return with(audited(), [&](Report& r) {
      r.inventory->layout = "wheel";
      r.inventory->artifact = name;
    });
  };
  cases.push_back({"PB121",
                   "the package's tag cp313-cp313-linux_x86_64 says cp313, and torch's extension module is for cp311",
                   wheel_named("dist/torch-2.11.0-cp313-cp313-linux_x86_64.whl"),
                   wheel_named("dist/torch-2.11.0-1-cp311-cp311-manylinux_2_28_x86_64.manylinux_2_34_x86_64.whl")});
  cases.push_back({"PB121", "the package's tag cp311-cp311-manylinux_2_17_x86_64 promises to run with glibc 2.17",
                   wheel_named("torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.manylinux_2_17_x86_64.whl"),
                   wheel_named("torch.whl")});
}

void add_component_cases(std::vector<Case>& cases) {
  cases.push_back({"PB122",
                   "12 symbols of this file use the std::string ABI before C++11, and 570 symbols use the C++11 ABI",
                   with(audited(), [](Report& r) { file_named(r, "libtorch_cpu.so").links->pre_cxx11_names = 12; }),
                   with(audited(), [](Report& r) {  // old wheels had only the old strings
                     file_named(r, "libtorch_cpu.so").links->pre_cxx11_names = 570;
                     file_named(r, "libtorch_cpu.so").links->cxx11_names = 0;
                     r.inventory->torch_version = "2.5.1";
                     r.inventory->component_versions->erase("torch");
                   })});
  cases.push_back({"PB123", "do not state the commit",
                   with(audited(), [](Report& r) { r.inventory->git_version = "Unknown"; }), audited()});
  cases.push_back({"PB124", "libtorch_cpu.so has no oneDNN",
                   with(audited(), [](Report& r) { file_named(r, "libtorch_cpu.so").links->contains = {"OpenBLAS"}; }),
                   with(audited(), [](Report& r) {
                     file_named(r, "libtorch_cpu.so").links->contains = {"OpenBLAS"};
                     file_named(r, "libtorch_cpu.so").needed = {"libdnnl.so.3"};
                   })});
  cases.push_back({"PB125", "libtorch_cuda.so needs no cuDNN",
                   with(audited(), [](Report& r) { libtorch_cuda(r).needed = {"libcudart.so.13"}; }), audited()});
  cases.push_back({"PB126", "this torch has no MAGMA",
                   with(audited(), [](Report& r) { file_named(r, "libtorch_cuda_linalg.so").links->contains.clear(); }),
                   audited()});
  cases.push_back({"PB128", "the symbolic link leads to a missing shared object",
                   with(audited(), [](Report& r) { r.inventory->broken_links = {{"lib/libtorch_old.so"}}; }),
                   with(audited(), [](Report& r) { r.inventory->broken_links.emplace(); })});
  const auto no_nvshmem = [](Report& r) {
    std::erase_if(r.inventory->files, [](const File& file) { return file.path.ends_with("libtorch_nvshmem.so"); });
  };
  cases.push_back(
      {"PB127", "no file of libtorch needs NVSHMEM", with(audited(), no_nvshmem), with(audited(), [&](Report& r) {
         no_nvshmem(r);
         r.inventory->torch_version = "2.8.0+cu130";  // before the first torch with NVSHMEM
         r.inventory->component_versions->at("torch") = "2.8.0";
       })});
}

void add_name_cases(std::vector<Case>& cases) {
  const auto named = [](const std::string& name) {
    return with(claimed({}), [&](Report& r) {
      r.claim->text = "pytorch-python313-cpu-avx";
      r.inventory->artifact = "/nix/store/0123456789abcdfghijklmnpqrsvwxyz-" + name;
    });
  };
  cases.push_back({"PB132",
                   "the recipe pytorch-python313-cpu-avx is claimed, and the name in the Nix store is "
                   "python3.13-pytorch210-python313-cpu-avx2-2.10.0",
                   named("python3.13-pytorch210-python313-cpu-avx2-2.10.0"),
                   named("python3.13-pytorch210-python313-cpu-avx-2.10.0")});
  cases.push_back({"PB132", "the name in the Nix store is pytorch-python312-cpu-avx",
                   named("pytorch-python312-cpu-avx"),
                   named("python3.13-torch-2.10.0")});  // the torch of nixpkgs has no variant in its name
  const auto looking = [](std::string folder) {
    return with(claimed({}), [&](Report& r) { libtorch_cuda(r).rpath.push_back(std::move(folder)); });
  };
  for (const char* folder :
       {"/build/source/torch/lib", "/tmp/nix-build-torch.drv-0/source", "/home/someone/pytorch/build/lib.linux-x86_64"})
    cases.push_back({"PB133", std::string("libtorch_cuda.so looks for libraries in ") + folder, looking(folder),
                     looking("/nix/store/0123456789abcdfghijklmnpqrsvwxyz-build-libs/lib")});
  const auto called = [](const char* soname) {
    return with(audited(), [&](Report& r) { libtorch_cuda(r).soname = soname; });
  };
  const auto module_called = [](const char* soname) {
    return with(audited(), [&](Report& r) {
      r.inventory->files.push_back({.path = "torch/_C.so", .component = "libtorch", .soname = soname});
    });
  };
  cases.push_back({"PB149", "the file name is _C.so, and its DT_SONAME says libtorch_cpu.so",
                   module_called("libtorch_cpu.so"), module_called("_C.so")});
  cases.push_back({"PB149", "the file name is libtorch_cuda.so, and its DT_SONAME says libtorch_cpu.so",
                   called("libtorch_cpu.so"), called("libtorch_cuda.so.2.11")});
  const auto second_cuda = [](const std::string& folder, int64_t more_bytes) {
    return with(audited(), [&](Report& r) {
      File second = libtorch_cuda(r);
      second.path = folder + "libtorch_cuda.so";
      second.size_bytes += more_bytes;
      r.inventory->files.push_back(second);
    });
  };
  for (const auto& twin : {second_cuda("nvidia/cu13/lib/", 0), second_cuda("torch/lib/glibc-hwcaps/x86-64-v3/", 1)})
    cases.push_back({"PB149", "libtorch_cuda.so is in torch/lib/ and in nvidia/cu13/lib/, with different contents",
                     second_cuda("nvidia/cu13/lib/", 1), twin});
  const auto runtime = [](const std::string& name, const std::string& soname) {
    return with(audited(), [&](Report& r) {
      r.inventory->files.push_back({.path = "nvidia/cu13/lib/" + name, .component = "CUDA runtime", .soname = soname});
    });
  };
  cases.push_back({"PB149", "the file name is libcudart.so.13, and its DT_SONAME says libcudart.so.12",
                   runtime("libcudart.so.13", "libcudart.so.12"), runtime("libcudart.so.13.0.96", "libcudart.so.13")});
}

// Returns a Nix result with these packages in its closure.
Report nix_result(const std::vector<std::pair<std::string, std::string>>& packages) {
  return with(audited(), [&](Report& r) {
    StoreClosure closure{.outputs = {"/nix/store/a-torch"},
                         .paths = {{.path = "/nix/store/a-torch", .package = "torch"}}};
    for (const auto& [package, version] : packages) {
      StorePath path{.path = "/nix/store/b-" + package + "-" + version, .package = package, .version = version};
      if (package.ends_with("libcublas")) path.component = "cuBLAS";
      if (package.ends_with("cuda_cudart")) path.component = "CUDA runtime";
      closure.paths.push_back(std::move(path));
    }
    r.inventory->layout = "nix";
    r.inventory->store_closure = std::move(closure);
  });
}

Report needing(const std::string& path) {
  return with(nix_result({{"zlib", "1.3"}}), [&](Report& r) {
    libtorch_cuda(r).links->dependencies = {{"libz.so.1", Provider::outside, path, "DT_RUNPATH of it"},
                                            {"libcuda.so.1", Provider::driver, "/run/driver/libcuda.so.1", "the same"},
                                            {"libc.so.6", Provider::system, std::nullopt, std::nullopt}};
  });
}

Report searching(const std::string& folder) {
  return with(nix_result({{"zlib", "1.3"}}), [&](Report& r) {
    libtorch_cuda(r).runpath = {folder, "/run/opengl-driver/lib"};
  });
}

void add_store_cases(std::vector<Case>& cases) {
  const std::string inside = "/nix/store/b-zlib-1.3/lib";
  cases.push_back({"PB129", "needs libz.so.1, which is found at /usr/lib/libz.so.1, outside",
                   needing("/usr/lib/libz.so.1"), needing(inside + "/libz.so.1")});
  cases.push_back({"PB129", "/nix/store/b-zlib-1.33/lib for libraries, which the artifact's Nix closure lacks",
                   searching("/nix/store/b-zlib-1.33/lib"), searching(inside)});
  cases.push_back({"PB129", "b-zlib-1.3 is in the artifact's Nix closure, and the Nix store lacks it",
                   with(searching(inside), [](Report& r) { r.inventory->store_closure->paths.back().there = false; }),
                   searching(inside)});
  cases.push_back({"PB130", "more than one CUDA toolkit: 12.8 (b-cuda12.8-nccl-2.28.7), 13.0 (b-cuda_cudart-13.0.96)",
                   nix_result({{"cuda12.8-nccl", "2.28.7"}, {"cuda_cudart", "13.0.96"}}),
                   nix_result({{"cuda13.0-nccl", "2.28.7"}, {"cuda_cudart", "13.0.96"}})});
  cases.push_back({"PB130", "more than one cuBLAS: 12.8.4.1",
                   nix_result({{"libcublas", "12.8.4.1"}, {"libcublas", "13.1.0.3"}}),
                   nix_result({{"libcublas", "13.1.0.3"}, {"cudnn", "9.13.0.50"}})});
  cases.push_back({"PB131", "more than one glibc: 2.38-44", nix_result({{"glibc", "2.38-44"}, {"glibc", "2.40-66"}}),
                   nix_result({{"glibc", "2.40-66"}, {"glibc-locales", "2.38-44"}})});
}

}  // namespace

void add_file_cases(std::vector<Case>& cases) {
  add_reading_cases(cases);
  add_claimed_version_cases(cases);
  add_cuda_cases(cases);
  add_pinned_toolkit_cases(cases);
  add_closure_cases(cases);
  add_package_cases(cases);
  add_component_cases(cases);
  add_name_cases(cases);
  add_identity_cases(cases);
  add_runpath_cases(cases);
  add_store_cases(cases);
}

}  // namespace pbprobe::test
