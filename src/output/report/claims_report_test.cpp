// docs/claims.md and docs/guide/glossary.md are what the tool prints; UPDATE_GOLDEN=1 rewrites
// them.
#include "output/report/claims_report.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "model/machine/known_fixture.h"
#include "output/report/explain_report.h"

namespace orrery::report {
namespace {

std::string page(const std::string& path) {
  std::ifstream in(std::string(ORRERY_SOURCE_DIR) + "/" + path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void expect_page(const std::string& path, const std::string& printed) {
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(std::string(ORRERY_SOURCE_DIR) + "/" + path, std::ios::binary) << printed;
    return;
  }
  EXPECT_TRUE(page(path) == printed)
      << path
      << " is not what the tool prints; UPDATE_GOLDEN=1 rewrites it, to be reviewed as a diff";
}

std::vector<calc::ClaimCheck> checks() { return calc::check_claims(machine::known()).value(); }

TEST(ClaimsReport, PageIsWhatTheToolPrints) {
  expect_page("docs/claims.md", to_markdown(document_of(checks(), ClaimsView{.details = true})));
}

TEST(ClaimsReport, TextNamesEveryClaimAndItsVerdict) {
  const std::vector<calc::ClaimCheck> all = checks();
  const std::string text = to_text(document_of(all));
  for (const calc::ClaimCheck& c : all) {
    EXPECT_NE(text.find("- " + c.claim.id + " ("), std::string::npos) << c.claim.id;
  }
  const std::string one = to_markdown(document_of(all.front()));
  EXPECT_NE(one.find("hbm-a100: holds"), std::string::npos);
  EXPECT_NE(one.find("within 5 % of 2 TB/s"), std::string::npos);
}

TEST(Glossary, PageIsWhatTheToolPrints) {
  expect_page("docs/guide/glossary.md",
              to_markdown(document_of(read_glossary(*machine::known().knowledge).value())));
}

TEST(Glossary, HasTheShortWordsOnce) {
  std::set<std::string> words;
  const auto entries = read_glossary(*machine::known().knowledge);
  ASSERT_TRUE(entries.has_value());
  for (const GlossaryEntry& e : *entries) {
    EXPECT_TRUE(words.insert(e.word).second) << e.word << " twice";
    EXPECT_FALSE(e.meaning.empty()) << e.word;
  }
  for (const char* word :
       {"tp", "pp", "dp", "ep", "cp", "vp", "mbs", "nic", "mtbf", "MFU", "PUE"}) {
    EXPECT_TRUE(words.contains(word)) << word;
  }
}

TEST(ExplainReport, FindsFiguresByIdLayerAndBoth) {
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

}  // namespace
}  // namespace orrery::report
