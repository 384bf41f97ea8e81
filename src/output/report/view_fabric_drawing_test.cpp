#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "model/jobs/build_machine.h"
#include "output/report/view_accuracy.h"
#include "output/report/view_completions.h"
#include "output/report/view_fabric.h"
#include "output/report/view_fixture.h"
#include "output/report/view_hall.h"
#include "output/report/view_run.h"
#include "output/report/view_storage.h"
#include "output/report/view_training.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;

// Returns "leaf-0 x1 g0 | nodes-0:leaf-0 x16": switches with their count and group, then lines.
std::string drawn_text(const std::string& compute, int hosts, FabricDetail detail) {
  const design::Design d = design_of(
      "orrery: 1\nname: x\nsite: { region: usa }\nfleet: [{ name: a, node: dgx-h100, count: " +
      std::to_string(hosts) + " }]\nfabric: { compute: { " + compute + " } }\n");
  const Json v = Json::parse(
      text_of(fabric_view_json(jobs::build_machine(d, machine::known()), {.detail = detail})));
  std::string out;
  for (const Json& s : v["switches"]) {
    out += s["id"].get<std::string>() + " x" + s["count"].dump() + " g" + s["group"].dump() +
           (s["rail"].is_null() ? "" : " r" + s["rail"].dump()) + "; ";
  }
  out += "|";
  for (const Json& l : v["links"]) {
    out += " " + l["id"].get<std::string>() + " x" + l["count"].dump();
  }
  return out;
}

// 80 ports on leaves of 32, each with 16 cables to each of two spines.
TEST(ViewFabricDrawing, a_fat_tree_is_drawn) {
  const std::string tree = "topology: fat-tree, switch: qm9700";
  EXPECT_EQ(drawn_text(tree, 10, FabricDetail::automatic),
            "leaf-0 x1 g0; leaf-1 x1 g0; leaf-2 x1 g0; spine-0 x1 g0; spine-1 x1 g0; | "
            "nodes-0:leaf-0 x32 nodes-1:leaf-1 x32 nodes-2:leaf-2 x16 leaf-0:spine-0 x16 "
            "leaf-0:spine-1 x16 leaf-1:spine-0 x16 leaf-1:spine-1 x16 leaf-2:spine-0 x16 "
            "leaf-2:spine-1 x16");
  EXPECT_EQ(drawn_text(tree, 10, FabricDetail::aggregated),
            "leaf-0 x1 g0; leaf-1 x1 g0; leaf-2 x1 g0; spines-0 x2 g0; | nodes-0:leaf-0 x32 "
            "nodes-1:leaf-1 x32 nodes-2:leaf-2 x16 leaf-0:spines-0 x32 leaf-1:spines-0 x32 "
            "leaf-2:spines-0 x32");
}

// The i-th NIC of each host is on the i-th leaf.
TEST(ViewFabricDrawing, rails_without_spines_are_drawn) {
  std::string switches, lines;
  for (int i = 0; i < 8; ++i) {
    const std::string n = std::to_string(i);
    switches += "leaf-" + n + " x1 g" + n + " r" + n + "; ";
    lines += " nodes-" + n + ":leaf-" + n + " x3";
  }
  const std::string rails = "topology: rail-only, switch: qm9700";
  EXPECT_EQ(drawn_text(rails, 3, FabricDetail::automatic), switches + "|" + lines);
  EXPECT_EQ(drawn_text(rails, 3, FabricDetail::aggregated), switches + "|" + lines);
}

// Two by two by four: a cable to the other node in the first two dimensions, a ring of four in the
// third. When grouped, rows of the first dimension are one.
TEST(ViewFabricDrawing, a_torus_is_drawn) {
  const std::string torus = "topology: torus, switch: qm9700, dimensions: [2, 2, 4]";
  std::string one_by_one;
  for (int i = 0; i < 16; ++i) one_by_one += "router-" + std::to_string(i) + " x1 g0; ";
  one_by_one += "|";
  for (int i = 0; i < 16; ++i) {
    std::set<int> to;
    if (i % 2 == 0) to.insert(i + 1);
    if (i / 2 % 2 == 0) to.insert(i + 2);
    if (i + 4 < 16) to.insert(i + 4);
    if (i < 4) to.insert(i + 12);
    for (const int k : to) {
      one_by_one += " router-" + std::to_string(i) + ":router-" + std::to_string(k) + " x1";
    }
  }
  EXPECT_EQ(drawn_text(torus, 2, FabricDetail::automatic), one_by_one);
  EXPECT_EQ(drawn_text(torus, 2, FabricDetail::aggregated),
            "routers-0 x2 g0; routers-1 x2 g1; routers-2 x2 g2; routers-3 x2 g3; routers-4 x2 g4; "
            "routers-5 x2 g5; routers-6 x2 g6; routers-7 x2 g7; | routers-0:routers-1 x2 "
            "routers-0:routers-2 x2 routers-0:routers-6 x2 routers-1:routers-3 x2 "
            "routers-1:routers-7 x2 routers-2:routers-3 x2 routers-2:routers-4 x2 "
            "routers-3:routers-5 x2 routers-4:routers-5 x2 routers-4:routers-6 x2 "
            "routers-5:routers-7 x2 routers-6:routers-7 x2");
}

// Ten leaves per rail, each with 32 cables up: 320 to the rail's 16 spines and as many to the
// cores, of which there are 8 x 320 / 64.
TEST(ViewFabricDrawing, a_three_level_tree_is_drawn) {
  const std::string text =
      drawn_text("topology: three-tier, switch: qm9700", 300, FabricDetail::aggregated);
  EXPECT_NE(text.find("leaf-79 x1 g7 r7; spines-0 x16 g0; spines-1 x16 g1; "), std::string::npos);
  EXPECT_NE(text.find("; spines-7 x16 g7; cores x40 g-1; | nodes-0:leaf-0 x32 "),
            std::string::npos);
  EXPECT_NE(text.find(" nodes-9:leaf-9 x12 "), std::string::npos);
  EXPECT_TRUE(
      text.ends_with(" leaf-79:spines-7 x32 spines-0:cores x320 spines-1:cores x320 "
                     "spines-2:cores x320 spines-3:cores x320 spines-4:cores x320 "
                     "spines-5:cores x320 spines-6:cores x320 spines-7:cores x320"));
}

TEST(ViewFabricDrawing, two_planes_are_drawn) {
  EXPECT_EQ(drawn_text("topology: twin-plane, switch: qm9700", 2, FabricDetail::automatic),
            "p0-leaf-0 x1 g0; p1-leaf-0 x1 g0; | p0-nodes-0:p0-leaf-0 x16 "
            "p1-nodes-0:p1-leaf-0 x16");
}

// Groups of 32 routers, each with 16 cables to the other group.
TEST(ViewFabricDrawing, a_dragonfly_is_drawn) {
  const std::string text =
      drawn_text("topology: dragonfly, switch: qm9700", 40, FabricDetail::aggregated);
  EXPECT_TRUE(text.starts_with("routers-0 x32 g0; routers-1 x32 g1; |")) << text;
  EXPECT_TRUE(text.ends_with(" routers-0:routers-1 x512")) << text;
}

// Answers to programs are one line.
TEST(ViewFabricDrawing, answers_are_one_line) {
  const review::Review r = review::run_stages(template_design("superpod-h100"), machine::known());
  const std::string answers[] = {hall_view_json(r),
                                 text_of(storage_view_json(r, "")),
                                 text_of(training_view_json(r, "")),
                                 text_of(fabric_view_json(*r.machine, {})),
                                 completions_json(machine::known().catalog()),
                                 run_timeline_json(run::Run{.design = "d"}),
                                 text_of(accuracy_view_json("steps", machine::known())),
                                 accuracy_kinds_json(*machine::known().knowledge)};
  for (const std::string& text : answers) {
    EXPECT_EQ(text.find('\n'), text.size() - 1) << text.substr(0, 60);
  }
}

}  // namespace
}  // namespace orrery::report
