#include <algorithm>

#include "base/text.h"
#include "report/document.h"

namespace orrery::report {
namespace {

// Columns a text takes on a terminal: code points, not bytes.
std::size_t width(std::string_view s) {
  return static_cast<std::size_t>(std::ranges::count_if(
      s, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string padded(const std::string& s, std::size_t to, bool flush_right) {
  const std::string blanks(to > width(s) ? to - width(s) : 0, ' ');
  return flush_right ? blanks + s : s + blanks;
}

// Breaks at blanks so that no line passes kTextWidth; a longer word stands alone.
std::string wrapped(std::string_view text, const std::string& first, const std::string& rest) {
  std::string out = first;
  std::size_t column = width(first);
  bool line_empty = true;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    if (!line_empty && column + 1 + width(word) > kTextWidth) {
      out += '\n' + rest;
      column = width(rest);
      line_empty = true;
    }
    if (!line_empty) out += ' ', ++column;
    out += word;
    column += width(word);
    line_empty = false;
  }
  return out + '\n';
}

struct TextRenderer {
  std::string out;

  void operator()(const Heading& h) {
    if (!out.empty()) out += '\n';
    out += h.text + '\n';
    if (h.level <= 2) out += std::string(width(h.text), h.level == 1 ? '=' : '-') + '\n';
  }
  void operator()(const Paragraph& p) { out += wrapped(p.text, "", ""); }
  void operator()(const Bullets& b) {
    for (const std::string& item : b.items) out += wrapped(item, "  - ", "    ");
  }
  void operator()(const Drawing&) {}
  void operator()(const Verbatim& v) {
    for (const std::string_view line : split(v.text, '\n'))
      out += "    " + std::string(line) + '\n';
  }
  void operator()(const Table& t) {
    std::vector<std::size_t> widths;
    const auto measure = [&](const std::vector<std::string>& row) {
      widths.resize(std::max(widths.size(), row.size()));
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
    };
    measure(t.header);
    for (const auto& row : t.rows) measure(row);
    if (!t.header.empty()) line(t, t.header, widths);
    for (const auto& row : t.rows) line(t, row, widths);
  }

  void line(const Table& t, const std::vector<std::string>& row,
            const std::vector<std::size_t>& widths) {
    std::string text = " ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool right = i < t.flush_right.size() && t.flush_right[i];
      text += ' ' + padded(row[i], widths[i], right) + ' ';
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  }
};

}  // namespace

std::string to_text(const Document& d) {
  TextRenderer r;
  for (const Block& b : d.blocks) std::visit(r, b);
  return std::move(r.out);
}

}  // namespace orrery::report
