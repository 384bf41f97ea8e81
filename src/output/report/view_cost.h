// The cost of a year as a tree, the tornado of a useful GPU-hour's cost, and the prices of edits.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/json_writer.h"
#include "model/design_text/change.h"
#include "plan/review/cost_view.h"
#include "plan/review/stages.h"

namespace orrery::report {

struct CostNode {
  std::string name;
  Usd per_year;  // the sum of the children, if there are any
  bool assumed = false;
  std::string reference;
  std::vector<CostNode> children;
};

CostNode cost_tree(const review::CostView& cost);
// Returns true if a reference says that the number has no source.
bool is_assumed(std::string_view reference);

// Writes each node with its share of `whole`, the cost of the year.
void write_cost_tree(JsonWriter& w, const CostNode& node, Usd whole);
void write_tornado(JsonWriter& w, const review::CostView& cost);

// Most edits that get a price: what a finding's edit would add to the cost of a year. Each price
// takes a review of the edited design, so the console asks for them after it has drawn the verdict.
inline constexpr std::size_t kMostPriced = 32;

// Returns the review of the design with a change made, or nullptr if the result is not a valid
// design.
using ReviewChanged =
    std::function<std::shared_ptr<const review::Review>(const design_text::Change&)>;

// Returns each edit of the verdict once, in the order of the findings, with the change of the cost
// of a year.
std::string prices_view_json(const review::Review& review, const ReviewChanged& changed);

}  // namespace orrery::report
