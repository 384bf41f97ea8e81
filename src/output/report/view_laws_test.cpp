// What a page draws is in proportion and of what was asked: shares of their wholes, the workload
// that was named, racks of all nodes, losses of the parts that were lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/csv.h"
#include "core/base/json_writer.h"
#include "model/design_text/edit.h"
#include "output/report/comparison_report.h"
#include "output/report/view_calc.h"
#include "output/report/view_compare.h"
#include "output/report/view_completions.h"
#include "output/report/view_cost.h"
#include "output/report/view_fabric.h"
#include "output/report/view_fixture.h"
#include "output/report/view_hall.h"
#include "output/report/view_run.h"
#include "output/report/view_training.h"
#include "plan/verdict/verdict.h"

namespace orrery::report {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

constexpr const char* kTwoRuns = R"(
orrery: 1
name: two-runs
site: { region: usa, power: 3 MW, cooling: direct-to-chip-1p, rack: 60 kW }
fleet:
  - { name: train, node: dgx-h100, count: 30, spares: 3, nodes_per_rack: 4 }
fabric:
  compute: { topology: rail-fat-tree, switch: qm9700 }
  storage: { topology: fat-tree, switch: qm9700 }
storage:
  - { tier: hot, kind: parallel-fs, servers: 4, read: 200 GB/s, write: 100 GB/s, capacity: 2 PB }
scheduler: { kind: slurm }
workloads:
  - train: { name: small, model: llama-3-8b, nodes: 4, tokens: 100B, sequence: 4096, batch: 256,
             precision: bf16, layout: { tp: 1, pp: 1 }, checkpoint: { every: 30 min, to: [hot] } }
  - train: { name: large, model: llama-3-70b, nodes: 16, tokens: 100B, sequence: 4096, batch: 512,
             precision: bf16, layout: { tp: 4, pp: 4, mbs: 1 },
             checkpoint: { every: 30 min, to: [hot] } }
economics: { horizon: 4 y, power_price: 0.1 USD/kWh }
)";

Json training_of(const char* workload) {
  return Json::parse(text_of(
      training_view_json(review::run_stages(design_of(kTwoRuns), machine::known()), workload)));
}

TEST(view_laws, a_page_of_training_is_of_the_workload_that_was_named) {
  const Json small = training_of("small"), large = training_of("large");
  EXPECT_EQ(small["workload"], "small");
  EXPECT_EQ(small["model"], "llama-3-8b");
  EXPECT_EQ(small["gpus"], 32);
  EXPECT_EQ(large["model"], "llama-3-70b");
  EXPECT_EQ(large["gpus"], 128);
  EXPECT_EQ(large["workloads"], Json({"small", "large"}));
  EXPECT_EQ(training_of("")["workload"], "small") << "the first where none is named";
  EXPECT_NE(small["figures"], large["figures"]);
  EXPECT_NEAR(large["figures"]["step_time_s"]["value"].get<double>(), large["step"]["time_s"],
              1e-6 * large["step"]["time_s"].get<double>());
  EXPECT_EQ(large["search"]["nic"], "50 GB/s");
  EXPECT_EQ(large["search"]["gpus"], 128);
}

TEST(view_laws, shares_of_a_step_and_of_the_memory_are_of_their_wholes) {
  const Json v = training_of("large");
  double shares = 0;
  for (const Json& p : v["step"]["parts"]) shares += p["share_ratio"].get<double>();
  EXPECT_NEAR(shares, 1, 1e-9);
  EXPECT_LT(v["step"]["low_s"], v["step"]["time_s"]);
  EXPECT_GT(v["step"]["high_s"], v["step"]["time_s"]);
  const double limit = v["memory"]["limit_bytes"];
  for (const Json& s : v["memory"]["stages"]) {
    for (const Json& p : s["parts"]) {
      EXPECT_NEAR(p["limit_share_ratio"].get<double>() * limit, p["bytes"], 1e-3);
    }
  }
}

TEST(view_laws, a_microbatch_goes_forward_before_it_goes_back_and_the_drawing_ends_with_it) {
  const Json v = training_of("large");
  std::map<std::pair<int, int>, double> forward;
  double end = 0;
  for (const Json& b : v["timeline"]["blocks"]) {
    const std::pair<int, int> key{b["stage"], b["microbatch"]};
    end = std::max(end, b["start_s"].get<double>() + b["time_s"].get<double>());
    if (b["kind"] == "forward") {
      forward[key] = b["start_s"];
    } else {
      ASSERT_TRUE(forward.contains(key));
      EXPECT_GT(b["start_s"].get<double>(), forward[key]);
    }
  }
  EXPECT_EQ(v["timeline"]["stages"], 4);
  EXPECT_NEAR(v["timeline"]["end_s"].get<double>(), end, 1e-12);
  const bool all = v["timeline"]["microbatches_drawn"] == v["timeline"]["microbatches"];
  const std::string note = v["timeline"]["note"];
  EXPECT_EQ(note.find("microbatches are drawn") == std::string::npos, all);
}

// A microbatch has a block forward and one back on each of its stages.
TEST(view_laws, a_timeline_has_two_blocks_a_stage_and_microbatch_and_no_more_than_its_bound) {
  const design::Design deep = design_of(
      design_text::edit_text(kTwoRuns, {"workloads[1].train.layout", "{ tp: 1, pp: 64, mbs: 1 }"},
                             machine::known().catalog())
          .value()
          .text);
  const Json v =
      Json::parse(text_of(training_view_json(review::run_stages(deep, machine::known()), "large")));
  const int stages = v["timeline"]["stages"], drawn = v["timeline"]["microbatches_drawn"];
  EXPECT_EQ(stages, 64);
  EXPECT_EQ(drawn, 4096 / 128) << "as many as the bound has room for";
  EXPECT_EQ(v["timeline"]["blocks"].size(), static_cast<std::size_t>(2 * stages * drawn));
  EXPECT_THAT(v["timeline"]["note"].get<std::string>(), HasSubstr("32 of "));
}

TEST(view_laws, a_plain_network_has_an_interval_of_one_factor_either_way) {
  const Json step = Json::parse(text_of(training_view_json(
      review::run_stages(template_design("av-vision"), machine::known()), "")))["step"];
  const double time = step["time_s"], low = step["low_s"], high = step["high_s"];
  EXPECT_LT(low, time);
  EXPECT_NEAR(low * high, time * time, 1e-9 * time * time);
}

TEST(view_laws, a_plain_network_has_no_trace_of_its_step) {
  const auto r =
      training_trace_json(review::run_stages(template_design("av-vision"), machine::known()), "");
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().front().code, "training.no-trace");
}

Json hall_of_design(const std::string& text) {
  return Json::parse(hall_view_json(review::run_stages(design_of(text), machine::known())));
}

// 30 nodes and three spares, four a rack: eight full ones and one of one.
TEST(view_laws, spares_stand_in_racks_too_and_heat_goes_where_the_cooling_takes_it) {
  const Json v = hall_of_design(kTwoRuns);
  ASSERT_EQ(v["sites"].size(), 1U);
  const Json& site = v["sites"][0];
  EXPECT_EQ(site["racks_total"], 9);
  int nodes = 0;
  std::set<std::string> ids;
  const double liquid =
      machine::known().catalog().cooling("direct-to-chip-1p")->liquid_heat_fraction;
  ASSERT_GT(liquid, 0);
  ASSERT_LT(liquid, 1);
  for (const Json& r : site["racks"]) {
    nodes += r["nodes"].get<int>();
    EXPECT_TRUE(ids.insert(r["id"]).second) << r["id"];
    EXPECT_GE(r["position"], 1);
    EXPECT_NEAR(r["liquid_heat_w"].get<double>(), liquid * r["power_w"].get<double>(), 1e-6);
    EXPECT_NEAR(r["density_ratio"].get<double>() * r["limit_w"].get<double>(), r["power_w"], 1e-6);
  }
  EXPECT_EQ(nodes, 33);
  EXPECT_EQ(site["racks"].back()["nodes"], 1);
  EXPECT_NEAR(site["peak_share_ratio"].get<double>() * site["power_limit_w"].get<double>(),
              site["draw_peak_w"], 1);
  EXPECT_GT(site["draw_peak_w"], site["draw_mean_w"]);
}

// With a PUE of its own, what is beside IT and the chain's losses is overhead.
TEST(view_laws, power_is_conserved_where_the_pue_is_given) {
  std::string text = kTwoRuns;
  text.replace(text.find("rack: 60 kW"), 11, "rack: 60 kW, pue: 1.4");
  const Json site = hall_of_design(text)["sites"][0];
  double out = 0, source = 0;
  for (const Json& n : site["chain"]["nodes"]) {
    if (n["kind"] == "source") source = n["power_w"];
    if (n["kind"] == "loss" || n["kind"] == "load") out += n["power_w"].get<double>();
  }
  EXPECT_NEAR(out / source, 1, 1e-6);
  EXPECT_NEAR(site["draw_mean_w"].get<double>() / site["it_mean_w"].get<double>(), 1.4, 1e-6);
}

TEST(view_laws, a_site_without_machines_has_no_hall) {
  const Json v = hall_of_design(
      "orrery: 1\nname: x\nsites:\n  - { name: a, region: usa, cooling: rear-door-active }\n"
      "  - { name: b, region: usa, cooling: rear-door-active }\n"
      "fleet:\n  - { name: train, site: a, node: dgx-h100, count: 2 }\n");
  ASSERT_EQ(v["sites"].size(), 1U);
  EXPECT_EQ(v["sites"][0]["name"], "a");
}

// Every figure of every design has its row, at its own layer, section and design.
TEST(view_laws, a_comparison_holds_every_figure_of_every_design) {
  const Comparison c =
      compare_designs({{"a", design_of(kTwoRuns)}, {"b", template_design("chatbot-zones")}},
                      machine::known())
          .value();
  for (std::size_t i = 0; i < 2; ++i) {
    std::size_t figures = 0;
    for (const figures::Section& s : c.designs[i].verdict.sections) {
      for (const figures::Figure& f : s.figures) {
        ++figures;
        int rows = 0;
        for (const ComparedFigure& row : c.figures) {
          if (row.layer != s.layer || row.section != s.name || row.id != f.id()) continue;
          ++rows;
          ASSERT_TRUE(row.values[i].has_value()) << row.id;
          EXPECT_EQ(*row.values[i], f.estimate) << row.id;
        }
        EXPECT_EQ(rows, 1) << f.id();
      }
    }
    const auto told = std::ranges::count_if(
        c.figures, [&](const ComparedFigure& row) { return row.values[i].has_value(); });
    EXPECT_EQ(static_cast<std::size_t>(told), figures);
  }
}

TEST(view_laws, what_decides_is_what_the_reviews_say) {
  const Comparison c = compare_designs({{"a", template_design("superpod-h100")},
                                        {"b", template_design("cloud-rental")}},
                                       machine::known())
                           .value();
  const auto rows = c.summary();
  ASSERT_EQ(rows.size(), 6U);
  const Json v = Json::parse(comparison_view_json(c));
  for (std::size_t i = 0; i < 2; ++i) {
    const figures::Figure* hour = c.designs[i].verdict.figure(figures::Layer::cost, "useful_hour");
    ASSERT_NE(hour, nullptr);
    EXPECT_EQ(rows[5].shown[i], show(hour->estimate.value, figures::Unit::usd_per_hour));
    EXPECT_NEAR(v["designs"][i]["unit_cost_usd_per_hour"].get<double>(), hour->estimate.value,
                1e-9 * hour->estimate.value);
  }
  EXPECT_TRUE(v["designs"][0]["same_workloads"]);
  EXPECT_FALSE(v["designs"][1]["same_workloads"]);
}

TEST(view_laws, eight_designs_can_be_compared_and_nine_cannot) {
  const design::Design plain = design_of(
      "orrery: 1\nname: x\nsite: { region: usa }\nfleet:\n  - { name: a, node: dgx-h100, count: 1 "
      "}\n");
  std::vector<NamedDesign> designs(8, NamedDesign{"x", plain});
  EXPECT_TRUE(compare_designs(designs, machine::known()));
  designs.push_back({"x", plain});
  EXPECT_FALSE(compare_designs(designs, machine::known()));
}

// The same work on other machines is the same work; where there are fewer nodes it takes what there
// are.
TEST(view_laws, work_is_the_same_wherever_it_runs) {
  const design::Design d = design_of(kTwoRuns);
  design::Design moved = d;
  moved.fleet[0].name = "other";
  for (design::Workload& w : moved.workloads) w.terms.fleet = "other";
  moved.workloads[0].terms.nodes = 5;
  EXPECT_TRUE(does_same_work(d, moved));
  design::Design few = moved;
  few.fleet[0].count = 10;
  few.workloads.clear();
  const auto given = with_work_of(d, few, machine::known().catalog());
  ASSERT_TRUE(given);
  ASSERT_EQ(given->workloads.size(), 2U);
  EXPECT_EQ(given->workloads[0].terms.nodes, 4);
  EXPECT_FALSE(given->workloads[1].terms.nodes) << "sixteen are more than ten";
}

TEST(view_laws, a_whole_report_has_each_designs_tornado_and_a_tree_with_depth) {
  const Comparison c =
      compare_designs({{"a", design_of(kTwoRuns)}, {"b", template_design("superpod-h100")}},
                      machine::known())
          .value();
  const Document d = document_of(c, {.whole = true});
  const std::string text = to_markdown(d);
  EXPECT_THAT(text, HasSubstr("## b against a"));
  EXPECT_THAT(text, HasSubstr("## What matters in a"));
  EXPECT_THAT(text, HasSubstr("## What matters in b"));
  EXPECT_THAT(text, HasSubstr("| cost of a year"));
  EXPECT_THAT(text, HasSubstr("| \u2003capital"));
  EXPECT_THAT(text, HasSubstr("| \u2003\u2003fleet")) << "one deeper than what it is part of";
  for (const Block& b : d.blocks) {
    const auto* t = std::get_if<Table>(&b);
    if (t == nullptr || t->header.empty() || t->header[0] != "figure") continue;
    for (const auto& row : t->rows) EXPECT_NE(row[1], row[2]) << row[0];
  }
  const auto csv = CsvTable::parse(csv_of(c), "c.csv");
  ASSERT_TRUE(csv);
  for (std::size_t i = 0; i < c.figures.size(); ++i) {
    if (!c.figures[i].values[1]) continue;
    EXPECT_EQ(csv->number(csv->rows()[i], "b low"), c.figures[i].values[1]->low);
    EXPECT_EQ(csv->number(csv->rows()[i], "b high"), c.figures[i].values[1]->high);
  }
}

TEST(view_laws, a_sign_is_plus_minus_or_neither) {
  EXPECT_EQ(signed_text(0.0123, figures::Unit::ratio), "+1.23 pp");
  EXPECT_EQ(signed_text(-2, figures::Unit::usd_per_hour), "−2 USD/h");
  EXPECT_EQ(signed_text(0, figures::Unit::ratio), "±0 pp");
}

const CostNode* node_named(const CostNode& from, const std::string& name) {
  if (from.name == name) return &from;
  for (const CostNode& c : from.children) {
    if (const CostNode* found = node_named(c, name)) return found;
  }
  return nullptr;
}

TEST(view_laws, lines_between_sites_and_what_leaves_are_in_the_year) {
  const review::Review zones =
      review::run_stages(template_design("chatbot-zones"), machine::known());
  const CostNode tree = cost_tree(zones.cost);
  const CostNode* lines = node_named(tree, "lines between sites");
  ASSERT_NE(lines, nullptr);
  EXPECT_NEAR(lines->per_year.base(), 300e3, 1) << "120 and 180 thousand a year";
  const review::Review rented =
      review::run_stages(template_design("cloud-rental"), machine::known());
  const CostNode rents = cost_tree(rented.cost);
  const CostNode* egress = node_named(rents, "egress");
  ASSERT_NE(egress, nullptr);
  EXPECT_GT(egress->per_year, Usd(0));
  EXPECT_EQ(node_named(rents, "lines between sites"), nullptr);
}

// What is bought is capital, what is paid for by the month is not.
TEST(view_laws, capital_is_what_is_bought) {
  const review::Review r = review::run_stages(template_design("superpod-h100"), machine::known());
  const CostNode tree = cost_tree(r.cost);
  const CostNode* capital = node_named(tree, "capital");
  const CostNode* running = node_named(tree, "running");
  ASSERT_TRUE(capital && running);
  EXPECT_NEAR(capital->per_year.base(), r.cost.owned->capital.base(), 1);
  EXPECT_NE(node_named(*running, "electricity"), nullptr);
  EXPECT_EQ(node_named(*capital, "electricity"), nullptr);
  EXPECT_NE(node_named(*capital, "fleet"), nullptr);
  // A part is as much of its section as its price, times how many there are, is.
  for (const CostNode& section : capital->children) {
    Usd price;
    for (const catalog::BillLine& l : r.cost.bill.lines) {
      if (l.section == section.name && l.unit_price) price += l.unit_price->middle() * l.count;
    }
    for (const CostNode& part : section.children) {
      Usd own;
      for (const catalog::BillLine& l : r.cost.bill.lines) {
        const std::string name = l.part_id.empty() ? l.item : l.item + " (" + l.part_id + ")";
        if (l.section == section.name && name == part.name && l.unit_price) {
          own += l.unit_price->middle() * l.count;
        }
      }
      EXPECT_NEAR(part.per_year / section.per_year, own / price, 1e-9) << part.name;
    }
  }
}

TEST(view_laws, a_branch_is_starred_where_all_below_it_is_assumed) {
  const review::Review r = review::run_stages(template_design("superpod-h100"), machine::known());
  const std::function<void(const CostNode&)> look = [&](const CostNode& n) {
    bool all = true;
    for (const CostNode& c : n.children) all = all && c.assumed, look(c);
    const bool is_branch = n.name == "capital" || n.name == "running" || n.name == "cost of a year";
    if (is_branch) {
      EXPECT_EQ(n.assumed, all) << n.name;
    }
  };
  look(cost_tree(r.cost));
  // Of two running costs one is assumed: the branch is not.
  review::CostView mixed;
  mixed.owned = cost::Ownership{};
  mixed.owned->capital = Usd(10);
  mixed.owned->items = {{"bought", Usd(10), "nodes/x"},
                        {"guessed", Usd(5), "assumed: y"},
                        {"known", Usd(5), "nodes/z"}};
  const CostNode tree = cost_tree(mixed);
  ASSERT_NE(node_named(tree, "running"), nullptr);
  EXPECT_FALSE(node_named(tree, "running")->assumed);
  EXPECT_TRUE(node_named(tree, "guessed")->assumed);
  EXPECT_FALSE(node_named(tree, "known")->assumed);
  EXPECT_EQ(tree.per_year, Usd(20));
  JsonWriter w(0);
  write_cost_tree(w, {.name = "x", .per_year = Usd(25), .children = {}}, Usd(100));
  EXPECT_EQ(Json::parse(w.text())["share_ratio"], 0.25);
  JsonWriter t(0);
  review::CostView cost;
  cost.tornado = {
      .value = 7,
      .bars = {{.name = "n", .at_low = 1, .at_high = 2, .input_low = 3, .input_high = 4}}};
  write_tornado(t, cost);
  const Json bar = Json::parse(t.text())["bars"][0];
  EXPECT_EQ(bar["at_low"], 1);
  EXPECT_EQ(bar["at_high"], 2);
  EXPECT_EQ(bar["input_low"], 3);
  EXPECT_EQ(bar["input_high"], 4);
}

Json swept(const CalcSweep& sweep, std::string_view name = "checkpoint") {
  return Json::parse(text_of(calculation_view_json(name, {}, sweep, machine::known())))["sweep"];
}

TEST(view_laws, a_sweep_ends_where_it_is_told_and_rises) {
  const Json log = swept({"write", 1.1, 700, 7, true});
  ASSERT_EQ(log["x"].size(), 7U);
  EXPECT_EQ(log["x"].front(), 1.1);
  EXPECT_EQ(log["x"].back(), 700.0) << "to the last digit";
  for (std::size_t i = 1; i + 1 < 7; ++i) {
    EXPECT_NEAR(log["x"][i].get<double>() * log["x"][i].get<double>(),
                log["x"][i - 1].get<double>() * log["x"][i + 1].get<double>(), 1e-6)
        << "each as much larger as the one before";
  }
  // Of a number that must be whole, each once.
  EXPECT_EQ(swept({"gpus", 1, 3, 9, false}, "memory")["x"], Json({1.0, 2.0, 3.0}));
}

TEST(view_laws, a_sweep_has_bounds) {
  const auto code = [](const CalcSweep& s) {
    const auto r = calculation_view_json("checkpoint", {}, s, machine::known());
    return r ? std::string("none") : r.error().front().code;
  };
  EXPECT_EQ(code({"write", 1, 2, 2, false}), "none");
  EXPECT_EQ(code({"write", 1, 2, 200, false}), "none");
  EXPECT_EQ(code({"write", 1, 2, 1, false}), "calc.sweep");
  EXPECT_EQ(code({"write", 1, 2, 201, false}), "calc.sweep");
  EXPECT_EQ(code({"write", 0, 2, 3, true}), "calc.sweep") << "no logarithm of zero";
  EXPECT_EQ(code({"write", -1, 2, 3, false}), "calc.sweep");
  EXPECT_EQ(code({"write", 2, 2, 3, false}), "calc.sweep");
  EXPECT_EQ(code({"write", 1, std::nan(""), 3, false}), "calc.sweep");
}

TEST(view_laws, a_parameter_slides_where_it_has_a_range) {
  const Json list = Json::parse(calculators_json());
  int words = 0, logs = 0, lines = 0;
  for (const Json& c : list["calculators"]) {
    for (const Json& p : c["parameters"]) {
      if (p["kind"] == "id" || p["kind"] == "flag" || p["kind"] == "choice") {
        ++words;
        EXPECT_TRUE(p["min"].is_null()) << p;
        EXPECT_FALSE(p.contains("scale")) << p;
      } else {
        EXPECT_LT(p["min"], p["max"]) << p;
        (p["scale"] == "log" ? logs : lines) += 1;
      }
    }
  }
  EXPECT_GT(words, 10);
  EXPECT_GT(logs, 10);
  EXPECT_GT(lines, 5);
}

}  // namespace
}  // namespace orrery::report
