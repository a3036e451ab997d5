// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What a claim says of SMs, against the device code of the artifact's files.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/targets.hpp"
#include "probes/judge/questions.hpp"

namespace pbprobe::ask {
namespace {

bool is_libtorch(const Facts& facts, const File& file) {
  return is_own(*facts.inventory, file) && file.device_code;
}

// That of a chip, without a suffix.
std::string sm_of(const Target& target) {
  const auto sm = parse_sm(target.capability.value_or(""));
  return sm ? sm_name(*sm) : "";
}

bool made_for(std::string_view image, const Target& target) {
  const auto parsed = parse_sm(image);
  const auto capability = parse_sm(target.capability.value_or(""));
  return parsed && capability && same_capability(*parsed, *capability);
}

bool belongs_to(std::string_view image, const Target& target) {
  return image == sm_of(target) ||
         std::find(target.siblings.begin(), target.siblings.end(), image) != target.siblings.end();
}

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> list;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find(' ', start), text.size());
    list.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return list;
}

struct Units {
  int64_t all = 0;   // translation units with machine code
  int64_t with = 0;  // those with machine code for the SM
};

// Without sets (facts of an older pbprobe) the most frequent image tells how many units there are.
Units units_for(const DeviceCode& code, const Target& target) {
  Units units;
  if (code.unit_sets) {
    for (const auto& [set, count] : *code.unit_sets) {
      const auto images = words(set);
      units.all += count;
      if (std::any_of(images.begin(), images.end(), [&](const auto& image) { return made_for(image, target); }))
        units.with += count;
    }
    return units;
  }
  for (const auto& [image, count] : code.cubin) {
    units.all = std::max(units.all, count);
    if (made_for(image, target)) units.with = std::max(units.with, count);
  }
  return units;
}

std::string list_of(const std::map<std::string, int64_t>& images) {
  std::vector<std::string_view> names;
  for (const auto& [name, count] : images) names.push_back(name);
  std::sort(names.begin(), names.end(),
            [](std::string_view a, std::string_view b) { return parse_sm(a) < parse_sm(b); });
  return fmt::format("{}", fmt::join(names, ", "));
}

// Machine code that no claimed target's row lists, with how often it stands there.
std::map<std::string, int64_t> extras(const Facts& facts, const DeviceCode& code) {
  std::map<std::string, int64_t> others = code.cubin;
  std::erase_if(others, [&](const auto& entry) {
    return std::any_of(facts.claimed_gpus.begin(), facts.claimed_gpus.end(),
                       [&](const Target* target) { return belongs_to(entry.first, *target); });
  });
  return others;
}

// The same in translation units that hold a claimed SM: those without it are another check's. Facts of an older
// pbprobe have no sets; then all of it, unless nothing is of a claimed SM.
std::map<std::string, int64_t> extras_beside(const Facts& facts, const DeviceCode& code) {
  const auto is_claimed = [&](const std::string& image) {
    return std::any_of(facts.claimed_gpus.begin(), facts.claimed_gpus.end(),
                       [&](const Target* target) { return made_for(image, *target); });
  };
  const auto others = extras(facts, code);
  if (!code.unit_sets) {
    const bool any =
        std::any_of(code.cubin.begin(), code.cubin.end(), [&](const auto& entry) { return is_claimed(entry.first); });
    return any ? others : std::map<std::string, int64_t>{};
  }
  std::map<std::string, int64_t> beside;
  for (const auto& [set, count] : *code.unit_sets) {
    const auto images = words(set);
    if (std::none_of(images.begin(), images.end(), is_claimed)) continue;
    for (const auto& image : images) {
      if (others.contains(image)) beside[image] += count;
    }
  }
  return beside;
}

// Units of libraries linked in statically keep those libraries' own list of SMs: fewer than half of a file's units.
bool are_of_linked_library(const File& file, const std::map<std::string, int64_t>& others) {
  if (!file.links) return false;
  const auto& contains = file.links->contains;
  const bool any = std::any_of(contains.begin(), contains.end(),
                               [](const std::string& name) { return has_own_sms(File{.component = name}); });
  int64_t units = 0;
  for (const auto& [set, count] : file.device_code->unit_sets.value_or(std::map<std::string, int64_t>{}))
    units += count;
  return any && std::all_of(others.begin(), others.end(), [&](const auto& entry) { return entry.second * 2 < units; });
}

// That of the row which comes after plain FMA: "wgmma".
std::string first_tensor_instruction(const Target& target) {
  return target.instructions.size() > 1 ? target.instructions[1].name : "a tensor instruction";
}

void add_trap_kernels(const Facts& facts, const File& file, const std::map<std::string, SmCensus>& censuses,
                      Answer& answer) {
  for (const auto& [image, census] : censuses) {
    const bool claimed = std::any_of(facts.claimed_gpus.begin(), facts.claimed_gpus.end(),
                                     [&, name = image](const Target* target) { return made_for(name, *target); });
    if (!claimed || census.trap_kernels == 0) continue;
    answer.seen.push_back({say("{} kernels of {} for {} do nothing but trap: {}", census.trap_kernels,
                               base_name(file.path), image, census.only_traps.empty() ? "" : census.only_traps.front()),
                           file.path});
  }
}

// Of the libraries that have lists of their own: what their files hold together.
std::map<std::string, DeviceCode> their_code(const Inventory& inventory) {
  std::map<std::string, DeviceCode> components;
  for (const auto& file : inventory.files) {
    if (!file.device_code || !has_own_sms(file)) continue;
    DeviceCode& code = components[*file.component];
    for (const auto& [name, count] : file.device_code->cubin) code.cubin[name] += count;
    for (const auto& [name, count] : file.device_code->ptx) code.ptx[name] += count;
  }
  return components;
}

}  // namespace

Answer claimed_sm_is_throughout(const Facts& facts) {
  Answer answer;
  bool any_file = false;
  for (const auto& file : facts.inventory->files) {
    if (!is_libtorch(facts, file)) continue;
    any_file = true;
    if (file.device_code->cubin.empty()) continue;  // another check's
    for (const Target* target : facts.claimed_gpus) {
      const Units units = units_for(*file.device_code, *target);
      if (units.with == units.all) continue;
      Said what = units.with == 0
                      ? say("{} is claimed, and {} holds machine code for {} alone", target->id, base_name(file.path),
                            list_of(file.device_code->cubin))
                      : say("{} is claimed, and {} of the {} translation units of {} hold machine code for it",
                            target->id, units.with, units.all, base_name(file.path));
      answer.seen.push_back({std::move(what), file.path});
    }
  }
  const bool damaged = std::any_of(facts.inventory->files.begin(), facts.inventory->files.end(),
                                   [&](const File& file) { return is_own(*facts.inventory, file) && file.problem; });
  if (!any_file && facts.cuda_build && !damaged)
    answer.seen.push_back({say("{} is claimed, and libtorch holds no device code", facts.claimed_gpus.front()->id)});
  return answer;
}

Answer claimed_sm_is_machine_code(const Facts& facts) {
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    if (!file.device_code || !(is_libtorch(facts, file) || has_own_sms(file))) continue;
    if (!file.device_code->cubin.empty() || file.device_code->ptx.empty()) continue;
    answer.seen.push_back({say("{} holds PTX alone ({}): the driver compiles it at the first start",
                               base_name(file.path), list_of(file.device_code->ptx)),
                           file.path});
  }
  return answer;
}

Answer nothing_but_claimed_sms(const Facts& facts) {
  Answer answer;
  if (!facts.claim->exact) return answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_libtorch(facts, file)) continue;
    const auto others = extras_beside(facts, *file.device_code);
    if (others.empty() || are_of_linked_library(file, others)) continue;
    answer.seen.push_back({say("{} holds machine code for {} too", base_name(file.path), list_of(others)), file.path});
  }
  return answer;
}

Answer no_ptx_beside_claimed_sms(const Facts& facts) {
  Answer answer;
  if (!facts.claim->exact) return answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_libtorch(facts, file) || file.device_code->cubin.empty() || file.device_code->ptx.empty()) continue;
    if (are_of_linked_library(file, file.device_code->ptx)) continue;
    answer.seen.push_back(
        {say("{} holds PTX for {} beside its machine code", base_name(file.path), list_of(file.device_code->ptx)),
         file.path});
  }
  return answer;
}

Answer other_libraries_hold_claimed_sm(const Facts& facts) {
  Answer answer;
  for (const auto& [component, code] : their_code(*facts.inventory)) {
    if (code.cubin.empty()) continue;  // another check's
    for (const Target* target : facts.claimed_gpus) {
      const auto capability = parse_sm(target->capability.value_or(""));
      const bool runs = std::any_of(code.cubin.begin(), code.cubin.end(), [&](const auto& entry) {
        const auto image = parse_sm(entry.first);
        return image && capability && cubin_runs_on(*image, *capability);
      });
      if (runs) continue;
      answer.seen.push_back({say("{} is claimed, and {} holds machine code for {} alone, none of which runs there",
                                 target->id, component, list_of(code.cubin))});
    }
  }
  return answer;
}

Answer other_libraries_hold_more(const Facts& facts) {
  Answer answer;
  if (!facts.claim->exact) return answer;
  for (const auto& [component, code] : their_code(*facts.inventory)) {
    const auto others = extras(facts, code);
    if (!others.empty()) answer.seen.push_back({say("{} holds machine code for {} too", component, list_of(others))});
  }
  for (const auto& file : facts.inventory->files) {
    // Images that a file hands to the driver itself are whole kernels of another project, made for the SMs that it
    // knows.
    if (is_own(*facts.inventory, file) && file.own_images) {
      const auto others = extras(facts, *file.own_images);
      if (!others.empty())
        answer.seen.push_back(
            {say("{} holds machine code for {} too, among its constants", base_name(file.path), list_of(others)),
             file.path});
    }
    if (!is_libtorch(facts, file)) continue;
    const auto others = extras(facts, *file.device_code);
    if (others.empty() || !are_of_linked_library(file, others)) continue;
    answer.seen.push_back(
        {say("libraries linked into {} hold machine code for {} too", base_name(file.path), list_of(others)),
         file.path});
  }
  return answer;
}

Answer no_claimed_kernel_only_traps(const Facts& facts) {
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_own(*facts.inventory, file)) continue;
    for (const auto* code : {&file.device_code, &file.own_images}) {
      if (*code && (*code)->census) add_trap_kernels(facts, file, *(*code)->census, answer);
    }
  }
  return answer;
}

Answer one_toolkit_a_file(const Facts& facts) {
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_libtorch(facts, file) || !file.device_code->toolkits || file.device_code->toolkits->size() < 2) continue;
    std::vector<std::string> parts;
    for (const auto& [release, count] : *file.device_code->toolkits)
      parts.push_back(fmt::format("{} by CUDA {}", count, release));
    answer.seen.push_back(
        {say("cubins of {} were made by different toolkits: {}", base_name(file.path), fmt::join(parts, ", ")),
         file.path});
  }
  return answer;
}

Answer images_are_of_claimed_cuda(const Facts& facts) {
  Answer answer;
  if (!facts.claim->cuda) return answer;
  if (!facts.single_file && !cuda_is_claimed(facts).seen.empty()) return answer;  // said already
  const auto claimed = parse_major_minor(*facts.claim->cuda);
  if (!claimed) return answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_libtorch(facts, file) || !file.device_code->toolkits || file.device_code->toolkits->empty()) continue;
    bool as_claimed = false;
    std::set<std::string> newer, older;
    for (const auto& [release, count] : *file.device_code->toolkits) {
      const auto version = parse_major_minor(release);
      if (!version) continue;
      as_claimed = as_claimed || *version == *claimed;
      if (*version > *claimed) newer.insert(release);
      if (*version < *claimed) older.insert(release);
    }
    const auto& wrong = newer.empty() ? older : newer;
    if (wrong.empty() || (newer.empty() && as_claimed)) continue;  // older: of libraries linked in
    answer.seen.push_back({say("CUDA {} is claimed, and cubins of {} were made by CUDA {}", *facts.claim->cuda,
                               base_name(file.path), fmt::join(wrong, ", ")),
                           file.path});
  }
  return answer;
}

// A row's architecture with a suffix says that its tensor instructions are in that image alone, and torch adds it to
// the files that have them.
Answer tensor_paths_have_their_image(const Facts& facts) {
  Answer answer;
  if (!facts.claim->exact) return answer;
  for (const Target* target : facts.claimed_gpus) {
    if (std::isalpha(static_cast<unsigned char>(target->architecture.back())) == 0) continue;
    bool any = false;
    bool with_suffix = false;
    bool damaged = false;  // it may lie in what could not be read
    for (const auto& file : facts.inventory->files) {
      damaged = damaged || (is_own(*facts.inventory, file) && file.problem);
      if (!is_libtorch(facts, file)) continue;
      for (const auto& [image, count] : file.device_code->cubin) {
        any = any || image == sm_of(*target);
        with_suffix = with_suffix || (image != sm_of(*target) && made_for(image, *target));
      }
    }
    if (!any || with_suffix || damaged) continue;  // without any, another check's
    answer.seen.push_back({say("{} is claimed, and no file of libtorch holds sm_{}, which {} needs", target->id,
                               target->architecture, in_words(first_tensor_instruction(*target)))});
  }
  return answer;
}

}  // namespace pbprobe::ask
