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
// Narrowest column of a table that would not fit otherwise: a number must fit.
constexpr std::size_t kNarrowestOfAll = 6;

// Breaks a cell into lines of at most `most` columns; a longer word is cut, so that the columns
// after it stay aligned.
std::vector<std::string> cell_lines(std::string_view text, std::size_t most) {
  std::vector<std::string> cut;
  for (std::string line : lines_of(text, most)) {
    while (width(line) > most) {
      std::size_t bytes = 0;
      for (std::size_t columns = 0; columns < most; ++columns) {
        do ++bytes;
        while (bytes < line.size() && (static_cast<unsigned char>(line[bytes]) & 0xc0) == 0x80);
      }
      cut.push_back(line.substr(0, bytes));
      line.erase(0, bytes);
    }
    cut.push_back(std::move(line));
  }
  return cut;
}

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
    const std::string tone = code_of(h.tone);
    std::size_t widest = 0;
    for (const std::string& line : lines_of(printable(h.text), style.width)) {
      out += coloured(line, h.level <= 2 ? (tone.empty() ? "1" : "1;" + tone) : tone) + '\n';
      widest = std::max(widest, width(line));
    }
    if (h.level <= 2) out += std::string(widest, h.level == 1 ? '=' : '-') + '\n';
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
    for (const std::string_view line : split(v.text, '\n')) {
      out += folded("    " + printable(line), style.width) + '\n';
    }
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
  // the widest column that is aligned to the left is narrowed; if that is not enough, any column.
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
    const auto narrow = [&](bool only_left, std::size_t least) {
      while (total > style.width) {
        std::size_t widest = widths.size();
        for (std::size_t i = 0; i < widths.size(); ++i) {
          const bool is_left = i >= t.flush_right.size() || !t.flush_right[i];
          if (only_left && !is_left) continue;
          if (widest == widths.size() || widths[i] >= widths[widest]) widest = i;
        }
        if (widest == widths.size() || widths[widest] <= least) return;
        --widths[widest];
        --total;
      }
    };
    narrow(true, kNarrowest);
    narrow(false, kNarrowestOfAll);
    return widths;
  }

  void line(const Table& t, const std::vector<std::string>& row,
            const std::vector<std::size_t>& widths, const std::string& code) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool fits = width(row[i]) <= widths[i];
      cells.push_back(fits ? std::vector<std::string>{row[i]} : cell_lines(row[i], widths[i]));
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

std::string folded(std::string_view text, std::size_t most) {
  std::string out;
  bool is_first = true;
  for (const std::string_view line : split(text, '\n')) {
    if (!is_first) out += '\n';
    is_first = false;
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    if (width(line) <= most || indent + kNarrowest > most) {
      out += line;
      continue;
    }
    const std::string deeper(indent + 2, ' ');
    const std::vector<std::string> lines = lines_of(line.substr(indent), most - indent - 2);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      out += (i == 0 ? std::string(indent, ' ') : '\n' + deeper) + lines[i];
    }
  }
  return out;
}

std::string to_text(const Document& d, const TextStyle& style) {
  TextRenderer r{style};
  for (const Block& b : d.blocks) std::visit(r, b);
  return std::move(r.out);
}

}  // namespace orrery::report
