// The emitted Prometheus and Grafana files, judged by promtool: it accepts them, every alert's own
// test passes, and fails once the alert is broken.
#include "output/emit/prometheus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "live/agent/command.h"
#include "live/agent/test_folder.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"
#include "output/emit/alerts.h"
#include "output/emit/alerts_yaml.h"
#include "output/emit/grafana.h"
#include "plan/verdict/verdict.h"

namespace orrery {
namespace {

using testing::HasSubstr;
using testing::Not;

const emit::EmitSource kSource{.design = "test", .version = "1", .digest = std::string(64, 'a')};

// A review refers to its design, so both are kept here.
struct Reviewed {
  design::Design design;
  review::Review review;

  explicit Reviewed(design::Design d)
      : design(std::move(d)), review(review::run_stages(design, machine::known())) {}
  Reviewed(const Reviewed&) = delete;
};

design::Design template_design(std::string_view name) {
  const auto found = design_text::find_template(name);
  auto design = design_text::read_design(found.value().text, machine::known().catalog(),
                                         {.file = "design.yaml"});
  EXPECT_TRUE(design.has_value()) << name;
  return *std::move(design);
}

// A design that uses every row of the tables: the template with a cache in front of its data.
design::Design cached_superpod() {
  design::Design d = template_design("superpod-h100");
  design::StorageTier cache = d.storage.front();
  cache.name = "cache";
  cache.caches = "hot";
  cache.capacity = terabytes(5);
  d.storage.push_back(cache);
  std::get<design::Train>(d.workloads.front().task).dataset.epochs = 4;
  return d;
}

const Reviewed& superpod() {
  static const auto* all = new Reviewed(cached_superpod());
  return *all;
}

void write_all(const emit::EmittedFiles& files, const agent::TestFolder& folder) {
  for (const emit::EmittedFile& f : files) folder.write(f.path, f.text);
}

bool full() { return std::getenv("ORRERY_FULL") != nullptr; }

bool has_program(const std::string& name) {
  const auto found = agent::run_command({.words = {name, "--version"}, .timeout = seconds(20)});
  return found && found->good();
}

agent::CommandResult promtool(std::vector<std::string> words) {
  words.insert(words.begin(), "promtool");
  const auto result = agent::run_command({.words = std::move(words), .timeout = seconds(240)});
  return result ? *result : agent::CommandResult{.exit_code = 127};
}

std::vector<std::string> paths_below(const agent::TestFolder& folder,
                                     const emit::EmittedFiles& files, std::string_view prefix) {
  std::vector<std::string> paths;
  for (const emit::EmittedFile& f : files) {
    if (f.path.starts_with(prefix)) paths.push_back(folder.at(f.path));
  }
  return paths;
}

std::vector<std::string> with(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Everything that promtool reports about a design's files. Unit tests take seconds per design, so
// the caller selects them by the beginning of their path.
constexpr std::string_view kAllTests = "tests/";
constexpr std::string_view kNoTests = "none";
void expect_accepted(const Reviewed& reviewed, const std::string& name,
                     std::string_view unit_tests) {
  const auto files = emit_prometheus(reviewed.review, kSource);
  ASSERT_TRUE(files.has_value()) << name << '\n' << to_text(files.error());
  const agent::TestFolder folder;
  write_all(*files, folder);
  const auto config = promtool({"check", "config", folder.at("prometheus.yml")});
  EXPECT_TRUE(config.good()) << name << '\n' << config.out << config.err;
  const auto rules =
      promtool(with({"check", "rules", "--lint-fatal"}, paths_below(folder, *files, "rules/")));
  EXPECT_TRUE(rules.good()) << name << '\n' << rules.out << rules.err;
  if (unit_tests == kNoTests) return;
  const auto tests = promtool(with({"test", "rules"}, paths_below(folder, *files, unit_tests)));
  EXPECT_TRUE(tests.good()) << name << '\n' << tests.out.substr(0, 20000) << tests.err;
}

TEST(Prometheus, promtool_accepts_what_every_template_emits) {
  if (!has_program("promtool")) GTEST_SKIP() << "promtool is not installed";
  for (const design_text::Template& t : design_text::templates()) {
    expect_accepted(Reviewed(template_design(t.name)), std::string(t.name),
                    full() ? kAllTests : kNoTests);
  }
  expect_accepted(superpod(), "superpod-h100 with a cache", kAllTests);
}

std::string text_of(const emit::EmittedFiles& files, std::string_view path) {
  for (const emit::EmittedFile& f : files) {
    if (f.path == path) return f.text;
  }
  ADD_FAILURE() << "no file " << path;
  return {};
}

std::set<std::string> dcgm_fields_in(std::string_view text) {
  std::set<std::string> fields;
  for (std::size_t at = text.find("DCGM_"); at != text.npos; at = text.find("DCGM_", at)) {
    std::size_t end = at;
    while (end < text.size() && (std::isalnum(text[end]) != 0 || text[end] == '_')) ++end;
    fields.emplace(text.substr(at, end - at));
    at = end;
  }
  return fields;
}

TEST(Prometheus, the_counters_file_and_the_rules_name_the_same_fields) {
  const auto files = emit_prometheus(superpod().review, kSource).value();
  const auto dashboards = emit_grafana(superpod().review, kSource).value();
  std::set<std::string> read;
  for (const emit::EmittedFile& f : files) {
    if (f.path.starts_with("rules/")) read.merge(dcgm_fields_in(f.text));
  }
  for (const emit::EmittedFile& f : dashboards) read.merge(dcgm_fields_in(f.text));
  std::set<std::string> listed = dcgm_fields_in(text_of(files, "dcgm_counters.csv"));
  EXPECT_EQ(listed, read);
  EXPECT_GT(listed.size(), 15u);
}

TEST(Prometheus, every_metric_of_the_table_is_read_and_every_metric_read_is_in_the_table) {
  std::set<std::string> read;
  const auto plan = emit::planned_values(superpod().review);
  const auto rules = watch_rules(superpod().review, plan).value();
  std::vector<std::string> exprs = dashboard_expressions(superpod().review, plan).value();
  for (const emit::RecordingRule& rule : rules.recording) exprs.push_back(rule.expr);
  for (const emit::Alert& a : rules.alerts) exprs.push_back(expression_of(a));
  for (const std::string& expr : exprs) {
    for (const std::string& s : emit::selectors_of(expr)) {
      if (!s.starts_with("orrery:")) read.emplace(emit::metric_of(s));
    }
  }
  std::set<std::string> listed;
  const std::vector<emit::Metric> metrics = emit::known_metrics().value();
  for (const emit::Metric& m : metrics) listed.insert(m.name);
  EXPECT_EQ(listed, read);
}

TEST(Prometheus, every_selector_that_a_rule_reads_has_its_guard) {
  const auto plan = emit::planned_values(superpod().review);
  const auto rules = watch_rules(superpod().review, plan).value();
  std::string guards;
  for (const emit::Alert& a : rules.alerts) {
    if (a.name == "MetricMissing") guards += expression_of(a) + '\n';
  }
  const std::vector<emit::Metric> metrics = emit::known_metrics().value();
  for (const emit::Metric& m : metrics) {
    if (!m.guard || m.name == "orrery_measured_jobs" || m.name == "orrery_measured_cluster_gpus") {
      continue;  // only used by panels
    }
    EXPECT_THAT(guards, HasSubstr("absent(" + m.name)) << m.name;
  }
  EXPECT_THAT(guards, HasSubstr("absent(orrery:checkpoint_age:seconds{workload='pretrain'})"));
  EXPECT_THAT(guards, Not(HasSubstr("DCGM_EXP_XID_ERRORS_COUNT")));
}

TEST(Prometheus, every_row_of_the_alert_table_is_tried) {
  const auto plan = emit::planned_values(superpod().review);
  const auto rules = watch_rules(superpod().review, plan).value();
  std::set<std::string> made;
  for (const emit::Alert& a : rules.alerts) {
    made.insert(a.name);
    ASSERT_GE(a.cases.size(), 2u) << a.name;
    EXPECT_FALSE(a.cases.front().expected.empty()) << a.name;
    EXPECT_TRUE(a.cases.back().expected.empty()) << a.name;
    EXPECT_FALSE(a.threshold_source.empty()) << a.name;
    EXPECT_FALSE(a.action.empty()) << a.name;
  }
  EXPECT_EQ(made.size(), 29u);
}

TEST(Prometheus, thresholds_are_figures_of_the_plan) {
  const auto plan = emit::planned_values(superpod().review);
  const auto rules = watch_rules(superpod().review, plan).value();
  const review::TrainView& run = superpod().review.trains.front();
  std::map<std::string, double> threshold;
  for (const emit::Alert& a : rules.alerts) threshold.emplace(a.name, a.threshold);
  const double interval = run.checkpoint->interval.base();
  EXPECT_NEAR(threshold.at("CheckpointTooOld"), 2 * interval, interval * 1e-5);
  EXPECT_NEAR(threshold.at("GoodputBelowPlan"), run.goodput_low, 1e-6);
  EXPECT_NEAR(threshold.at("GpuPowerAboveLimit"), 1.05 * 700, 1e-3);
  EXPECT_GE(threshold.at("SparesBelowPlan"), 1);
}

TEST(Prometheus, designs_without_gpus_or_training_get_no_rules_about_them) {
  const Reviewed cpu(template_design("fraud-cpu"));
  const auto files = emit_prometheus(cpu.review, kSource).value();
  for (const emit::EmittedFile& f : files) {
    EXPECT_THAT(f.text, Not(HasSubstr("DCGM_"))) << f.path;
    EXPECT_NE(f.path, "dcgm_counters.csv");
  }
}

TEST(Prometheus, equal_reviews_give_equal_bytes) {
  const Reviewed again(cached_superpod());
  EXPECT_EQ(emit_prometheus(again.review, kSource).value(),
            emit_prometheus(superpod().review, kSource).value());
  EXPECT_EQ(emit_grafana(again.review, kSource).value(),
            emit_grafana(superpod().review, kSource).value());
}

TEST(Prometheus, selectors_are_found_and_strings_are_skipped) {
  EXPECT_THAT(
      emit::selectors_of("rate(up{job='a}b'}[5m]) / on (x) DCGM_A > 3 and f('DCGM_B') == up"),
      testing::ElementsAre("up{job='a}b'}", "DCGM_A", "up"));
  EXPECT_EQ(emit::promql_escaped("a'b\\c\n$x{t}"), "a\\'b\\\\c\\x0a\\x24x\\x7bt\\x7d");
}

// Debian's build has no Kubernetes discovery and complains about its fields; it must complain about
// nothing else.
TEST(Prometheus, the_configuration_for_pods_has_no_other_fault) {
  if (!has_program("promtool")) GTEST_SKIP() << "promtool is not installed";
  const Reviewed reviewed(template_design("small-lab"));
  const auto files = emit_prometheus(reviewed.review, kSource).value();
  const agent::TestFolder folder;
  write_all(files, folder);
  const auto result = promtool({"check", "config", folder.at("prometheus-kubernetes.yml")});
  std::istringstream lines(result.out + result.err);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  line ")) continue;
    EXPECT_THAT(line, HasSubstr("field kubernetes_sd_configs not found")) << result.out;
  }
}

// Names of workloads are free text, so their contents must stay inside quotes. One run of the
// template for each name.
design::Design hostile_design() {
  design::Design d = template_design("superpod-h100");
  const design::Workload run = d.workloads.front();
  EXPECT_TRUE(std::holds_alternative<design::Train>(run.task));
  d.workloads.clear();
  for (const std::string& name : std::vector<std::string>{
           "a'b\"c", "line\nbreak: [x]", "{{ end }}{{{", "{t} {workload} <metric>",
           "$(reboot); `reboot` & ${HOME}", "back\\slash\\", "} or vector(1) #",
           "\u00fc\u2028\U0001f600", std::string("\x01\x7f\t") + std::string(10'000, 'x')}) {
    d.workloads.push_back(run);
    d.workloads.back().terms.name = name;
  }
  return d;
}

TEST(Prometheus, hostile_names_reach_no_file_unescaped) {
  if (!has_program("promtool")) GTEST_SKIP() << "promtool is not installed";
  expect_accepted(Reviewed(hostile_design()), "hostile names",
                  full() ? kAllTests : "tests/training");
}

TEST(Prometheus, a_fleet_whose_name_is_no_host_name_is_refused) {
  design::Design d = template_design("superpod-h100");
  d.fleet.front().name = "../../etc; reboot";
  for (design::Workload& w : d.workloads) w.terms.fleet = d.fleet.front().name;
  const Reviewed reviewed(std::move(d));
  const auto files = emit_prometheus(reviewed.review, kSource);
  ASSERT_FALSE(files.has_value());
  EXPECT_EQ(files.error().front().code, "emit.name");
}

// Ways to break an alert: each must make the alert's own test fail.
struct Mutant {
  std::string how;
  emit::Alert alert;
};

// Inverts the comparison with the threshold.
std::string negated(std::string pattern) {
  for (const auto& [from, to] : {std::pair{"> on", "< on"},
                                 {"< on", "> on"},
                                 {"> {t}", "< {t}"},
                                 {"< {t}", "> {t}"},
                                 {"== {t}", "!= {t}"}}) {
    const std::size_t at = pattern.find(from);
    if (at != pattern.npos) return pattern.replace(at, std::string_view(from).size(), to);
  }
  ADD_FAILURE() << "no comparison in " << pattern;
  return pattern;
}

std::vector<Mutant> mutants_of(const emit::Alert& alert) {
  std::vector<Mutant> all;
  const auto add = [&](const std::string& how, auto change) {
    Mutant m{alert.name + ": " + how, alert};
    change(m.alert);
    all.push_back(std::move(m));
  };
  const bool zero = alert.threshold == 0;
  add("negated", [](emit::Alert& a) { a.pattern = negated(a.pattern); });
  add("threshold raised", [&](emit::Alert& a) { a.threshold = zero ? 1 : a.threshold * 1.1; });
  add("threshold lowered", [&](emit::Alert& a) { a.threshold = zero ? -1 : a.threshold * 0.9; });
  add("for raised", [](emit::Alert& a) { a.for_minutes += 1; });
  if (alert.for_minutes > 0) add("for lowered", [](emit::Alert& a) { a.for_minutes -= 1; });
  return all;
}

TEST(Prometheus, an_alert_that_is_broken_fails_its_own_test) {
  if (!has_program("promtool")) GTEST_SKIP() << "promtool is not installed";
  const auto plan = emit::planned_values(superpod().review);
  const auto rules = watch_rules(superpod().review, plan).value();
  const agent::TestFolder folder;
  folder.write("recording.yml", recording_yaml(rules.recording));
  std::map<std::string, std::string> how;  // by test file
  std::set<std::string> seen;
  for (const emit::Alert& a : rules.alerts) {
    // One alert of each name, because others differ only in subject and threshold.
    if (!seen.insert(a.name).second) continue;
    const std::vector<Mutant> mutants = mutants_of(a);
    for (std::size_t i = 0; i < mutants.size(); ++i) {
      // Each alert is broken in one way, in turn; trying all ways takes a minute.
      if (!full() && i != seen.size() % mutants.size()) continue;
      const Mutant& m = mutants[i];
      const std::string id = "m" + std::to_string(how.size());
      folder.write(id + ".yml", emit::alerts_yaml(a.group, {m.alert}));
      folder.write(id + "_test.yml", emit::alert_tests_yaml({"recording.yml", id + ".yml"}, {a}));
      how[folder.at(id + "_test.yml")] = m.how;
    }
  }
  std::vector<std::string> words = {"test", "rules"};
  for (const auto& [file, unused] : how) words.push_back(file);
  const agent::CommandResult result = promtool(words);
  // "Unit Testing:  FILE" and then "SUCCESS" or "FAILED:" with details, on either output stream.
  for (const auto& [file, what] : how) {
    const std::size_t at = result.out.find("Unit Testing:  " + file);
    ASSERT_NE(at, std::string::npos) << result.out.substr(0, 2000) << result.err.substr(0, 2000);
    const std::string_view after = std::string_view(result.out).substr(at, file.size() + 40);
    EXPECT_EQ(after.find("SUCCESS"), std::string_view::npos) << "survived: " << what;
  }
  RecordProperty("mutants", static_cast<int>(how.size()));
  std::cout << how.size() << " mutants of " << seen.size() << " alerts\n";
}

const nlohmann::json& targets_checked(const nlohmann::json& panel) {
  EXPECT_FALSE(panel.at("title").get<std::string>().empty());
  return panel.at("targets");
}

TEST(Grafana, every_panel_has_its_planned_line) {
  for (const design_text::Template& t : design_text::templates()) {
    const Reviewed reviewed(template_design(t.name));
    const auto files = emit_grafana(reviewed.review, kSource).value();
    const auto dashboard = nlohmann::json::parse(text_of(files, "dashboards/orrery.json"));
    std::set<int> ids;
    for (const auto& panel : dashboard.at("panels")) {
      EXPECT_TRUE(ids.insert(panel.at("id").get<int>()).second);
      if (panel.at("type") == "row") continue;
      bool planned = false;
      bool measured = false;
      for (const auto& target : targets_checked(panel)) {
        const auto expr = target.at("expr").get<std::string>();
        (expr.starts_with("vector(") ? planned : measured) = true;
      }
      EXPECT_TRUE(planned && measured) << t.name << ": " << panel.at("title");
    }
  }
}

TEST(Grafana, the_rows_of_a_training_cluster_are_all_there) {
  const auto files = emit_grafana(superpod().review, kSource).value();
  const auto dashboard = nlohmann::json::parse(text_of(files, "dashboards/orrery.json"));
  std::vector<std::string> rows;
  for (const auto& panel : dashboard.at("panels")) {
    if (panel.at("type") == "row") rows.push_back(panel.at("title"));
  }
  EXPECT_THAT(rows,
              testing::ElementsAre("Goodput", "Allocated, active, useful", "Queue", "Topology",
                                   "Failures", "Storage", "Power", "Plan and actual"));
  EXPECT_EQ(dashboard.at("schemaVersion"), 39);
  EXPECT_THAT(dashboard.at("description").get<std::string>(), HasSubstr(kSource.digest));
}

// Writes the expressions of all panels as recording rules, so that promtool parses them without a
// server.
void expect_panels_parse(const Reviewed& reviewed, const agent::TestFolder& folder) {
  const auto files = emit_grafana(reviewed.review, kSource).value();
  const auto dashboard = nlohmann::json::parse(text_of(files, "dashboards/orrery.json"));
  std::vector<emit::RecordingRule> rules;
  for (const auto& panel : dashboard.at("panels")) {
    if (panel.at("type") == "row") continue;
    for (const auto& target : panel.at("targets")) {
      rules.push_back({.record = "panel:" + std::to_string(rules.size()) + ":expr",
                       .expr = target.at("expr").get<std::string>(),
                       .why = ""});
    }
  }
  folder.write("panels.yml", recording_yaml(rules));
  const auto result = promtool({"check", "rules", folder.at("panels.yml")});
  EXPECT_TRUE(result.good()) << result.out << result.err;
}

TEST(Grafana, every_expression_parses) {
  if (!has_program("promtool")) GTEST_SKIP() << "promtool is not installed";
  const agent::TestFolder folder;
  expect_panels_parse(superpod(), folder);
  expect_panels_parse(Reviewed(hostile_design()), folder);
}

}  // namespace
}  // namespace orrery
