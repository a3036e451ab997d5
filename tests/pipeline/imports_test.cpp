// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A small environment with this machine's Python, a torch of our own and extensions of it: sound ones, and such that
// hang, crash or write as they are imported.
#include "probes/pipeline/imports.hpp"

#include <sys/utsname.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/program.hpp"
#include "paths.hpp"
#include "tests/temp_folder.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

constexpr const char* kTorch = R"(
import ctypes, glob, os
ctypes.CDLL(glob.glob(os.path.dirname(__file__) + "/_C.*.so")[0])
class ops:
    load_library = staticmethod(ctypes.CDLL)
)";

class TriedImports : public testing::Test {
 protected:
  void SetUp() override {
    std::error_code error;
    const fs::path python = fs::canonical("/usr/bin/python3", error);
    if (error)
      GTEST_SKIP() << "/usr/bin/python3 is missing: the system's Python runs without an environment of its own";
    const std::string version = python.filename().string();  // "python3.11"
    utsname system{};
    uname(&system);
    site_ = root_ / "lib" / version / "site-packages";
    fs::create_directories(root_ / "bin");
    fs::create_symlink(python, root_ / "bin/python");
    std::ofstream(root_ / "pyvenv.cfg") << "home = /usr/bin\ninclude-system-site-packages = false\n";
    installed("torch");
    write("torch/__init__.py", kTorch);
    write("torch/version.py", "__version__ = '2.11.0'\n");
    library("torch/lib/libtorch_cpu.so", "int of_torch(void) { return 1; }\n", "-Wl,-soname,libtorch_cpu.so");
    const std::string tag = version.substr(0, 6) == "python" ? "cpython-3" + version.substr(8) : "";
    library("torch/_C." + tag + "-" + system.machine + "-linux-gnu.so",
            "int of_torch(void);\nint f(void) { return of_torch(); }\n", make_link_options("$ORIGIN/lib"));
  }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((site_ / name).parent_path());
    std::ofstream(site_ / name) << text;
  }
  // Makes the folder a package.
  void installed(const std::string& package) const {
    write(package + "-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: " + package + "\nVersion: 1.0\n");
  }
  [[nodiscard]] std::string make_link_options(const std::string& rpath) const {
    return "-Wl,-rpath,'" + rpath + "' " + (site_ / "torch/lib/libtorch_cpu.so").string();
  }
  void library(const fs::path& name, const std::string& code, const std::string& options) const {
    const fs::path file = site_ / name;  // itself, where `name` is absolute
    fs::create_directories(file.parent_path());
    const fs::path source = root_ / "source.c";
    std::ofstream(source) << code;
    const std::string words = "cc -shared -fPIC -o '" + file.string() + "' '" + source.string() + "' " + options;
    const auto built = run_program({.arguments = {"sh", "-c", words}});
    ASSERT_TRUE(built.ok() && built->exit_code == 0) << (built.ok() ? built->err : built.error().message);
  }
  // Installs an extension that executes `does` while it is loaded.
  void extension(const std::string& does, const std::string& also = "") const {
    installed("ext");
    library("ext/_ext.so",
            "#include <stdio.h>\n#include <signal.h>\n#include <unistd.h>\nint of_torch(void);\n" + also +
                "__attribute__((constructor)) static void at_load(void) { of_torch(); " + does + " }\n",
            make_link_options("$ORIGIN/../torch/lib"));
  }
  [[nodiscard]] std::vector<Import> tried(double seconds = 30) const {
    return try_imports({.packages = site_, .program = PBPROBE_PROGRAM, .seconds = seconds});
  }

  test::TempFolder folder_;
  fs::path root_ = fs::canonical(folder_.path());
  fs::path site_;
};

TEST_F(TriedImports, ComeAsTheFilesSay) {
  extension("");
  const auto all = tried();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].module, "torch");
  EXPECT_EQ(all[1].module, (site_ / "ext/_ext.so").string());
  for (const auto& import : all) {
    EXPECT_EQ(import.problem, std::nullopt) << import.module;
    EXPECT_THAT(import.loaded, Contains((site_ / "torch/lib/libtorch_cpu.so").string()));
    EXPECT_TRUE(import.others.empty()) << import.others.front().name;
    EXPECT_TRUE(import.unpredicted.empty()) << import.unpredicted.front();
  }
  EXPECT_THAT(all[1].loaded, Contains(all[1].path));
}

TEST_F(TriedImports, NameTheEndOfCrashedOrHungProcesses) {
  extension("raise(SIGSEGV);");
  EXPECT_THAT(tried()[1].problem, Optional(std::string("it was ended by SIGSEGV")));
  EXPECT_EQ(tried()[1].obstacle, std::nullopt);
  extension("for (;;) sleep(1);");
  EXPECT_THAT(tried(3)[1].problem, Optional(std::string("the importing process did not end within 3 s")));
}

TEST_F(TriedImports, WriteNothingToTheEnvironment) {
  const std::string file = (site_ / "ext/written").string();
  extension("FILE* f = fopen(\"" + file + "\", \"w\"); if (f == 0) raise(SIGABRT); fclose(f);");
  const auto all = tried();
  if (all[1].obstacle == Obstacle::unsupported) GTEST_SKIP() << *all[1].problem;
  EXPECT_THAT(all[1].problem, Optional(std::string("it was ended by SIGABRT")));
  EXPECT_FALSE(fs::exists(file));
}

TEST_F(TriedImports, SayWhatPythonSays) {
  write("torch/__init__.py", "import made_up_module\n");
  const auto all = tried();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_THAT(all[0].problem, Optional(std::string("ModuleNotFoundError: No module named 'made_up_module'")));
  write("torch/__init__.py", "open('" + (site_ / "cache").string() + "', 'w')\n");
  EXPECT_EQ(tried()[0].obstacle, Obstacle::not_permitted);  // a user may permit it
}

TEST_F(TriedImports, NameALibraryThatCameFromElsewhere) {
  library(root_ / "elsewhere/libtorch_cpu.so", "int of_torch(void) { return 2; }\n", "-Wl,-soname,libtorch_cpu.so");
  library(root_ / "elsewhere/libother.so", "int other(void) { return 2; }\n", "");
  const std::string elsewhere = (root_ / "elsewhere/libtorch_cpu.so").string();
  const std::string other = (root_ / "elsewhere/libother.so").string();
  setenv("LD_PRELOAD", (elsewhere + ":" + other).c_str(), 1);
  const auto all = tried();
  unsetenv("LD_PRELOAD");
  ASSERT_EQ(all[0].problem, std::nullopt);
  ASSERT_EQ(all[0].others.size(), 1U);
  EXPECT_EQ(all[0].others[0].name, "libtorch_cpu.so");
  EXPECT_THAT(all[0].others[0].loaded, Optional(elsewhere));
  EXPECT_THAT(all[0].unpredicted, ElementsAre(other));
}

TEST_F(TriedImports, ExplainModulesThatShouldNotLoad) {
  extension("made_up();", "int made_up(void);\n");
  const auto all = tried();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_THAT(all[1].refused_by_files, Optional(HasSubstr("made_up")));
  EXPECT_THAT(all[1].problem, Optional(HasSubstr("undefined symbol: made_up")));
}

}  // namespace
}  // namespace pbprobe
