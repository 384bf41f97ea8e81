#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/text.h"
#include "model/jobs/retrieval.h"
#include "plan/review/cascade_view.h"
#include "plan/review/lab_fixture.h"
#include "plan/rules/edits.h"
#include "plan/rules/findings_fixture.h"

namespace orrery::rules {
namespace {

review::Review retrieving(const std::string& retrieval,
                          std::vector<design_text::Change> more = {}) {
  more.push_back({"workloads[0].serve.retrieval", retrieval});
  return review::edited_review("inference-pod", more);
}

// 75 requests per second, twice that at peak, 200 reads each: 30,000 of 32 kB are 0.96 GB/s.
TEST(RulesLoads, retrieval_reads_above_the_tiers_rate) {
  const std::string reads =
      "{ tier: hot, index: 2 TB, reads: 200, read_size: 32 kB, read_p99: 1 ms }";
  const review::Review r = retrieving(reads, {{"storage[0].read", "1 GB/s"}});
  const Finding f = only_finding(r, "serving.retrieval-reads");
  EXPECT_THAT(numbers_in(f.what), testing::ElementsAre("30000", "31200"));
  // 0.96 / 0.8 * 1.01.
  EXPECT_EQ(edit_of(f), "storage[0].read = " + at_least(gbytes_per_s(1.212)));
  EXPECT_EQ(f.place.line, place_of(r.design(), "workloads[0].serve.retrieval.reads").line);
  EXPECT_TRUE(
      findings_by(retrieving(reads, {{"storage[0].read", "1.21 GB/s"}}), "serving.retrieval-reads")
          .empty());
}

// If the reads of the 48 drives are the limit, the edit buys servers.
TEST(RulesLoads, retrieval_reads_above_the_drives_rate) {
  const review::Review probe = retrieving("{ tier: hot, index: 2 TB, reads: 1, read_size: 512 B }");
  const auto ask = jobs::retrieval_of(*probe.machine, *probe.serves[0].serve, probe.fleets()[design::FleetIndex(0)]);
  ASSERT_TRUE(ask && !ask->by_rate);
  const double reads = std::floor(ask->gives / ask->asked * 0.9);
  const review::Review r = retrieving("{ tier: hot, index: 2 TB, reads: " + significant(reads, 9) +
                                      ", read_size: 512 B }");
  const Finding f = only_finding(r, "serving.retrieval-reads");
  // Nine tenths of what four servers deliver, of which eight tenths are allowed: 4 * 0.9 / 0.8 *
  // 1.01 = 4.5.
  EXPECT_EQ(edit_of(f), "storage[0].servers = 5");
}

TEST(RulesLoads, retrieval_takes_half_of_the_ttft_objective) {
  review::Review r = retrieving("{ tier: hot, index: 2 TB, reads: 8, hops: 4, read_p99: 1 ms }");
  r.serves[0].request.before_p99 = milliseconds(500);
  EXPECT_TRUE(findings_by(r, "serving.retrieval-tail").empty()) << "of one second";
  r.serves[0].request.before_p99 = milliseconds(510);
  expect_finding(r, only_finding(r, "serving.retrieval-tail"), "workloads[0].serve.retrieval");
  r.serves[0].fleet = nullptr;
  EXPECT_TRUE(findings_by(r, "serving.retrieval-tail").empty());
}

TEST(RulesLoads, quality_without_a_source) {
  const review::Review r =
      review::edited_review("inference-pod", {{"workloads[0].serve.quality", "0.8"}});
  expect_finding(r, only_finding(r, "serving.quality-source"), "workloads[0].serve.quality");
  const review::Review said = review::edited_review(
      "inference-pod",
      {{"workloads[0].serve.quality", "0.8"}, {"workloads[0].serve.quality_source", "MT"}});
  EXPECT_TRUE(findings_by(said, "serving.quality-source").empty());
}

TEST(RulesLoads, batch_model_that_does_not_fit) {
  review::Review r = review::lab_review("fraud-cpu");
  EXPECT_TRUE(findings_by(r, "workload.inference").empty());
  r.batches[0].infeasible = "too large";
  expect_finding(r, only_finding(r, "workload.inference"), "workloads[0].batch.inference");
}

// A small model that passes 0.55 of its answers on to one of equal size.
TEST(RulesLoads, cascade_costs_more_than_the_larger_model) {
  const auto cascade = [](const char* share) {
    const std::string rest =
        "model: llama-3-70b, precision: fp8, kv_precision: fp8, tp: 4, objective: { ttft_p99: 1 s, "
        "tpot_p99: 60 ms }, arrivals: { rate: ";
    return review::edited_review(
        "inference-pod",
        {{"workloads", "[{ serve: { name: small, " + rest +
                           "48 /s, trace: chat }, escalate: { service: large, share: " + share +
                           " } } }, { serve: { name: large, " + rest +
                           "0 /s, trace: chat } } }]"}});
  };
  const review::Review r = cascade("0.55");
  const auto c = review::view_cascade(r, r.serves[0]);
  ASSERT_TRUE(c);
  const Finding f = only_finding(r, "serving.cascade");
  EXPECT_EQ(numbers_in(f.what), (std::vector<std::string>{significant(c->usd * 1e3, 3),
                                                          significant(c->usd_alone * 1e3, 3)}));
  EXPECT_EQ(f.place.line, place_of(r.design(), "workloads[0].serve.escalate").line);
  EXPECT_NEAR(c->usd, c->usd_here + 0.55 * c->usd_large, 1e-9 * c->usd);
}

}  // namespace
}  // namespace orrery::rules
