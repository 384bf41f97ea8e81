// Questions at their edges: what adapters refuse, digits of large counts, what is assumed.
#include <gtest/gtest.h>

#include "model/machine/known_fixture.h"
#include "study/calc/calculators.h"

namespace orrery::calc {
namespace {

Result<Calculation> edge_answer(const char* question, const CalcTexts& given) {
  return calculate(*find_calculator(question), given, machine::known());
}

TEST(CalcEdges, AdaptersAreServedJoined) {
  const auto refused = edge_answer("serve", {{"model", "llama-3-8b"},
                                             {"gpus", "1"},
                                             {"adapters", "20"},
                                             {"dtype", "bf16"},
                                             {"engine", "vllm"},
                                             {"roles", "apart"}});
  ASSERT_FALSE(refused);
  ASSERT_EQ(refused.error().size(), 1U);
  EXPECT_EQ(refused.error()[0].code, "usage.value");
  EXPECT_EQ(refused.error()[0].what, "--roles is 'apart'");
  EXPECT_EQ(refused.error()[0].why,
            "expected any or joined beside --adapters: apart they are not modelled");
}

TEST(CalcEdges, SlicesAreServedJoinedAndAlone) {
  const CalcTexts given{{"model", "llama-3-8b"}, {"slice", "3g.40gb"}, {"gpus", "1"}};
  CalcTexts apart = given;
  apart["roles"] = "apart";
  const auto roles = edge_answer("serve", apart);
  ASSERT_FALSE(roles);
  EXPECT_EQ(roles.error()[0].why,
            "expected any or joined beside --slice, which has no port to send keys through");
  CalcTexts wide = given;
  wide["tp"] = "2";
  const auto tp = edge_answer("serve", wide);
  ASSERT_FALSE(tp);
  EXPECT_EQ(tp.error()[0].why, "expected 1 or nothing beside --slice: no link joins slices");
  CalcTexts other = given;
  other["slice"] = "9g.900gb";
  const auto none = edge_answer("serve", other);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error()[0].why,
            "expected one of h100-sxm's: 1g.10gb, 1g.20gb, 2g.20gb, 3g.40gb, 4g.40gb, 7g.80gb");
  other["accelerator"] = "mi300x";
  EXPECT_EQ(edge_answer("serve", other).error()[0].why, "expected left out: mi300x has no slices");
}

TEST(CalcEdges, WhatIsWrongIsSaidWordForWord) {
  const auto fault = [](const char* question, const CalcTexts& given) {
    const auto answer = edge_answer(question, given);
    if (answer) return std::string("answered");
    return answer.error()[0].what + " | " + answer.error()[0].why + " | " + answer.error()[0].fix;
  };
  EXPECT_EQ(fault("checkpoint", {{"params", "0"}}),
            "--params is '0' | expected a number above zero, such as 1024, 70B or 2T | ");
  EXPECT_EQ(fault("memory", {{"gpus", "1.5"}}),
            "--gpus is '1.5' | expected a whole number of at most ten million | ");
  EXPECT_EQ(fault("power", {{"matrix", "1.01"}}),
            "--matrix is '1.01' | expected a share from 0 to 1 | ");
  EXPECT_EQ(fault("collective", {{"roce", "yes"}}), "--roce is 'yes' | expected true or false | ");
  EXPECT_EQ(fault("kv-cache", {{"dtype", "fp2"}}),
            "--dtype is 'fp2' | expected one of bf16, fp16, fp8, int8, fp4 | ");
  EXPECT_EQ(fault("checkpoint", {{"model", "llama-3-70"}}),
            "--model names 'llama-3-70', which the catalog does not have |  | did you mean "
            "'llama-3-70b'?");
  EXPECT_EQ(fault("power", {{"node", "zzzzzzzzzzzz"}}),
            "--node names 'zzzzzzzzzzzz', which the catalog does not have |  | `orrery catalog "
            "nodes` lists them");
  EXPECT_EQ(fault("memory", {{"gpus", "8"}, {"tp", "3"}}),
            "8 accelerators do not divide into tp 3 x pp 1 |  | ");
  EXPECT_EQ(fault("memory", {{"gpus", "10000000"}, {"mbs", "11"}}),
            "a step of 110000000 sequences is more than any run has |  | ");
  EXPECT_EQ(fault("tier", {{"device", "floppy"}}),
            "the catalog has no storage device `floppy` | `orrery catalog storage_devices` lists "
            "them | ");
  EXPECT_EQ(fault("serve", {{"ttft", "1 ms"}}),
            "no way to serve llama-3-70b on 8 accelerators of h100-sxm meets this | weights and "
            "one request must fit, and one request must meet both bounds | give more accelerators, "
            "a narrower format or wider bounds");
  EXPECT_EQ(fault("serve", {{"rank", "16"}}),
            "--rank is '16' | expected nothing without --adapters | ");
}

TEST(CalcEdges, DigitsAndAssumptions) {
  const auto spares = edge_answer("spares", {{"nodes", "1234567"}});
  ASSERT_TRUE(spares);
  EXPECT_EQ(spares->question, "How many spares do 1234570 nodes need?");
  EXPECT_EQ(spares->figures.at(0).formula, "1234570 nodes x 1 d / 264 d");
  EXPECT_EQ(spares->assumptions.at(0), "nodes fail one by one; a rack at once needs more");
  const auto tier = edge_answer("tier", {});
  ASSERT_TRUE(tier);
  ASSERT_EQ(tier->assumptions.size(), 3U);
  EXPECT_EQ(tier->assumptions[0],
            "erasure code 8 + 2, filled to 80 %; drives deliver 80 % of their rate");
  EXPECT_EQ(tier->assumptions[1],
            "servers add 30 % to the price of bare drives and half to their power");
  const auto serve = edge_answer("serve", {{"model", "llama-3-8b"}, {"gpus", "1"}});
  ASSERT_TRUE(serve);
  ASSERT_EQ(serve->assumptions.size(), 3U);
  EXPECT_EQ(serve->assumptions[1], "for a rate each replica carries at most 80 % of what it can");
  const auto checkpoint = edge_answer("checkpoint", {});
  EXPECT_EQ(checkpoint->assumptions.at(1),
            "the servers bind: node network, serialisation and metadata are in `orrery plan`");
  EXPECT_EQ(edge_answer("goodput", {})->assumptions.size(), 2U);
  EXPECT_EQ(edge_answer("collective", {})->assumptions.at(1),
            "sizes as nccl-tests counts them; no other traffic");
  EXPECT_EQ(edge_answer("memory", {})->assumptions.at(2),
            "allocated bytes: fragmentation of the allocator comes on top");
  EXPECT_EQ(edge_answer("kv-cache", {})->assumptions.at(1), "no paging loss, no prefix shared");
  EXPECT_EQ(edge_answer("tco", {})->assumptions.at(1),
            "network and storage as shares of the servers' price (catalog tco_params)");
  EXPECT_EQ(edge_answer("durability", {})->assumptions.size(), 3U);
}

}  // namespace
}  // namespace orrery::calc
