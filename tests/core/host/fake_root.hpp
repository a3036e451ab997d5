// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A folder that stands for / in a test: /proc, /sys and /etc as the test writes them.
#pragma once

#include <string>
#include <string_view>

#include "tests/temp_folder.hpp"

namespace pbprobe::host {

class FakeRoot {
 public:
  void write(std::string_view file, std::string_view text) const { folder_.write(file.substr(1), text); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  test::TempFolder folder_;
  std::string path_ = folder_.path().string();
};

}  // namespace pbprobe::host
