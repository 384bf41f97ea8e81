#include "output/emit/alerts.h"

#include <gmock/gmock.h>

#include <set>

#include "output/emit/alerts_table.h"
#include "output/emit/alerts_yaml.h"
#include "output/emit/review_fixture.h"

namespace orrery::emit {
namespace {

using ::testing::ElementsAre;
using testing::ElementsAre;

const WatchRules& superpod_rules() {
  static const WatchRules* const kRules = [] {
    const auto r = reviewed(read_template("superpod-h100"));
    return new WatchRules(watch_rules(*r->review, planned_values(*r->review)).value());
  }();
  return *kRules;
}

const Alert& alert_named(const WatchRules& rules, std::string_view name,
                         const MetricLabels& labels = {}) {
  for (const Alert& a : rules.alerts) {
    if (a.name == name && (labels.empty() || a.labels == labels)) return a;
  }
  ADD_FAILURE() << name;
  static const Alert none;
  return none;
}

// Returns rules over one planned value with these words; `low`, `value` and `high` are 4, 5 and 8.
WatchRules rules_with(std::vector<PlannedValue> plan) {
  const auto r = reviewed(read_template("superpod-h100"));
  return watch_rules(*r->review, plan).value();
}

PlannedValue planned(const char* metric, MetricLabels labels, double low, double value,
                     double high) {
  PlannedValue v{.metric = metric, .help = "", .labels = std::move(labels), .estimate = {}};
  v.estimate = {.value = value, .low = low, .high = high};
  return v;
}

TEST(Alerts, placeholders_are_filled_in_one_pass) {
  const Words words = {{"a", "1"}, {"b", "{a}"}, {"", "none"}};
  EXPECT_EQ(filled("x{a}y", words), "x1y");
  EXPECT_EQ(filled("{b}{a}", words), "{a}1");
  EXPECT_EQ(filled("{c} {a", words), "{c} {a");
  EXPECT_EQ(filled("{{a}}", words), "{1}");
  EXPECT_EQ(filled("{}", words), "none");
  EXPECT_EQ(filled("}{a}", words), "}1");
  EXPECT_EQ(filled("", words), "");
}

TEST(Alerts, placeholder_parts_are_trimmed) {
  EXPECT_THAT(separated(" a ;; b;;c ", ";;"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(separated("a;b", ";;"), ElementsAre("a;b"));
  EXPECT_THAT(separated("a;;", ";;"), ElementsAre("a", ""));
  EXPECT_TRUE(separated("  ", ";;").empty());
}

TEST(Alerts, traits_follow_from_the_design) {
  EXPECT_TRUE(meets("", {}));
  EXPECT_TRUE(meets("slurm train", {"slurm", "train", "x"}));
  EXPECT_FALSE(meets("slurm train", {"train"}));
  const auto of = [](const char* name, const std::vector<PlannedValue>& plan) {
    const auto r = reviewed(read_template(name));
    return traits_of(*r->review, plan);
  };
  EXPECT_EQ(of("superpod-h100", {}), (Traits{"nvidia", "nvlink", "train", "slurm"}));
  EXPECT_EQ(of("inference-pod", {}), (Traits{"nvidia", "nvlink"}));
  EXPECT_EQ(of("fraud-cpu", {planned("cache_hit_ratio", {}, 0, 0.5, 1)}), (Traits{"cache"}));
  EXPECT_EQ(of("medical-imaging", {}), (Traits{"nvidia", "nvlink", "train", "slurm"}));
}

TEST(Alerts, selectors_are_found_in_an_expression) {
  EXPECT_THAT(selectors_of("rate(DCGM_FI_X[5m]) / 1e9 > 3"), ElementsAre("DCGM_FI_X"));
  EXPECT_THAT(selectors_of("orrery_a{b='}'} + orrery:c:d - orrery_a{b='}'}"),
              ElementsAre("orrery_a{b='}'}", "orrery:c:d"));
  EXPECT_THAT(selectors_of("up{job=\"a}\"} and up"), ElementsAre("up{job=\"a}\"}", "up"));
  EXPECT_THAT(selectors_of("label_replace(orrery_a, 'orrery_b', '$1', \"orrery_c\", '(.+)')"),
              ElementsAre("orrery_a"));
  EXPECT_THAT(selectors_of("orrery_a{b='it\\'s orrery_b}'} > 1"),
              ElementsAre("orrery_a{b='it\\'s orrery_b}'}"));
  EXPECT_THAT(selectors_of("uptime + sup + myorrery_a"), ElementsAre());
  EXPECT_THAT(selectors_of("orrery_open{a='b'"), ElementsAre("orrery_open{a='b'"));
  EXPECT_THAT(selectors_of("'orrery_open"), ElementsAre());
  EXPECT_THAT(selectors_of("orrery_Z9:x_0"), ElementsAre("orrery_Z9:x_0"));
  EXPECT_EQ(metric_of("up{job='a'}"), "up");
  EXPECT_EQ(metric_of("up"), "up");
}

TEST(Alerts, names_that_look_like_functions_are_still_metrics) {
  EXPECT_EQ(promql_escaped("a'b\\c"), "a\\'b\\\\c");
  EXPECT_EQ(promql_escaped("{x}$"), "\\x7bx\\x7d\\x24");
  EXPECT_EQ(promql_escaped(std::string("\x1f\x7f ~")), "\\x1f\\x7f ~");
  EXPECT_EQ(promql_escaped("plain_1"), "plain_1");
  EXPECT_EQ(promql_number(1.23456789e6), "1234570");
  EXPECT_EQ(promql_number(0.5), "0.5");
}

TEST(Alerts, a_rule_may_have_several_series_and_quiet_cases) {
  const Alert& nvlink = alert_named(superpod_rules(), "NvlinkCrcErrors");
  ASSERT_EQ(nvlink.cases[0].input.size(), 2U);
  EXPECT_EQ(nvlink.cases[0].input[0].values, "0x90");
  EXPECT_EQ(nvlink.cases[0].input[1].values, "0+1.05x90");
  const Alert& queue = alert_named(superpod_rules(), "QueueWaitAbovePlan");
  ASSERT_EQ(queue.cases.size(), 3U);
  EXPECT_EQ(queue.cases[2].input[0].series,
            "orrery_measured_queue_wait_seconds{partition='p',quantile='0.5'}");
  EXPECT_THAT(queue.cases[0].expected,
              ElementsAre(MetricLabels{{"partition", "p"}, {"quantile", "0.9"}}));
}

TEST(Alerts, thresholds_come_from_the_bounds_of_the_plan) {
  const WatchRules rules =
      rules_with({planned("step_time_seconds", {{"workload", "w"}}, 4, 5, 8),
                  planned("checkpoint_interval_seconds", {{"workload", "w"}}, 400, 500, 800),
                  planned("tier_read_bytes_per_second", {{"tier", "a"}}, 4e9, 5e9, 8e9),
                  planned("tier_read_bytes_per_second", {{"tier", "b'"}}, 1.23456789e9, 5e9, 8e9),
                  planned("tier_read_bytes_per_second", {{"tier", "none"}}, 0, 0, 0)});
  const Alert& slow = alert_named(rules, "StepSlowerThanPlan");
  EXPECT_EQ(slow.threshold, 8);
  EXPECT_EQ(expression_of(slow), "orrery:workload_step_time:seconds_median{workload='w'} > 8");
  EXPECT_EQ(slow.labels, (MetricLabels{{"workload", "w"}}));
  EXPECT_EQ(slow.cases[0].input[0].values, "8.4x60");
  EXPECT_EQ(slow.cases[1].input[0].values, "7.6x60");
  EXPECT_THAT(slow.cases[0].expected, ElementsAre(MetricLabels{}));
  EXPECT_EQ(alert_named(rules, "CheckpointTooOld").threshold, 1000);
  const Alert& a = alert_named(rules, "TierSlowerThanPlan", {{"tier", "a"}});
  EXPECT_EQ(a.threshold, 4e9);
  const Alert& b = alert_named(rules, "TierSlowerThanPlan", {{"tier", "b'"}});
  EXPECT_EQ(b.threshold, 1.23457e9) << "six digits";
  EXPECT_EQ(expression_of(b),
            "orrery_measured_tier_bytes_per_second{tier='b\\'',op='read'} < 1234570000");
  for (const Alert& alert : rules.alerts) {
    EXPECT_NE(alert.labels, (MetricLabels{{"tier", "none"}}));
  }
}

// A share planned as 0.98 is tested 5 % of the remainder above and below; a certain one at 0.999.
TEST(Alerts, tests_of_shares_and_counts_use_their_scale) {
  const WatchRules rules = rules_with({planned("goodput_ratio", {{"workload", "w"}}, 0.98, 1, 1),
                                       planned("goodput_ratio", {{"workload", "sure"}}, 1, 1, 1),
                                       planned("spare_nodes", {}, 6, 7, 8)});
  const Alert& w = alert_named(rules, "GoodputBelowPlan", {{"workload", "w"}});
  EXPECT_EQ(w.threshold, 0.98);
  ASSERT_EQ(w.cases[0].input.size(), 2U);
  EXPECT_EQ(w.cases[0].input[0].values, "0+0.979x60");
  EXPECT_EQ(w.cases[0].input[1].values, "0+0.021x60");
  EXPECT_EQ(w.cases[1].input[0].values, "0+0.981x60");
  EXPECT_EQ(w.cases[1].input[1].values, "0+0.019x60");
  EXPECT_EQ(alert_named(rules, "GoodputBelowPlan", {{"workload", "sure"}}).threshold, 0.999);
  const Alert& spares = alert_named(rules, "SparesBelowPlan");
  EXPECT_EQ(spares.threshold, 7);
  EXPECT_EQ(spares.cases[0].input[0].values, "6x40");
  EXPECT_EQ(spares.cases[1].input[1].values, "7x40");
}

TEST(Alerts, a_rule_needs_its_trait_in_the_design) {
  const auto names = [](const char* name) {
    const auto r = reviewed(read_template(name));
    std::set<std::string> all;
    const auto rules = watch_rules(*r->review, planned_values(*r->review));
    for (const Alert& a : rules->alerts) {
      all.insert(a.name);
    }
    return all;
  };
  const auto cpu = names("fraud-cpu");
  EXPECT_FALSE(cpu.contains("GpuFatalXid"));
  EXPECT_FALSE(cpu.contains("QueueWaitAbovePlan"));
  EXPECT_FALSE(cpu.contains("StragglerByClock"));
  EXPECT_TRUE(cpu.contains("NodeExporterGone"));
  EXPECT_TRUE(cpu.contains("MetricMissing"));
  const auto superpod = names("superpod-h100");
  EXPECT_TRUE(superpod.contains("GpuFatalXid"));
  EXPECT_TRUE(superpod.contains("NvlinkCrcErrors"));
  EXPECT_TRUE(superpod.contains("StragglerByClock"));
  std::set<std::string> recorded;
  for (const RecordingRule& r : superpod_rules().recording) recorded.insert(r.record);
  EXPECT_TRUE(recorded.contains("orrery:gpu_xid:last"));
  EXPECT_TRUE(recorded.contains("orrery:workload_goodput:ratio1d"));
  EXPECT_FALSE(recorded.contains("orrery:cache_hit:ratio1h"));
  EXPECT_EQ(superpod_rules().recording[0].expr,
            "max without (err_code, err_msg) (DCGM_FI_DEV_XID_ERRORS)");
}

// Absence of the XID count is good. The output of a recording rule is guarded by its inputs, except
// for one subject that an alert selects.
TEST(Alerts, every_selector_has_one_missing_metric_alert) {
  std::vector<std::string> guarded;
  for (const Alert& a : superpod_rules().alerts) {
    if (a.name != "MetricMissing") continue;
    ASSERT_EQ(a.labels.size(), 1U);
    EXPECT_EQ(a.labels[0].first, "metric");
    guarded.push_back(a.labels[0].second);
    EXPECT_EQ(expression_of(a), "max(absent(" + a.labels[0].second + ")) == 1");
    EXPECT_EQ(a.threshold, 1);
  }
  const std::set<std::string> all(guarded.begin(), guarded.end());
  EXPECT_EQ(all.size(), guarded.size());
  EXPECT_TRUE(all.contains("DCGM_FI_DEV_SM_CLOCK"));
  EXPECT_TRUE(all.contains("DCGM_FI_DEV_ROW_REMAP_FAILURE"));
  EXPECT_TRUE(all.contains("up{job='orrery-node'}"));
  EXPECT_TRUE(all.contains("orrery:workload_step_time:seconds_median{workload='pretrain'}"));
  EXPECT_FALSE(all.contains("orrery:gpu_xid:last"));
  EXPECT_FALSE(all.contains("orrery:gpu_sm_clock:mhz_avg5m{training_job!=''}"));
  EXPECT_FALSE(all.contains("DCGM_EXP_XID_ERRORS_COUNT{xid=~'48|63|64|74|79|94|95'}"));
}

TEST(Alerts, every_metric_of_the_table_has_an_exporter) {
  const auto metrics = known_metrics();
  ASSERT_TRUE(metrics);
  EXPECT_EQ((*metrics)[0].name, "DCGM_FI_DEV_SM_CLOCK");
  EXPECT_EQ((*metrics)[0].source, "dcgm");
  EXPECT_EQ((*metrics)[0].type, "gauge");
  EXPECT_FALSE((*metrics)[0].help.empty());
  EXPECT_TRUE((*metrics)[0].guard);
  EXPECT_EQ((*metrics)[3].name, "DCGM_EXP_XID_ERRORS_COUNT");
  EXPECT_FALSE((*metrics)[3].guard);
  EXPECT_TRUE(Metric{}.guard);
  EXPECT_EQ(Alert{}.for_minutes + Alert{}.onset_minutes, 0);
  EXPECT_EQ(Alert{}.threshold, 0);
}

Alert small_alert() {
  Alert a{.name = "Slow", .group = "training", .severity = "page", .for_minutes = 3};
  a.pattern = "x{w='{{'} > {t}";
  a.threshold = 2.5;
  a.labels = {{"workload", "w{{"}};
  a.summary = "<workload> on <node> is slow";
  a.action = "Look.";
  a.threshold_source = "assumed";
  a.onset_minutes = 2;
  a.cases = {{.input = {{"x{w='w'}", "3x9"}}, .expected = {{{"node", "n1"}}}},
             {.input = {{"x{w='w'}", "2x9"}}, .expected = {}}};
  return a;
}

TEST(Alerts, a_rule_is_written_as_prometheus_reads_it) {
  EXPECT_EQ(alerts_yaml("training", {small_alert()}),
            "groups:\n"
            "  - name: orrery-training\n"
            "    rules:\n"
            "      - alert: Slow\n"
            "        expr: \"x{w='{{'} > 2.5\"\n"
            "        for: 3m\n"
            "        labels:\n"
            "          severity: \"page\"\n"
            "          workload: \"w{{ \\\"{\\\" }}{{ \\\"{\\\" }}\"\n"
            "        annotations:\n"
            "          action: \"Look.\"\n"
            "          summary: \"w{{ \\\"{\\\" }}{{ \\\"{\\\" }} on {{ $labels.node }} is slow\"\n"
            "          threshold: \"2.5: assumed\"\n");
}

TEST(Alerts, template_braces_are_escaped) {
  EXPECT_EQ(template_escaped("a{b}"), "a{b}");
  EXPECT_EQ(template_escaped("a{{b"), "a{{ \"{\" }}{b");
  EXPECT_EQ(template_escaped("{"), "{{ \"{\" }}");
  EXPECT_EQ(template_escaped(""), "");
}

TEST(Alerts, recording_rules_have_a_name_and_an_expression) {
  EXPECT_EQ(recording_yaml({}), "groups:\n  - name: orrery-recording\n    rules: []\n");
  EXPECT_EQ(recording_yaml({{"orrery:a:b", "sum(x)", "Because."}, {"orrery:c:d", "y", ""}}),
            "groups:\n"
            "  - name: orrery-recording\n"
            "    rules:\n"
            "      # Because.\n"
            "      - record: orrery:a:b\n"
            "        expr: \"sum(x)\"\n"
            "      - record: orrery:c:d\n"
            "        expr: \"y\"\n");
}

// Two siblings share a series; each is expected once `for` has passed, and not a minute before.
TEST(Alerts, rules_of_one_alert_share_a_test) {
  Alert other = small_alert();
  other.labels = {{"workload", "v"}};
  other.cases[0].input = {{"x{w='w'}", "3x9"}, {"x{w='v'}", "3x9"}};
  other.cases[0].expected = {MetricLabels{}};
  const std::string text = alert_tests_yaml({"rec.yml", "a.yml"}, {small_alert(), other});
  EXPECT_EQ(text,
            "rule_files:\n  - rec.yml\n  - a.yml\n"
            "evaluation_interval: 1m\ngroup_eval_order:\n  - orrery-recording\n"
            "  - orrery-training\n"
            "tests:\n"
            "  - name: Slow fires\n    interval: 1m\n    input_series:\n"
            "      - series: \"x{w='w'}\"\n        values: \"3x9\"\n"
            "      - series: \"x{w='v'}\"\n        values: \"3x9\"\n"
            "    alert_rule_test:\n"
            "      - eval_time: 4m\n        alertname: Slow\n        exp_alerts: []\n"
            "      - eval_time: 5m\n        alertname: Slow\n        exp_alerts:\n"
            "          - exp_labels:\n"
            "              node: \"n1\"\n"
            "              severity: \"page\"\n"
            "              workload: \"w{{\"\n"
            "            exp_annotations:\n"
            "              action: \"Look.\"\n"
            "              summary: \"w{{ on n1 is slow\"\n"
            "              threshold: \"2.5: assumed\"\n"
            "          - exp_labels:\n"
            "              severity: \"page\"\n"
            "              workload: \"v\"\n"
            "            exp_annotations:\n"
            "              action: \"Look.\"\n"
            "              summary: \"v on  is slow\"\n"
            "              threshold: \"2.5: assumed\"\n"
            "  - name: Slow does not fire\n    interval: 1m\n    input_series:\n"
            "      - series: \"x{w='w'}\"\n        values: \"2x9\"\n"
            "    alert_rule_test:\n"
            "      - eval_time: 5m\n        alertname: Slow\n        exp_alerts: []\n");
}

TEST(Alerts, an_alert_without_a_wait_is_tested_at_once) {
  Alert at_once = small_alert();
  at_once.for_minutes = at_once.onset_minutes = 0;
  at_once.cases.resize(1);
  const std::string text = alert_tests_yaml({}, {at_once});
  EXPECT_NE(text.find("eval_time: 0m"), std::string::npos);
  EXPECT_EQ(text.find("eval_time: -1m"), std::string::npos);
  EXPECT_EQ(text.find("exp_alerts: []"), std::string::npos);
}

TEST(Alerts, metrics_inside_functions_are_found) {
  EXPECT_THAT(selectors_of("sum(up)"), ElementsAre("up"));
  EXPECT_THAT(selectors_of("1 - avg(up{job='x'}) > group(up)"), ElementsAre("up{job='x'}", "up"));
  EXPECT_THAT(selectors_of("max(up2) + sum(upper) + count(orrery_x)"), ElementsAre("orrery_x"));
}

}  // namespace
}  // namespace orrery::emit
