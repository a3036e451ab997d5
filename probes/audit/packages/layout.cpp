// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/layout.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/ranges.h>

#include "core/list_folder.hpp"
#include "probes/audit/containers/fatbin.hpp"
#include "probes/audit/containers/way_out.hpp"
#include "probes/audit/packages/constants.hpp"
#include "probes/audit/packages/contents.hpp"
#include "probes/audit/packages/distributions.hpp"
#include "probes/audit/packages/environments.hpp"
#include "probes/audit/packages/nix_store.hpp"
#include "probes/audit/packages/packages.hpp"
#include "probes/audit/packages/walk.hpp"
#include "probes/audit/packages/wheel_identity.hpp"
#include "probes/audit/packages/wheel_name.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWanted =
    "give a wheel, an environment, a site-packages, torch or libtorch folder, a Nix result, or a shared object";
constexpr uint64_t kMaxTextBytes = 1 << 20;
constexpr size_t kMaxHeadBytes = 1 << 14;  // METADATA begins with name and version
constexpr std::array kVersionTexts{"version.py", "build-version", "build-hash", "TorchConfigVersion.cmake"};
constexpr std::array kBesideTorch{"nvidia",    "cusparselt", "torch.libs",
                                  "functorch", "torchgen",   "triton/backends/nvidia/bin"};
constexpr std::string_view kOtherWheel = "WHEEL of another package";  // torch's WHEEL may follow, and has precedence
constexpr std::array kPackageTexts{"METADATA", "WHEEL"};

// "torch-2.11.0.dist-info"
bool is_torch_info_folder(std::string_view folder) {
  return folder.ends_with(".dist-info") && calls_itself_torch(folder, "");
}

bool is_libtorch_name(std::string_view name) {
  return is_shared_object_name(name) && name.starts_with("libtorch");
}

// Debian's folder holds every library of the system.
bool is_debian_torch_name(std::string_view name) {
  constexpr std::array kOwnNames{"libtorch", "libc10", "libcaffe2", "libshm"};
  return is_shared_object_name(name) &&
         std::ranges::any_of(kOwnNames, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool holds_libtorch(const fs::path& folder) {
  const auto names = list_entry_names(folder);
  return std::ranges::any_of(names, is_libtorch_name);
}

// Returns build/lib of a checkout that was built and not installed into torch/lib.
std::optional<fs::path> find_build_lib(const fs::path& torch) {
  const fs::path built = torch.parent_path() / "build/lib";
  if (holds_libtorch(torch / "lib") || !holds_libtorch(built)) return std::nullopt;
  return built;
}

// Reports whether this user lacks permission for an existing folder: its files are not missing.
bool is_closed(const fs::path& folder) {
  std::error_code error;
  return fs::is_directory(folder, error) && access(folder.c_str(), R_OK | X_OK) != 0 && errno == EACCES;
}

// Other packages have a version.py and a folder lib too, as numpy has: a torch has torch's name or torch's libraries.
bool is_torch_folder(const fs::path& folder) {
  const bool is_named_torch = folder.filename() == "torch";
  if (is_closed(folder)) return is_named_torch;
  const fs::path libraries = folder / "lib";
  return is_there(folder / "version.py") && ((is_named_torch && (is_there(libraries) || fs::is_symlink(libraries))) ||
                                             holds_libtorch(libraries) || find_build_lib(folder).has_value());
}

std::string too_large(const std::string& name, uint64_t size) {
  return append_remedy(make_error(ErrorCode::malformed, "{}: this text has {} bytes, and pbprobe reads at most {}",
                                  name, size, kMaxTextBytes),
                       ReadFrom::text)
      .message;
}

void read_text(const fs::path& path, ArtifactLayout& layout) {
  auto text = read_whole_file(path, kMaxTextBytes);
  if (text) {
    layout.texts.emplace(path.filename().string(), std::move(*text));
    return;
  }
  Error fault = text.error();
  if (fault.code == ErrorCode::not_found) return;
  if (fault.code == ErrorCode::limit) fault.code = ErrorCode::malformed;
  layout.problems.push_back(append_remedy(std::move(fault), ReadFrom::text).message);
}

void read_texts(const std::vector<fs::path>& folders, ArtifactLayout& layout) {
  for (const auto& folder : folders) {
    for (const char* name : kVersionTexts) read_text(folder / name, layout);
  }
}

void note_distribution(std::string_view name, ArtifactLayout& layout) {
  constexpr std::string_view kSuffix = ".dist-info";
  if (name.ends_with(kSuffix)) layout.distributions.emplace_back(name.substr(0, name.size() - kSuffix.size()));
}

// Records a package whose folder name or metadata claims to be torch. Python finds both kinds of folders.
void note_package(const fs::path& packages, const std::string& name, ArtifactLayout& layout) {
  const bool info = name.ends_with(".dist-info");
  if (!info && !(name.ends_with(".egg-info") && name.find('-') != std::string::npos)) return;
  const auto head = read_start_of_file(packages / name / (info ? "METADATA" : "PKG-INFO"), kMaxHeadBytes);
  std::string metadata = head ? *head : std::string();
  if (calls_itself_torch(name, metadata)) layout.packages.push_back({name, std::move(metadata)});
}

// Returns the link that Nix puts beside a result: "-lib", "-dev".
fs::path find_nix_output(const fs::path& artifact, std::string_view output) {
  const fs::path plain = artifact.has_filename() ? artifact : artifact.parent_path();
  return plain.string() + std::string(output);
}

bool is_nix(const fs::path& artifact) {
  return is_there(artifact / "nix-support") || find_store_path(artifact).has_value();
}

void set_libtorch_dir(const fs::path& folder, ArtifactLayout& layout) {
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  if (!error && holds_libtorch(real)) layout.libtorch_dir = real;
}

// Reads the metadata of torch's own packages in a folder of packages.
void read_packages(const fs::path& packages, ArtifactLayout& layout) {
  for (const auto& name : list_entry_names(packages)) {
    note_distribution(name, layout);
    note_package(packages, name, layout);
    if (!is_torch_info_folder(name)) continue;
    for (const char* text : kPackageTexts) read_text(packages / name / text, layout);
  }
}

// conda has the libraries that torch loads, NVIDIA's included, in its own lib, with libraries of other packages.
void walk_conda_prefix(const fs::path& packages, ArtifactLayout& layout) {
  const fs::path lib = packages.parent_path().parent_path();
  if (!is_there(lib.parent_path() / "conda-meta")) return;
  const auto wanted = [](std::string_view name) {
    const auto component = find_component(name);
    return is_shared_object_name(name) && component && *component != "libtorch";
  };
  walk_shared_objects(lib, "../../", WalkScope::folder, wanted, layout);
}

// Returns "/unpacked" for /unpacked/usr/lib/python3/dist-packages: its libraries precede those of this system.
fs::path unpacked_root(const fs::path& below, std::string_view expected) {
  const std::string whole = below.string();
  return whole.ends_with(expected) ? fs::path(whole.substr(0, whole.size() - expected.size())) : fs::path();
}

Result<ArtifactLayout> torch_layout(const fs::path& artifact, const fs::path& torch) {
  for (const auto& folder : {torch, torch / "lib"}) {
    if (is_closed(folder))
      return make_error(ErrorCode::unreadable, "cannot list {}: Permission denied: run as a user who may read it",
                        folder.string());
  }
  ArtifactLayout layout;
  layout.kind = is_nix(artifact) ? "nix" : "site-packages";
  layout.torch_dir = torch;
  const fs::path packages = torch.parent_path();
  layout.root = packages;
  walk_shared_objects(torch, "torch/", WalkScope::tree_and_programs, is_wanted_name, layout);
  fs::path lib = torch / "lib";
  if (const auto built = find_build_lib(torch)) {
    lib = *built;
    walk_shared_objects(lib, "torch/lib/", WalkScope::folder, is_shared_object_name, layout);
  } else if (!is_there(lib)) {  // a link into the -lib output, which may be a separate result
    lib = find_nix_output(artifact, "-lib") / "lib";
    layout.kind = "nix";
    walk_shared_objects(lib, "torch/lib/", WalkScope::tree_and_programs, is_shared_object_name, layout);
  }
  for (const char* name : kBesideTorch)
    walk_shared_objects(packages / name, std::string(name) + "/", WalkScope::tree_and_programs, is_wanted_name, layout);
  read_packages(packages, layout);
  walk_conda_prefix(packages, layout);
  std::error_code error;
  layout.system_root = unpacked_root(fs::canonical(packages, error), "/usr/lib/python3/dist-packages");
  set_libtorch_dir(lib, layout);
  read_texts({torch, torch / "share/cmake/Torch"}, layout);
  if (layout.kind == "nix") {
    read_texts({find_nix_output(artifact, "-dev") / "share/cmake/Torch"}, layout);
    layout.outputs = find_nix_outputs(artifact);
  }
  return layout;
}

ArtifactLayout libtorch_layout(const fs::path& root) {
  ArtifactLayout layout;
  layout.kind = is_nix(root) ? "nix" : "libtorch";
  layout.root = root;
  walk_shared_objects(root / "lib", "lib/", WalkScope::tree_and_programs, is_shared_object_name, layout);
  walk_shared_objects(root / "bin", "bin/", WalkScope::tree_and_programs, is_wanted_name, layout);
  set_libtorch_dir(root / "lib", layout);
  read_texts({root, root / "share/cmake/Torch"}, layout);
  if (is_there(root / "CMakeCache.txt")) read_texts({root.parent_path() / "torch"}, layout);  // build/ of a checkout
  if (layout.kind == "nix") layout.outputs = find_nix_outputs(root);
  return layout;
}

// `folder` is /usr/lib/<triplet> of this system or of an unpacked one.
ArtifactLayout debian_layout(const fs::path& folder) {
  ArtifactLayout layout;
  layout.kind = "debian";
  const std::string prefix = "usr/lib/" + folder.filename().string() + "/";
  layout.root = folder.parent_path().parent_path().parent_path();
  layout.system_root = layout.root;
  walk_shared_objects(folder, prefix, WalkScope::folder, is_debian_torch_name, layout);
  set_libtorch_dir(folder, layout);
  const fs::path usr = folder.parent_path().parent_path();
  read_texts({usr / "share/cmake/Torch", folder / "cmake/Torch"}, layout);
  return layout;
}

std::optional<fs::path> debian_folder(const fs::path& root) {
  for (const auto& lib : {root / "usr/lib", root / "lib", root}) {
    for (const auto& name : list_entry_names(lib)) {
      if (name.find("-linux-gnu") != std::string::npos && holds_libtorch(lib / name)) return lib / name;
    }
  }
  return std::nullopt;
}

// Returns the layout of a Hugging Face kernel from kernel-builder: an extension module beside metadata.json.
std::optional<ArtifactLayout> kernel_layout(const fs::path& folder) {
  if (!is_there(folder / "metadata.json")) return std::nullopt;
  ArtifactLayout layout;
  layout.kind = "distribution";
  layout.root = folder;
  walk_shared_objects(folder, "", WalkScope::tree_and_programs, is_wanted_name, layout);
  if (layout.items.empty()) return std::nullopt;
  std::error_code error;
  layout.packages.push_back({fs::canonical(folder, error).filename().string(), ""});
  return layout;
}

Error refuse_several_packages(const fs::path& given, const std::vector<ArtifactLayout>& packages) {
  std::vector<std::string> names;
  for (const auto& package : packages) names.push_back(package.packages.front().folder);
  if (names.size() > 3) names.resize(3);
  return make_error(ErrorCode::not_found,
                    "no torch in {}, but {} packages with machine code ({}{}): give the wheel of one", given.string(),
                    packages.size(), fmt::join(names, ", "), packages.size() > 3 ? ", ..." : "");
}

Result<ArtifactLayout> folder_layout(const fs::path& given) {
  std::error_code error;
  const fs::path folder = given.has_filename() ? given : given.parent_path();
  if (const auto torch = torch_folder(folder)) return torch_layout(folder, *torch);
  std::vector<fs::path> named;
  if (const auto linked = linked_torch(folder, &named)) {
    auto layout = torch_layout(linked->torch, linked->torch);
    const bool own = linked->packages == linked->torch.parent_path();
    if (layout && !own) read_packages(linked->packages, *layout);
    return layout;
  }
  if (holds_libtorch(folder / "lib")) return libtorch_layout(folder);
  if (folder.filename().string().find("-linux-gnu") != std::string::npos && holds_libtorch(folder))
    return debian_layout(folder);
  if (holds_libtorch(folder)) {
    const fs::path above = fs::canonical(folder, error).parent_path();
    if (is_torch_folder(above)) return torch_layout(above, above);
    return libtorch_layout(above);
  }
  if (const auto found = debian_folder(folder)) return debian_layout(*found);
  if (auto kernel = kernel_layout(folder)) return std::move(*kernel);
  for (const auto& packages : find_environments(folder).folders) {
    if (const auto torch = torch_folder(packages)) return torch_layout(packages, *torch);
  }
  static_cast<void>(list_folder(folder, error));
  if (error) return make_error(ErrorCode::unreadable, "cannot list {}: {}", given.string(), error.message());
  if (!named.empty())
    return make_error(
        ErrorCode::not_found,
        "{}: its torch is an editable install of {}, which holds no built torch: build torch in that folder",
        given.string(), named.front().string());
  auto others = list_packages_with_code(folder);
  if (others.size() == 1) return std::move(others.front());
  if (!others.empty()) return refuse_several_packages(given, others);
  return make_error(ErrorCode::not_found,
                    "no torch in {}: looked for torch/version.py, lib/python3*/site-packages/torch, "
                    "lib/libtorch*.so and usr/lib/<triplet>/libtorch*.so: install torch there, or {}",
                    given.string(), kWanted);
}

}  // namespace

namespace {

void read_member_text(const Wheel& wheel, const ZipMember& member, ArtifactLayout& layout) {
  const std::string name = fs::path(member.name).filename().string();
  const std::string folder = fs::path(member.name).parent_path().string();
  const auto among = [&](const auto& names) { return std::ranges::find(names, name) != names.end(); };
  const bool version = among(kVersionTexts) && (folder == "torch" || folder == "torch/share/cmake/Torch" ||
                                                folder == "libtorch" || folder == "libtorch/share/cmake/Torch");
  // A wheel contains one package; the metadata of a second package is read too, with any name.
  const bool metadata = name == "METADATA" && folder.ends_with(".dist-info") && folder.find('/') == std::string::npos;
  const bool of_torch = among(kPackageTexts) && is_torch_info_folder(folder);
  const bool of_other = name == "WHEEL" && !of_torch && folder.ends_with(".dist-info");
  const bool variant = name == kVariantFile && folder.ends_with(".dist-info");
  if (!version && !metadata && !of_torch && !of_other && !variant) return;
  if (member.size_bytes > kMaxTextBytes) return layout.problems.push_back(too_large(member.name, member.size_bytes));
  std::string text;
  auto read = inflate_member(wheel.archive, member, [&](std::span<const uint8_t> piece) {
    text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return true;
  });
  if (read) {
    if (metadata) layout.packages.push_back({folder, text});
    if (version || of_torch || of_other || variant)
      layout.texts.emplace(of_other ? kOtherWheel : name, std::move(text));
  } else {
    layout.problems.push_back(append_remedy(read.error(), ReadFrom::wheel).message);
  }
}

std::string read_head(const ZipArchive& archive, const ZipMember& member) {
  std::string head;
  static_cast<void>(inflate_member(archive, member, [&](std::span<const uint8_t> piece) {
    head.append(reinterpret_cast<const char*>(piece.data()), std::min(piece.size(), kProgramHeadBytes));
    return head.size() < kProgramHeadBytes;
  }));
  return head;
}

bool holds_program(const ZipArchive& archive, const ZipMember& member) {
  return may_be_program(member.name) && is_program(read_head(archive, member));
}

// Reports whether the wheel's tags and content are of another system. A Linux library under such a tag is a fault.
bool belongs_to_other_system(const fs::path& path, const Wheel& wheel, const ArtifactLayout& layout) {
  return is_for_other_system(path.filename().string()) && std::ranges::none_of(layout.items, [&](const Item& item) {
           return item.member == nullptr || read_head(wheel.archive, *item.member).starts_with(ELFMAG);
         });
}

// Names a wheel without METADATA by its folder or by its file name. torch has version files.
void name_package_without_metadata(const fs::path& path, const Wheel& wheel, ArtifactLayout& layout) {
  const auto of_torch = [](const auto& member) {
    return member.name == "torch/version.py" || member.name.starts_with("libtorch/lib/libtorch");  // an archive
  };
  const auto& members = wheel.archive.members;
  const auto& unread = wheel.archive.unread;
  if (!layout.packages.empty() || std::ranges::any_of(members, of_torch)) return;
  if (std::ranges::any_of(unread, of_torch)) return;
  const auto info = std::ranges::find_if(members, [](const ZipMember& member) {
    return member.name.substr(0, member.name.find('/')).ends_with(".dist-info");
  });
  layout.packages.push_back(
      {info == members.end() ? path.stem().string() : info->name.substr(0, info->name.find('/')), ""});
}

// Adds an unreadable library as a file with a problem. Names one other unreadable member.
void note_unread_members(const ZipArchive& archive, ArtifactLayout& layout) {
  bool named = false;
  for (const auto& member : archive.unread) {
    if (is_wanted_name(fs::path(member.name).filename().string())) {
      layout.items.push_back({member.name, member.size_bytes, {}, nullptr, explain_unread(archive, member)});
    } else if (!std::exchange(named, true)) {
      layout.problems.push_back(explain_unread(archive, member).message);
    }
  }
}

Result<ArtifactLayout> wheel_layout(const fs::path& path, Mapping mapping) {
  auto wheel = std::make_shared<Wheel>();
  wheel->mapping = std::move(mapping);
  auto archive = read_zip(Bytes(wheel->mapping.bytes(), path.filename().string()));
  if (!archive) return append_remedy(archive.error(), ReadFrom::wheel);
  wheel->archive = std::move(*archive);
  ArtifactLayout layout;
  layout.kind = "wheel";
  for (const auto& fault : wheel->archive.refused)
    layout.problems.push_back(append_remedy(fault, ReadFrom::wheel).message);
  note_unread_members(wheel->archive, layout);
  for (const auto& member : wheel->archive.members) {
    if (is_wanted_name(fs::path(member.name).filename().string()) || holds_program(wheel->archive, member))
      layout.items.push_back({member.name, member.size_bytes, {}, &member, {}});
    read_member_text(*wheel, member, layout);
    if (member.name.ends_with(".dist-info/METADATA"))
      note_distribution(member.name.substr(0, member.name.find('/')), layout);
  }
  if (belongs_to_other_system(path, *wheel, layout))
    return make_error(ErrorCode::unsupported, "{} is for another system than Linux: give the wheel for Linux",
                      path.string());
  name_package_without_metadata(path, *wheel, layout);
  if (auto other = layout.texts.extract(std::string(kOtherWheel))) {
    other.key() = "WHEEL";
    layout.texts.insert(std::move(other));
  }
  layout.wheel = std::move(wheel);
  if (layout.items.empty())
    return make_error(ErrorCode::not_found,
                      "{}: no shared object in it: nothing to audit: give a wheel of a built package", path.string());
  return layout;
}

Result<ArtifactLayout> file_layout(const fs::path& path) {
  PBPROBE_TRY(Mapping mapping, map_file(path));
  const Bytes bytes(mapping.bytes(), path.filename().string());
  constexpr std::string_view kZip = "PK";
  const auto magic = bytes.read<uint32_t>(0, "magic");
  if (bytes.text().starts_with(kZip)) return wheel_layout(path, std::move(mapping));
  const bool shared_object = is_shared_object_name(path.filename().string());
  const bool known = bytes.text().starts_with(std::string_view(ELFMAG, SELFMAG)) || (magic && *magic == kFatbinMagic);
  if (bytes.size() == 0)
    return append_remedy(make_error(ErrorCode::malformed, "{} is empty (0 bytes)", path.string()), ReadFrom::file);
  if (!known && path.extension() == ".whl")
    return append_remedy(make_error(ErrorCode::malformed, "{}: not a ZIP archive, so no wheel", path.string()),
                         ReadFrom::wheel);
  if (!known && !shared_object)
    return make_error(ErrorCode::usage, "{} is not an artifact (neither ELF, fatbin nor wheel): {}", path.string(),
                      kWanted);
  ArtifactLayout layout;
  layout.kind = "file";
  layout.root = path.parent_path();
  layout.items.push_back({path.filename().string(), bytes.size(), path, nullptr, {}});
  return layout;
}

}  // namespace

bool is_shared_object_name(std::string_view name) {
  constexpr std::string_view kExtension = ".so";
  for (size_t at = name.find(kExtension); at != std::string_view::npos; at = name.find(kExtension, at + 1)) {
    const std::string_view rest = name.substr(at + kExtension.size());
    if (at > 0 && rest.empty()) return true;
    if (at > 0 && rest.size() > 1 && rest[0] == '.' && std::isdigit(static_cast<unsigned char>(rest[1])) != 0)
      return true;
  }
  return false;
}

bool is_wanted_name(std::string_view name) {
  return is_shared_object_name(name) || is_compiler_program(name) || name.ends_with(".cubin") ||
         name.ends_with(".fatbin") || name == "torch_shm_manager";
}

std::optional<fs::path> torch_folder(const fs::path& root) {
  if (is_torch_folder(root / "torch")) return root / "torch";
  if (is_torch_folder(root)) return root;
  constexpr std::array kPackages{"site-packages", "dist-packages"};
  for (const char* packages : kPackages) {  // for lib/python3 itself
    if (is_torch_folder(root / packages / "torch")) return root / packages / "torch";
  }
  for (const char* lib : {"lib", "lib64", "local/lib", "usr/lib", "usr/lib64", "usr/local/lib", "."}) {
    const fs::path above = lib == std::string_view(".") ? root : root / lib;
    for (const auto& python : list_entry_names(above)) {
      if (!python.starts_with("python3")) continue;
      for (const char* packages : kPackages) {
        const fs::path torch = above / python / packages / "torch";
        if (is_torch_folder(torch)) return torch;
      }
    }
  }
  return std::nullopt;
}

Result<ArtifactLayout> find_layout(const fs::path& artifact) {
  std::error_code error;
  const fs::file_status status = fs::status(artifact, error);
  if (status.type() == fs::file_type::not_found) {
    if (const auto target = fs::read_symlink(artifact, error); !error)
      return make_error(ErrorCode::not_found, "{} is a link to {}, which is missing", artifact.string(),
                        target.string());
    return make_error(ErrorCode::not_found, "{}: no such file or folder: {}", artifact.string(), kWanted);
  }
  if (error) return make_error(ErrorCode::unreadable, "cannot look at {}: {}", artifact.string(), error.message());
  auto layout = fs::is_directory(status) ? folder_layout(artifact) : file_layout(artifact);
  if (layout) settle_items(*layout);
  return layout;
}

}  // namespace pbprobe
