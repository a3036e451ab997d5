// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/facts/json.hpp"
#include "probes/report/attest.hpp"

#include <gmock/gmock.h>

#include "tests/report/documents.hpp"

namespace pbprobe::test {
namespace {

using testing::HasSubstr;
using testing::Not;

Report personal() {
  Report report = h200_document();
  report.host->hostname = "ada-desk.example.org";
  report.inventory->artifact = "/home/ada/venv/lib";
  report.inventory->libtorch_dir = "/root/venv/lib";
  report.problems = {"on ada-desk: cannot read \"/home/ada/x\", nor /mnt/home/ada/y; ada-desktop is another"};
  return report;
}

TEST(Redact, RemovesNamesOfMachineAndOwner) {
  const Report redacted = redact(personal());
  const std::string text = to_json(redacted).dump();
  EXPECT_EQ(redacted.host->hostname, std::nullopt);
  EXPECT_EQ(redacted.host->gpus[0].uuid, std::nullopt);
  EXPECT_EQ(redacted.inventory->artifact, "~/venv/lib");
  EXPECT_EQ(redacted.inventory->libtorch_dir, "~/venv/lib");
  EXPECT_EQ(redacted.problems[0], "on (host): cannot read \"~/x\", nor /mnt/home/~/y; ada-desktop is another");
  for (const char* name : {"example.org", "/home/ada", "/root/", "GPU-01234567"})
    EXPECT_THAT(text, Not(HasSubstr(name)));
}

TEST(Redact, KeepsOtherText) {
  const Report before = h200_document();
  Report expected = before;
  expected.host->hostname.reset();
  expected.host->gpus[0].uuid.reset();
  EXPECT_EQ(to_json(redact(before)), to_json(expected));
}

// A machine may be called as the document's own words are.
TEST(Redact, KeepsDocumentValidForKeywordHostName) {
  for (const char* name : {"pass", "pbprobe", "cpu", "native", "report"}) {
    Report report = h200_document();
    report.host->hostname = name;
    const Report redacted = redact(report);
    ASSERT_TRUE(redacted.verdict.has_value()) << name;
    EXPECT_EQ(redacted.verdict->outcome, Outcome::pass) << name;
    EXPECT_EQ(redacted.measurements->rows.size(), report.measurements->rows.size()) << name;
  }
}

}  // namespace
}  // namespace pbprobe::test
