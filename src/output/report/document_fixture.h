// For tests: a document block by block, as lines that show everything in it.
#pragma once

#include <string>
#include <vector>

#include "output/report/document.h"

namespace orrery::report {

inline std::string cells_of(const std::vector<std::string>& cells) {
  std::string out;
  for (std::size_t i = 0; i < cells.size(); ++i) out += (i == 0 ? "" : " | ") + cells[i];
  return out;
}

struct BlockLines {
  std::vector<std::string> lines;

  void operator()(const Heading& h) {
    const char* tones[] = {"", " good", " warn", " bad"};
    lines.push_back("h" + std::to_string(h.level) + tones[static_cast<int>(h.tone)] + ": " +
                    h.text);
  }
  void operator()(const Paragraph& p) { lines.push_back("p: " + p.text); }
  void operator()(const Bullets& b) {
    for (const std::string& item : b.items) lines.push_back("- " + item);
    if (b.items.empty()) lines.push_back("- nothing");
  }
  // Columns as L and R, then the header and the rows, each after its tone.
  void operator()(const Table& t) {
    std::string sides = "t ";
    for (const bool right : t.flush_right) sides += right ? 'R' : 'L';
    lines.push_back(sides + ": " + cells_of(t.header));
    const char* tones[] = {"", "good ", "warn ", "bad "};
    for (std::size_t i = 0; i < t.rows.size(); ++i) {
      const std::string tone = i < t.tones.size() ? tones[static_cast<int>(t.tones[i])] : "";
      lines.push_back("  " + tone + cells_of(t.rows[i]));
    }
  }
  void operator()(const Verbatim& v) { lines.push_back("v: " + v.text); }
  void operator()(const Drawing& d) { lines.push_back("svg: " + d.svg.substr(0, 4)); }
  void operator()(const Tiles& all) {
    for (const Tile& t : all.tiles) {
      lines.push_back("tile: " + t.label + " = " + t.value + " (" + t.detail + ")");
    }
    if (all.tiles.empty()) lines.push_back("tile: nothing");
  }
  void operator()(const FoldBegin& f) { lines.push_back("fold: " + f.title); }
  void operator()(const FoldEnd&) { lines.push_back("fold end"); }
};

inline std::vector<std::string> lines_of(const Document& d) {
  BlockLines all;
  for (const Block& b : d.blocks) std::visit(all, b);
  return all.lines;
}

}  // namespace orrery::report
