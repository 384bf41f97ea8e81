#include "output/report/view_cost.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "model/design_text/write_design.h"
#include "output/report/figure_json.h"
#include "plan/rules/rules.h"

namespace orrery::report {
namespace {

Usd price_of(const catalog::BillLine& line) {
  return line.unit_price ? line.unit_price->middle() * line.count : Usd(0);
}

// Returns the node of a line's part. Several sites buy the same part on a line each; the tree has
// it once.
CostNode& child_of(CostNode& section, const catalog::BillLine& line) {
  std::string name = line.part_id.empty() ? line.item : line.item + " (" + line.part_id + ")";
  const auto found = std::ranges::find(section.children, name, &CostNode::name);
  if (found != section.children.end()) return *found;
  section.children.push_back({.name = std::move(name),
                              .assumed = is_assumed(line.reference),
                              .reference = line.reference});
  return section.children.back();
}

// Returns a section of the bill in the cost of a year: each line at its share of the section's
// price.
CostNode section_node(const cost::CostItem& item, const catalog::Bill& bill) {
  CostNode node{.name = item.name, .per_year = item.per_year, .reference = item.reference};
  Usd whole;
  for (const catalog::BillLine& line : bill.lines) {
    if (line.section == item.name) whole += price_of(line);
  }
  if (whole <= Usd(0)) return node;
  for (const catalog::BillLine& line : bill.lines) {
    if (line.section != item.name || price_of(line) <= Usd(0)) continue;
    CostNode& part = child_of(node, line);
    part.per_year += item.per_year * (price_of(line) / whole);
  }
  node.reference = "docs/models/ownership.md";
  return node;
}

CostNode leaf(std::string name, Usd per_year, std::string reference) {
  const bool assumed = is_assumed(reference);
  return {std::move(name), per_year, assumed, std::move(reference), {}};
}

// Returns a node with the sum of its children, starred if all of them are.
CostNode branch(std::string name, std::vector<CostNode> children) {
  CostNode node{.name = std::move(name), .reference = "docs/models/ownership.md"};
  node.assumed = !children.empty() && std::ranges::all_of(children, &CostNode::assumed);
  for (const CostNode& c : children) node.per_year += c.per_year;
  node.children = std::move(children);
  return node;
}

void add_owned(std::vector<CostNode>& top, const review::CostView& cost) {
  std::vector<CostNode> capital, running;
  Usd seen;
  for (const cost::CostItem& item : cost.owned->items) {
    // Capital comes first in the list, and `capital` is its sum.
    const bool bought = seen + Usd(0.5) < cost.owned->capital;
    seen += item.per_year;
    if (bought) {
      capital.push_back(section_node(item, cost.bill));
    } else {
      running.push_back(leaf(item.name, item.per_year, item.reference));
    }
  }
  if (!capital.empty()) top.push_back(branch("capital", std::move(capital)));
  if (!running.empty()) top.push_back(branch("running", std::move(running)));
}

void add_rents(std::vector<CostNode>& top, const review::CostView& cost) {
  std::vector<CostNode> rents;
  for (const review::RentedFleet& r : cost.rented) {
    rents.push_back(leaf(r.fleet->fleet->name + ", " + std::string(to_text(r.input.kind)),
                         r.per_year, r.reference));
  }
  for (const review::TierRent& t : cost.tier_rents) {
    rents.push_back(leaf("tier " + t.tier->label, t.total(), t.reference));
  }
  if (cost.wan_per_year > Usd(0)) {
    rents.push_back(leaf("links between sites", cost.wan_per_year, "the design"));
  }
  if (cost.egress_per_year > Usd(0)) {
    rents.push_back(leaf("egress", cost.egress_per_year, "catalog storage_prices"));
  }
  if (!rents.empty()) top.push_back(branch("rents and fees", std::move(rents)));
}

// Returns none if the edited design has no cost, for example because it has no machines.
std::optional<double> price_of_edit(const review::Review& review, const design_text::Change& edit,
                                    const ReviewChanged& changed) {
  if (review.cost.annual <= Usd(0)) return std::nullopt;
  const auto after = changed(edit);
  if (!after || after->cost.annual <= Usd(0)) return std::nullopt;
  return (after->cost.annual - review.cost.annual).base();
}

}  // namespace

bool is_assumed(std::string_view reference) {
  return reference.empty() || reference.starts_with("assumed") ||
         reference.find("the usual part for this kind") != std::string_view::npos;
}

CostNode cost_tree(const review::CostView& cost) {
  std::vector<CostNode> top;
  if (cost.owned) add_owned(top, cost);
  add_rents(top, cost);
  return branch("cost per year", std::move(top));
}

void write_cost_tree(JsonWriter& w, const CostNode& node, Usd whole) {
  w.begin_object().field("name", node.name).field("usd_per_year", node.per_year.base());
  w.field("share_ratio", whole > Usd(0) ? node.per_year / whole : 0.0);
  w.field("assumed", node.assumed).field("reference", node.reference);
  w.key("children").begin_array();
  for (const CostNode& c : node.children) write_cost_tree(w, c, whole);
  w.end_array().end_object();
}

void write_tornado(JsonWriter& w, const review::CostView& cost) {
  w.begin_object().field("value", cost.tornado.value);
  w.field("unit", unit_name(figures::Unit::usd_per_hour)).key("bars").begin_array();
  for (const cost::SensitivityBar& b : cost.tornado.bars) {
    w.begin_object().field("name", b.name).field("at_low", b.at_low).field("at_high", b.at_high);
    w.field("input_low", b.input_low).field("input_high", b.input_high);
    w.field("reference", b.reference).end_object();
  }
  w.end_array().end_object();
}

std::string prices_view_json(const review::Review& review, const ReviewChanged& changed) {
  JsonWriter w;
  w.begin_object().field("schema_version", 1).field("kind", "prices");
  w.field("digest", design_text::design_digest(review.design())).key("edits").begin_array();
  std::set<std::pair<std::string, std::string>> priced;
  for (const rules::Finding& finding : rules::check_rules(review)) {
    if (!finding.edit || priced.size() == kMostPriced) continue;
    if (!priced.emplace(finding.edit->path, finding.edit->value).second) continue;
    const auto price = price_of_edit(review, *finding.edit, changed);
    w.begin_object().field("path", finding.edit->path).field("value", finding.edit->value);
    w.key("cost_usd_per_year");
    price ? w.value(*price) : w.null();
    w.end_object();
  }
  w.end_array().end_object();
  return w.text() + '\n';
}

}  // namespace orrery::report
