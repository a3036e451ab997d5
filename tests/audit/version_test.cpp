// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/version.hpp"

#include <gtest/gtest.h>

#include "probes/audit/packages/contents.hpp"
#include "probes/audit/packages/layout.hpp"

namespace pbprobe {
namespace {

using Texts = std::map<std::string, std::string>;

TEST(Version, VersionPyIsReadAsText) {
  const Versions versions = read_versions({{"version.py",
                                            "from typing import Optional\n"
                                            "__version__ = '2.11.0+cu130'\n"
                                            "debug = False\n"
                                            "cuda: Optional[str] = '13.0'\n"
                                            "git_version = \"70d99e99\"\r\n"
                                            "hip: Optional[str] = None\n"}});
  EXPECT_EQ(versions.torch, "2.11.0+cu130");
  EXPECT_EQ(versions.cuda, "13.0");
  EXPECT_EQ(versions.git, "70d99e99");
}

TEST(Version, ReturnsNullForNone) {
  const Versions versions = read_versions({{"version.py", "__version__ = '2.10.0+cpu'\ncuda = None\n"}});
  EXPECT_EQ(versions.torch, "2.10.0+cpu");
  EXPECT_EQ(versions.cuda, std::nullopt);
  EXPECT_EQ(versions.git, std::nullopt);
}

TEST(Version, UsesLastAssignment) {
  const Versions versions = read_versions({{"version.py",
                                            "\"\"\"__version__ = '1'\n\"\"\"  # cuda = '1'\n"
                                            "__all__ = ['__version__', 'cuda']\n"
                                            "cuda_arch = '9.0'; cuda: Optional[str] = None\n"
                                            "__version__ = ('2.11.0'\n"
                                            ")\n"
                                            "__version__ = '2.11' '.0' \\\n  '+cu130'\n"}});
  EXPECT_TRUE(versions.problems.empty());
  EXPECT_EQ(versions.torch, "2.11.0+cu130");
  std::vector<std::string> stated;
  for (const auto& one : versions.stated) stated.push_back(one.of + " " + one.where + " " + one.stated);
  EXPECT_EQ(stated, (std::vector<std::string>{"CUDA torch/version.py:4 no text", "torch torch/version.py:5 no text",
                                              "torch torch/version.py:7 2.11.0+cu130"}));
}

TEST(Version, ReportsValueKnownOnlyAtRunTime) {
  for (const char* line :
       {"__version__ += '+cu130'", "if debug: __version__ = '2.9.1'", "if debug:\n  __version__ = '2.9.1'",
        "a = __version__ = '2.9.1'", "__version__, cuda = '2.9.1', None", "__version__ = f'2.9.1'", "exec('…')",
        "__version__ = '2\\x2e9.1'", "from .other import *", "from .other import __version__", "del __version__",
        "debug: [cuda := '12.8']", "globals()['__version__'] = '2.9.1'", "__version__ = str(2)", "cuda = '12.8",
        "cuda == '1'"}) {
    const Versions versions = read_versions({{"version.py", std::string("__version__ = '2.11.0'\n") + line + "\n"}});
    ASSERT_EQ(versions.problems.size(), 1U) << line;
    EXPECT_EQ(versions.problems[0].message.rfind("version.py: line ", 0), 0U) << versions.problems[0].message;
    EXPECT_EQ(versions.torch, std::nullopt) << line;
  }
}

TEST(Version, ReadsBuildFilesOfLibtorchArchive) {
  const Versions versions = read_versions({{"build-version", "2.9.1+cu126\n"}, {"build-hash", "5811a8d7\n"}});
  EXPECT_EQ(versions.torch, "2.9.1+cu126");
  EXPECT_EQ(versions.cuda, "12.6");
  EXPECT_EQ(versions.git, "5811a8d7");
}

TEST(Version, DebianHasOnlyTheCMakeFile) {
  const Versions versions =
      read_versions({{"TorchConfigVersion.cmake", "# comment\nset(PACKAGE_VERSION \"1.13.1\")\nif(x)\nendif()\n"}});
  EXPECT_EQ(versions.torch, "1.13.1");
  EXPECT_EQ(versions.cuda, std::nullopt);
}

TEST(Version, ReturnsNothingWithoutFiles) {
  EXPECT_EQ(read_versions({}).torch, std::nullopt);
  EXPECT_EQ(read_versions({{"build-version", "2.9.1+cpu\n"}}).cuda, std::nullopt);
}

TEST(Component, IsNamedByFile) {
  EXPECT_EQ(find_component("torch/lib/libtorch_cuda_linalg.so"), "libtorch");
  EXPECT_EQ(find_component("torch.libs/libtorch-d6f8e1a2.so"), "libtorch");
  EXPECT_EQ(find_component("torchaudio/lib/libtorchaudio.so"), std::nullopt);
  EXPECT_EQ(find_component("torch/_C.cpython-311-x86_64-linux-gnu.so"), "libtorch");
  EXPECT_EQ(find_component("nvidia/nccl/lib/libnccl.so.2"), "NCCL");
  EXPECT_EQ(find_component("nvidia/cu13/lib/libcublasLt.so.13"), "cuBLAS");
  EXPECT_EQ(find_component("nvidia/cusparselt/lib/libcusparseLt.so.0"), "cuSPARSELt");
  EXPECT_EQ(find_component("nvidia/cu13/lib/libcusparse.so.12"), "cuSPARSE");
  EXPECT_EQ(find_component("libmade_up.so"), std::nullopt);
}

TEST(SharedObjectName, SoAtTheEndOrBeforeAVersion) {
  for (const char* name : {"libx.so", "libx.so.1", "libnvrtc-builtins.alt.so.13.0", "_C.abi3.so"})
    EXPECT_TRUE(is_shared_object_name(name)) << name;
  for (const char* name : {"x.sources", "libx.so.debug", "libx.a", ".so", "notes.so.txt", ""})
    EXPECT_FALSE(is_shared_object_name(name)) << name;
}

}  // namespace
}  // namespace pbprobe
