// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Versions of the libraries beside torch, from the names of their *.dist-info folders and of their files.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/inventory.hpp"
#include "core/result.hpp"

namespace pbprobe {

// Returns {"cuDNN": "9.19.0.56", "NCCL": "2.28.9"}: from "nvidia_cudnn_cu13-9.19.0.56", else from "libcudnn.so.9.19.0".
// If two packages have one component, takes the version in `required`, which torch loads by its path.
[[nodiscard]] std::map<std::string, std::string> component_versions(
    const std::vector<std::string>& distributions, const std::vector<File>& files,
    const std::map<std::string, std::string>& required = {});

// Returns the components that a Nix closure has in only one version.
[[nodiscard]] std::map<std::string, std::string> component_versions(const StoreClosure& closure);

// Returns "CUDA runtime" for "cuda13.0-cuda_cudart" or "cuda_cudart".
[[nodiscard]] std::optional<std::string> component_of_store_package(std::string_view package);

// Returns the names, as package_name() writes them, that METADATA requires. Requirements of an extra are left out.
[[nodiscard]] std::set<std::string> required_packages(std::string_view metadata);

// Returns the requirements without a condition whose package is not among `installed`: "numkong>=7.8.6". `installed`:
// names, as package_name() writes them.
[[nodiscard]] std::vector<std::string> find_absent_requirements(std::string_view metadata,
                                                                const std::set<std::string>& installed);

// Returns the first Requires-Dist that is no requirement (PEP 508): installers refuse it. Does not read its condition.
[[nodiscard]] std::optional<std::string> find_invalid_requirement(std::string_view metadata);

// {"cuDNN": "9.19.0.56", "CUDA toolkit": "13.0.2"}: what the METADATA of torch's package pins with "==".
[[nodiscard]] std::map<std::string, std::string> required_versions(std::string_view metadata);

// Returns the tags of a WHEEL file: "cp313-cp313-manylinux_2_28_x86_64".
[[nodiscard]] std::vector<std::string> wheel_tags(std::string_view wheel);

// Reports whether a folder's name ("torch-2.11.0.dist-info") or the metadata in it claims to be torch.
[[nodiscard]] bool calls_itself_torch(std::string_view folder, std::string_view metadata);

// Returns the first value of `key` ("Name:") in the header of METADATA or WHEEL, without spaces around it.
[[nodiscard]] std::optional<std::string> value_in_header(std::string_view metadata, std::string_view key);

// Returns the name and version in the metadata.
[[nodiscard]] Package make_package(std::string folder, std::string_view metadata);

// Returns the torch versions that the package's folder and metadata state.
[[nodiscard]] std::vector<StatedVersion> list_stated_versions(const Package& package);

// Returns the version in a wheel's name ("torch-2.11.0%2Bcu130-cp311-cp311-linux_x86_64.whl"); nullopt for other names.
[[nodiscard]] std::optional<StatedVersion> version_stated_by_wheel(const std::string& file_name);

// Returns violations of Python's packaging standards in METADATA and WHEEL.
[[nodiscard]] std::vector<Error> faults_of_metadata(std::string_view metadata);
[[nodiscard]] std::vector<Error> faults_of_wheel(std::string_view wheel);

// Returns "cp313", "cp313t" or "abi3", from the name of torch's own extension module.
[[nodiscard]] std::optional<std::string> python_abi(const std::vector<File>& files);

}  // namespace pbprobe
