// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Temporary folder of a test. Throws if the folder cannot be created.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "core/temp_folder.hpp"

namespace pbprobe::test {

class TempFolder {
 public:
  TempFolder() : folder_(make()) {
    std::filesystem::permissions(path(), std::filesystem::perms(0755));  // some tests act as another user
  }
  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }

  std::filesystem::path write(const std::filesystem::path& name, std::string_view text) const {
    const auto file = path() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }
  std::filesystem::path write(const std::filesystem::path& name, const std::vector<uint8_t>& content) const {
    return write(name, std::string_view(reinterpret_cast<const char*>(content.data()), content.size()));
  }

 private:
  static pbprobe::TempFolder make() {
    auto made = pbprobe::TempFolder::make();
    if (!made) throw std::runtime_error(made.error().message);
    return std::move(*made);
  }
  pbprobe::TempFolder folder_;
};

}  // namespace pbprobe::test
