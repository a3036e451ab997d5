// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// HTML that is well-formed and escaped by construction: names of elements and attributes are literals of the program,
// all else is text. Nothing takes markup.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace pbprobe::html {

// Of an element or an attribute.
struct Name {
  consteval Name(const char* name) : text(name) {}
  std::string_view text;
};

struct Attribute {
  Name name;
  std::string value;
};

// What does not show becomes '?', and what HTML would read as markup is escaped; also right between quotes.
[[nodiscard]] std::string escaped(std::string_view text);

// "12.5": at most `digits` behind the point, and no zeros at its end. For coordinates.
[[nodiscard]] std::string decimal(double value, int digits = 2);
// As JSON has it: what is read back is the same number.
[[nodiscard]] std::string exact(double value);

class Writer {
 public:
  // Ends with its life.
  class Element {
   public:
    Element(Writer& writer, Name name) : writer_(writer), name_(name) {}
    ~Element() { writer_.end(name_); }
    Element(const Element&) = delete;
    Element& operator=(const Element&) = delete;

   private:
    Writer& writer_;
    Name name_;
  };

  [[nodiscard]] Element open(Name name, std::initializer_list<Attribute> attributes = {});
  // Its end is the caller's, who makes an Element of it later.
  void begin(Name name, std::initializer_list<Attribute> attributes);
  // An element of text only.
  void add(Name name, std::initializer_list<Attribute> attributes, std::string_view text);
  void add(Name name, std::string_view text) { add(name, {}, text); }
  // Without content: of HTML <meta>, <br>; of SVG any that has none.
  void add_empty(Name name, std::initializer_list<Attribute> attributes);
  void text(std::string_view text) { out_ += escaped(text); }

  [[nodiscard]] std::string take() && { return std::move(out_); }

 private:
  void end(Name name);
  std::string out_;
};

}  // namespace pbprobe::html
