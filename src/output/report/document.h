// A report before it has a shape: headings, paragraphs, tables, lists. One Document, three
// renderings.
//
// Everything Orrery prints for people goes through here, so that text, Markdown and HTML never say
// different things. JSON and CSV have their own writers: they are for programs.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace orrery::report {

// What a person should feel on reading it; colour where there is any, never the only sign.
enum class Tone { plain, good, warn, bad };

struct Heading {
  int level = 1;  // 1 is the title
  std::string text;
  Tone tone = Tone::plain;
};

struct Paragraph {
  std::string text;
};

struct Bullets {
  std::vector<std::string> items;
};

// A cell that starts with a number is set flush right when its column says so.
struct Table {
  std::vector<std::string> header;  // empty: a table without a head
  std::vector<std::vector<std::string>> rows;
  std::vector<bool> flush_right;  // one a column; missing ones are flush left
  std::vector<Tone> tones = {};   // one a row; missing ones are plain
};

// The few numbers that a person looks for first.
struct Tile {
  std::string label;
  std::string value;
  std::string detail;  // its interval
};
struct Tiles {
  std::vector<Tile> tiles;
};

// What follows, up to the end, is for who wants it: folded away where that can be.
struct FoldBegin {
  std::string title;
};
struct FoldEnd {};

// Set off from the text and kept as it is: a formula, a command.
struct Verbatim {
  std::string text;
};

// An SVG that stands alone. Text and Markdown have no place for it, so what it shows is a picture
// of something, never the only place where it is said.
struct Drawing {
  std::string svg;
};

using Block =
    std::variant<Heading, Paragraph, Bullets, Table, Verbatim, Drawing, Tiles, FoldBegin, FoldEnd>;

struct Document {
  std::vector<Block> blocks;

  void heading(int level, std::string text, Tone tone = Tone::plain) {
    blocks.push_back(Heading{level, std::move(text), tone});
  }
  void paragraph(std::string text) { blocks.push_back(Paragraph{std::move(text)}); }
  void bullets(std::vector<std::string> items) { blocks.push_back(Bullets{std::move(items)}); }
  void table(Table t) { blocks.push_back(std::move(t)); }
  void verbatim(std::string text) { blocks.push_back(Verbatim{std::move(text)}); }
  void drawing(std::string svg) { blocks.push_back(Drawing{std::move(svg)}); }
  void tiles(std::vector<Tile> all) { blocks.push_back(Tiles{std::move(all)}); }
  void fold(std::string title) { blocks.push_back(FoldBegin{std::move(title)}); }
  void end_fold() { blocks.push_back(FoldEnd{}); }
};

inline constexpr std::size_t kTextWidth = 100;

// How text is set: the width that lines and tables keep to where they can, and whether headings and
// tones have colour (SGR sequences).
struct TextStyle {
  std::size_t width = kTextWidth;
  bool has_colour = false;
  bool fits_tables = false;  // cells are broken so that tables keep to the width
};

std::string to_text(const Document& d, const TextStyle& style = {});
std::string to_markdown(const Document& d);
// One file with its style inside; opens from disk and prints cleanly.
std::string to_html(const Document& d);

std::string html_escaped(std::string_view text);

}  // namespace orrery::report
