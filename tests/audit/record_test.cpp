// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/record.hpp"

#include <gmock/gmock.h>

namespace pbprobe {
namespace {

TEST(Record, ReadsFileFromEachLine) {
  const Record record = parse_record(
      "pkg/_C.so,sha256=abc,1234\r\n"
      "\"pkg/a, \"\"b\"\".so\",sha256=def,5\n"
      "\n"
      "pkg-1.0.dist-info/RECORD,,\n"
      "../../../bin/pkg,sha256=0,7");
  EXPECT_FALSE(record.fault) << record.fault->message;
  ASSERT_EQ(record.files.size(), 4U);
  EXPECT_EQ(record.files[0].path, "pkg/_C.so");
  EXPECT_EQ(record.files[0].hash, "sha256=abc");
  EXPECT_EQ(record.files[0].size_bytes, 1234U);
  EXPECT_EQ(record.files[1].path, "pkg/a, \"b\".so");
  EXPECT_EQ(record.files[2].size_bytes, std::nullopt);
  EXPECT_EQ(record.files[3].path, "../../../bin/pkg");
}

TEST(Record, NamesFirstInvalidLineAndReadsOn) {
  for (const char* broken : {"pkg/a.so", "pkg/a.so,sha256=a", "pkg/a.so,sha256=a,many", ",sha256=a,1",
                             "\"pkg/a.so,sha256=a,1", "pkg/a.so,a,b,1"}) {
    const Record record = parse_record(std::string("pkg/first.so,,\n") + broken + "\npkg/last.so,,\n");
    ASSERT_TRUE(record.fault) << broken;
    EXPECT_EQ(record.fault->message, "RECORD: line 2 is not \"path,hash,bytes\"");
    EXPECT_EQ(record.files.size(), 2U) << broken;
  }
  EXPECT_TRUE(parse_record(std::string("a\0b,,\n", 6)).fault);
}

}  // namespace
}  // namespace pbprobe
