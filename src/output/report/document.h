// A report without a format: headings, paragraphs, tables and lists. One Document has three
// renderings.
//
// Everything that Orrery prints for people goes through here, so that text, Markdown and HTML say
// the same. JSON and CSV, which are for programs, have their own writers.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace orrery::report {

// Whether a text is good or bad news. Shown as colour where possible, and never by colour alone.
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

// A table. A column is aligned to the right if `flush_right` says so.
struct Table {
  std::vector<std::string> header;  // empty: a table without a header
  std::vector<std::vector<std::string>> rows;
  std::vector<bool> flush_right;  // one per column; missing ones are aligned to the left
  std::vector<Tone> tones = {};   // one per row; missing ones are plain
};

// One of the few numbers that readers look for first.
struct Tile {
  std::string label;
  std::string value;
  std::string detail;  // its 80 % interval
};
struct Tiles {
  std::vector<Tile> tiles;
};

// Begins an optional part, up to FoldEnd. It is folded away in formats that can do so.
struct FoldBegin {
  std::string title;
};
struct FoldEnd {};

// Text that is set apart and not reflowed: a formula, a command.
struct Verbatim {
  std::string text;
};

// An SVG without references to other files. Text and Markdown cannot show it, so it must never be
// the only place where something is said.
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

// How text is set: the width that lines and tables keep to, and whether headings and tones have
// colour (SGR sequences). Only a word longer than the width makes a line longer.
struct TextStyle {
  std::size_t width = kTextWidth;
  bool has_colour = false;
};

std::string to_text(const Document& d, const TextStyle& style = {});
// Returns a text with lines longer than the width broken at blanks. The rest of a line is indented
// two columns deeper than its beginning.
std::string folded(std::string_view text, std::size_t width = kTextWidth);
std::string to_markdown(const Document& d);
// Returns one file with its style inside, which opens from disk and prints cleanly.
std::string to_html(const Document& d);

std::string html_escaped(std::string_view text);

}  // namespace orrery::report
