#include "output/report/rank_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "output/report/readable.h"

namespace orrery::report {
namespace {

std::string number_or_unknown(double v) { return v > 0 ? readable_number(v) : "not known"; }

// Returns the rows that are statistically tied with this one: "h200-sxm, mi325x".
std::string undecided_from(const search::Ranking& r, std::size_t row) {
  std::string text;
  for (const search::RankPair& p : r.pairs) {
    if (p.decided || (p.faster != row && p.slower != row)) continue;
    const std::size_t other = p.faster == row ? p.slower : p.faster;
    text += (text.empty() ? "" : ", ") + r.rows[other].accelerator->id;
  }
  return text.empty() ? "none" : text;
}

}  // namespace

Document document_of(const search::Ranking& r, const std::string& title) {
  Document d;
  d.heading(1, title);
  Table t{.header = {"accelerator", "format", "devices", "tokens/s each", "interval", "per W",
                     "per rack", "per USD", "tied with"},
          .rows = {},
          .flush_right = {false, false, true, true, true, true, true, true, false}};
  for (std::size_t i = 0; i < r.rows.size(); ++i) {
    const search::RankRow& row = r.rows[i];
    if (!row.refused.empty()) {
      t.rows.push_back({row.accelerator->id, "-", "-", "-", "-", "-", "-", "-", row.refused});
      continue;
    }
    const Estimate& e = row.tokens_per_s;
    t.rows.push_back({row.accelerator->id, std::string(to_text(row.format)),
                      std::to_string(row.devices), readable_number(e.value),
                      fmt::format("{} .. {}", readable_number(e.low), readable_number(e.high)),
                      number_or_unknown(row.per_watt), number_or_unknown(row.per_rack),
                      number_or_unknown(row.per_usd), undecided_from(r, i)});
  }
  d.table(std::move(t));
  const auto decided = std::ranges::count(r.pairs, true, &search::RankPair::decided);
  d.paragraph(fmt::format(
      "{} of {} pairs are decided at 80 %. Tied means statistically tied: the intervals do not "
      "decide which is faster. Watts are the node's nameplate power; dollars are the median list "
      "price per hour.",
      decided, r.pairs.size()));
  return d;
}

std::string json_of(const search::Ranking& r) {
  JsonWriter w;
  w.begin_object().field("schema_version", 1);
  w.key("rows").begin_array();
  for (const search::RankRow& row : r.rows) {
    w.begin_object().field("accelerator", row.accelerator->id);
    if (!row.refused.empty()) {
      w.field("refused", row.refused).end_object();
      continue;
    }
    w.field("format", to_text(row.format))
        .field("devices", row.devices)
        .field("tokens_per_s", row.tokens_per_s.value)
        .field("low", row.tokens_per_s.low)
        .field("high", row.tokens_per_s.high)
        .field("tokens_per_s_per_w", row.per_watt)
        .field("tokens_per_s_per_rack", row.per_rack)
        .field("tokens_per_usd", row.per_usd)
        .end_object();
  }
  w.end_array();
  w.key("pairs").begin_array();
  for (const search::RankPair& p : r.pairs) {
    w.begin_object()
        .field("faster", r.rows[p.faster].accelerator->id)
        .field("slower", r.rows[p.slower].accelerator->id)
        .field("ratio", p.ratio)
        .field("ratio_factor", p.factor)
        .field("decided", p.decided)
        .end_object();
  }
  w.end_array().end_object();
  return w.text() + "\n";
}

}  // namespace orrery::report
