// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Libraries of CUDA that files of a package open by dlopen().
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/facts/inventory.hpp"
#include "probes/audit/loader/process.hpp"
#include "probes/audit/packages/distributions.hpp"

namespace pbprobe {

using LibrariesByName = std::map<std::string, std::vector<std::filesystem::path>>;

// Reports whether a library of this file name computes for others: cuDNN, cuBLAS, NCCL.
[[nodiscard]] bool is_cuda_library(const std::string& name);

// Returns "libgomp.so.1" for "libgomp-24e2ab19.so.1.0.0", a name by auditwheel; other names unchanged.
[[nodiscard]] std::string get_library_family(const std::string& name);

// Returns ".8.9.7" for "libcudnn.so.8.9.7".
[[nodiscard]] std::string get_library_number(const std::string& name);

// Marks as kUnopened the libraries of CUDA that the loaded `files` of `package` open by dlopen() and that neither
// process finds. Omits optional ones: their file is not a part of CUDA itself, and the environment (`installed`) has no
// other major version. Also omits libraries that the package has, and installed ones that its Python may open before.
void mark_unopened_libraries(std::vector<File>& files, const InstalledPackage& package, Process& process,
                             Process& after_torch, const LibrariesByName& installed);

}  // namespace pbprobe
