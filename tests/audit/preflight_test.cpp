// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Tests an environment with all parts, and without each of them.
#include "probes/audit/packages/preflight.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <sys/statvfs.h>

#include <gmock/gmock.h>

#include "tests/temp_folder.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

constexpr const char* kAsksLdconfig =
    "libraries = ['libcuda.so.1']\nsubprocess.check_output([\"/sbin/ldconfig\", \"-p\"])\n";

// With what `ldd`, `nm` and a compiler would want of it left out: only that they are there is looked at.
class LookBeforeCompiling : public testing::Test {
 protected:
  void SetUp() override {
    program("/usr/bin/gcc");
    program("/usr/bin/g++");
    program("/sbin/ldconfig");
    program("/usr/bin/python3.11");
    file("/usr/include/python3.11/Python.h");
    file("/usr/lib/libcuda.so.1");
    fs::create_directories(root_ / "env/bin");
    fs::create_symlink(root_ / "usr/bin/python3.11", root_ / "env/bin/python");
    file(nvidia("driver.py"), kAsksLdconfig);
    for (const char* name : {"ptxas", "ptxas-blackwell"}) program(nvidia(std::string("bin/") + name));
    fs::create_directories(root_ / "tmp");
    fs::create_directories(root_ / "home");
    sources_.root = root_.string();
    sources_.user = "ada";
    sources_.variable = [this](const char* name) -> std::optional<std::string> {
      const auto found = variables_.find(name);
      return found == variables_.end() ? std::nullopt : std::optional(found->second);
    };
    variables_ = {
        {"PATH", path("/usr/bin")}, {"HOME", path("/home")}, {"LD_LIBRARY_PATH", "/usr/lib"}, {"TMPDIR", path("/tmp")}};
  }

  [[nodiscard]] std::string path(const std::string& inside) const { return root_.string() + inside; }
  [[nodiscard]] static std::string nvidia(const std::string& name) {
    return "/env/lib/python3.11/site-packages/triton/backends/nvidia/" + name;
  }
  void file(const std::string& inside, const std::string& text = "") const {
    fs::create_directories(fs::path(path(inside)).parent_path());
    std::ofstream(path(inside)) << text;
  }
  void program(const std::string& inside) const {
    file(inside, "#!/bin/sh\n");
    fs::permissions(path(inside), fs::perms::owner_all);
  }
  void remove(const std::string& inside) const { fs::remove_all(path(inside)); }
  [[nodiscard]] Preflight look() const {
    return find_compile_tools(path("/env/lib/python3.11/site-packages"), sources_);
  }
  [[nodiscard]] std::string problem(const std::string& of) const {
    for (const auto& cache : look().caches) {
      if (cache.of == of) return cache.problem.value_or("");
    }
    return "no such cache";
  }

  test::TempFolder folder_;
  fs::path root_ = fs::canonical(folder_.path());
  PreflightSources sources_;
  std::map<std::string, std::string> variables_;
};

TEST_F(LookBeforeCompiling, FindsInstalledTools) {
  const Preflight all = look();
  EXPECT_EQ(all.c_compiler->path, path("/usr/bin/gcc"));
  EXPECT_EQ(all.cxx_compiler.path, path("/usr/bin/g++"));
  ASSERT_TRUE(all.python_header);
  EXPECT_EQ(all.python_header->path, path("/usr/include/python3.11/Python.h"));
  EXPECT_TRUE(all.python_header->there);
  EXPECT_THAT(all.driver->path, Optional(std::string("/usr/lib/libcuda.so.1")));
  ASSERT_EQ(all.ptxas.size(), 2U);
  for (const auto& ptxas : all.ptxas) EXPECT_EQ(ptxas.problem, std::nullopt) << ptxas.path;
  ASSERT_EQ(all.caches.size(), 3U);
  EXPECT_EQ(all.caches[0].path, path("/home/.triton/cache"));
  EXPECT_EQ(all.caches[1].path, path("/tmp/torchinductor_ada"));
  for (const auto& cache : all.caches) EXPECT_EQ(cache.problem, std::nullopt) << cache.path;
}

TEST_F(LookBeforeCompiling, NamesMissingCompiler) {
  remove("/usr/bin/gcc");
  EXPECT_EQ(look().c_compiler->path, std::nullopt);
  EXPECT_EQ(look().c_compiler->called, "gcc or clang");
  program("/usr/bin/clang");
  EXPECT_EQ(look().c_compiler->path, path("/usr/bin/clang"));
  variables_["CC"] = "ccache clang";  // Triton's subprocess takes it as one word
  EXPECT_EQ(look().c_compiler->path, std::nullopt);
  variables_["CXX"] = "g++ -m64";  // TorchInductor splits it
  EXPECT_EQ(look().cxx_compiler.path, path("/usr/bin/g++"));
  variables_["CXX"] = path("/usr/bin");
  EXPECT_EQ(look().cxx_compiler.path, std::nullopt);
}

TEST_F(LookBeforeCompiling, FollowsTheInterpreterToItsHeaders) {
  remove("/usr/include/python3.11/Python.h");
  EXPECT_FALSE(look().python_header->there);
  // The pyvenv.cfg of a copied interpreter names the original's folder.
  remove("/env/bin/python");
  program("/env/bin/python");
  file("/env/pyvenv.cfg", "home = " + path("/opt/python/bin") + "\ninclude-system-site-packages = false\n");
  EXPECT_EQ(look().python_header->path, path("/opt/python/include/python3.11/Python.h"));
  remove("/env/pyvenv.cfg");  // layout of conda
  EXPECT_EQ(look().python_header->path, path("/env/include/python3.11/Python.h"));
  remove("/env/bin");
  EXPECT_FALSE(look().python_header);
}

TEST_F(LookBeforeCompiling, LooksForLibcudaAsTritonDoes) {
  remove("/sbin/ldconfig");
  EXPECT_FALSE(look().driver->ldconfig_there);
  EXPECT_EQ(look().driver->path, std::nullopt);  // LD_LIBRARY_PATH comes after ldconfig, which fails
  variables_["TRITON_LIBCUDA_PATH"] = "/usr/lib";
  EXPECT_THAT(look().driver->path, Optional(std::string("/usr/lib/libcuda.so.1")));
  variables_.erase("TRITON_LIBCUDA_PATH");
  program("/sbin/ldconfig");
  variables_.erase("LD_LIBRARY_PATH");
  EXPECT_TRUE(look().driver->folders.empty());
  file(nvidia("driver.py"), "libraries = ['cuda']\n");
  EXPECT_EQ(look().driver->name, "libcuda.so");
  EXPECT_EQ(look().driver->ldconfig, std::nullopt);
}

TEST_F(LookBeforeCompiling, UsesTritonPtxasWithoutNamedOne) {
  variables_["TRITON_PTXAS_PATH"] = "/no/ptxas";
  EXPECT_EQ(look().ptxas[0].path, path(nvidia("bin/ptxas")));
  EXPECT_THAT(look().ptxas[0].ignored, Optional(std::string("/no/ptxas")));
  program("/opt/ptxas");
  variables_["TRITON_PTXAS_BLACKWELL_PATH"] = path("/opt/ptxas");
  EXPECT_EQ(look().ptxas[1].path, path("/opt/ptxas"));
  remove(nvidia("bin/ptxas"));
  EXPECT_THAT(look().ptxas[0].problem, Optional(std::string("No such file or directory")));
  fs::permissions(path("/opt/ptxas"), fs::perms::owner_read);
  EXPECT_THAT(look().ptxas[1].problem, Optional(std::string("Permission denied")));
}

TEST_F(LookBeforeCompiling, SaysWhyNothingCanBeKept) {
  file("/home/.triton");
  EXPECT_THAT(problem("Triton"), HasSubstr("/home/.triton is no folder"));
  struct statvfs proc {};
  if (statvfs("/proc", &proc) == 0 && (proc.f_flag & ST_NOEXEC) != 0) {  // most systems mount /proc noexec
    variables_["TRITON_CACHE_DIR"] = "/proc/nothing";
    EXPECT_THAT(problem("Triton"), HasSubstr("/proc"));
  }
  sources_.user.reset();
  EXPECT_THAT(problem("TorchInductor"), HasSubstr("has none"));
  variables_["USER"] = "ada";
  EXPECT_EQ(problem("TorchInductor"), "");
  EXPECT_EQ(problem("CUDA driver"), "");
}

TEST_F(LookBeforeCompiling, IgnoresMissingTriton) {
  remove("/env/lib/python3.11/site-packages/triton");
  const Preflight all = look();
  EXPECT_FALSE(all.c_compiler || all.driver);
  EXPECT_TRUE(all.ptxas.empty());
  EXPECT_EQ(all.caches.size(), 2U);
}

TEST(PackagesOf, TellsWhereTorchIsImportedFrom) {
  const test::TempFolder folder;
  fs::create_directories(folder.path() / "torch/lib");
  Inventory inventory;
  inventory.artifact = (folder.path() / "torch").string();
  inventory.layout = "site-packages";
  EXPECT_EQ(find_packages_folder(inventory), std::nullopt);
  std::ofstream(folder.path() / "torch/__init__.py") << "\n";
  EXPECT_EQ(find_packages_folder(inventory), folder.path());
  inventory.layout = "wheel";
  EXPECT_EQ(find_packages_folder(inventory), std::nullopt);
}

}  // namespace
}  // namespace pbprobe
