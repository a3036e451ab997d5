// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Writer of well-formed, escaped HTML: names of elements and attributes are literals of the program, everything else is
// text. No function accepts markup.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace pbprobe::html {

// Name of an element or attribute.
struct Name {
  consteval Name(const char* name) : text(name) {}
  std::string_view text;
};

struct Attribute {
  Name name;
  std::string value;
};

// Escapes text for HTML, also inside quotes; invisible characters become '?'.
[[nodiscard]] std::string escaped(std::string_view text);

// "12.5": at most `digits` behind the point, and no zeros at its end. For coordinates.
[[nodiscard]] std::string decimal(double value, int digits = 2);
// Formats a number as JSON does, so that reading it returns the same number.
[[nodiscard]] std::string exact(double value);

class Writer {
 public:
  // Open element; its destructor writes the end tag.
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
  // Opens a box that scrolls sideways, as wide tables and charts need. `label` names it for screen readers.
  [[nodiscard]] Element open_scroll(const std::string& label);
  // Opens an element. The caller must close it by creating an Element.
  void begin(Name name, std::initializer_list<Attribute> attributes);
  // Adds an element that contains only text.
  void add(Name name, std::initializer_list<Attribute> attributes, std::string_view text);
  void add(Name name, std::string_view text) { add(name, {}, text); }
  // Adds an element without content: in HTML <meta> or <br>, in SVG any.
  void add_empty(Name name, std::initializer_list<Attribute> attributes);
  void text(std::string_view text) { out_ += escaped(text); }

  [[nodiscard]] std::string take() && { return std::move(out_); }

 private:
  void end(Name name);
  std::string out_;
};

}  // namespace pbprobe::html
