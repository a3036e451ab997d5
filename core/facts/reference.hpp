// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Contents of a public build of torch: the reference for a build of the same version.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/fields.hpp"

namespace pbprobe {

// Machine code of libtorch's own files for one SM.
struct ReferenceCode {
  int64_t units = 0;  // translation units with it
  int64_t kernels = 0;
  int64_t code_bytes = 0;
};

// One of libtorch's own files other than libtorch_cuda.so.
struct ReferenceFile {
  std::map<std::string, std::string> linked;  // static libraries: {"MAGMA": "2.6.1"}; other versions change the counts
  std::map<std::string, ReferenceCode> code;  // "sm_90"
  std::optional<std::map<std::string, int64_t>> families;  // families of SmCensus, for one SM; null if not known
};

struct ReferenceBuild {
  std::string torch;                                       // "2.11.0"
  std::string cuda;                                        // "13.0"
  std::string platform;                                    // "x86_64-linux"
  std::string build;                                       // wheel that the figures were read from
  std::map<std::string, ReferenceCode> code;               // code of libtorch_cuda.so: "sm_90"
  std::optional<std::map<std::string, int64_t>> families;  // families in libtorch_cuda.so; null if not known
  std::map<std::string, ReferenceFile> files;              // "libtorch_cuda_linalg.so"
};

void fields(auto& visit, SameAs<ReferenceCode> auto& code) {
  visit("units", code.units, "translation units with machine code for it");
  visit("kernels", code.kernels, "entry functions for this SM");
  visit("code_bytes", code.code_bytes, "their bytes");
}

void fields(auto& visit, SameAs<ReferenceFile> auto& file) {
  visit("linked", file.linked, "libraries linked in statically; other versions change the counts");
  visit("code", file.code, "machine code per SM");
  visit("families", file.families, "kernels per function template, for one SM; null if not known");
}

void fields(auto& visit, SameAs<ReferenceBuild> auto& build) {
  visit("torch", build.torch, "its version");
  visit("cuda", build.cuda, "its CUDA");
  visit("platform", build.platform, "its platform");
  visit("build", build.build, "the wheel that was read");
  visit("code", build.code, "machine code of libtorch_cuda.so, per SM");
  visit("families", build.families,
        "kernels of libtorch_cuda.so per function template, for one SM, without rare ones; null if not known");
  visit("files", build.files, "libtorch's others with machine code, by name");
}

}  // namespace pbprobe
