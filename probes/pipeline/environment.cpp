// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/environment.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/ranges.h>

#include "core/c_library.hpp"
#include "core/json.hpp"
#include "core/list_folder.hpp"
#include "core/open_file.hpp"
#include "core/package_index.hpp"
#include "core/pep440.hpp"
#include "probes/audit/environment.hpp"
#include "probes/audit/packages/distributions.hpp"
#include "probes/judge/gpu/served.hpp"
#include "probes/judge/judge.hpp"
#include "probes/pipeline/pipeline.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

void take_findings(const Report& report, Distribution& row) {
  row.findings = judge(report).findings;
  row.worst.reset();  // torch is judged twice
  if (!row.findings.empty()) row.worst = row.findings.front().severity;
}

// Drops what this machine's C library lacks: PB184 compares the version of the other machine.
void forget_own_glibc(std::vector<Loading>& files) {
  const auto is_glibc_plugin = [](const std::string& version) { return version.starts_with("GLIBC_"); };
  for (auto& file : files) {
    std::erase_if(file.missing_versions,
                  [&](const MissingVersion& missing) { return is_glibc_plugin(missing.version); });
    std::erase_if(file.unresolved,
                  [&](const UnresolvedSymbol& symbol) { return symbol.version && is_glibc_plugin(*symbol.version); });
  }
}

Distribution make_row(Inventory inventory, const EnvironmentRequest& request) {
  if (request.other_machine && inventory.loading) forget_own_glibc(*inventory.loading);
  Distribution row = make_distribution(inventory);
  if (!request.gpus.empty()) row.gpus.emplace();
  for (const Sm& gpu : request.gpus) row.gpus->push_back(count_gpu_kernels(inventory, gpu, request.driver));
  Report report = new_report();
  report.inventory = std::move(inventory);
  take_findings(report, row);
  return row;
}

// Judges torch without the packages that it needs, which have their own rows.
void judge_torch(const fs::path& artifact, const fs::path& cache, const std::optional<OtherProcessor>& other,
                 const std::optional<std::vector<RedirectedLibrary>>& redirected, Distribution& row) {
  Report report = new_report();
  auto inventory = audit(artifact, {.open_libraries = false, .cache = cache});
  if (!inventory) return;  // the folder of torch is missing: RECORD lists the missing files
  report.inventory = std::move(*inventory);
  report.inventory->loading = row.loading;
  report.inventory->other_processor = other;
  report.inventory->redirected = redirected;
  report.inventory->problems.insert(report.inventory->problems.end(), row.problems.begin(), row.problems.end());
  take_findings(report, row);
}

// Quotes `text` as one word of a shell command.
std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-@%:,=";
  if (text.find_first_not_of(kPlain) == text.npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Returns "pytorch=2.11.0" with conda's package name from conda-meta, else with the Python name.
std::string conda_spec(const fs::path& environment, const fs::path& packages, const Distribution& row) {
  std::error_code error;
  const std::string file = (fs::relative(packages, environment, error) / row.folder / "METADATA").string();
  for (const auto& entry : list_folder(environment / "conda-meta", error)) {
    if (entry.path.extension() != ".json") continue;
    const auto text = read_whole_file(entry.path);
    if (!text || text->find('"' + file + '"') == text->npos) continue;
    const auto meta = parse_json(*text);
    const auto word = [&](const char* key) {
      const bool there = meta && meta->is_object() && meta->contains(key) && (*meta)[key].is_string();
      return there ? (*meta)[key].get<std::string>() : std::string();
    };
    if (!word("name").empty()) return word("name") + "=" + word("version");
  }
  return row.name + "=" + *row.version;
}

// Returns an option for each PyTorch index with these versions: PyPI has no version with a local part.
std::string index_options(const std::vector<Distribution>& rows) {
  std::set<std::string> options;
  for (const auto& row : rows) {
    if (const auto index = find_pytorch_index(row.name, *row.version)) options.insert(" --extra-index-url " + *index);
  }
  return fmt::format("{}", fmt::join(options, ""));
}

// Packages to reinstall, by installer.
struct Faulty {
  std::map<std::string, std::vector<Distribution>> rows =
      {};                                     // faulty packages by installer; only names and folders are used
  std::set<std::string> local_versions = {};  // "cu130": versions of wheels that only their publisher's index has

  std::set<std::string> other_owners = {};  // packages that overwrote files of other packages

  void take(const Distribution& row, const std::string& installer, bool of_other_processor) {
    const bool changed = row.recorded && row.recorded->reinstall;
    if ((!changed && !of_other_processor) || !row.version) return;
    for (const auto& library : changed ? row.recorded->changed_libraries : std::vector<ChangedLibrary>()) {
      if (library.other_owner) other_owners.insert(library.other_owner->substr(0, library.other_owner->find('-')));
    }
    const bool known = installer == "uv" || installer == "conda";
    rows[known ? installer : "pip"].push_back({.name = row.name, .version = row.version, .folder = row.folder});
    const size_t local = row.version->find('+');
    const bool on_other_index = local != row.version->npos && !find_pytorch_index(row.name, *row.version);
    if (on_other_index && installer != "conda") local_versions.insert(row.version->substr(local + 1));
  }

  // If two packages write the same paths, removes the one named for a CUDA version that torch does not use.
  std::string removals(const std::string& python, const std::string& cuda) const {
    std::string names;
    for (const auto& owner : other_owners) {
      for (const std::string mark : {"cu", "cuda"}) {
        const size_t at = owner.rfind(mark);
        const std::string major = at == owner.npos ? "" : owner.substr(at + mark.size(), 2);
        const bool number = major.size() == 2 && major.find_first_not_of("0123456789") == major.npos;
        if (number && !cuda.empty() && major != cuda) names += " " + shell_word(package_name(owner));
      }
    }
    if (names.empty()) return "";
    return rows.contains("uv") ? fmt::format("uv pip uninstall --python {}{} && ", python, names)
                               : fmt::format("{} -m pip uninstall --yes{} && ", python, names);
  }

  // Reinstalls each package with its original installer: another installer would leave two records of the same files.
  std::string command(const fs::path& environment, const fs::path& packages, const std::string& cuda) const {
    std::error_code error;
    const fs::path own = environment / "bin/python";
    const std::string python = fs::exists(own, error) ? shell_word(own.string()) : "python";
    const std::map<std::string, std::string> begins{
        {"conda", fmt::format("conda install --prefix {} --force-reinstall", shell_word(environment.string()))},
        {"pip", fmt::format("{} -m pip install --force-reinstall --no-deps", python)},
        {"uv", fmt::format("uv pip install --python {} --reinstall --no-deps", python)}};
    std::vector<std::string> commands;
    for (const auto& [installer, faulty] : rows) {
      std::string text = begins.at(installer);
      for (const auto& row : faulty)
        text += " " + shell_word(installer == "conda" ? conda_spec(environment, packages, row)
                                                      : row.name + "==" + *row.version);
      if (installer != "conda") text += index_options(faulty);
      commands.push_back(std::move(text));
    }
    return removals(python, cuda) + fmt::format("{}", fmt::join(commands, " && "));
  }
};

// CUDA major version of torch: "13".
std::string cuda_of_torch(const std::vector<Distribution>& rows) {
  for (const auto& row : rows) {
    if (package_name(row.name) == "torch" && !row.cuda.empty()) return row.cuda.back();
  }
  return "";
}

// Returns the command of the installer in use.
std::optional<std::string> find_reinstall_command(const AuditedPackage& package, const fs::path& artifact) {
  Faulty one;
  one.take(make_distribution(package.inventory), package.installer, true);
  if (one.rows.empty()) return std::nullopt;
  return one.command(package.environment, packages_folder(artifact).value_or(artifact), "");
}

Result<void> add_artifact(const fs::path& artifact, const EnvironmentRequest& request, Environment& environment) {
  const PackagesOptions options{.audit = {.host_code = request.minimum_cpus ? HostCodeScope::all : HostCodeScope::none,
                                          .kernel_names = !request.gpus.empty(),
                                          .cache = request.cache,
                                          .known = request.known},
                                .library_path = request.library_path};
  Faulty faulty;
  const auto each = [&](AuditedPackage package) {
    const bool installed = package.inventory.layout == "distribution";
    if (request.progress) request.progress("read " + package.inventory.artifact);
    if (package.inventory.other_processor && package.inventory.other_processor->expected != kMusl)
      package.inventory.other_processor->reinstall = find_reinstall_command(package, artifact);
    const auto other = package.inventory.other_processor;
    const auto redirected = package.inventory.redirected;
    Distribution row = make_row(std::move(package.inventory), request);
    row.recorded = std::move(package.recorded);
    const bool is_torch = installed && package_name(row.name) == "torch";
    if (is_torch && !request.beside_torch) judge_torch(artifact, request.cache, other, redirected, row);
    faulty.take(row, package.installer, other && other->reinstall);
    environment.distributions.push_back(std::move(row));
  };
  PBPROBE_TRY(const AuditedPackages audited, audit_packages(artifact, options, each));
  environment.without_files += audited.without_files;
  environment.interpreter = audited.interpreter;
  environment.shared_libraries = audited.shared_libraries;
  environment.problems.insert(environment.problems.end(), audited.problems.begin(), audited.problems.end());
  environment.notes.insert(environment.notes.end(), audited.notes.begin(), audited.notes.end());
  if (!faulty.rows.empty() && !audited.environment.empty())
    environment.reinstall = faulty.command(audited.environment, packages_folder(artifact).value_or(artifact),
                                           cuda_of_torch(environment.distributions));
  if (!faulty.local_versions.empty())
    environment.notes.push_back(fmt::format(
        "versions with +{} exist only on the index from which they were installed, such as the index of PyTorch: add "
        "it to the command by --extra-index-url",
        fmt::join(faulty.local_versions, " and +")));
  return {};
}

}  // namespace

Result<Environment> make_environment(const EnvironmentRequest& request) {
  Environment environment;
  for (const Sm& gpu : request.gpus) environment.sms.push_back(sm_name(gpu));
  for (const auto& artifact : request.artifacts) {
    environment.artifacts.push_back(artifact.string());
    const auto added = add_artifact(artifact, request, environment);
    if (added) continue;
    if (request.artifacts.size() == 1) return added.error();
    environment.problems.push_back(added.error().message);
  }
  std::ranges::stable_sort(environment.distributions, {}, &Distribution::name);
  return environment;
}

}  // namespace pbprobe
