#include "study/score/serving_unsaid.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/machine/known_fixture.h"
#include "study/score/rows_fixture.h"
#include "study/score/serving_rows.h"
#include "study/score/serving_score.h"

namespace orrery::score {
namespace {

std::expected<ServedApart, std::string> apart_row(const std::vector<std::string>& rows) {
  const std::string head =
      "id,backend,model_path,system,precision,mode,isl,osl,batch_size,prefill_tp_size,"
      "decode_tp_size,decode_moe_ep_size,prefill_num_workers,decode_num_workers\n";
  std::string text = head;
  for (const std::string& row : rows) text += row + "\n";
  const CsvTable table = CsvTable::parse(text, "apart.csv").value();
  return ApartRows(table, known_inputs()).read(table.rows().at(0), known_inputs());
}

jobs::DisaggregatedQuery unsaid(const std::string& row) {
  const auto read = apart_row({row});
  EXPECT_TRUE(read) << read.error();
  EXPECT_EQ(read->from, ReplicasFrom::usual);
  return read->query;
}

constexpr std::string_view kApartHead =
    "id,silicon_data_source,backend,model_path,system,precision,mode,isl,osl,batch_size,"
    "prefill_tp_size,decode_tp_size,decode_moe_ep_size,prefill_num_workers,decode_num_workers,"
    "silicon_ttft_ms,silicon_tpot_ms\n";

// A row that is taken to guess may not have guessed: the interval is mirrored. First tokens wait in
// an unpublished queue.
TEST(ServingUnsaid, guessed_replicas_widen_the_interval_both_ways) {
  const std::string model = ",trtllm,deepseek-ai/DeepSeek-R1,gb200,fp4,disagg,1024,1024,";
  const CsvTable table =
      CsvTable::parse(std::string(kApartHead) + "a,x; measured=2026-02-03" + model +
                          "12,4,8,4,,,100,10\nb,y; measured=2026-02-03" + model +
                          "48,4,8,4,1,4,100,10\nc,z; measured=2026-05-05" + model +
                          "12,4,8,4,,,100,10\n",
                      "a.csv")
          .value();
  const Score s = score_serving(table, known_inputs()).value();
  ASSERT_EQ(s.series[0].rows.size(), 3U);
  const auto sides = [&](std::size_t series, std::size_t row) {
    const Estimate& e = s.series[series].rows[row].predicted;
    return std::pair(e.value / e.low, e.high / e.value);
  };
  EXPECT_NEAR(sides(0, 0).first, 1.3, 1e-9);
  EXPECT_NEAR(sides(0, 0).second, 1.9, 1e-9);
  EXPECT_NEAR(sides(0, 2).first, 1.9, 1e-9);
  EXPECT_NEAR(sides(0, 2).second, 1.3, 1e-9);
  for (const std::size_t row : {0U, 2U}) {
    EXPECT_NEAR(sides(1, row).first, 5, 1e-9);
    EXPECT_NEAR(sides(1, row).second, 8, 1e-9);
  }
  EXPECT_LT(sides(1, 1).first, 4) << "published";
  const auto workers = [&](std::size_t row) { return s.series[0].rows[row].groups[7]; };
  EXPECT_EQ(workers(0), "workers=apart, unpublished");
  EXPECT_EQ(workers(1), "workers=apart, published");
  const CsvTable csv = CsvTable::parse(score_predictions_csv(s), "p.csv").value();
  const auto near = [&](const char* column, double value) {
    EXPECT_NEAR(*csv.number(csv.rows()[0], column) / value, 1, 1e-5) << column;
  };
  near("predicted", s.series[0].rows[0].predicted.value);
  near("low", s.series[0].rows[0].predicted.low);
  near("high", s.series[0].rows[0].predicted.high);
  near("ttft_ms", s.series[1].rows[0].predicted.value);
  near("ttft_low_ms", s.series[1].rows[0].predicted.low);
  near("ttft_high_ms", s.series[1].rows[0].predicted.high);
}

TEST(ServingUnsaid, unpredictable_rows_are_skipped) {
  const CsvTable table =
      CsvTable::parse(std::string(kApartHead) +
                          "a,,vllm,nobody/nothing,h200_sxm,fp8,agg,100,100,8,,,,,,1,1\n"
                          "b,,vllm,nobody/nothing,h200_sxm,fp8,disagg,100,100,8,4,4,,1,1,1,1\n",
                      "s.csv")
          .value();
  const Score s = score_serving(table, known_inputs()).value();
  ASSERT_EQ(s.skipped.size(), 2U);
  for (const SkippedRow& row : s.skipped) {
    EXPECT_EQ(row.reason, "unknown model");
    EXPECT_TRUE(row.counts);
  }
}

jobs::DisaggregatedQuery deepseek_apart(double clients) {
  jobs::ServingQuery q;
  q.model = *machine::known().catalog().model("deepseek-v3");
  q.accelerator = machine::known().catalog().accelerator("gb200");
  q.engine = "sglang";
  q.precision = {catalog::Dtype::fp4, catalog::Dtype::fp4, catalog::Dtype::fp8};
  q.split.tp = 8;
  q.request = {.input = 8192, .output = 1024};
  q.concurrency = clients;
  q.limits = limits_of_test(q);
  return {.prefill = q, .decode = q};
}

// A prefill replica is added while the existing ones are busy for nine tenths of the time, up to
// 24.
TEST(ServingUnsaid, prefill_replicas_are_added_until_they_suffice) {
  for (const double clients : {64.0, 512.0, 1500.0}) {
    jobs::DisaggregatedQuery q = deepseek_apart(clients);
    settle_unsaid(machine::known(), {.prefill_devices = 4, .decode_devices = 8}, q);
    EXPECT_EQ(q.decode_replicas, 4);
    EXPECT_EQ(q.prefill.split.tp, 4);
    EXPECT_EQ(q.prefill.split.ep, 4);
    EXPECT_EQ(q.decode.split.ep, 8);
    const auto load = [&](double replicas) {
      jobs::DisaggregatedQuery other = q;
      other.prefill_replicas = replicas;
      return predict_disaggregated(machine::known(), other)->point.prefill_load;
    };
    if (q.prefill_replicas < 24) EXPECT_LT(load(q.prefill_replicas), 0.9) << clients;
    if (q.prefill_replicas > 1) EXPECT_GE(load(q.prefill_replicas - 1), 0.9) << clients;
  }
  jobs::DisaggregatedQuery many = deepseek_apart(4096);
  many.decode.request = many.prefill.request = {.input = 100000, .output = 2};
  settle_unsaid(machine::known(), {.prefill_devices = 4, .decode_devices = 8}, many);
  EXPECT_EQ(many.prefill_replicas, 24);
}

TEST(ServingUnsaid, data_parallel_attention_keeps_its_interval) {
  jobs::ServingQuery q = deepseek_apart(64).decode;
  q.split = {.tp = 1, .attention_dp = 16, .ep = 4};
  widen(machine::known(), q);
  EXPECT_EQ(q.split.attention_dp, 16);
  EXPECT_EQ(q.split.ep, 4);
  q.split = {.tp = 8, .ep = 4};
  widen(machine::known(), q);
  EXPECT_EQ(q.split.ep, 4);
  q.split = {.tp = 16, .ep = 4};
  widen(machine::known(), q);
  EXPECT_EQ(q.split.attention_dp, 16);
  EXPECT_EQ(q.split.ep, 16);
  const UnsaidAsk ask;
  EXPECT_EQ(ask.prefill_devices, 1);
  EXPECT_EQ(ask.decode_devices, 1);
  EXPECT_FALSE(ask.goes_on);
  EXPECT_FALSE(ask.guessed);
}

// 70 requests on each of 32 ranks guess one token, fewer than 64 guess three; 4,100 clients of a
// replica have 4,096 places.
TEST(ServingUnsaid, speculation_and_slots_are_per_rank) {
  const auto settled = [](double clients, int devices, bool goes_on) {
    jobs::DisaggregatedQuery q = deepseek_apart(clients);
    q.decode.engine = q.prefill.engine = "trtllm";
    settle_unsaid(
        machine::known(),
        {.prefill_devices = 4, .decode_devices = devices, .goes_on = goes_on, .guessed = true}, q);
    return std::pair(q.decode.request.checked_per_step, q.decode.limits->max_sequences);
  };
  using Pair = std::pair<double, double>;
  EXPECT_EQ(settled(64 * 32, 32, false), Pair(2, 64));
  EXPECT_EQ(settled(64 * 32 - 1, 32, false), Pair(4, 32));
  EXPECT_EQ(settled(64 * 32, 32, true), Pair(2, 4096));
  EXPECT_EQ(settled(4 * 90, 8, false), Pair(4, 64));
  EXPECT_EQ(settled(2, 8, false), Pair(4, 1));
}

// Lengths are nine tenths of what a test names; replicas are the row's own, those of another row of
// the same test, or as many as most tests have.
TEST(ServingUnsaid, disaggregated_replicas_are_published_or_guessed) {
  const std::string row = "a,trtllm,meta-llama/Llama-3.1-70B,h200_sxm,fp8,disagg,1000,200,8,4,8,1,";
  const auto own = apart_row({row + "2,3"});
  ASSERT_TRUE(own) << own.error();
  EXPECT_EQ(own->from, ReplicasFrom::row);
  EXPECT_EQ(own->query.prefill_replicas, 2);
  EXPECT_EQ(own->query.decode_replicas, 3);
  EXPECT_EQ(own->query.prefill.split.tp, 4);
  EXPECT_EQ(own->query.decode.split.tp, 8);
  EXPECT_DOUBLE_EQ(own->query.decode.request.input, 900);
  EXPECT_DOUBLE_EQ(own->query.decode.request.output, 180);
  const auto alike = apart_row({row + ",", row + "2,3"});
  EXPECT_EQ(alike->from, ReplicasFrom::same_test);
  EXPECT_EQ(alike->query.decode_replicas, 3);
  const auto torn = apart_row({row + ",", row + "2,3", row + "2,5"});
  EXPECT_EQ(torn->from, ReplicasFrom::usual);
  EXPECT_EQ(torn->query.decode_replicas, 4);
  EXPECT_EQ(torn->query.prefill_replicas, 1);
}

// A group of more devices than a host has attention on every rank, if a host holds the model.
TEST(ServingUnsaid, wide_groups_use_data_parallel_attention) {
  const std::string held =
      "a,trtllm,mistralai/Mixtral-8x7B-v0.1,h200_sxm,fp8,disagg,1000,200,8,4,16,8,1,1";
  const auto ranks = apart_row({held});
  ASSERT_TRUE(ranks) << ranks.error();
  EXPECT_EQ(ranks->query.decode_replicas, 1);
  EXPECT_EQ(ranks->query.decode.split.tp, 1);
  EXPECT_EQ(ranks->query.decode.split.attention_dp, 16);
  EXPECT_EQ(ranks->query.decode.split.ep, 16);
  const auto whole =
      apart_row({"a,trtllm,deepseek-ai/DeepSeek-R1,h100_sxm,fp8,disagg,1000,200,8,16,16,16,1,1"});
  ASSERT_TRUE(whole) << whole.error();
  EXPECT_EQ(whole->query.decode.split.tp, 16);
  EXPECT_EQ(whole->query.decode.split.attention_dp, 1);
}

// TensorRT-LLM's tests send a few more clients than there are places, a power of two per replica or
// rank; other engines take all clients.
TEST(ServingUnsaid, slots_are_the_power_of_two_below_the_clients) {
  const std::string model = ",deepseek-ai/DeepSeek-R1,gb200,fp4,disagg,1024,1024,";
  EXPECT_EQ(unsaid("a,trtllm" + model + "666,4,32,4,,").decode.limits->max_sequences, 16)
      << "512 on 32 ranks";
  EXPECT_EQ(unsaid("a,trtllm" + model + "192,4,8,4,,").decode.limits->max_sequences, 32);
  EXPECT_EQ(unsaid("a,trtllm" + model + "128,4,8,4,,").decode.limits->max_sequences, 32);
  EXPECT_EQ(unsaid("a,sglang" + model + "666,4,32,4,,").decode.limits->max_sequences, 4096);
}

// All but the last step of a doubling sweep fit.
TEST(ServingUnsaid, slots_of_a_sweep_hold_all_but_its_last) {
  const std::string row = "a,trtllm,deepseek-ai/DeepSeek-R1,gb200,fp4,disagg,1024,1024,";
  const auto first = apart_row({row + "96,4,8,4,,", row + "192,4,8,4,,"});
  const auto last = apart_row({row + "192,4,8,4,,", row + "96,4,8,4,,"});
  EXPECT_GT(first->query.decode.limits->max_sequences, 24);
  EXPECT_EQ(last->query.decode.limits->max_sequences, 32);
}

TEST(ServingUnsaid, prefill_replicas_are_added_until_decoding_never_waits) {
  const std::string row = "a,sglang,deepseek-ai/DeepSeek-R1,gb200,fp4,disagg,8192,1024,";
  EXPECT_EQ(unsaid(row + "4,4,8,4,,").prefill_replicas, 1);
  const jobs::DisaggregatedQuery many = unsaid(row + "1024,4,8,4,,");
  EXPECT_GT(many.prefill_replicas, 2);
  const auto p = predict_disaggregated(known_inputs().models, many);
  ASSERT_TRUE(p);
  EXPECT_LT(p->point.prefill_load, 0.9);
}

// 72 devices of both roles together: a decode group of two to some power and prefill on the rest,
// the less of it the shorter prompts are.
TEST(ServingUnsaid, devices_are_split_between_roles) {
  const auto decoding = [](const std::string& input) {
    const jobs::DisaggregatedQuery q = unsaid("a,sglang,deepseek-ai/DeepSeek-R1,gb200,fp8,disagg," +
                                              input + ",1024,2048,72,72,72,,");
    EXPECT_EQ(q.prefill.split.tp, 8);
    const double decode = q.decode_replicas * q.decode.split.devices();
    EXPECT_EQ(q.prefill_replicas * q.prefill.split.devices(), 72 - decode);
    return decode;
  };
  EXPECT_EQ(decoding("8192"), 16);
  EXPECT_EQ(decoding("256"), 64);
}

}  // namespace
}  // namespace orrery::score
