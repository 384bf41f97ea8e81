// What blocks, drawings and questions are where nobody says otherwise.
#include <gtest/gtest.h>

#include "output/report/charts_svg.h"
#include "output/report/claims_report.h"
#include "output/report/comparison.h"
#include "output/report/comparison_report.h"
#include "output/report/document.h"
#include "output/report/explain_report.h"
#include "output/report/verdict_report.h"
#include "output/report/view_calc.h"
#include "output/report/view_cost.h"
#include "output/report/view_fabric.h"
#include "output/report/view_fabric_drawing.h"

namespace orrery::report {
namespace {

TEST(unsaid_blocks, of_documents) {
  EXPECT_EQ(Heading{}.level, 1);
  EXPECT_EQ(Heading{}.tone, Tone::plain);
  EXPECT_EQ(TextStyle{}.width, 100U);
  EXPECT_FALSE(TextStyle{}.has_colour);
  EXPECT_FALSE(TextStyle{}.fits_tables);
  EXPECT_EQ(Bar{}.value, 0);
  EXPECT_FALSE(ClaimsView{}.details);
  EXPECT_FALSE(ComparisonView{}.whole);
  EXPECT_FALSE(VerdictView{}.explain || VerdictView{}.brief);
  EXPECT_EQ(PlacedFigure{}.section, nullptr);
  EXPECT_EQ(PlacedFigure{}.figure, nullptr);
  EXPECT_EQ(ComparedFigure{}.layer, figures::Layer::compute);
  EXPECT_EQ(ComparedFigure{}.unit, figures::Unit::count);
}

TEST(unsaid_blocks, of_views) {
  const CalcSweep sweep;
  EXPECT_EQ(sweep.from, 0);
  EXPECT_EQ(sweep.to, 0);
  EXPECT_EQ(sweep.points, 0);
  EXPECT_FALSE(sweep.log);
  EXPECT_FALSE(CostNode{}.assumed);
  EXPECT_EQ(FabricViewQuestion{}.detail, FabricDetail::automatic);
  const DrawnVertex v;
  EXPECT_EQ(v.kind, fabric::VertexKind::leaf);
  EXPECT_EQ(v.plane, 0);
  EXPECT_EQ(v.group, -1);
  EXPECT_EQ(v.leaf, -1);
  EXPECT_EQ(v.node_from, 0);
  EXPECT_EQ(v.nodes, 0);
  EXPECT_EQ(v.rail_from, 0);
  EXPECT_EQ(v.rails, 0);
  EXPECT_FALSE(v.rail);
  EXPECT_EQ(DrawnLine{}.from, 0);
  EXPECT_EQ(DrawnLine{}.to, 0);
  EXPECT_FALSE(FabricDrawing{}.aggregated);
}

}  // namespace
}  // namespace orrery::report
