#include "model/jobs/serving_choices.h"

#include <gtest/gtest.h>

#include "model/machine/known_fixture.h"

namespace orrery::jobs {
namespace {

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

TEST(ServingChoices, MoreAcceleratorsServeNoFewerUsersAndTighterBoundsNoMore) {
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
TEST(ServingChoices, ARateThatFitsNeedsNoMore) {
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
TEST(ServingChoices, TheShareOfPrefillFollowsTheLengths) {
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

}  // namespace
}  // namespace orrery::jobs
