// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/child/landlock.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pbprobe {
namespace {

// Declared here, for headers older than the kernel. Source: Documentation/userspace-api/landlock.rst.
constexpr long kCreateRuleset = 444;
constexpr long kAddRule = 445;
constexpr long kRestrictSelf = 446;
constexpr unsigned kAskVersion = 1;
constexpr int kPathBeneath = 1;

struct Ruleset {
  uint64_t file_rights;
};
struct __attribute__((packed)) PathBeneath {
  uint64_t rights;
  int32_t folder;
};

// All that changes files; by the version that first knew it.
uint64_t writing_rights(int64_t version) {
  constexpr uint64_t kWriteFile = 1 << 1;
  constexpr uint64_t kRemoveAndMake = 0x1ff << 4;  // folders, files, devices, sockets, pipes, links
  constexpr uint64_t kRefer = 1 << 13;             // move to another folder
  constexpr uint64_t kTruncate = 1 << 14;
  return kWriteFile | kRemoveAndMake | (version >= 2 ? kRefer : 0) | (version >= 3 ? kTruncate : 0);
}

class Descriptor {
 public:
  explicit Descriptor(long number) : number_(static_cast<int>(number)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  [[nodiscard]] int get() const { return number_; }

 private:
  int number_;
};

Error refused(const char* what) {
  return make_error(ErrorCode::unsupported, "{}: {}: pbprobe cannot keep libtorch from writing to other folders here",
                    what, std::strerror(errno));
}

}  // namespace

Result<int64_t> write_only_below(const std::vector<std::string>& folders) {
  const int64_t version = syscall(kCreateRuleset, nullptr, 0, kAskVersion);
  if (version < 1) return refused("this kernel has no Landlock (Linux 5.13 and later have it), or it is switched off");
  const Ruleset ruleset{writing_rights(version)};
  const Descriptor rules(syscall(kCreateRuleset, &ruleset, sizeof ruleset, 0));
  if (rules.get() < 0) return refused("making Landlock's rules");
  for (const std::string& folder : folders) {
    const Descriptor here(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (here.get() < 0) continue;
    const PathBeneath rule{ruleset.file_rights, here.get()};
    if (syscall(kAddRule, rules.get(), kPathBeneath, &rule, 0) != 0) return refused("adding a Landlock rule");
  }
  if (syscall(kRestrictSelf, rules.get(), 0) != 0) return refused("putting Landlock's rules in force");
  return version;
}

std::vector<std::string> writable_besides() {
  std::vector<std::string> folders{"/dev", "/proc"};
  const char* const home = std::getenv("HOME");
  const char* const cache = std::getenv("CUDA_CACHE_PATH");
  const char* const pipes = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  if (cache != nullptr) folders.emplace_back(cache);
  if (cache == nullptr && home != nullptr) folders.push_back(std::string(home) + "/.nv/ComputeCache");
  folders.emplace_back(pipes != nullptr ? pipes : "/tmp/nvidia-mps");
  return folders;
}

}  // namespace pbprobe
