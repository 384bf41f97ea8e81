#include "study/score/offline_score.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "model/machine/known_fixture.h"
#include "study/score/refit_fixture.h"
#include "study/score/rows_fixture.h"

namespace orrery::score {
namespace {

using testing::HasSubstr;

RowFields queued_row(const RowFields& more) {
  return with_fields({{"id", "r"},
                      {"model", "Llama 3.3 70B"},
                      {"gpu", "H200"},
                      {"precision", "FP8"},
                      {"num_gpus", "2"},
                      {"isl", "128"},
                      {"osl", "2048"},
                      {"version", "0.17"},
                      {"value", "500"},
                      {"metric", "output tokens/s total"}},
                     more);
}

std::expected<OfflineRow, std::string> queued(const RowFields& more) {
  const CsvTable table = table_of({queued_row(more)});
  return read_offline_row(table, table.rows().at(0), known_inputs());
}

std::expected<OfflineRow, std::string> offline_row(const std::map<std::string, std::string>& more) {
  auto fields = offline_fields();
  for (const auto& [name, value] : more) fields[name] = value;
  const CsvTable table = one_row(fields);
  return read_offline_row(table, table.rows().at(0), known_inputs());
}

TEST(OfflineScore, published_tables_are_predicted) {
  const ScoreInputs inputs{.models = machine::known(), .model = {}};
  const std::string_view text =
      "id,engine,version,model,gpu,precision,parallel,num_gpus,isl,osl,load,metric,value\n"
      "a,TensorRT-LLM,0.21,Llama 3.3 70B,B200,FP4,TP1,1,128,128,all,output tokens/s total,10613\n"
      "b,TensorRT-LLM,0.21,Llama 3.3 70B,H200,FP8,TP2,2,128,2048,all,output tokens/s total,\n"
      "c,TensorRT-LLM,0.21,LLaMA v3.1 8B,H100 80GB HBM3,FP8,TP1,1,128,128,all,requests/s,9\n";
  const Score score = *score_offline(*CsvTable::parse(text, "rows.csv"), inputs);
  ASSERT_EQ(score.series[0].rows.size(), 2u);
  EXPECT_LT(score.series[0].rows[0].ape(), 0.4);
  EXPECT_EQ(score.skipped[0].reason, "the row has another metric");
}

TEST(OfflineScore, a_row_describes_its_test) {
  const auto r = offline_row({});
  ASSERT_TRUE(r) << r.error();
  EXPECT_EQ(r->query.accelerator->id, "h200-sxm");
  EXPECT_EQ(r->query.precision.products, catalog::Dtype::fp8);
  EXPECT_EQ(r->query.precision.kv, catalog::Dtype::fp8);
  EXPECT_EQ(r->query.split.tp, 2);
  EXPECT_EQ(r->requests, 3000);
  EXPECT_EQ(r->devices, 1);
  EXPECT_EQ(offline_row({{"osl", "128"}})->requests, 30000);
  EXPECT_EQ(offline_row({{"osl", "777"}})->requests, 1500);
  EXPECT_EQ(offline_row({{"metric", "output tokens/s per GPU"}})->devices, 2);
  EXPECT_FALSE(offline_row({{"metric", "requests/s"}}));
  EXPECT_FALSE(offline_row({{"precision", "FP2"}}));
  EXPECT_FALSE(offline_row({{"isl", ""}}));
  for (const char* wide : {"FP16", "BF16", "Mixed"}) {
    EXPECT_EQ(offline_row({{"precision", wide}})->query.precision.kv, catalog::Dtype::bf16) << wide;
  }
  EXPECT_EQ(offline_row({{"gpu", "GH200 96GB HBM3"}})->query.accelerator->id, "gh200-96");
  EXPECT_EQ(offline_row({{"gpu", "A100-PCIE-80GB"}})->query.domain, 1);
}

TEST(OfflineScore, the_rate_per_device_is_an_average) {
  const auto value = [](const char* metric) {
    auto fields = offline_fields();
    fields["osl"] = "128", fields["isl"] = "20000";  // a thousand requests: a short simulation
    fields["metric"] = metric, fields["osl"] = "2000";
    return score_offline(one_row(fields), known_inputs())
        .value()
        .series[0]
        .rows.at(0)
        .predicted.value;
  };
  EXPECT_NEAR(value("output tokens/s total") / value("output tokens/s per GPU"), 2, 1e-9);
}

// TensorRT-LLM's perf-overview.md, "Preparing a Dataset".
TEST(OfflineScore, queue_length_follows_the_request_lengths) {
  const std::tuple<const char*, const char*, int> published[] = {
      {"128", "128", 30000},  {"128", "2048", 3000}, {"128", "4096", 1500},  {"2048", "128", 3000},
      {"2048", "2048", 1500}, {"500", "2000", 3000}, {"1000", "1000", 3000}, {"1000", "2000", 1500},
      {"1024", "2048", 1500}, {"5000", "500", 1500}, {"20000", "2000", 1000}};
  for (const auto& [input, output, requests] : published) {
    EXPECT_EQ(queued({{"isl", input}, {"osl", output}})->requests, requests) << input << output;
  }
  EXPECT_EQ(queued({{"isl", "128"}, {"osl", "129"}})->requests, 1500);
  EXPECT_EQ(queued({{"isl", "129"}, {"osl", "128"}})->requests, 1500);
}

TEST(OfflineScore, an_offline_row_is_read) {
  const auto r = queued({{"precision", "FP4"}, {"gpu", "B200"}});
  ASSERT_TRUE(r) << r.error();
  EXPECT_EQ(r->query.engine, "tensorrt-llm-0");
  EXPECT_FALSE(r->query.streams);
  EXPECT_EQ(r->query.memory_share, 0.95);
  EXPECT_EQ(r->query.model.sliding_window, 0);
  EXPECT_EQ(r->query.domain, 0);
  EXPECT_EQ(r->query.precision.products, catalog::Dtype::fp4);
  EXPECT_EQ(r->query.precision.experts, catalog::Dtype::fp4);
  EXPECT_EQ(r->query.precision.kv, catalog::Dtype::fp8);
  EXPECT_EQ(r->query.request.input, 128);
  EXPECT_EQ(r->query.request.output, 2048);
  EXPECT_EQ(queued({{"num_gpus", ""}})->query.split.tp, 1);
  const std::pair<const char*, const char*> devices[] = {
      {"GB200", "gb200"},        {"B200", "b200-sxm"},
      {"H100 80GB", "h100-sxm"}, {"A100-SXM4-80GB", "a100-80-sxm"},
      {"L40S", "l40s"},          {"H100-NVL", "h100-sxm"},
      {"MI300X", "mi300x"}};
  for (const auto& [name, id] : devices) {
    EXPECT_EQ(queued({{"gpu", name}})->query.accelerator->id, id) << name;
  }
  EXPECT_EQ(queued({{"model", "nothing"}}).error(), "unknown model");
  EXPECT_EQ(queued({{"gpu", "abacus"}}).error(), "unknown accelerator");
  EXPECT_EQ(queued({{"precision", "FP2"}}).error(), "unknown precision");
  EXPECT_EQ(queued({{"osl", ""}}).error(), "the row gives no lengths");
  EXPECT_EQ(queued({{"metric", "requests/s"}}).error(), "the row has another metric");
}

TEST(OfflineScore, an_infeasible_offline_row_is_skipped) {
  const CsvTable table = table_of({queued_row({{"num_gpus", "1"}, {"precision", "FP16"}}),
                                   queued_row({{"id", "s"}, {"metric", "x"}})});
  const Score s = score_offline(table, known_inputs()).value();
  ASSERT_EQ(s.skipped.size(), 2U);
  EXPECT_THAT(s.skipped[0].reason, HasSubstr("leave no room"));
  EXPECT_TRUE(s.skipped[0].counts);
  EXPECT_TRUE(s.skipped[1].counts);
  EXPECT_EQ(s.skipped[1].id, "s");
  EXPECT_EQ(s.rows, 2);
  EXPECT_TRUE(s.series[0].rows.empty());
}

}  // namespace
}  // namespace orrery::score
