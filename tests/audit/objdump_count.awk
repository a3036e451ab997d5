# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# objdump -d -z FILE | awk -f objdump_count.awk: instructions of each group, only by bytes and mnemonics.
BEGIN { FS = "\t" }
NF >= 3 && $3 !~ /\(bad\)/ {
  if ($3 !~ /^\.(word|short|byte)/) ++count["instructions"]
  text = $3 " " $4  # aarch64: operands are a field of their own
  while (text ~ /^(rep[nz]*|repnz|lock|bnd|notrack|data16|addr32|[c-g]s|rex[.A-Z]*|\{[a-z]+\}) /) sub(/^[^ ]* /, "", text)
  mnemonic = text
  sub(/ .*/, "", mnemonic)
  if (arm) {
    if (mnemonic ~ /^(cas|swp|ld(add|clr|eor|set|smax|smin|umax|umin)|st(add|clr|eor|set|smax|smin|umax|umin))(a|al|l)?[bh]?$/ ||
        mnemonic ~ /^casp/) ++count["atomics"]
    if (text ~ /[ \t,{\[][zp][0-9]+[.\/,}\]]/ || mnemonic ~ /^(rdvl|addvl|addpl|rdffr|setffr|cterm|cnt[bhwd]$|(sq|uq)?(inc|dec)[bhwd]$)/) ++count["sve"]
    else {
      if (mnemonic ~ /^[su]dot$/) ++count["asimddp"]
      if (mnemonic ~ /^(smmla|ummla|usmmla|usdot|sudot)$/) ++count["i8mm"]
      if (mnemonic ~ /^bf(dot|mmla|mlal[bt]|cvt|cvtn2?)$/) ++count["bf16"]
    }
    next
  }
  bytes = $2
  while (bytes ~ /^(2e|36|3e|26|64|65|67) /) sub(/^.. /, "", bytes)
  first = substr(bytes, 1, 2)
  if (mnemonic ~ /^k(mov|and|or|xor|xnor|not|test|ortest|shift|unpck|add)/ && (first == "c4" || first == "c5")) ++count["evex"]
  else if (first == "62") {
    ++count["evex"]
    map = substr(bytes, 5, 1)
    if (map ~ /[56de]/) ++count["avx512_fp16"]
    else if (map ~ /[3b]/ && mnemonic ~ /(ph|sh)$/ && mnemonic !~ /^vcvtps2ph/) ++count["avx512_fp16"]
    if (mnemonic ~ /^vpdp/) ++count["vnni"]
    if (mnemonic ~ /^(vdpbf16|vcvtne)/) ++count["avx512_bf16"]
  } else if (first == "c4" || first == "c5") {
    ++count["vex"]
    if (mnemonic ~ /^vf(n?m(add|sub)|maddsub|msubadd)[123][123][123]/) ++count["fma"]
    if (mnemonic ~ /^vcvt(ph2ps|ps2ph)/) ++count["f16c"]
    if (mnemonic ~ /^(andn|bextr|bls(i|r|msk))[lq]?$/) ++count["bmi1"]
    if (mnemonic ~ /^(bzhi|mulx|pdep|pext|rorx|sarx|shlx|shrx)[lq]?$/) ++count["bmi2"]
    if (mnemonic ~ /^vpdp/) ++count["vnni"]
    if (mnemonic ~ /^(tdp|tile|ldtilecfg|sttilecfg)/) ++count["amx"]
  } else if (mnemonic ~ /^popcnt/) ++count["popcnt"]
  else if (mnemonic ~ /^lzcnt/) ++count["abm"]
  else if (mnemonic ~ /^crc32/) ++count["crc32"]
}
END { for (group in count) print group, count[group] }
