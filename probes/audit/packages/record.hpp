// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// RECORD: the files that a package installed, as "path,sha256=…,bytes" (packaging.python.org, "Recording installed
// projects").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace pbprobe {

struct RecordedFile {
  std::string path;  // relative to the folder of packages, as it stands there
  std::string hash;  // "sha256=…", empty where none is recorded
  std::optional<uint64_t> size_bytes;
};

struct Record {
  std::vector<RecordedFile> files;
  std::optional<Error> fault;  // the first line that is none of a RECORD's: the others stand
};

[[nodiscard]] Record parse_record(std::string_view text);

}  // namespace pbprobe
