#include <algorithm>

#include "core/base/printable.h"
#include "core/base/text.h"
#include "output/report/document.h"

namespace orrery::report {
namespace {

// Returns the columns that a text takes on a terminal: code points, not bytes.
std::size_t width(std::string_view s) {
  return static_cast<std::size_t>(std::ranges::count_if(
      s, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string padded(const std::string& s, std::size_t to, bool flush_right) {
  const std::string blanks(to > width(s) ? to - width(s) : 0, ' ');
  return flush_right ? blanks + s : s + blanks;
}

// Breaks a text into lines of at most `most` columns; a longer word gets a line of its own.
std::vector<std::string> lines_of(std::string_view text, std::size_t most) {
  std::vector<std::string> lines(1);
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    if (!lines.back().empty() && width(lines.back()) + 1 + width(word) > most) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
  }
  return lines;
}

const char* code_of(Tone tone) {
  switch (tone) {
    case Tone::good:
      return "32";
    case Tone::warn:
      return "33";
    case Tone::bad:
      return "31";
    case Tone::plain:
      break;
  }
  return "";
}

// Narrowest column of a table: a word or two must fit.
constexpr std::size_t kNarrowest = 14;

struct TextRenderer {
  const TextStyle& style;
  std::string out = {};

  std::string coloured(const std::string& text, const std::string& code) const {
    return style.has_colour && !code.empty() ? "\x1b[" + code + 'm' + text + "\x1b[0m" : text;
  }

  void wrapped(std::string_view raw, const std::string& first, const std::string& rest) {
    const std::string text = printable(raw);
    const std::size_t room =
        style.width > width(first) + kNarrowest ? style.width - width(first) : kNarrowest;
    const std::vector<std::string> lines = lines_of(text, room);
    for (std::size_t i = 0; i < lines.size(); ++i) out += (i == 0 ? first : rest) + lines[i] + '\n';
  }

  void operator()(const Heading& h) {
    if (!out.empty()) out += '\n';
    const std::string text = printable(h.text);
    const std::string tone = code_of(h.tone);
    out += coloured(text, h.level <= 2 ? (tone.empty() ? "1" : "1;" + tone) : tone) + '\n';
    if (h.level <= 2) out += std::string(width(text), h.level == 1 ? '=' : '-') + '\n';
  }
  void operator()(const Paragraph& p) { wrapped(p.text, "", ""); }
  void operator()(const Bullets& b) {
    for (const std::string& item : b.items) wrapped(item, "  - ", "    ");
  }
  void operator()(const Drawing&) {}
  void operator()(const FoldBegin& f) { (*this)(Heading{.level = 2, .text = f.title}); }
  void operator()(const FoldEnd&) {}
  void operator()(const Tiles& t) {
    Table table{.header = {}, .rows = {}, .flush_right = {false, true, false}};
    for (const Tile& tile : t.tiles) table.rows.push_back({tile.label, tile.value, tile.detail});
    (*this)(table);
  }
  void operator()(const Verbatim& v) {
    for (const std::string_view line : split(v.text, '\n')) out += "    " + printable(line) + '\n';
  }
  void operator()(const Table& raw) {
    Table t = raw;
    for (std::string& cell : t.header) cell = printable(cell);
    for (auto& row : t.rows) {
      for (std::string& cell : row) cell = printable(cell);
    }
    const std::vector<std::size_t> widths = widths_of(t);
    if (!t.header.empty()) line(t, t.header, widths, style.has_colour ? "1" : "");
    for (std::size_t i = 0; i < t.rows.size(); ++i) {
      line(t, t.rows[i], widths, i < t.tones.size() ? code_of(t.tones[i]) : "");
    }
  }

  // Returns the widths of the columns: each as wide as its widest cell. If the table is too wide,
  // the widest column that is aligned to the left is narrowed.
  std::vector<std::size_t> widths_of(const Table& t) const {
    std::vector<std::size_t> widths;
    const auto measure = [&](const std::vector<std::string>& row) {
      widths.resize(std::max(widths.size(), row.size()));
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
    };
    measure(t.header);
    for (const auto& row : t.rows) measure(row);
    std::size_t total = 1;
    for (const std::size_t w : widths) total += w + 2;
    while (style.fits_tables && total > style.width) {
      std::size_t widest = widths.size();
      for (std::size_t i = 0; i < widths.size(); ++i) {
        const bool is_left = i >= t.flush_right.size() || !t.flush_right[i];
        if (is_left && (widest == widths.size() || widths[i] >= widths[widest])) widest = i;
      }
      if (widest == widths.size() || widths[widest] <= kNarrowest) break;
      --widths[widest];
      --total;
    }
    return widths;
  }

  void line(const Table& t, const std::vector<std::string>& row,
            const std::vector<std::size_t>& widths, const std::string& code) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool fits = width(row[i]) <= widths[i];
      cells.push_back(fits ? std::vector<std::string>{row[i]} : lines_of(row[i], widths[i]));
      height = std::max(height, cells.back().size());
    }
    for (std::size_t k = 0; k < height; ++k) {
      std::string text = " ";
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const bool right = i < t.flush_right.size() && t.flush_right[i];
        text += ' ' + padded(k < cells[i].size() ? cells[i][k] : "", widths[i], right) + ' ';
      }
      text.erase(text.find_last_not_of(' ') + 1);
      out += coloured(text, code) + '\n';
    }
  }
};

}  // namespace

std::string to_text(const Document& d, const TextStyle& style) {
  TextRenderer r{style};
  for (const Block& b : d.blocks) std::visit(r, b);
  return std::move(r.out);
}

}  // namespace orrery::report
