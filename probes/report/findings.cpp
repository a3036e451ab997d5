// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Findings and objections, one block each: severity and check, place, fix, and where to read more.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "probes/report/sections.hpp"

namespace pbprobe::text {
namespace {

constexpr size_t kMaxFindings = 10;

void add_block(Page& page, const Block& block) {
  page.blank();
  const std::string head = fmt::format("{}[{}]: ", block.word, block.id);
  page.headed(head, block.colour, strip_child_output(page, block.what));
  add_rest_of_block(page, block.id, block.where, block.remedy);
}

}  // namespace

const Objection* leading_objection(const Verdict& verdict) {
  const bool leads = !verdict.objections.empty() && verdict.objections.front().what == verdict.reason;
  return leads ? &verdict.objections.front() : nullptr;
}

std::string strip_child_output(const Page& page, std::string_view sentence) {
  const size_t begin = page.verbose() ? sentence.npos : sentence.find(kLastWords);
  const size_t end = sentence.rfind('"');
  if (begin == sentence.npos || end == sentence.npos || end < begin) return std::string(sentence);
  return fmt::format("{} (--verbose has what it printed){}", sentence.substr(0, begin), sentence.substr(end + 1));
}

void add_rest_of_block(Page& page, std::string_view id, const std::optional<std::string>& where,
                       const std::optional<std::string>& remedy) {
  if (where) page.entry("-->", *where, 4);
  if (remedy) page.entry("help:", *remedy, 6);
  if (id.starts_with("PB")) page.entry("more:", fmt::format("pbprobe explain {}", id), 6, Colour::faint);
}

std::vector<Block> make_blocks(const Verdict& verdict, const Objection* left_out) {
  std::set<std::string_view> causes;
  if (left_out != nullptr && left_out->outcome == Outcome::unknown) causes.insert(left_out->what);
  const auto leads = [&](std::string_view id, std::string_view what) {
    return left_out != nullptr && ((left_out->id == id && left_out->what == what) || causes.contains(what));
  };
  std::vector<Block> blocks;
  for (const auto& finding : verdict.findings) {
    if (finding.waived || leads(finding.id, finding.what)) continue;
    blocks.push_back({name_of(finding.severity), choose_colour(finding.severity), finding.id, finding.what,
                      finding.where, finding.remedy});
  }
  // Objections that repeat a finding are skipped.
  const auto is_found = [&](const Objection& objection) {
    return std::ranges::any_of(verdict.findings, [&](const Finding& finding) {
      return finding.id == objection.id && finding.what == objection.what;
    });
  };
  for (const auto& objection : verdict.objections) {
    if (is_found(objection) || leads(objection.id, objection.what)) continue;
    blocks.push_back({name_of(objection.outcome), choose_colour(objection.outcome), objection.id, objection.what,
                      objection.where, objection.remedy});
    if (left_out != nullptr && objection.outcome == Outcome::unknown) causes.insert(objection.what);
  }
  const auto weight = [](const Block& block) { return block.word == "fail" ? 0 : block.word == "unknown" ? 1 : 2; };
  std::ranges::stable_sort(blocks, [&](const Block& a, const Block& b) { return weight(a) < weight(b); });
  return blocks;
}

void add_findings(Page& page, const Verdict& verdict, Blocks which) {
  auto blocks = make_blocks(verdict, which == Blocks::below_verdict ? leading_objection(verdict) : nullptr);
  const bool gated = which == Blocks::of_gate;
  if (gated) std::erase_if(blocks, [](const Block& block) { return block.word == name_of(Severity::note); });
  const size_t most = page.verbose() || gated ? blocks.size() : kMaxFindings;
  for (size_t i = 0; i < blocks.size() && i < most; ++i) add_block(page, blocks[i]);
  if (blocks.size() <= most) return;
  page.blank();
  page.paragraph(fmt::format("and {} more: --format json lists all", blocks.size() - most), 0);
}

}  // namespace pbprobe::text
