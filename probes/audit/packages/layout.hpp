// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Finds what an artifact is, and which of its files the audit reads. Nothing is executed and no file is changed.
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

// One shared object: a file on disk, or a member of a wheel.
struct Item {
  std::string path;  // as inside the artifact: "torch/lib/libtorch_cuda.so"
  uint64_t size_bytes = 0;
  std::filesystem::path disk;         // empty inside a wheel
  const ZipMember* member = nullptr;  // null on disk
  std::optional<Error> unread;        // reason why a member's content cannot be read
};

struct Wheel {
  Mapping mapping;
  ZipArchive archive;
};

// What pip knows a package by.
struct PackageText {
  std::string folder;    // "torch-2.11.0.dist-info"
  std::string metadata;  // its METADATA; empty: none
};

struct ArtifactLayout {
  std::string kind;                   // as Inventory::layout
  std::filesystem::path root;         // what paths inside the artifact are relative to; empty in a wheel
  std::filesystem::path system_root;  // of an unpacked Debian: its libraries stand in for this system's; may be empty
  std::optional<std::filesystem::path> torch_dir;
  std::optional<std::filesystem::path> libtorch_dir;
  std::vector<Item> items;                   // sorted by path
  std::map<std::string, std::string> texts;  // small files that tell versions: "version.py" and others, by file name
  std::vector<std::string> distributions;    // "nvidia_nccl_cu13-2.28.9", from *.dist-info beside torch
  std::vector<PackageText> packages;         // metadata of torch's package, and of whatever else calls itself torch
  std::vector<std::string> broken_links;     // to shared objects that are not there
  std::vector<std::string> problems;
  std::vector<std::filesystem::path> outputs;  // store paths of a Nix result
  std::shared_ptr<const Wheel> wheel;          // null unless a wheel
};

// Errors: not_found where nothing is there or no torch in it, usage where the file is not an artifact.
[[nodiscard]] Result<ArtifactLayout> find_layout(const std::filesystem::path& artifact);

// "libtorch_cuda.so", "libcudart.so.13", "libnvrtc-builtins.alt.so.13.0"; not "notes.sources".
[[nodiscard]] bool is_shared_object_name(std::string_view name);

// What the audit reads of a package: shared objects, device code in files of its own, compilers, and the program that
// torch starts.
[[nodiscard]] bool is_wanted_name(std::string_view name);

// The torch folder (that of version.py) of an environment, a site-packages folder, or the folder itself.
[[nodiscard]] std::optional<std::filesystem::path> torch_folder(const std::filesystem::path& root);

}  // namespace pbprobe
