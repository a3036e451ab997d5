// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// When the speeds of two builds may be compared: what differs is named, and so is what one of them does not tell.
#include "probes/judge/baseline.hpp"

#include <gmock/gmock.h>

#include "tests/judge/cases.hpp"

namespace pbprobe::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Inventory comparable() {
  Report report = audit_report();
  File& cpu = file_named(report, "libtorch_cpu.so");
  cpu.needed = {"libgomp.so.1"};
  cpu.links->versions = {{{"oneDNN", "3.10.2"}}};
  return *report.inventory;
}

File& libtorch_cpu(Inventory& inventory) {
  for (auto& file : inventory.files) {
    if (file.path.ends_with("/libtorch_cpu.so")) return file;
  }
  return inventory.files.front();
}

std::vector<std::string> differences(const Inventory& build, const Inventory& baseline) {
  return compare_builds(build, baseline).differences;
}

TEST(CompareBuilds, WhatIsTheSameIsComparable) {
  EXPECT_THAT(differences(comparable(), comparable()), IsEmpty());
}

TEST(CompareBuilds, AnotherOneDnnIsNamed) {
  Inventory other = comparable();
  libtorch_cpu(other).links->versions = {{{"oneDNN", "3.7.1"}}};
  EXPECT_THAT(differences(comparable(), other), ElementsAre("oneDNN 3.10.2 against 3.7.1"));
  libtorch_cpu(other).links->versions.reset();  // linked in, and its symbols do not tell
  EXPECT_THAT(differences(comparable(), other), ElementsAre("oneDNN 3.10.2 against unknown"));
  EXPECT_THAT(differences(other, other), ElementsAre("oneDNN unknown against unknown"));
  libtorch_cpu(other).links->contains = {"FBGEMM", "MKL"};
  EXPECT_THAT(differences(comparable(), other), ElementsAre("oneDNN 3.10.2 against none"));
  EXPECT_THAT(differences(other, other), IsEmpty()) << "both are built without";
}

TEST(CompareBuilds, AOneDnnOfItsOwnTellsItsVersion) {
  Inventory shared = comparable();
  libtorch_cpu(shared).links->versions.reset();
  libtorch_cpu(shared).links->contains = {"FBGEMM", "MKL"};
  libtorch_cpu(shared).needed.emplace_back("libdnnl.so.3");
  EXPECT_THAT(differences(shared, comparable()), ElementsAre("oneDNN unknown against 3.10.2"));
  File library;
  library.path = "torch/lib/libdnnl.so.3";
  library.links = Links{.versions = {{{"oneDNN", "3.10.2"}}}};
  shared.files.push_back(library);
  EXPECT_THAT(differences(shared, comparable()), IsEmpty());
}

TEST(CompareBuilds, EverythingElseThatDiffersIsNamed) {
  Inventory other = comparable();
  other.torch_version = "2.10.0+cu130";
  other.cuda_version = "12.8";
  libtorch_cpu(other).links->contains = {"OpenBLAS", "oneDNN"};
  libtorch_cpu(other).needed = {"libomp.so"};
  EXPECT_THAT(differences(comparable(), other),
              ElementsAre("torch 2.11.0 against 2.10.0", "CUDA 13.0 against 12.8", "BLAS MKL against OpenBLAS",
                          "threads by libgomp against libomp"));
}

}  // namespace
}  // namespace pbprobe::test
