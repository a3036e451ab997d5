// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/temp_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <new>
#include <string>
#include <system_error>

#include "core/list_folder.hpp"

namespace pbprobe {

namespace fs = std::filesystem;

Result<TempFolder> TempFolder::make() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  std::string pattern = (parent / "pbprobe-XXXXXX").string();
  if (error || mkdtemp(pattern.data()) == nullptr) {
    const auto why = error ? error : std::error_code(errno, std::generic_category());
    return make_error(ErrorCode::unreadable, "no temporary folder can be made as {}: {}: set TMPDIR", pattern,
                      why.message());
  }
  return TempFolder(pattern);
}

TempFolder::~TempFolder() {
  constexpr int kMostTries = 3;
  for (int tries = 0; !path_.empty() && tries < kMostTries; ++tries) {
    try {
      remove_folder(path_);
      return;
    } catch (const std::bad_alloc&) {  // in a moment there may be some memory again
    }
  }
}

}  // namespace pbprobe
