// Every template is a design that passes its own review, and every rule can fire: a small change to
// a template that passes breaks that rule and no other, and the finding's own edit cures it.
#include "design/templates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "design/write_design.h"
#include "design_edit.h"
#include "plan/review.h"
#include "plan/rules.h"
#include "report/verdict_report.h"

namespace orrery {
namespace {

struct Known {
  Catalog catalog;
  Models models;
};

const Known& known() {
  static const Known* all = [] {
    auto* k = new Known{load_embedded_catalog().value(), {}};
    k->models = load_models(k->catalog).value();
    return k;
  }();
  return *all;
}

design::Design read_text(std::string_view text, const std::string& name) {
  auto design = design::read_design(text, known().catalog, {.file = name});
  EXPECT_TRUE(design.has_value()) << name << '\n' << (design ? "" : to_text(design.error()));
  return design ? *std::move(design) : design::Design{};
}

Verdict verdict_of(std::string_view text, const std::string& name) {
  return review(read_text(text, name), known().catalog, known().models, {.spends = false});
}

std::string text_of(std::string_view name) {
  const auto found = design::find_template(name);
  EXPECT_TRUE(found.has_value()) << name;
  return found ? std::string(found->text) : std::string();
}

std::set<std::string> rules_in(const Verdict& v) {
  std::set<std::string> ids;
  for (const Finding& f : v.findings) ids.insert(f.rule);
  return ids;
}

std::vector<std::string> template_names() {
  std::vector<std::string> names;
  for (const design::Template& t : design::templates()) names.emplace_back(t.name);
  return names;
}

class EveryTemplate : public testing::TestWithParam<std::string> {};

TEST_P(EveryTemplate, passes_its_review) {
  const Verdict v = verdict_of(text_of(GetParam()), GetParam());
  EXPECT_TRUE(v.passes()) << v.summary;
  for (const Finding& f : v.findings) {
    EXPECT_EQ(f.severity, Severity::note) << f.rule << ": " << f.what;
  }
  for (const GoalOutcome& g : v.goals) EXPECT_TRUE(g.met) << g.text;
  EXPECT_FALSE(v.goals.empty()) << "a template shows what a goal is";
}

TEST_P(EveryTemplate, gives_the_same_bytes_twice) {
  const design::Design design = read_text(text_of(GetParam()), GetParam());
  const std::string once = json_of(review(design, known().catalog, known().models));
  EXPECT_EQ(once, json_of(review(design, known().catalog, known().models)));
  // And from its canonical text; only places differ, which a passing design hardly shows.
  const design::Design again = read_text(write_design(design), "again");
  EXPECT_EQ(run_stages(again, known().catalog, known().models).cost.annual.base(),
            run_stages(design, known().catalog, known().models).cost.annual.base());
}

INSTANTIATE_TEST_SUITE_P(templates, EveryTemplate, testing::ValuesIn(template_names()));

TEST(templates, the_sample_is_the_template) {
  std::ifstream in(std::string(ORRERY_SOURCE_DIR) + "/examples/superpod-h100-4su.yaml",
                   std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(text, text_of("superpod-h100"));
}

struct Mutation {
  std::string rule;
  std::string name;  // of the template
  std::vector<TextEdit> edits;
};

const std::vector<Mutation>& mutations() {
  static const auto* all = new std::vector<Mutation>{
      {"training.feasible", "superpod-h100", {{"workloads[0].train.layout", "{ tp: 1, pp: 1 }"}}},
      {"training.idle-nodes", "av-vision", {{"workloads[0].train.batch", "3200"}}},
      {"serving.capacity", "inference-pod", {{"workloads[0].serve.arrivals.rate", "500 /s"}}},
      {"serving.availability",
       "inference-pod",
       {{"workloads[0].serve.replicas", ""}, {"workloads[0].serve.availability", "0.99999"}}},
      {"workload.deadline", "fraud-cpu", {{"workloads[0].batch.repeat.window", "1 h"}}},
      {"serving.int8-lost",
       "superpod-b300",
       {{"workloads[1]",
         "{ serve: { model: llama-3-8b, precision: int8, nodes: 1, arrivals: { rate: 1 /s } } }"}}},
      {"cluster.gangs", "superpod-h100", {{"scheduler.gang", "false"}}},
      {"cluster.mig-slices", "small-lab", {{"fleet[1].mig", "{ 3g.71gb: 3 }"}}},
      {"failure.spares", "superpod-a100", {{"fleet[0].spares", "0"}}},
      {"fabric.buildable",
       "superpod-h100",
       {{"fabric.compute.topology", "torus"}, {"fabric.compute.dimensions", "[3, 3]"}}},
      {"fabric.separate-storage", "superpod-h100", {{"fabric.storage.converged", "true"}}},
      {"fabric.roce-checklist", "av-vision", {{"fabric.compute.roce.pfc", ""}}},
      {"fabric.ethernet-800g",
       "superpod-b300",
       {{"fabric.compute.switch", "sn5600"},
        {"fabric.compute.protocol", "roce"},
        {"fabric.compute.roce",
         "{ pfc: true, ecn: true, dedicated_queue: true, hash_spread: true }"}}},
      {"storage.unit-guidance", "superpod-h100", {{"storage[0].write", "10 GB/s"}}},
      {"storage.gb200-guidance",
       "superpod-h100",
       {{"fleet[0].node", "gb200-nvl72"},
        {"fleet[0].count", "8"},
        {"fleet[0].nodes_per_rack", "1"},
        {"site.rack", "140 kW"},
        {"site.cooling", "direct-to-chip-100pct"},
        {"workloads", ""},
        {"goals", ""}}},
      {"storage.lru-shuffled",
       "av-vision",
       {{"storage[0].policy", "lru"},
        {"storage[0].capacity", "100 TB"},
        {"workloads[0].train.dataset.tier", "lake"}}},
      {"storage.drain-interval", "superpod-h100", {{"workloads[0].train.checkpoint.every", "2 s"}}},
      {"storage.local-only",
       "superpod-h100",
       {{"workloads[0].train.checkpoint.to", "[node-nvme]"},
        {"workloads[0].train.checkpoint.keep", ""}}},
      {"storage.checkpoint-target", "superpod-h100", {{"workloads[0].train.checkpoint", ""}}},
      {"storage.capacity", "superpod-h100", {{"storage[0].capacity", "11 TB"}}},
      {"storage.small-files",
       "av-vision",
       {{"workloads[0].train.dataset.format", "files"},
        {"storage[0].metadata.creates", "8500 /s"}}},
      {"storage.starving", "av-vision", {{"workloads[0].train.dataset.loader_cores", "1"}}},
      {"facility.rack-above-cooling", "superpod-h100", {{"site.cooling", "air-contained"}}},
      {"facility.power-above-site", "superpod-h100", {{"site.power", "1.4 MW"}}},
      {"facility.rack-positions", "superpod-h100", {{"site.racks", "20"}}},
      {"facility.residual-air",
       "superpod-h100",
       {{"fleet[0].nodes_per_rack", "8"}, {"site.rack", "100 kW"}}},
      {"policy.residency", "superpod-h100", {{"workloads[0].train.residency", "deu"}}},
      {"policy.export-control", "superpod-h100", {{"site.region", "chn"}}},
      {"policy.air-gap",
       "superpod-h100",
       {{"site.air_gapped", "true"}, {"workloads[0].train.external", "[hugging-face-hub]"}}},
      {"policy.encryption-at-rest",
       "superpod-h100",
       {{"workloads[0].train.encrypt_at_rest", "true"}}},
      {"policy.encryption-in-transit",
       "superpod-h100",
       {{"workloads[0].train.encrypt_in_transit", "true"}}},
      {"policy.tenant-isolation", "superpod-h100", {{"workloads[0].train.isolate_tenant", "true"}}},
      {"serving.engine-retired", "superpod-h100", {{"workloads[1].serve.engine", "tgi"}}},
  };
  return *all;
}

std::vector<std::string> rule_ids() {
  std::vector<std::string> ids;
  for (const Rule& r : all_rules()) ids.emplace_back(r.id);
  return ids;
}

class EveryRule : public testing::TestWithParam<std::string> {};

TEST_P(EveryRule, fires_alone_and_its_edit_cures_it) {
  const auto found = std::ranges::find(mutations(), GetParam(), &Mutation::rule);
  ASSERT_NE(found, mutations().end()) << "a rule needs a design here that breaks it";
  const Mutation& m = *found;
  const std::string text = text_of(m.name);
  const std::set<std::string> before = rules_in(verdict_of(text, m.name));
  ASSERT_FALSE(before.contains(m.rule));

  const Verdict broken = verdict_of(apply_edits(text, m.edits), m.name);
  std::set<std::string> expected = before;
  expected.insert(m.rule);
  EXPECT_EQ(rules_in(broken), expected);

  std::vector<TextEdit> cured = m.edits;
  for (const Finding& f : broken.findings) {
    if (f.rule != m.rule) continue;
    EXPECT_FALSE(f.what.empty());
    EXPECT_FALSE(f.why.empty());
    EXPECT_FALSE(f.fix.empty());
    EXPECT_GT(f.place.line, 0) << "a finding points into the file";
    if (f.edit) cured.push_back({f.edit->path, f.edit->value});
  }
  if (cured.size() == m.edits.size()) return;
  EXPECT_EQ(rules_in(verdict_of(apply_edits(text, cured), m.name)), before);
}

INSTANTIATE_TEST_SUITE_P(rules, EveryRule, testing::ValuesIn(rule_ids()));

}  // namespace
}  // namespace orrery
