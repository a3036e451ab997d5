// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/packages.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "core/pep440.hpp"

namespace pbprobe {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 20> kDistributions{{
    {"nvidia_cublas", "cuBLAS"},
    {"nvidia_cuda_cupti", "CUPTI"},
    {"nvidia_cuda_nvrtc", "NVRTC"},
    {"nvidia_cuda_runtime", "CUDA runtime"},
    {"nvidia_cudnn", "cuDNN"},
    {"nvidia_cufft", "cuFFT"},
    {"nvidia_cufile", "cuFile"},
    {"nvidia_curand", "cuRAND"},
    {"nvidia_cusolver", "cuSOLVER"},
    {"nvidia_cusparselt", "cuSPARSELt"},
    {"nvidia_cusparse", "cuSPARSE"},
    {"nvidia_nccl", "NCCL"},
    {"nvidia_nvjitlink", "nvJitLink"},
    {"nvidia_nvshmem", "NVSHMEM"},
    {"nvidia_nvtx", "NVTX"},
    {"torch", "torch"},
    {"triton", "Triton"},
    {"cuda_toolkit", "CUDA toolkit"},
    {"cuda_bindings", "CUDA bindings"},
    {"mkl", "MKL"},
}};

// Names in nixpkgs, without the prefix "cuda13.0-".
constexpr std::array<std::pair<std::string_view, std::string_view>, 20> kStorePackages{{
    {"libcublas", "cuBLAS"},
    {"cuda_cupti", "CUPTI"},
    {"cuda_nvrtc", "NVRTC"},
    {"cuda_cudart", "CUDA runtime"},
    {"cuda_nvcc", "nvcc"},
    {"cuda_nvtx", "NVTX"},
    {"cudnn", "cuDNN"},
    {"libcudnn", "cuDNN"},
    {"libcufft", "cuFFT"},
    {"libcufile", "cuFile"},
    {"libcurand", "cuRAND"},
    {"libcusolver", "cuSOLVER"},
    {"libcusparse", "cuSPARSE"},
    {"libcusparse_lt", "cuSPARSELt"},
    {"libnvjitlink", "nvJitLink"},
    {"libnvshmem", "NVSHMEM"},
    {"magma", "MAGMA"},
    {"nccl", "NCCL"},
    {"openblas", "OpenBLAS"},
    {"mkl", "MKL"},
}};

// "nvidia_cublas" and "nvidia_cublas_cu12" are one package, "nvidia_cublasmp" another.
bool names_package(std::string_view distribution, std::string_view package) {
  if (!distribution.starts_with(package)) return false;
  const std::string_view rest = distribution.substr(package.size());
  return rest.empty() || rest.starts_with("_cu");
}

std::optional<std::string> version_of_file(std::string_view path) {
  constexpr std::string_view kMark = ".so.";
  const size_t at = path.rfind(kMark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view version = path.substr(at + kMark.size());
  const bool numbers = version.find_first_not_of("0123456789.") == std::string_view::npos;
  if (!numbers || std::ranges::count(version, '.') < 2) return std::nullopt;  // a SONAME, no version
  return std::string(version);
}

// Calls `visit` with the rest of each line that begins with `key`, ignoring case.
template <class Visit>
void visit_lines(std::string_view text, std::string_view key, const Visit& visit) {
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    if (end == std::string_view::npos) end = text.size();
    std::string_view line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const bool begins =
        line.size() >= key.size() && std::equal(key.begin(), key.end(), line.begin(), [](char a, char b) {
          return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
        });
    if (begins) visit(line.substr(key.size()));
    at = end + 1;
  }
}

std::optional<std::string> component_named(std::string_view distribution) {
  for (const auto& [package, component] : kDistributions) {
    if (names_package(distribution, package)) return std::string(component);
  }
  return std::nullopt;
}

// The header of METADATA; what follows an empty line is the package's description.
std::string_view get_metadata_header(std::string_view metadata) {
  const size_t unix_end = metadata.find("\n\n");
  return metadata.substr(0, std::min(unix_end, metadata.find("\r\n\r\n")));
}

// Returns "torch" and "2.11.0" for "torch-2.11.0.dist-info".
std::pair<std::string, std::string> parts_of_folder(std::string_view folder) {
  const size_t dash = folder.find('-');
  const size_t end = folder.rfind('.');
  if (dash == std::string_view::npos || end < dash) return {std::string(folder.substr(0, end)), {}};
  std::string version(folder.substr(dash + 1, end - dash - 1));
  if (folder.ends_with(".egg-info")) version = version.substr(0, version.find("-py"));
  return {std::string(folder.substr(0, dash)), std::move(version)};
}

// One requirement of METADATA (PEP 508): "Torch [opt] (== 2.11.0) ; python_version > '3.8'".
struct Requirement {
  std::string name;       // normalized by PEP 503: "torch"
  std::string versions;   // "==2.11.0", "@https://…"; "" for any version
  std::string condition;  // "python_version>'3.8'", without blanks
};

Requirement parse_requirement(std::string_view text) {
  constexpr std::string_view kBlanks = " \t()";
  const auto strip = [&](std::string_view part) {
    std::string out(part);
    std::erase_if(out, [&](char c) { return kBlanks.find(c) != kBlanks.npos; });
    return out;
  };
  Requirement requirement;
  const size_t condition = std::min(text.find(';'), text.size());
  if (condition < text.size()) requirement.condition = strip(text.substr(condition + 1));
  std::string_view rest = text.substr(0, condition);
  while (!rest.empty() && kBlanks.find(rest.front()) != kBlanks.npos) rest.remove_prefix(1);
  const size_t end = std::min(rest.find_first_of(" \t[(<>=!~@"), rest.size());
  requirement.name = package_name(rest.substr(0, end));
  rest.remove_prefix(end);
  const size_t extra = rest.find(']');
  if (extra != rest.npos && strip(rest).starts_with("[")) rest.remove_prefix(extra + 1);
  requirement.versions = strip(rest);
  return requirement;
}

// Returns "==2.11.0" for "Requires-Dist: torch (==2.11.0)", and joins several requirements with commas. Ignores
// requirements with a condition.
std::optional<std::string> read_torch_requirement(std::string_view header) {
  std::string asked;
  visit_lines(header, "Requires-Dist:", [&](std::string_view text) {
    const Requirement requirement = parse_requirement(text);
    const bool known = requirement.versions.find_first_of("=<>!~@") == 0;
    if (requirement.name != "torch" || !requirement.condition.empty() || !known) return;
    asked += (asked.empty() ? "" : ",") + requirement.versions;
  });
  return asked.empty() ? std::nullopt : std::optional(asked);
}

}  // namespace

std::optional<std::string> value_in_header(std::string_view metadata, std::string_view key) {
  std::optional<std::string> first;
  visit_lines(get_metadata_header(metadata), key, [&](std::string_view value) {
    while (value.starts_with(' ')) value.remove_prefix(1);
    while (value.ends_with(' ')) value.remove_suffix(1);
    if (!first && !value.empty()) first = value;
  });
  return first;
}

bool calls_itself_torch(std::string_view folder, std::string_view metadata) {
  const auto name = value_in_header(metadata, "Name:");
  return package_name(parts_of_folder(folder).first) == "torch" || (name && package_name(*name) == "torch");
}

Package make_package(std::string folder, std::string_view metadata) {
  return {.folder = std::move(folder),
          .name = value_in_header(metadata, "Name:"),
          .version = value_in_header(metadata, "Version:"),
          .torch = read_torch_requirement(get_metadata_header(metadata))};
}

std::vector<StatedVersion> list_stated_versions(const Package& package) {
  std::vector<StatedVersion> stated;
  const std::string folder = parts_of_folder(package.folder).second;
  if (!folder.empty()) stated.push_back({.of = "torch", .where = package.folder, .stated = folder});
  if (package.version)
    stated.push_back({.of = "torch", .where = package.folder + "/METADATA", .stated = *package.version});
  return stated;
}

std::optional<StatedVersion> version_stated_by_wheel(const std::string& file_name) {
  constexpr std::string_view kExtension = ".whl";
  const auto dashes = std::ranges::count(file_name, '-');
  if (!file_name.ends_with(kExtension) || (dashes != 4 && dashes != 5)) return std::nullopt;
  const size_t begin = file_name.find('-') + 1;
  std::string version = file_name.substr(begin, file_name.find('-', begin) - begin);
  for (const std::string_view plus : {"%2B", "%2b"}) {  // encodings of "+" in URLs
    if (const size_t at = version.find(plus); at != std::string::npos) version.replace(at, plus.size(), "+");
  }
  return StatedVersion{.of = "torch", .where = file_name, .stated = std::move(version)};
}

std::optional<std::string> find_invalid_requirement(std::string_view metadata) {
  std::optional<std::string> first;
  visit_lines(get_metadata_header(metadata), "Requires-Dist:", [&](std::string_view text) {
    const Requirement requirement = parse_requirement(text);
    const std::string& versions = requirement.versions;
    const bool valid = !requirement.name.empty() &&
                       (versions.starts_with('@') ? versions.size() > 1 : versions.empty() || are_specifiers(versions));
    if (!first && !valid) first = text.substr(std::min(text.find_first_not_of(' '), text.size()));
  });
  return first;
}

std::vector<std::string> find_absent_requirements(std::string_view metadata, const std::set<std::string>& installed) {
  std::vector<std::string> absent;
  visit_lines(get_metadata_header(metadata), "Requires-Dist:", [&](std::string_view text) {
    const Requirement requirement = parse_requirement(text);
    if (requirement.condition.empty() && !installed.contains(requirement.name))
      absent.push_back(requirement.name + requirement.versions);
  });
  return absent;
}

std::map<std::string, std::string> required_versions(std::string_view metadata) {
  std::map<std::string, std::string> versions;
  visit_lines(metadata, "Requires-Dist:", [&](std::string_view text) {
    const Requirement requirement = parse_requirement(text);
    if (!requirement.versions.starts_with("==") || requirement.condition.find("extra==") != std::string::npos) return;
    std::string name = requirement.name;
    std::ranges::replace(name, '-', '_');
    const std::string rest = requirement.versions.substr(2);
    const std::string version = rest.substr(0, rest.find_first_not_of("0123456789."));
    const auto component = component_named(name);
    if (component && !version.empty()) versions.emplace(*component, version);
  });
  return versions;
}

std::set<std::string> required_packages(std::string_view metadata) {
  std::set<std::string> names;
  visit_lines(metadata, "Requires-Dist: ", [&](std::string_view requirement) {
    const size_t condition = std::min(requirement.find(';'), requirement.size());
    if (requirement.find("extra", condition) != std::string_view::npos) return;
    names.insert(package_name(requirement.substr(0, requirement.find_first_of(" [(<>=!~;"))));
  });
  return names;
}

std::vector<std::string> wheel_tags(std::string_view wheel) {
  std::vector<std::string> tags;
  visit_lines(wheel, "Tag: ", [&](std::string_view tag) { tags.emplace_back(tag); });
  return tags;
}

std::vector<Error> faults_of_metadata(std::string_view metadata) {
  std::vector<Error> faults;
  const auto fault = [&](const std::string& what) {
    faults.push_back(make_error(ErrorCode::malformed, "METADATA: {}", what));
  };
  if (metadata.find('\0') != std::string_view::npos) {
    fault("holds NUL bytes, so it is not text");
    return faults;
  }
  bool named = false;
  visit_lines(metadata, "Name: ", [&](std::string_view name) { named = named || !name.empty(); });
  if (!named) fault("no Name in it");
  visit_lines(metadata, "Requires-Dist:", [&](std::string_view requirement) {
    while (requirement.starts_with(' ')) requirement.remove_prefix(1);
    const bool name = !requirement.empty() && std::isalnum(static_cast<unsigned char>(requirement.front())) != 0;
    if (!name) return fault(fmt::format("\"Requires-Dist: {}\" names no package", requirement));
    const size_t pin = requirement.find("==");
    const size_t condition = requirement.find(';');
    if (pin == std::string_view::npos || condition < pin) return;
    const std::string_view version = requirement.substr(pin + 2, 1);
    if (version.empty() || std::string_view("0123456789 vV=").find(version) == std::string_view::npos)
      fault(fmt::format("\"Requires-Dist: {}\" has no version after ==", requirement));
  });
  return faults;
}

std::vector<Error> faults_of_wheel(std::string_view wheel) {
  std::vector<Error> faults;
  const auto fault = [&](const std::string& what) {
    faults.push_back(make_error(ErrorCode::malformed, "WHEEL: {}", what));
  };
  if (wheel.find('\0') != std::string_view::npos) {
    fault("holds NUL bytes, so it is not text");
    return faults;
  }
  const auto tags = wheel_tags(wheel);
  if (tags.empty()) fault("no Tag in it");
  for (const auto& tag : tags) {
    const bool parts = std::count(tag.begin(), tag.end(), '-') == 2 && tag.find("--") == std::string::npos &&
                       tag.front() != '-' && tag.back() != '-';
    if (!parts) fault(fmt::format("the tag \"{}\" does not have the form PYTHON-ABI-PLATFORM", tag));
  }
  return faults;
}

std::map<std::string, std::string> component_versions(const std::vector<std::string>& distributions,
                                                      const std::vector<File>& files,
                                                      const std::map<std::string, std::string>& required) {
  std::map<std::string, std::string> versions;
  for (const auto& distribution : distributions) {
    const size_t dash = distribution.find('-');
    if (dash == std::string::npos) continue;
    const auto component = component_named(std::string_view(distribution).substr(0, dash));
    if (!component) continue;
    const std::string version = distribution.substr(dash + 1);
    const auto asked = required.find(*component);
    const bool is_asked = asked != required.end() && asked->second == version;
    if (const auto [place, added] = versions.emplace(*component, version); !added && is_asked) place->second = version;
  }
  for (const auto& file : files) {
    if (!file.component || *file.component == "libtorch") continue;
    if (const auto version = version_of_file(file.path)) versions.emplace(*file.component, *version);
  }
  return versions;
}

std::optional<std::string> component_of_store_package(std::string_view package) {
  const size_t dash = package.find('-');
  const bool prefixed = package.starts_with("cuda") && dash != std::string_view::npos &&
                        package.substr(4, dash - 4).find_first_not_of("0123456789.") == std::string_view::npos;
  if (prefixed) package.remove_prefix(dash + 1);
  const auto found = std::ranges::find_if(kStorePackages, [&](const auto& entry) { return entry.first == package; });
  return found == kStorePackages.end() ? std::nullopt : std::optional<std::string>(found->second);
}

std::map<std::string, std::string> component_versions(const StoreClosure& closure) {
  std::map<std::string, std::set<std::string>> seen;
  for (const auto& path : closure.paths) {
    if (path.component && path.version) seen[*path.component].insert(path.version->substr(0, path.version->find('-')));
  }
  std::map<std::string, std::string> versions;
  for (const auto& [component, found] : seen) {
    if (found.size() == 1) versions.emplace(component, *found.begin());
  }
  return versions;
}

std::optional<std::string> python_abi(const std::vector<File>& files) {
  for (const auto& file : files) {
    const size_t slash = file.path.rfind('/');
    const std::string_view name = std::string_view(file.path).substr(slash == std::string::npos ? 0 : slash + 1);
    constexpr std::string_view kModule = "_C.cpython-";
    if (name == "_C.abi3.so") return "abi3";
    if (name == "_C.abi3t.so") return "abi3t";
    if (!name.starts_with(kModule)) continue;
    const std::string_view tag = name.substr(kModule.size(), name.find('-', kModule.size()) - kModule.size());
    return "cp" + std::string(tag);
  }
  return std::nullopt;
}

}  // namespace pbprobe
