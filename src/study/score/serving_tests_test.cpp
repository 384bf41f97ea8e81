#include "study/score/serving_tests.h"

#include <gtest/gtest.h>

#include "model/machine/known_fixture.h"
#include "study/score/serving_rows.h"

namespace orrery::score {
namespace {

constexpr std::string_view kTests =
    "accelerator,engine,model,precision,isl,osl,prefill_replicas,prefill_devices,prefill_ep,"
    "prefill_dp,decode_replicas,decode_devices,decode_ep,decode_dp,guesses,decode_batch,clients,"
    "since,until,set\n"
    "gb200,trtllm,DeepSeek,fp4,1024,1024,1,4,4,1,4,8,8,0,3,8,4 8 12,2026-01-01,2026-02-01,\n"
    "gb200,trtllm,DeepSeek,fp4,1024,1024,1,4,4,1,4,8,8,0,0,32,8 16,2026-01-01,2026-02-01,\n"
    "gb200,trtllm,DeepSeek,fp4,1024,1024,1,4,4,1,5,8,8,0,0,0,12,2026-02-01,,\n"
    "h200-sxm,sglang,DeepSeek,fp8,1024,1024,1,8,8,0,3,8,8,0,0,0,4 16,2026-01-01,,\n"
    "h200-sxm,sglang,DeepSeek,fp8,1024,1024,1,8,8,0,3,8,8,0,3,0,4 8 16,2026-01-01,,mtp\n";

TestAsk gb200(double clients, int prefill = 4, int decode = 8, std::string_view day = {}) {
  return {.accelerator = "gb200",
          .engine = "trtllm",
          .model = "deepseek-ai/DeepSeek-R1",
          .precision = "fp4",
          .run = "a",
          .day = day,
          .input = 1024,
          .output = 1024,
          .clients = clients,
          .prefill_devices = prefill,
          .prefill_ep = 4,
          .decode_devices = decode};
}

std::vector<std::vector<TestSetting>> asked(const std::vector<TestAsk>& asks) {
  return settings_for(CsvTable::parse(kTests, "tests.csv").value(), asks);
}
std::vector<TestSetting> asked(const TestAsk& ask) { return asked(std::vector{ask})[0]; }

TEST(ServingTests, ARowFitsByOneReplicaByAllOfThemOrByBothRoles) {
  for (const int devices : {1, 8, 32}) {
    const auto fitting = asked(gb200(4, 4, devices));
    ASSERT_EQ(fitting.size(), 1u) << devices;
    EXPECT_EQ(fitting[0].guesses, 3);
    EXPECT_EQ(fitting[0].decode.replicas, 4);
    EXPECT_EQ(fitting[0].decode_batch, 8);
    EXPECT_TRUE(fitting[0].prefill.by_rank);
  }
  EXPECT_EQ(asked(gb200(4, 36, 36)).size(), 1u);
  EXPECT_TRUE(asked(gb200(4, 4, 16)).empty());
  EXPECT_EQ(asked(gb200(5, 4, 8)).size(), 3u) << "the layout with other clients";
  TestAsk counted = gb200(4);
  counted.decode_replicas = 5;
  ASSERT_EQ(asked(counted).size(), 1u) << "a row that names its replicas fits no others";
  EXPECT_EQ(asked(counted)[0].decode.replicas, 5);
}

TEST(ServingTests, WhereSeveralFitTheOneWithoutGuessesIsFirst) {
  const auto fitting = asked(gb200(8));
  ASSERT_EQ(fitting.size(), 2u);
  EXPECT_EQ(fitting[0].guesses, 0);
}

TEST(ServingTests, TheDayDecidesWhereItIsKnown) {
  ASSERT_EQ(asked(gb200(12, 4, 8, "2026-02-01")).size(), 1u);
  EXPECT_EQ(asked(gb200(12, 4, 8, "2026-02-01"))[0].decode.replicas, 5);
  EXPECT_EQ(asked(gb200(12, 4, 8, "2026-01-31"))[0].decode.replicas, 4);
  EXPECT_EQ(asked(gb200(12)).size(), 2u);
}

// Four and eight clients side by side: only the test with guesses tried both.
TEST(ServingTests, NeighboursOfOneSweepHaveOneSetting) {
  const auto found = asked(std::vector{gb200(4), gb200(8), gb200(16), gb200(8)});
  ASSERT_EQ(found[1].size(), 2u) << "no setting tried 4, 8 and 16";
  const auto sweep = asked(std::vector{gb200(4), gb200(8)});
  ASSERT_EQ(sweep[1].size(), 1u);
  EXPECT_EQ(sweep[1][0].guesses, 3);
  const auto again = asked(std::vector{gb200(8), gb200(8), gb200(4)});
  EXPECT_EQ(again[0].size(), 2u);
  EXPECT_EQ(again[1].size(), 1u) << "the same clients twice are two sweeps";
}

// Eight clients were tried with guesses alone: the whole run is theirs.
TEST(ServingTests, ARunComesOfOneSet) {
  const auto h200 = [](double clients, const char* run) {
    TestAsk ask = gb200(clients, 8, 8);
    ask.accelerator = "h200-sxm";
    ask.engine = "sglang";
    ask.precision = "fp8";
    ask.prefill_ep = 8;
    ask.run = run;
    return ask;
  };
  const auto found = asked(std::vector{h200(16, "a"), gb200(4), h200(8, "a"), h200(16, "b")});
  ASSERT_EQ(found[0].size(), 1u);
  EXPECT_EQ(found[0][0].guesses, 3);
  EXPECT_EQ(found[3].size(), 2u);
}

// A dump that names replicas has no tests with guesses: what it has not of its own day is taken to
// guess, three tokens, or one where ranks are crowded. Equal rows are one of each.
TEST(ServingTests, WhatADumpOfPlainTestsLeavesOutGuesses) {
  const ScoreInputs inputs{.models = machine::known(), .model = {}};
  const auto checked = [&inputs](const std::string& engine, const std::vector<std::string>& clients,
                                 const std::string& day, const std::string& devices = "8",
                                 const std::string& model = "deepseek-ai/DeepSeek-R1") {
    std::string text =
        "id,silicon_data_source,backend,model_path,system,precision,mode,isl,osl,batch_size,"
        "prefill_tp_size,decode_tp_size,decode_moe_ep_size,prefill_num_workers,"
        "decode_num_workers\n";
    const std::string row = "," + engine + "," + model + ",gb200,fp4,disagg,1024,1024,";
    for (const std::string& c : clients)
      text += "a,x; measured=2026-02-03" + row + c + ",4," + devices + ",4,,\n";
    text += "b,y; measured=" + day + row + "48,4,8,4,1,4\n";
    const CsvTable table = CsvTable::parse(text, "apart.csv").value();
    const auto read = ApartRows(table, inputs).read(table.rows().at(0), inputs);
    EXPECT_TRUE(read);
    return read->query.decode.request.checked_per_step;
  };
  const std::string day = "2026-02-03";
  EXPECT_EQ(checked("trtllm", {"12"}, day), 4);
  EXPECT_EQ(checked("trtllm", {"2253"}, day, "32"), 2) << "70 a rank";
  EXPECT_EQ(checked("trtllm", {"48"}, day), 1) << "it is in the dump";
  EXPECT_EQ(checked("trtllm", {"12"}, "2026-02-04"), 1) << "nothing of that day is";
  EXPECT_EQ(checked("trtllm", {"12", "12"}, day), 1) << "one of two that are alike";
  EXPECT_EQ(checked("sglang", {"12"}, day), 1) << "few of its tests guess";
  EXPECT_EQ(checked("trtllm", {"12"}, day, "8", "moonshotai/Kimi-K2-Instruct"), 1)
      << "it has nothing to guess with";
}

}  // namespace
}  // namespace orrery::score
