#include <algorithm>

#include "core/base/printable.h"
#include "core/base/text.h"
#include "output/report/document.h"

namespace orrery::report {
namespace {

// Returns the length of the run of backticks with which `text` begins.
std::size_t ticks_of(std::string_view text) {
  return std::min(text.find_first_not_of('`'), text.size());
}

// Returns the end of the code span that begins here, paired as CommonMark does; 0 if there is none.
std::size_t span_end(std::string_view text) {
  const std::size_t run = ticks_of(text);
  for (std::size_t at = text.find('`', run); at != std::string_view::npos;) {
    const std::size_t ticks = ticks_of(text.substr(at));
    if (ticks == run) return at + run;
    at = text.find('`', at + ticks);
  }
  return 0;
}

// Escapes text from outside so that it stays text: no tag, link, picture or second line. A code
// span has no effects and is kept.
std::string markdown_escaped(std::string_view raw, bool in_table) {
  const std::string safe = printable(raw);
  std::string out;
  for (std::string_view text = safe; !text.empty();) {
    const std::size_t code = text.front() == '`' ? span_end(text) : 0;
    if (code > 0) {
      for (const char c : text.substr(0, code)) {
        if (c == '|' && in_table) out += '\\';
        out += c;
      }
      text.remove_prefix(code);
      continue;
    }
    const char c = text.front();
    const bool begins = out.empty() && (c == '#' || c == '>');
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      if (c == '`' || c == '[' || c == ']' || (c == '|' && in_table) || begins) out += '\\';
      out += c;
    }
    text.remove_prefix(1);
  }
  return out;
}

// Returns a fence with one backtick more than the longest run in the text, and at least three.
std::string fence_for(std::string_view text) {
  std::size_t longest = 2;
  for (std::size_t at = text.find('`'); at != std::string_view::npos;) {
    const std::size_t ticks = ticks_of(text.substr(at));
    longest = std::max(longest, ticks);
    at = text.find('`', at + ticks);
  }
  return std::string(longest + 1, '`');
}

std::string verbatim_lines(std::string_view text) {
  std::string out;
  for (const std::string_view line : split(text, '\n')) out += printable(line) + '\n';
  return out;
}

struct MarkdownRenderer {
  std::string out;

  void operator()(const Heading& h) {
    out += std::string(static_cast<std::size_t>(h.level), '#') + ' ' +
           markdown_escaped(h.text, false) + "\n\n";
  }
  void operator()(const Paragraph& p) { out += markdown_escaped(p.text, false) + "\n\n"; }
  void operator()(const Bullets& b) {
    for (const std::string& item : b.items) out += "- " + markdown_escaped(item, false) + '\n';
    out += '\n';
  }
  void operator()(const Verbatim& v) {
    const std::string fence = fence_for(v.text);
    out += fence + '\n' + verbatim_lines(v.text) + fence + "\n\n";
  }
  void operator()(const Drawing&) {}
  // GitHub and GitLab fold this; elsewhere it is a line of its own.
  void operator()(const FoldBegin& f) {
    out += "<details><summary>" + html_escaped(printable(f.title)) + "</summary>\n\n";
  }
  void operator()(const FoldEnd&) { out += "</details>\n\n"; }
  void operator()(const Tiles& t) {
    Table table{
        .header = {"", "", "80 % interval"}, .rows = {}, .flush_right = {false, true, false}};
    for (const Tile& tile : t.tiles) table.rows.push_back({tile.label, tile.value, tile.detail});
    (*this)(table);
  }
  void operator()(const Table& t) {
    const std::size_t columns = t.rows.empty() ? t.header.size() : t.rows.front().size();
    row(t.header.empty() ? std::vector<std::string>(columns) : t.header);
    out += '|';
    for (std::size_t i = 0; i < columns; ++i) {
      out += i < t.flush_right.size() && t.flush_right[i] ? " ---: |" : " --- |";
    }
    out += '\n';
    for (const auto& r : t.rows) row(r);
    out += '\n';
  }
  void row(const std::vector<std::string>& cells) {
    out += '|';
    for (const std::string& c : cells) out += ' ' + markdown_escaped(c, true) + " |";
    out += '\n';
  }
};

constexpr std::string_view kHtmlHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>)";

constexpr std::string_view kHtmlStyle = R"(</title>
<style>
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --rule: #d0d7de; --soft: #57606a;
        --good: #1a7f37; --warn: #9a6700; --bad: #cf222e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --paper: #0d1117; --rule: #30363d; --soft: #9198a1;
          --good: #3fb950; --warn: #d29922; --bad: #f85149; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; border-bottom: 1px solid var(--rule); margin-top: 2rem }
h3 { font-size: 1rem; margin-bottom: .3rem }
table { border-collapse: collapse; margin: .5rem 0 1rem } .wide { overflow-x: auto }
td, th { padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top }
tr + tr td { border-top: 1px solid var(--rule) }
th { color: var(--soft); font-weight: 600 } .right { text-align: right; font-variant-numeric: tabular-nums }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: .8rem; margin: 1rem 0 }
.tile { border: 1px solid var(--rule); border-radius: 6px; padding: .6rem .8rem; display: grid }
.tile span, .tile small { color: var(--soft) } .tile b { font-size: 1.4rem; font-variant-numeric: tabular-nums }
.good { color: var(--good) } .warn { color: var(--warn) } .bad { color: var(--bad) }
svg { max-width: 100%; height: auto } details { margin: 1rem 0 } summary { cursor: pointer; font-weight: 600 }
pre { background: color-mix(in srgb, var(--rule) 35%, transparent); padding: .6rem .8rem; overflow-x: auto }
@media print { :root { --ink: #000; --paper: #fff } body { margin: 0; max-width: none; font-size: 11px }
  h2 { break-after: avoid } table, pre { break-inside: avoid } }
</style></head><body>
)";

struct HtmlRenderer {
  std::string out;

  void operator()(const Heading& h) {
    const std::string tag = 'h' + std::to_string(h.level);
    out += '<' + tag + class_of(h.tone) + '>' + html_escaped(h.text) + "</" + tag + ">\n";
  }
  void operator()(const FoldBegin& f) {
    out += "<details><summary>" + html_escaped(f.title) + "</summary>\n";
  }
  void operator()(const FoldEnd&) { out += "</details>\n"; }
  void operator()(const Tiles& t) {
    out += "<div class=\"tiles\">\n";
    for (const Tile& tile : t.tiles) {
      out += "<div class=\"tile\"><span>" + html_escaped(tile.label) + "</span><b>" +
             html_escaped(tile.value) + "</b><small>" + html_escaped(tile.detail) +
             "</small></div>\n";
    }
    out += "</div>\n";
  }
  static std::string class_of(Tone tone) {
    switch (tone) {
      case Tone::good:
        return " class=\"good\"";
      case Tone::warn:
        return " class=\"warn\"";
      case Tone::bad:
        return " class=\"bad\"";
      case Tone::plain:
        break;
    }
    return {};
  }
  void operator()(const Paragraph& p) { out += "<p>" + html_escaped(p.text) + "</p>\n"; }
  void operator()(const Bullets& b) {
    out += "<ul>\n";
    for (const std::string& item : b.items) out += "<li>" + html_escaped(item) + "</li>\n";
    out += "</ul>\n";
  }
  void operator()(const Verbatim& v) { out += "<pre>" + html_escaped(v.text) + "</pre>\n"; }
  void operator()(const Drawing& d) { out += d.svg; }
  void operator()(const Table& t) {
    out += "<div class=\"wide\"><table>\n";
    if (!t.header.empty()) row(t, t.header, "th", Tone::plain);
    for (std::size_t i = 0; i < t.rows.size(); ++i) {
      row(t, t.rows[i], "td", i < t.tones.size() ? t.tones[i] : Tone::plain);
    }
    out += "</table></div>\n";
  }
  void row(const Table& t, const std::vector<std::string>& cells, std::string_view tag, Tone tone) {
    out += "<tr" + class_of(tone) + ">";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool right = i < t.flush_right.size() && t.flush_right[i];
      out += '<';
      out += tag;
      out += right ? " class=\"right\">" : ">";
      out += html_escaped(cells[i]);
      out += "</";
      out += tag;
      out += '>';
    }
    out += "</tr>\n";
  }
};

std::string title_of(const Document& d) {
  for (const Block& b : d.blocks) {
    if (const auto* h = std::get_if<Heading>(&b)) return h->text;
  }
  return "Orrery";
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string to_markdown(const Document& d) {
  MarkdownRenderer r;
  for (const Block& b : d.blocks) std::visit(r, b);
  if (r.out.ends_with("\n\n")) r.out.pop_back();
  return std::move(r.out);
}

std::string to_html(const Document& d) {
  HtmlRenderer r;
  for (const Block& b : d.blocks) std::visit(r, b);
  return std::string(kHtmlHead) + html_escaped(title_of(d)) + std::string(kHtmlStyle) + r.out +
         "</body></html>\n";
}

}  // namespace orrery::report
