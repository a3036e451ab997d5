// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Package index that has one version of a package: pip needs it to install that version again.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pbprobe {

// Returns the URL of PyTorch's index for a version with a local part, as torch 2.11.0+cu130; nullopt for packages that
// PyTorch does not publish, and for versions without such a part, which are on PyPI.
[[nodiscard]] std::optional<std::string> find_pytorch_index(std::string_view name, std::string_view version);

// Returns a command that installs this version of torch again, from the index that has it; nullopt if no index is known
// to have it. `version`: as METADATA has it.
[[nodiscard]] std::optional<std::string> make_torch_reinstall(std::string_view version);

// Returns the option of pip for the index that has this torch, with a space before it: PyPI, or PyTorch's index besides
// PyPI. Returns "" if no index is known to have it.
[[nodiscard]] std::string make_index_option(std::string_view torch);

// Returns the words of a pip command that keep the installed torch: "torch==2.11.0 --extra-index-url URL". pip compares
// the release only, so that a torch of PyPI, whose METADATA omits "+cu130", stays too. Omits an unknown index.
[[nodiscard]] std::string make_torch_pin(std::string_view version);

}  // namespace pbprobe
