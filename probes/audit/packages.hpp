// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Versions of the libraries beside torch, from the names of their *.dist-info folders and of their files.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/inventory.hpp"

namespace pbprobe {

// {"cuDNN": "9.19.0.56", "NCCL": "2.28.9"}: from "nvidia_cudnn_cu13-9.19.0.56", else from "libcudnn.so.9.19.0".
[[nodiscard]] std::map<std::string, std::string> component_versions(const std::vector<std::string>& distributions,
                                                                    const std::vector<File>& files);

// "cp313", "cp313t" or "abi3", from the name of torch's own extension module.
[[nodiscard]] std::optional<std::string> python_abi(const std::vector<File>& files);

}  // namespace pbprobe
