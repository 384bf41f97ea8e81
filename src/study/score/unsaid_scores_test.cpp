// What rows, settings, fits and scores are where nobody says otherwise.
#include <gtest/gtest.h>

#include "study/score/calibrate.h"
#include "study/score/collectives_score.h"
#include "study/score/offline_score.h"
#include "study/score/score.h"
#include "study/score/serving_refit.h"
#include "study/score/serving_rows.h"
#include "study/score/serving_tests.h"
#include "study/score/serving_unsaid.h"
#include "study/score/storage_compare.h"
#include "study/score/storage_probe.h"
#include "study/score/training_fit.h"

namespace orrery::score {
namespace {

TEST(UnsaidScores, of_rows) {
  EXPECT_TRUE(ScoredRow{}.counts);
  EXPECT_TRUE(SkippedRow{}.counts);
  EXPECT_TRUE(CollectiveRow{}.counts);
  EXPECT_EQ(CollectiveRow{}.algorithm, fabric::CollectiveAlgorithm::automatic);
  EXPECT_EQ(NicText{}.count, 0);
  EXPECT_TRUE(TrainingRow{}.counts);
  EXPECT_TRUE(TrainingRow{}.layout_published);
  EXPECT_EQ(OfflineRow{}.requests, 0);
  EXPECT_EQ(OfflineRow{}.devices, 1);
  const ServedRow served;
  EXPECT_EQ(served.tpot, 0);
  EXPECT_EQ(served.ttft, 0);
  EXPECT_EQ(served.requests, 0);
  EXPECT_FALSE(served.apart);
  EXPECT_FALSE(ServedApart{}.guessed);
}

TEST(UnsaidScores, of_summaries) {
  const ScoreSummary s;
  EXPECT_EQ(s.scored, 0);
  EXPECT_EQ(s.median_ape, 0);
  EXPECT_EQ(s.mean_ape, 0);
  EXPECT_EQ(s.p90_ape, 0);
  EXPECT_EQ(s.coverage, 0);
  EXPECT_EQ(Score{}.rows, 0);
  const CalibrationReport r;
  EXPECT_EQ(r.rows, 0);
  EXPECT_EQ(r.used, 0);
  EXPECT_EQ(r.sustained, 0);
  EXPECT_EQ(r.sustained_time_error, 0);
  EXPECT_EQ(r.sustained_watts_error, 0);
  EXPECT_EQ(CalibrationPart{}.median_before, 0);
}

TEST(UnsaidScores, of_settings_and_probes) {
  const TestRole role;
  EXPECT_EQ(role.replicas, 1);
  EXPECT_EQ(role.devices, 1);
  EXPECT_EQ(role.ep, 1);
  EXPECT_FALSE(role.by_rank);
  EXPECT_EQ(TestSetting{}.guesses, 0);
  EXPECT_EQ(TestSetting{}.decode_batch, 0);
  const TestAsk ask;
  EXPECT_EQ(ask.input + ask.output + ask.clients, 0);
  EXPECT_EQ(ask.prefill_replicas + ask.decode_replicas, 0);
  EXPECT_EQ(ask.prefill_devices, 1);
  EXPECT_EQ(ask.prefill_ep, 1);
  EXPECT_EQ(ask.decode_devices, 1);
  const UnsaidAsk unsaid;
  EXPECT_EQ(unsaid.prefill_devices, 1);
  EXPECT_EQ(unsaid.decode_devices, 1);
  EXPECT_FALSE(unsaid.goes_on || unsaid.guessed);
  const MeasuredFigure f;
  EXPECT_EQ(f.value, 0);
  EXPECT_EQ(f.low, 0);
  EXPECT_EQ(f.high, 0);
  EXPECT_EQ(StorageProbe{}.streams, 4);
  EXPECT_FALSE(TierCalibrationOptions{}.whole_tier);
  EXPECT_EQ(StorageComparison{}.unit, figures::Unit::bytes_per_s);
}

TEST(UnsaidScores, of_fits) {
  const TrainingFitParameter p;
  EXPECT_EQ(p.subject, FitSubject::framework);
  EXPECT_EQ(p.prior, 1);
  EXPECT_EQ(p.width, 0.2);
  EXPECT_EQ(p.least, 0);
  EXPECT_EQ(p.most, 0);
  EXPECT_EQ(p.apart, 1);
  const FitOptions o;
  EXPECT_EQ(o.rounds, 10);
  EXPECT_EQ(o.probe, 0.01);
  EXPECT_EQ(o.first_damping, 0.05);
  EXPECT_EQ(o.largest_step, 0.5);
  EXPECT_EQ(o.enough, 1e-4);
  EXPECT_EQ(o.knee, 0.08);
  EXPECT_FALSE(o.with_told);
}

}  // namespace
}  // namespace orrery::score
