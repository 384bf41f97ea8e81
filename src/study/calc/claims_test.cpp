#include "study/calc/claims.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/catalog/embedded.h"
#include "model/machine/known_fixture.h"
#include "study/calc/claim_trial.h"

namespace orrery::calc {
namespace {

// Computed once: some claims predict training steps and serving replicas.
const std::vector<ClaimCheck>& checks() {
  static const std::vector<ClaimCheck> all = check_claims(machine::known()).value();
  return all;
}

const ClaimCheck& check(std::string_view id) {
  for (const ClaimCheck& c : checks()) {
    if (c.claim.id == id) return c;
  }
  ADD_FAILURE() << "no claim " << id;
  return checks().front();
}

double beside(const ClaimCheck& c, std::string_view label) {
  for (const figures::Number& f : c.finding.beside) {
    if (f.label == label) return f.estimate.value;
  }
  ADD_FAILURE() << c.claim.id << " shows no '" << label << "'";
  return 0;
}

TEST(Claims, HaveTheVerdictsRecorded) {
  EXPECT_EQ(checks().size(), 56u);
  for (const ClaimCheck& c : checks()) {
    EXPECT_EQ(c.verdict, c.claim.recorded)
        << c.claim.id << " was '" << to_text(c.claim.recorded)
        << "' in data/claims.csv and is now '" << to_text(c.verdict) << "': " << c.statement;
  }
}

TEST(Claims, SayWhatWasTriedAndWhereItCameFrom) {
  for (const ClaimCheck& c : checks()) {
    SCOPED_TRACE(c.claim.id);
    EXPECT_FALSE(c.finding.cases.empty());
    EXPECT_FALSE(c.statement.empty());
    EXPECT_FALSE(c.finding.criterion.text.empty());
    std::set<std::string> ids;
    const auto look = [&](const figures::Number& f) {
      EXPECT_TRUE(ids.insert(f.id).second) << f.id << " twice";
      EXPECT_FALSE(f.estimate.reference.empty()) << f.label;
      EXPECT_TRUE(std::isfinite(f.estimate.value)) << f.label;
    };
    for (const ClaimCase& k : c.finding.cases) look(k.figure);
    for (const figures::Number& f : c.finding.beside) look(f);
  }
}

TEST(Claims, FollowTheCatalogAndNotAList) {
  auto changed = std::make_shared<catalog::Knowledge>(*machine::known().knowledge);
  for (catalog::Accelerator& a : changed->catalog.accelerators) {
    if (a.id == "h100-sxm") a.memory_bandwidth = gbytes_per_s(2500);
    if (a.id == "mi300x") a.memory = gigabytes(128);
  }
  for (catalog::ServingEngine& e : changed->catalog.engines) {
    if (e.id == "tgi") e.status = catalog::EngineStatus::active;
  }
  machine::Models models = machine::known();
  models.knowledge = changed;
  const auto checks = check_claims(models);
  ASSERT_TRUE(checks.has_value());
  for (const ClaimCheck& c : *checks) {
    if (c.claim.id == "hbm-h100" || c.claim.id == "mi300x-hbm") {
      EXPECT_EQ(c.verdict, ClaimVerdict::wrong) << c.claim.id;
    }
    if (c.claim.id == "tgi") {
      EXPECT_EQ(c.verdict, ClaimVerdict::holds_only_if);
    }
  }
}

TEST(Claims, VerdictIsAllSomeOrNone) {
  ClaimFinding f{.criterion = about(100, figures::Unit::count)};
  try_case(f, "near", exact(104, Basis::derived, "test"));
  EXPECT_EQ(verdict_of(f), ClaimVerdict::holds);
  try_case(f, "far", exact(106, Basis::derived, "test"));
  EXPECT_EQ(verdict_of(f), ClaimVerdict::holds_only_if);
  f.cases.erase(f.cases.begin());
  EXPECT_EQ(verdict_of(f), ClaimVerdict::wrong);
  f.cases.clear();
  EXPECT_EQ(verdict_of(f), ClaimVerdict::wrong);
}

// The shipped ledger with one text of it changed.
std::string ledger_fault(std::string_view from, const std::string& to) {
  std::vector<catalog::EmbeddedFile> files(catalog::embedded_files().begin(),
                                           catalog::embedded_files().end());
  std::string text;
  for (catalog::EmbeddedFile& file : files) {
    if (file.path != "claims.csv") continue;
    text = file.text;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    file.text = text;
  }
  machine::Models models = machine::known();
  models.knowledge = std::make_shared<catalog::Knowledge>(load_knowledge(files).value());
  const auto checks = check_claims(models);
  return checks ? "" : checks.error().front().code;
}

TEST(Claims, ALedgerAndItsChecksNameTheSameClaims) {
  EXPECT_EQ(ledger_fault("hbm-h100", "hbm-h100"), "");
  EXPECT_EQ(ledger_fault("hbm-h100", "hbm-h101"), "claims.unknown");
  EXPECT_EQ(ledger_fault("\nhbm-h100", "\nnobody,asks,1,x,y,holds\nhbm-h100"), "claims.unchecked");
  EXPECT_EQ(ledger_fault(",holds", ",perhaps"), "claims.verdict");
}

// 3.79 failures per 1,000 node-days of 8 GPUs (arXiv 2407.21783): 1000 / (3.79 x 7) = 37.7 nodes.
TEST(Claims, FailuresTurnWeeklyAt302Gpus) {
  EXPECT_EQ(beside(check("failures-weekly"), "GPUs at which a failure a week is the mean"), 302);
  EXPECT_EQ(beside(check("failures-weekly"), "and a failure a day"), 2111);
}

// 887.74 / (327.65 x 3): the published rows, 30 data nodes against 10.
TEST(Claims, ThirtyStorageNodesReachNineTenthsOfLinear) {
  const ClaimCheck& c = check("scale-linear");
  ASSERT_EQ(c.finding.cases.size(), 3u);
  EXPECT_NEAR(c.finding.cases[2].figure.estimate.value, 0.903, 0.001);
  EXPECT_TRUE(c.finding.cases[0].meets);
  EXPECT_FALSE(c.finding.cases[2].meets);
}

// 32 GT/s x 16 x 128/130 / 8 = 63.0 GB/s.
TEST(Claims, PcieIsTheLinkNotTheCopy) {
  const ClaimCheck& c = check("pcie5");
  EXPECT_NEAR(c.finding.cases[0].figure.estimate.value, 63.0e9, 0.05e9);
  EXPECT_FALSE(c.finding.cases[1].meets);
}

}  // namespace
}  // namespace orrery::calc
