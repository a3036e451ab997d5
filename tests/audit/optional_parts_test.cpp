// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/closure.hpp"

#include <gmock/gmock.h>

#include "tests/temp_folder.hpp"

namespace pbprobe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class OptionalParts : public testing::Test {
 protected:
  void record(std::string_view files) { folder_.write("nvidia_cudnn_cu13-9.20.0.48.dist-info/RECORD", files); }

  // Names that remain of these unresolved ones.
  [[nodiscard]] std::vector<std::string> remaining(const std::vector<std::string>& names) const {
    File file;
    file.path = "nvidia/cudnn/lib/libcudnn_graph.so.9";
    file.links.emplace();
    file.links->opened.emplace();
    for (const auto& name : names) file.links->opened->push_back({.name = name});
    std::vector files{file};
    remove_optional_parts(files, folder_.path());
    std::vector<std::string> rest;
    for (const auto& opened : *files[0].links->opened) rest.push_back(opened.name);
    return rest;
  }

 private:
  test::TempFolder folder_;
};

TEST_F(OptionalParts, KeepsOnlyPartsThatRecordLists) {
  record("nvidia/cudnn/lib/libcudnn_graph.so.9,,\nnvidia/cudnn/lib/libcudnn_ops.so.9,,\n");
  EXPECT_THAT(remaining({"libcudnn_engines_tensor_ir.so", "libcudnn_adv.so"}), IsEmpty());
  EXPECT_THAT(remaining({"libcudnn_ops.so", "libibverbs.so.1"}), ElementsAre("libcudnn_ops.so", "libibverbs.so.1"));
}

TEST_F(OptionalParts, KeepsDocumentedPartsWithoutRecord) {
  EXPECT_THAT(remaining({"libcudnn_ops.so", "libcudnn_engines_tensor_ir.so", "libnvrtc-builtins.so.13.0"}),
              ElementsAre("libcudnn_ops.so", "libnvrtc-builtins.so.13.0"));
}

TEST_F(OptionalParts, IgnoresRecordsOfOtherPackages) {
  record("nvidia/cublas/lib/libcublas.so.13,,\n");
  EXPECT_THAT(remaining({"libcudnn_ops.so"}), ElementsAre("libcudnn_ops.so"));
}

}  // namespace
}  // namespace pbprobe
