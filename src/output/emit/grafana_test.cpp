#include "output/emit/grafana.h"

#include <gtest/gtest.h>

#include "output/emit/grafana_json.h"
#include "output/emit/review_fixture.h"
#include "output/emit/stamp.h"

namespace orrery::emit {
namespace {

PlannedValue value_of(const char* metric, MetricLabels labels, double low, double value,
                      double high) {
  PlannedValue v{.metric = metric, .help = "", .labels = std::move(labels), .estimate = {}};
  v.estimate = {.value = value, .low = low, .high = high};
  return v;
}

std::vector<Panel> panels_with(const std::vector<PlannedValue>& plan) {
  const auto r = reviewed(read_template("superpod-h100"));
  return panels_of(*r->review, plan).value();
}

const Panel* panel_named(const std::vector<Panel>& all, std::string_view title) {
  for (const Panel& p : all) {
    if (p.title == title) return &p;
  }
  return nullptr;
}

TEST(Grafana, a_panel_needs_a_planned_value) {
  const auto all = panels_with({value_of("goodput_ratio", {{"workload", "a"}}, 0.8, 0.9, 0.95),
                                value_of("goodput_ratio", {{"workload", "b'{x}"}}, 0.7, 0.8, 0.85),
                                value_of("gpus", {}, 10, 10, 10)});
  const Panel* a = panel_named(all, "Goodput of a");
  const Panel* b = panel_named(all, "Goodput of b'{x}");
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->row, "Goodput");
  EXPECT_EQ(a->type, "timeseries");
  EXPECT_EQ(a->unit, "percentunit");
  EXPECT_FALSE(a->help.empty());
  ASSERT_EQ(a->measured.size(), 1U);
  EXPECT_EQ(a->measured[0].expr, "orrery:workload_goodput:ratio1d{workload='a'}");
  EXPECT_EQ(a->measured[0].legend, "measured");
  ASSERT_EQ(a->plan.size(), 1U);
  EXPECT_EQ(a->plan[0].name, "plan");
  EXPECT_EQ(a->plan[0].estimate.value, 0.9);
  EXPECT_EQ(b->measured[0].expr, "orrery:workload_goodput:ratio1d{workload='b\\'\\x7bx\\x7d'}");
  EXPECT_EQ(panel_named(all, "Step time of a"), nullptr);
  const Panel* gpus = panel_named(all, "GPUs allocated");
  ASSERT_NE(gpus, nullptr);
  EXPECT_EQ(gpus->plan[0].estimate.value, 10);
}

TEST(Grafana, legends_have_the_labels_that_differ) {
  const auto all = panels_with(
      {value_of("time_share_ratio", {{"kind", "lost"}, {"workload", "a"}}, 0, 0.1, 0.2),
       value_of("time_share_ratio", {{"kind", "restart"}, {"workload", "a"}}, 0, 0.2, 0.3),
       value_of("time_share_ratio", {{"kind", "lost"}, {"workload", "b"}}, 0, 0.4, 0.5)});
  const Panel* p = panel_named(all, "Where the time of a goes");
  ASSERT_NE(p, nullptr);
  ASSERT_EQ(p->plan.size(), 2U);
  EXPECT_EQ(p->plan[0].name, "plan lost");
  EXPECT_EQ(p->plan[1].name, "plan restart");
  EXPECT_EQ(p->plan[1].estimate.value, 0.2);
}

// A run without checkpoints is compared by its planned values: goodput and step time.
TEST(Grafana, queries_without_a_plan_are_left_out) {
  const auto all = panels_with({value_of("goodput_ratio", {{"workload", "a"}}, 0.8, 0.9, 0.95),
                                value_of("step_time_seconds", {{"workload", "a"}}, 4, 5, 8)});
  const Panel* p = panel_named(all, "Measured over planned, a");
  ASSERT_NE(p, nullptr);
  ASSERT_EQ(p->measured.size(), 2U);
  EXPECT_EQ(p->measured[0].expr, "orrery:workload_goodput:ratio1d{workload='a'} / 0.9");
  EXPECT_EQ(p->measured[1].expr, "orrery:workload_step_time:seconds_median{workload='a'} / 5");
  ASSERT_EQ(p->plan.size(), 1U);
  EXPECT_EQ(p->plan[0].estimate.value, 1) << "as planned";
  EXPECT_EQ(p->plan[0].estimate.low, 1);
  const Panel* steps = panel_named(all, "Step time of a");
  ASSERT_NE(steps, nullptr);
  ASSERT_EQ(steps->measured.size(), 2U);
  EXPECT_EQ(steps->measured[0].legend, "median rank");
  EXPECT_EQ(steps->measured[1].legend, "slowest rank");
}

TEST(Grafana, expressions_of_all_panels_are_listed) {
  const auto r = reviewed(read_template("superpod-h100"));
  const std::vector<PlannedValue> plan = {
      value_of("step_time_seconds", {{"workload", "a"}}, 4, 5, 8)};
  std::size_t queries = 0;
  const auto panels = panels_of(*r->review, plan).value();
  for (const Panel& p : panels) queries += p.measured.size();
  const auto all = dashboard_expressions(*r->review, plan).value();
  EXPECT_EQ(all.size(), queries);
  EXPECT_EQ(all[0], "orrery:workload_step_time:seconds_median{workload='a'}");
}

TEST(Grafana, the_dashboard_comes_with_its_provider) {
  const auto r = reviewed(read_template("superpod-h100"));
  const auto files = emit_grafana(*r->review, r->source).value();
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].path, "dashboards/orrery.json");
  EXPECT_EQ(files[0].text,
            dashboard_json(panels_of(*r->review, planned_values(*r->review)).value(), r->source));
  EXPECT_EQ(files[1].path, "provisioning/dashboards/orrery.yml");
  EXPECT_EQ(files[1].text, stamp(r->source, "#") +
                               "apiVersion: 1\nproviders:\n  - name: orrery\n    type: file\n"
                               "    options:\n      path: /var/lib/grafana/dashboards\n");
}

std::string squeezed(const std::string& json) {
  std::string out;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '\n') {
      while (i + 1 < json.size() && json[i + 1] == ' ') ++i;
    } else {
      out += json[i];
    }
  }
  return out;
}

const std::string kSource =
    "\"datasource\": {\"type\": \"prometheus\",\"uid\": \"${datasource}\"},";

std::string target(int n, const std::string& expr, const std::string& legend) {
  return "{" + kSource + "\"refId\": \"Q" + std::to_string(n) + "\",\"expr\": \"" + expr +
         "\",\"legendFormat\": \"" + legend + "\"}";
}

std::string place(int h, int w, int x, int y) {
  return "\"gridPos\": {\"h\": " + std::to_string(h) + ",\"w\": " + std::to_string(w) +
         ",\"x\": " + std::to_string(x) + ",\"y\": " + std::to_string(y) + "},";
}

Panel small_panel(const char* row, const char* type) {
  Panel p{.row = row, .title = "T", .type = type, .unit = "s", .help = "h", .measured = {}};
  p.measured = {{"x", "measured"}};
  PlanLine line{.name = "plan", .estimate = {}};
  line.estimate = {.value = 2, .low = 1, .high = 3};
  p.plan = {line};
  return p;
}

TEST(Grafana, a_dashboard_has_the_json_that_grafana_reads) {
  Panel bar = small_panel("R", "bargauge");
  bar.plan[0].estimate = {.value = 2, .low = 2, .high = 2};
  const EmitSource source{"d", "1", "abc"};
  const std::string band =
      "{\"matcher\": {\"id\": \"byName\",\"options\": \"plan\"},\"properties\": [{\"id\": "
      "\"custom.lineStyle\",\"value\": {\"fill\": \"dash\"}}]},"
      "{\"matcher\": {\"id\": \"byName\",\"options\": \"plan low\"},\"properties\": [{\"id\": "
      "\"custom.lineWidth\",\"value\": 0}]},"
      "{\"matcher\": {\"id\": \"byName\",\"options\": \"plan high\"},\"properties\": [{\"id\": "
      "\"custom.lineWidth\",\"value\": 0},{\"id\": \"custom.fillBelowTo\",\"value\": \"plan "
      "low\"}]}";
  const std::string text = squeezed(dashboard_json({small_panel("R", "timeseries"), bar}, source));
  const std::string from = text.substr(text.find("\"title\""));
  std::string described = stamp_text(source);
  for (std::size_t at = 0; (at = described.find('"', at)) != std::string::npos; at += 2) {
    described.insert(at, "\\");
  }
  EXPECT_EQ(text.find("{\"uid\": \"orrery-"), 0U);
  EXPECT_EQ(
      from,
      "\"title\": \"d: plan and actual\",\"description\": \"" + described +
          "\",\"tags\": [\"orrery\"],\"schemaVersion\": 39,\"version\": 1,\"editable\": true,"
          "\"refresh\": \"1m\",\"timezone\": \"browser\",\"time\": {\"from\": \"now-24h\",\"to\": "
          "\"now\"},\"templating\": {\"list\": [{\"name\": \"datasource\",\"type\": "
          "\"datasource\",\"query\": \"prometheus\",\"label\": \"Prometheus\"}]},\"panels\": ["
          "{\"id\": 1,\"type\": \"row\",\"title\": \"R\",\"collapsed\": false," +
          place(1, 24, 0, 0) + "\"panels\": []}," +
          "{\"id\": 2,\"type\": \"timeseries\",\"title\": \"T\",\"description\": \"h\"," + kSource +
          place(8, 8, 0, 1) + "\"targets\": [" + target(1, "x", "measured") + "," +
          target(2, "vector(2)", "plan") + "," + target(3, "vector(1)", "plan low") + "," +
          target(4, "vector(3)", "plan high") +
          "],\"fieldConfig\": {\"defaults\": {\"unit\": \"s\"},\"overrides\": [" + band + "]}}," +
          "{\"id\": 3,\"type\": \"bargauge\",\"title\": \"T\",\"description\": \"h\"," + kSource +
          place(8, 8, 8, 1) + "\"targets\": [" + target(1, "x", "measured") + "," +
          target(2, "vector(2)", "plan") +
          "],\"fieldConfig\": {\"defaults\": {\"unit\": \"s\"},\"overrides\": []}}]}");
}

// Three panels fill a line of 24; the fourth begins the next line, and so does a new row.
TEST(Grafana, panels_are_three_per_row) {
  std::vector<Panel> panels(4, small_panel("R", "bargauge"));
  panels.push_back(small_panel("S", "bargauge"));
  const std::string text = squeezed(dashboard_json(panels, {"d", "1", "abc"}));
  std::vector<std::string> places;
  for (std::size_t at = 0; (at = text.find("\"gridPos\"", at)) != std::string::npos; ++at) {
    places.push_back(text.substr(at, text.find('}', at) + 2 - at));
  }
  EXPECT_EQ(places, (std::vector{place(1, 24, 0, 0), place(8, 8, 0, 1), place(8, 8, 8, 1),
                                 place(8, 8, 16, 1), place(8, 8, 0, 9), place(1, 24, 0, 17),
                                 place(8, 8, 0, 18)}));
}

}  // namespace
}  // namespace orrery::emit
