// The year's cost as a tree, the tornado of what a useful hour hangs on, and the prices of edits.
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
  Usd per_year;  // the children's sum where there are any
  bool assumed = false;
  std::string reference;
  std::vector<CostNode> children;
};

CostNode cost_tree(const review::CostView& cost);
// Whether a reference says that no source stands behind the number.
bool is_assumed(std::string_view reference);

// Each node with its share of `whole`, the year.
void write_cost_tree(JsonWriter& w, const CostNode& node, Usd whole);
void write_tornado(JsonWriter& w, const review::CostView& cost);

// What the edits that findings offer would add to the cost of a year. A price takes a review of the
// design with the edit made, so the console asks for all of them once the verdict is drawn.

// Edits beyond these have no price; a design that breaks so many rules needs no prices yet.
inline constexpr std::size_t kMostPriced = 32;

// The review of the design with a change made; nullptr if that is no design.
using ReviewChanged =
    std::function<std::shared_ptr<const review::Review>(const design_text::Change&)>;

// Each edit of the verdict once, in the order of the findings, with what a year then costs more.
std::string prices_view_json(const review::Review& review, const ReviewChanged& changed);

}  // namespace orrery::report
