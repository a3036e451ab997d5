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
  FIELD(int64_t, units, "translation units with machine code for it") = 0;
  FIELD(int64_t, kernels, "entry functions for this SM") = 0;
  FIELD(int64_t, code_bytes, "their bytes") = 0;
};

// One of libtorch's own files other than libtorch_cuda.so.
struct ReferenceFile {
  FIELD(ByName<std::string>, linked, "libraries linked in statically; other versions change the counts");
  FIELD(ByName<ReferenceCode>, code, "machine code per SM");  // "sm_90"
  FIELD(std::optional<ByName<int64_t>>, families, "kernels per function template, for one SM; null if not known");
};

// Machine code in torch's own wheel of one release, CUDA and platform (recipes/reference_builds.json).
struct ReferenceBuild {
  FIELD(std::string, torch, "its version");      // "2.11.0"
  FIELD(std::string, cuda, "its CUDA");          // "13.0"
  FIELD(std::string, platform, "its platform");  // "x86_64-linux"
  FIELD(std::string, build, "the wheel that was read");
  FIELD(ByName<ReferenceCode>, code, "machine code of libtorch_cuda.so, per SM");  // "sm_90"
  FIELD(std::optional<ByName<int64_t>>, families,
        "kernels of libtorch_cuda.so per function template, for one SM, without rare ones; null if not known");
  FIELD(ByName<ReferenceFile>, files, "libtorch's others with machine code, by name");  // "libtorch_cuda_linalg.so"
};

}  // namespace pbprobe
