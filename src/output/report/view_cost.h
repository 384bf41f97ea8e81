// The year's cost as a tree, and the tornado of what a useful hour hangs on.
#pragma once

#include <string>
#include <vector>

#include "core/base/json_writer.h"
#include "plan/plan/cost_view.h"

namespace orrery::report {

struct CostNode {
  std::string name;
  Usd per_year;  // the children's sum where there are any
  bool assumed = false;
  std::string reference;
  std::vector<CostNode> children;
};

CostNode cost_tree(const plan::CostView& cost);
// Whether a reference says that no source stands behind the number.
bool is_assumed(std::string_view reference);

// Each node with its share of `whole`, the year.
void write_cost_tree(JsonWriter& w, const CostNode& node, Usd whole);
void write_tornado(JsonWriter& w, const plan::CostView& cost);

}  // namespace orrery::report
