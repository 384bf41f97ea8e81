#include "output/report/explain_report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "core/base/csv.h"
#include "core/base/text.h"
#include "model/machine/known_fixture.h"
#include "output/report/calculation_report.h"
#include "output/report/claims_report.h"
#include "output/report/document_fixture.h"
#include "output/report/layout_report.h"
#include "output/report/page_fixture.h"
#include "output/report/rank_report.h"
#include "output/report/run_diff.h"
#include "output/report/run_report.h"
#include "output/report/verdict_fixture.h"
#include "output/report/verdict_report.h"

namespace orrery::report {
namespace {

using ::testing::ElementsAre;
using Json = nlohmann::json;

TEST(ExplainReport, the_page_in_docs_is_current) {
  expect_page("docs/guide/glossary.md",
              to_markdown(document_of(read_glossary(*machine::known().knowledge).value())));
}

TEST(ExplainReport, abbreviations_are_unique) {
  std::set<std::string> words;
  const auto entries = read_glossary(*machine::known().knowledge);
  ASSERT_TRUE(entries.has_value());
  for (const GlossaryEntry& e : *entries) {
    EXPECT_TRUE(words.insert(e.word).second) << e.word << " twice";
    EXPECT_FALSE(e.meaning.empty()) << e.word;
  }
  for (const GlossaryEntry& e : *entries) {
    for (const std::string& w : e.avoided) {
      EXPECT_TRUE(words.insert(w).second) << w << " means " << e.word << " and something else";
    }
  }
  for (const char* word :
       {"tp", "pp", "dp", "ep", "cp", "vp", "mbs", "nic", "mtbf", "MFU", "PUE"}) {
    EXPECT_TRUE(words.contains(word)) << word;
  }
}

TEST(ExplainReport, figures_are_found_by_id_layer_or_both) {
  verdict::Verdict v;
  v.sections.push_back({.layer = figures::Layer::training, .name = "a"});
  v.sections.back().figures.push_back({.kind = figures::FigureId::step_time, .estimate = {}});
  v.sections.push_back({.layer = figures::Layer::storage, .name = ""});
  v.sections.back().figures.push_back({.kind = figures::FigureId::stall, .estimate = {}});
  EXPECT_EQ(figures_named(v, "").size(), 2u);
  EXPECT_EQ(figures_named(v, "stall").size(), 1u);
  EXPECT_EQ(figures_named(v, "training").size(), 1u);
  ASSERT_EQ(figures_named(v, "storage.stall").size(), 1u);
  EXPECT_EQ(figures_named(v, "storage.stall").front().path(), "storage.stall");
  EXPECT_TRUE(figures_named(v, "training.stall").empty());
}

TEST(ExplainReport, json_of_rules_and_glossary) {
  const std::vector<GlossaryEntry> words = {{"tp", "tensor parallelism", "split", {}},
                                            {"rail", "", "switches", {}}};
  const std::vector<rules::Rule> rules = {
      {"a.b", figures::Layer::storage, Severity::warning, "must hold", "a book", nullptr},
      {"c.d", figures::Layer::cost, Severity::error, "also", "a page", nullptr}};
  const Json j = Json::parse(json_of(std::span<const rules::Rule>(rules)));
  EXPECT_EQ(j["kind"], "rules");
  EXPECT_EQ(j["schema_version"], 1);
  EXPECT_EQ(j["rules"][1]["id"], "c.d");
  EXPECT_EQ(j["rules"][1]["layer"], "cost");
  EXPECT_EQ(j["rules"][0]["severity"], "warning");
  EXPECT_EQ(j["rules"][0]["summary"], "must hold");
  EXPECT_EQ(j["rules"][0]["source"], "a book");
  const Json g = Json::parse(json_of(std::span<const GlossaryEntry>(words)));
  EXPECT_EQ(g["kind"], "glossary");
  EXPECT_EQ(g["words"][0]["stands_for"], "tensor parallelism");
  EXPECT_EQ(g["words"][1]["meaning"], "switches");
}

TEST(ExplainReport, json_of_storage_profiles) {
  const catalog::Catalog& catalog = machine::known().catalog();
  const std::span<const catalog::StorageProfile> all = catalog.storage_profiles;
  ASSERT_GE(all.size(), 2U);
  const auto one = lines_of(document_of(all[0], catalog));
  const Json j = Json::parse(json_of(all, catalog));
  EXPECT_EQ(j["schema_version"], 1);
  EXPECT_EQ(j["kind"], "profiles");
  ASSERT_EQ(j["profiles"].size(), all.size());
  const Json& p = j["profiles"][0];
  EXPECT_EQ(p["id"], all[0].id);
  EXPECT_EQ(p["title"], all[0].title);
  EXPECT_EQ(p["why"], all[0].why);
  EXPECT_EQ(p["source"], all[0].provenance.reference);
  EXPECT_FALSE(p["settings"].empty());
  for (const auto& [key, value] : p["settings"].items()) {
    EXPECT_THAT(one, testing::Contains("  " + key + " | " + value.get<std::string>()));
  }
}

TEST(ExplainReport, json_of_a_figure_has_section_and_interval) {
  const verdict::Verdict v = example_verdict();
  const auto mfu = figures_named(v, "mfu");
  const Json j = Json::parse(json_of(mfu));
  EXPECT_EQ(j["figures"][0]["section"], "pre|train");
  EXPECT_EQ(j["figures"][0]["figure"]["mfu_ratio"]["low"], 0.2);
}

// Suggestions contain every name once, even if several figures share it.
TEST(ExplainReport, suggested_names_are_unique) {
  verdict::Verdict v = example_verdict();
  v.sections.push_back(v.sections[0]);
  EXPECT_THAT(
      figure_names(v),
      testing::ElementsAre("annual", "cost", "cost.annual", "facility", "facility.pue", "mfu",
                           "pue", "run_time", "training", "training.mfu", "training.run_time"));
}

}  // namespace
}  // namespace orrery::report
