#include "base/text.h"
#include "report/document.h"

namespace orrery::report {
namespace {

std::string markdown_cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

struct MarkdownRenderer {
  std::string out;

  void operator()(const Heading& h) {
    out += std::string(static_cast<std::size_t>(h.level), '#') + ' ' + h.text + "\n\n";
  }
  void operator()(const Paragraph& p) { out += p.text + "\n\n"; }
  void operator()(const Bullets& b) {
    for (const std::string& item : b.items) out += "- " + item + '\n';
    out += '\n';
  }
  void operator()(const Verbatim& v) { out += "```\n" + v.text + "\n```\n\n"; }
  void operator()(const Drawing&) {}
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
    for (const std::string& c : cells) out += ' ' + markdown_cell(c) + " |";
    out += '\n';
  }
};

constexpr std::string_view kHtmlHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>)";

constexpr std::string_view kHtmlStyle = R"(</title>
<style>
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --rule: #d0d7de; --soft: #57606a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --paper: #0d1117; --rule: #30363d; --soft: #9198a1; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; border-bottom: 1px solid var(--rule); margin-top: 2rem }
h3 { font-size: 1rem; margin-bottom: .3rem }
table { border-collapse: collapse; margin: .5rem 0 1rem } .wide { overflow-x: auto }
td, th { padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top }
tr + tr td { border-top: 1px solid var(--rule) }
th { color: var(--soft); font-weight: 600 } .right { text-align: right; font-variant-numeric: tabular-nums }
pre { background: color-mix(in srgb, var(--rule) 35%, transparent); padding: .6rem .8rem; overflow-x: auto }
@media print { :root { --ink: #000; --paper: #fff } body { margin: 0; max-width: none; font-size: 11px }
  h2 { break-after: avoid } table, pre { break-inside: avoid } }
</style></head><body>
)";

struct HtmlRenderer {
  std::string out;

  void operator()(const Heading& h) {
    const std::string tag = 'h' + std::to_string(h.level);
    out += '<' + tag + '>' + html_escaped(h.text) + "</" + tag + ">\n";
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
    if (!t.header.empty()) row(t, t.header, "th");
    for (const auto& r : t.rows) row(t, r, "td");
    out += "</table></div>\n";
  }
  void row(const Table& t, const std::vector<std::string>& cells, std::string_view tag) {
    out += "<tr>";
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
