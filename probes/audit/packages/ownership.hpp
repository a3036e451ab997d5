// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Comparison of a package's files with its RECORD and with other packages.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/environment.hpp"
#include "core/facts/inventory.hpp"
#include "probes/audit/packages/distributions.hpp"

namespace pbprobe {

// Reports whether installers put a member of a wheel into a folder of torch: directly, or by a scheme as in
// "spam-1.0.data/platlib/torch/lib/libc10.so".
[[nodiscard]] bool is_installed_in_torch(std::string_view member);

// Owners of each path that RECORDs name.
class Owners {
 public:
  // Keeps references to `packages`.
  explicit Owners(const std::vector<InstalledPackage>& packages);

  // Returns the dist-info folder of another package whose RECORD has this path with other content; nullopt if none
  // does.
  [[nodiscard]] std::optional<std::string> other_owner(const std::string& path, const std::string& info) const;

  // Reports whether the file is the one that another package recorded, and that package requires the package of
  // `info`: it overwrites the file on purpose, after pip has installed what it requires. Always false for torch: a gate
  // judges the files of torch's own package. `read`: null if the content is not known.
  [[nodiscard]] bool is_overlay(const std::string& path, const std::string& info, uint64_t size,
                                const File* read) const;

  // Describes the libraries and programs in torch's folders that the RECORD of torch does not list. `info`: dist-info
  // folder of torch.
  [[nodiscard]] std::vector<std::string> describe_foreign_libraries(const std::string& info,
                                                                    const std::vector<File>& files) const;

 private:
  struct Package {
    std::string info;
    std::string name;
    std::set<std::string> required;
  };
  struct Claim {
    size_t package;
    const RecordedFile* file;
  };
  std::vector<Package> packages_;
  std::map<std::string, std::vector<Claim>> claims_;  // keys: paths
};

// `files`: the package's files with their digests. Returns nullopt without a RECORD.
[[nodiscard]] std::optional<RecordedFiles> compare_with_record(const InstalledPackages& installed,
                                                               const InstalledPackage& package,
                                                               const std::vector<File>& files, const Owners& owners);

}  // namespace pbprobe
