// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Layout of an artifact: its kind, and the files that the audit reads. Nothing is executed, and no file is changed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/audit/containers/mapped_file.hpp"
#include "probes/audit/containers/zip.hpp"

namespace pbprobe {

// Shared object: a file on disk, or a member of a wheel.
struct Item {
  std::string path;  // path inside the artifact: "torch/lib/libtorch_cuda.so"
  uint64_t size_bytes = 0;
  std::filesystem::path disk;         // "" inside a wheel
  const ZipMember* member = nullptr;  // member of a wheel; null on disk
  std::optional<Error> unread;        // reason why a member's content cannot be read
};

struct Wheel {
  Mapping mapping;
  ZipArchive archive;
};

// Name of a package, in the forms that pip reads.
struct PackageText {
  std::string folder;    // "torch-2.11.0.dist-info"
  std::string metadata;  // content of METADATA, or ""
};

struct ArtifactLayout {
  std::string kind;                   // one of the values of Inventory::layout
  std::filesystem::path root;         // base of the paths inside the artifact; "" in a wheel
  std::filesystem::path system_root;  // root of an unpacked Debian, searched before this system; or ""
  std::optional<std::filesystem::path> torch_dir;
  std::optional<std::filesystem::path> libtorch_dir;
  std::vector<Item> items;                   // sorted by path
  std::map<std::string, std::string> texts;  // small files that tell versions: "version.py" and others, by file name
  std::vector<std::string> distributions;    // "nvidia_nccl_cu13-2.28.9", from *.dist-info beside torch
  std::vector<PackageText> packages;         // metadata of torch's package, and of whatever else calls itself torch
  std::vector<std::string> broken_links;     // links to missing shared objects
  std::vector<std::string> problems;
  std::vector<std::filesystem::path> outputs;  // store paths of a Nix result
  std::shared_ptr<const Wheel> wheel;          // set only for a wheel
};

// Finds the layout. Errors: not_found, if the path or a torch in it is missing; usage, if the file is not an artifact.
[[nodiscard]] Result<ArtifactLayout> find_layout(const std::filesystem::path& artifact);

// "libtorch_cuda.so", "libcudart.so.13", "libnvrtc-builtins.alt.so.13.0"; not "notes.sources".
[[nodiscard]] bool is_shared_object_name(std::string_view name);

// Reports whether the audit reads a file: shared objects, device code files, compilers, and torch's helper program.
[[nodiscard]] bool is_wanted_name(std::string_view name);

// Returns the folder of version.py in an environment or a site-packages folder, or `root` itself.
[[nodiscard]] std::optional<std::filesystem::path> torch_folder(const std::filesystem::path& root);

}  // namespace pbprobe
