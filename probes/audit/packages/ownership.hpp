// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Whether the files of a package are those that it installed, and who else installed them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/facts/environment.hpp"
#include "core/facts/inventory.hpp"
#include "probes/audit/packages/distributions.hpp"

namespace pbprobe {

class Owners {
 public:
  explicit Owners(const std::vector<InstalledPackage>& packages);

  // Another package whose RECORD has this path with other content. Null: there is none.
  [[nodiscard]] std::optional<std::string> other_owner(const std::string& path, const std::string& info) const;

 private:
  struct Claims {
    std::set<std::string> infos;
    std::set<std::string> hashes;
  };
  std::map<std::string, Claims> claims_;  // by path
};

// `files`: the package's own as they were read, with their digests. Null: it has no RECORD.
[[nodiscard]] std::optional<RecordedFiles> compare_with_record(const InstalledPackages& installed,
                                                               const InstalledPackage& package,
                                                               const std::vector<File>& files, const Owners& owners);

}  // namespace pbprobe
