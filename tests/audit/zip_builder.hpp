// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Builds wheels from values, so that a test shows each wrong statement about a member.
#pragma once

#include <zlib.h>

#include <optional>
#include <string>
#include <vector>

#include "builders.hpp"

namespace pbprobe::test {

struct ZipBuilder {
  struct Member {
    std::string name;
    Content content;
    bool deflated = true;
    uint16_t flags = 0;
    uint32_t external_attributes = 0;
    std::string local_name = "";                   // if not empty, differs from the directory's name
    std::optional<uint64_t> announced_bytes = {};  // if set, differs from the content's size
    bool zip64 = false;
    int level = Z_NO_COMPRESSION;  // gives the same sizes with every zlib
  };
  std::vector<Member> members;
  uint64_t announced_members = 0;  // if not 0, replaces the real count
  std::string comment = "";

  [[nodiscard]] Content build() const;
};

inline Content deflate_raw(const Content& content, int level) {
  z_stream stream{};
  deflateInit2(&stream, level, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  Content packed(deflateBound(&stream, static_cast<uLong>(content.size())));
  stream.next_in = const_cast<Bytef*>(content.data());
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

inline Content ZipBuilder::build() const {
  Content file;
  Content directory;
  for (const auto& member : members) {
    const Content data = member.deflated ? deflate_raw(member.content, member.level) : member.content;
    const auto crc = static_cast<uint32_t>(crc32_z(0, member.content.data(), member.content.size()));
    const uint64_t size = member.announced_bytes.value_or(member.content.size());
    const uint32_t full = 0xffffffff;
    const auto offset = static_cast<uint32_t>(file.size());
    const std::string local = member.local_name.empty() ? member.name : member.local_name;
    Content extra;
    if (member.zip64) {
      append<uint16_t>(extra, 1);
      append<uint16_t>(extra, 16);
      append<uint64_t>(extra, size);
      append<uint64_t>(extra, data.size());
    }
    const auto header = [&](Content& out, const std::string& name) {  // fields of both headers, from flags on
      append<uint16_t>(out, member.flags);
      append<uint16_t>(out, member.deflated ? 8 : 0);
      append<uint32_t>(out, 0);
      append<uint32_t>(out, crc);
      append<uint32_t>(out, member.zip64 ? full : static_cast<uint32_t>(data.size()));
      append<uint32_t>(out, member.zip64 ? full : static_cast<uint32_t>(size));
      append<uint16_t>(out, static_cast<uint16_t>(name.size()));
      append<uint16_t>(out, static_cast<uint16_t>(extra.size()));
    };
    append<uint32_t>(file, 0x04034b50);
    append<uint16_t>(file, 20);
    header(file, local);
    append(file, make_content(local));
    append(file, extra);
    append(file, data);
    append<uint32_t>(directory, 0x02014b50);
    append<uint16_t>(directory, 0x031e);  // made on Unix
    append<uint16_t>(directory, 20);
    header(directory, member.name);
    append<uint16_t>(directory, 0);  // comment
    append<uint32_t>(directory, 0);  // disk and internal attributes
    append<uint32_t>(directory, member.external_attributes);
    append<uint32_t>(directory, offset);
    append(directory, make_content(member.name));
    append(directory, extra);
  }
  const auto at = static_cast<uint32_t>(file.size());
  append(file, directory);
  const auto count = static_cast<uint16_t>(announced_members != 0 ? announced_members : members.size());
  append<uint32_t>(file, 0x06054b50);
  append<uint32_t>(file, 0);
  append<uint16_t>(file, count);
  append<uint16_t>(file, count);
  append<uint32_t>(file, static_cast<uint32_t>(directory.size()));
  append<uint32_t>(file, at);
  append<uint16_t>(file, static_cast<uint16_t>(comment.size()));
  append(file, make_content(comment));
  return file;
}

}  // namespace pbprobe::test
