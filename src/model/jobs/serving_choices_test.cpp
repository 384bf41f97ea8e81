#include "model/jobs/serving_choices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/workload/model_math.h"
#include "model/design_text/value_reader.h"
#include "model/jobs/predict_serving.h"
#include "model/jobs/service_fixture.h"
#include "model/machine/costs.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/site_load.h"

namespace orrery::jobs {
namespace {

using testing::IsEmpty;

ServingAsk serving_ask() {
  ServingAsk ask;
  ask.model = *machine::known().catalog().model("llama-3-70b");
  ask.accelerator = machine::known().catalog().accelerator("h200-sxm");
  ask.request = {.input = 2048, .output = 512};
  ask.target.ttft_p99 = seconds(2);
  ask.target.tpot_p99 = milliseconds(50);
  ask.engines = {"vllm"};
  ask.formats = {catalog::Dtype::fp8};
  return ask;
}

TEST(ServingChoices, more_accelerators_serve_more_and_tighter_bounds_fewer) {
  const auto four = serving_within(machine::known(), serving_ask(), 4);
  const auto eight = serving_within(machine::known(), serving_ask(), 8);
  ASSERT_FALSE(four.empty());
  ASSERT_FALSE(eight.empty());
  EXPECT_GT(eight.front().users, four.front().users);
  ServingAsk tight = serving_ask();
  tight.target.tpot_p99 = milliseconds(15);
  const auto strict = serving_within(machine::known(), tight, 8);
  ASSERT_FALSE(strict.empty());
  EXPECT_LT(strict.front().users, eight.front().users);
  tight.target.tpot_p99 = milliseconds(1);
  EXPECT_TRUE(serving_within(machine::known(), tight, 8).empty());
}

// What a number of accelerators carries at 80 % needs no more than that number.
TEST(ServingChoices, rate_that_fits_needs_no_more_accelerators) {
  for (const bool apart : {false, true}) {
    ServingAsk ask = serving_ask();
    ask.tp = 2;
    ask.apart = apart;
    ask.joined = !apart;
    const auto within = serving_within(machine::known(), ask, 16);
    ASSERT_FALSE(within.empty());
    EXPECT_EQ(within.front().apart, apart);
    const auto needed = serving_for(machine::known(), ask, within.front().requests * 0.799);
    ASSERT_FALSE(needed.empty());
    EXPECT_LE(needed.front().gpus, 16);
    EXPECT_GE(needed.front().gpus, 12);
  }
}

// Long prompts and short answers want more prefill replicas than short prompts and long answers.
TEST(ServingChoices, share_of_prefill_follows_the_lengths) {
  ServingAsk ask = serving_ask();
  ask.joined = false;
  ask.tp = 1;
  ask.request = {.input = 6000, .output = 64};
  const auto reading = serving_within(machine::known(), ask, 16);
  ask.request = {.input = 128, .output = 1024};
  const auto writing = serving_within(machine::known(), ask, 16);
  ASSERT_FALSE(reading.empty());
  ASSERT_FALSE(writing.empty());
  EXPECT_GT(reading.front().prefill, writing.front().prefill);
}

TEST(ServingChoices, replicas_and_accelerators_are_counted_whole) {
  ServingAsk ask{.model = model_named("llama-3-8b"),
                 .accelerator = machine::known().catalog().accelerator("h100-sxm"),
                 .request = {.input = 1000, .output = 200},
                 .engines = {"vllm"},
                 .formats = {catalog::Dtype::bf16},
                 .tp = 2,
                 .apart = false};
  ask.target.tpot_p99 = milliseconds(40);
  const auto joined = serving_within(machine::known(), ask, 7);
  ASSERT_EQ(joined.size(), 1U);
  EXPECT_EQ(joined[0].replicas, 3) << "seven accelerators, two per replica";
  EXPECT_EQ(joined[0].gpus, 6);
  EXPECT_EQ(joined[0].tp, 2);
  EXPECT_FALSE(joined[0].apart);
  EXPECT_DOUBLE_EQ(joined[0].users, 3 * joined[0].batch);
  EXPECT_THAT(serving_within(machine::known(), ask, 1), IsEmpty());
  // Replicas are loaded to 80 %.
  const PerSecond one = joined[0].requests / 3;
  const auto needed = serving_for(machine::known(), ask, one * (0.8 * 2.5));
  ASSERT_EQ(needed.size(), 1U);
  EXPECT_EQ(needed[0].replicas, 3);
  ask.joined = false;
  ask.apart = true;
  const auto apart = serving_within(machine::known(), ask, 8);
  ASSERT_EQ(apart.size(), 1U);
  EXPECT_TRUE(apart[0].apart);
  EXPECT_EQ(apart[0].replicas, 4);
  EXPECT_GE(apart[0].prefill, 1);
  EXPECT_LE(apart[0].prefill, 3);
  EXPECT_NEAR(apart[0].users,
              apart[0].requests.base() * (apart[0].ttft + apart[0].tpot * 199).base(), 1e-9);
  // The p99 of a step at the largest batch is within the bound.
  const double b = apart[0].batch;
  EXPECT_LE(apart[0].tpot.base() * (1 + 2.326 / std::sqrt(b)), 0.04);
  const auto next = predict_step(machine::known(),
                                 {.model = ask.model,
                                  .accelerator = ask.accelerator,
                                  .split = {.tp = 2},
                                  .precision = {.products = catalog::Dtype::bf16,
                                                .experts = catalog::Dtype::bf16,
                                                .kv = catalog::Dtype::bf16},
                                  .request = ask.request},
                                 {.decoding = b, .context = 1100});
  ASSERT_TRUE(next);
  EXPECT_NEAR(next->step.total.base(), apart[0].tpot.base(), 1e-12);
  EXPECT_THAT(serving_within(machine::known(), ask, 3), IsEmpty())
      << "one replica cannot be split into two roles";
}

ServingAsk ask_apart(double input, double output) {
  return {.model = *machine::known().catalog().model("llama-3-8b"),
          .accelerator = machine::known().catalog().accelerator("h100-sxm"),
          .request = {.input = input, .output = output},
          .engines = {"vllm"},
          .formats = {catalog::Dtype::bf16},
          .tp = 1,
          .joined = false};
}

// The replica of one query, for asking single steps.
struct OneReplica {
  ServingQuery query;
  serving::Replica replica;
  machine::Costs device;

  explicit OneReplica(const ServingAsk& ask)
      : query{.model = ask.model,
              .accelerator = ask.accelerator,
              .engine = "vllm",
              .split = {.tp = ask.tp, .ep = 1},
              .precision = {.products = catalog::Dtype::bf16,
                            .experts = catalog::Dtype::bf16,
                            .kv = catalog::Dtype::bf16},
              .request = ask.request},
        replica(replica_of(machine::known(), query).value()),
        device(serving_costs(machine::known(), query)) {}
  double step(const serving::Iteration& i) const {
    return serving::step_time(replica, i, serving_source(device)).total.base();
  }
  double around() const { return (replica.engine.first_token + replica.tuning.first_token).base(); }
};

// A prompt of 20,000 tokens, a quarter of them cached, in chunks of the token budget. The queue is
// loaded as far as the p99 of the first token allows:
//   ttft - fixed = ln 100 waits prompts,  load = 2 waits / (1 + 2 waits), at most 0.9
TEST(ServingChoices, prefill_is_loaded_up_to_its_ttft_bound) {
  ServingAsk ask = ask_apart(20000, 4);
  ask.request.cached_share = 0.25;
  const OneReplica one(ask);
  const double fresh = 15000;
  const double chunks = std::ceil(fresh / one.replica.limits.token_budget);
  ASSERT_GT(chunks, 1);
  const double prompt =
      chunks * one.step({.prompts = 1,
                         .prompt_tokens = fresh / chunks,
                         .prompt_cached = 5000 + fresh * (chunks - 1) / (2 * chunks)});
  const double moved =
      workload::kv_bytes(ask.model, 20000, catalog::Dtype::bf16) / one.query.nic_rate / seconds(1);
  const double fixed = prompt + moved + one.around();
  const auto at = [&](double ttft) {
    ask.target.ttft_p99 = Seconds(ttft);
    return serving_within(machine::known(), ask, 2);
  };
  const auto open = at(0);
  ASSERT_EQ(open.size(), 1U);
  EXPECT_NEAR(open[0].requests.base(), 0.9 / prompt, 1e-9 / prompt);
  EXPECT_NEAR(open[0].ttft.base(), fixed + prompt * 0.9 / (2 * 0.1), 1e-9 * fixed);
  EXPECT_EQ(open[0].prefill, 1);
  EXPECT_EQ(open[0].replicas, 2);
  EXPECT_EQ(open[0].gpus, 2);
  // A mean wait of half a prompt is a load of one half.
  const auto half = at(fixed + 0.5 * prompt * std::log(100.0));
  ASSERT_EQ(half.size(), 1U);
  EXPECT_NEAR(half[0].requests.base() * prompt, 0.5, 1e-6);
  EXPECT_NEAR(half[0].ttft.base(), fixed + prompt * 0.5, 1e-6 * fixed);
  EXPECT_NEAR(at(fixed + 100 * prompt * 4.605)[0].requests.base() * prompt, 0.9, 1e-9);
  EXPECT_THAT(at(fixed * 0.999), IsEmpty()) << "too tight for an idle replica";
  EXPECT_NEAR(half[0].users, half[0].requests.base() * (half[0].ttft + half[0].tpot * 3).base(),
              1e-9);
}

// The largest batch b whose step time x (1 + 2.326 / sqrt b) is within the TPOT objective.
TEST(ServingChoices, decode_has_the_largest_batch_within_its_tpot_bound) {
  ServingAsk ask = ask_apart(100, 2000);
  ask.request.checked_per_step = 4;
  ask.request.accepted_per_step = 2;
  const OneReplica one(ask);
  const auto token = [&](double b) {
    return one.step({.decoding = b, .context = 1100, .tokens_per_step = 4}) / 2;
  };
  const double most =
      std::floor(std::min(one.replica.memory.requests(1100), one.replica.limits.max_sequences));
  const auto open = serving_within(machine::known(), ask, 4);
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(open[0].batch, most);
  EXPECT_NEAR(open[0].tpot.base(), token(most), 1e-12);
  EXPECT_EQ(open[0].prefill, 1) << "one prefill replica feeds three that decode";
  EXPECT_NEAR(open[0].requests.base(), 3 * most / (2000 * token(most)), 1e-6);
  const double wanted = std::floor(most / 2);
  const auto slow = [&](double b) { return token(b) * (1 + 2.326 / std::sqrt(b)); };
  ask.target.tpot_p99 = Seconds(slow(wanted) * 1.0000001);
  const auto bound = serving_within(machine::known(), ask, 4);
  ASSERT_EQ(bound.size(), 1U);
  EXPECT_LE(slow(bound[0].batch), ask.target.tpot_p99.base());
  EXPECT_GT(slow(bound[0].batch + 1), ask.target.tpot_p99.base());
  ask.target.tpot_p99 = microseconds(1);
  EXPECT_THAT(serving_within(machine::known(), ask, 4), IsEmpty());
}

// Enough replicas of each kind that none is loaded above 80 %; fewest accelerators first.
TEST(ServingChoices, rate_needs_enough_of_each_kind) {
  ServingAsk ask = ask_apart(2000, 200);
  ask.joined = true;
  ask.formats = {catalog::Dtype::bf16, catalog::Dtype::fp8};
  ask.tp = 0;
  ask.most_tp = 2;
  const PerSecond rate(300);
  const auto needed = serving_for(machine::known(), ask, rate);
  ASSERT_EQ(needed.size(), 8U) << "two formats, two splits, joined or apart";
  EXPECT_TRUE(std::ranges::is_sorted(needed, {}, &ServingChoice::gpus));
  for (const ServingChoice& c : needed) {
    EXPECT_EQ(c.gpus, c.replicas * c.tp);
    EXPECT_GE(c.requests * 0.8, rate * (1 - 1e-9)) << "20 % headroom";
    EXPECT_EQ(c.engine, "vllm");
    EXPECT_GT(c.error, 0);
    if (c.apart) {
      EXPECT_GE(c.prefill, 1);
      EXPECT_LT(c.prefill, c.replicas);
    } else {
      EXPECT_LT(c.requests * 0.8 * ((c.replicas - 1) / c.replicas), rate)
          << "one replica fewer would not do";
      EXPECT_EQ(c.prefill, 0);
      EXPECT_DOUBLE_EQ(c.users, c.batch * c.replicas);
    }
  }
  EXPECT_EQ(std::ranges::count(needed, catalog::Dtype::fp8, &ServingChoice::format), 4);
  EXPECT_EQ(std::ranges::count(needed, 2, &ServingChoice::tp), 4);
  ask.apart = false;
  EXPECT_EQ(serving_for(machine::known(), ask, rate).size(), 4U);
  const auto within = serving_within(machine::known(), ask, 8);
  ASSERT_EQ(within.size(), 4U);
  EXPECT_TRUE(std::ranges::is_sorted(within, std::greater{}, &ServingChoice::users));
  for (const ServingChoice& c : within) EXPECT_EQ(c.replicas, 8 / c.tp);
  ask.tp = 4;
  EXPECT_EQ(serving_within(machine::known(), ask, 8).size(), 2U) << "only the requested split";
  EXPECT_EQ(serving_within(machine::known(), ask, 8)[0].tp, 4);
}

TEST(ServingChoices, choices_that_miss_their_bound_are_not_offered) {
  ServingAsk ask{.model = *machine::known().catalog().model("llama-3-8b"),
                 .accelerator = machine::known().catalog().accelerator("h100-sxm"),
                 .request = {.input = 10, .output = 50},
                 .engines = {"vllm"},
                 .formats = {catalog::Dtype::bf16},
                 .tp = 1};
  ask.target.ttft_p99 = microseconds(1);
  EXPECT_THAT(serving_for(machine::known(), ask, PerSecond(1)), IsEmpty());
  EXPECT_THAT(serving_within(machine::known(), ask, 8), IsEmpty());
  ask.target = {};
  ask.joined = false;
  // Replicas that carry less than one request per second are counted like others.
  ask.request = {.input = 100000, .output = 4};
  const auto reading = serving_for(machine::known(), ask, PerSecond(2));
  ASSERT_EQ(reading.size(), 1U);
  EXPECT_GT(reading[0].prefill, 2);
  ask.request = {.input = 50000, .output = 50000};
  const auto writing = serving_for(machine::known(), ask, PerSecond(2));
  ASSERT_EQ(writing.size(), 1U);
  EXPECT_GT(writing[0].replicas - writing[0].prefill, 2);
}

TEST(ServingChoices, choices_on_slices_count_whole_accelerators) {
  const AskedDevice cut = ask_device("node: dgx-h200, mig: { 3g.71gb: 2 }");
  ServingAsk asked{.model = cut.query.model,
                   .accelerator = cut.query.accelerator,
                   .slice = cut.query.slice,
                   .request = cut.query.request,
                   .target = {.ttft_p99 = seconds(2), .tpot_p99 = milliseconds(80)},
                   .engines = {"vllm"},
                   .formats = {catalog::Dtype::bf16},
                   .apart = false};
  const auto within = serving_within(machine::known(), asked, 3);
  ASSERT_EQ(within.size(), 1u);
  EXPECT_EQ(within[0].replicas, 6);
  EXPECT_EQ(within[0].gpus, 3);
  const auto needed = serving_for(machine::known(), asked, within[0].requests * 0.4);
  ASSERT_EQ(needed.size(), 1u);
  EXPECT_EQ(needed[0].gpus, static_cast<int>(std::ceil(needed[0].replicas / 2)));
}

}  // namespace
}  // namespace orrery::jobs
