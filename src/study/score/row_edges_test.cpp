// Rows at their edges: lines of a log that lack a stamp, reports with odd conditions, published
// checkpoints against the others of their system, names and notes word by word.
#include <gtest/gtest.h>

#include "study/score/calibrate.h"
#include "study/score/collectives_score.h"
#include "study/score/requests_score.h"
#include "study/score/rows_fixture.h"
#include "study/score/serving_refit.h"
#include "study/score/serving_rows.h"
#include "study/score/storage_probe.h"
#include "study/score/storage_score.h"

namespace orrery::score {
namespace {

// Each of five lines lacks one of the five fields; the other two are the log.
TEST(RowEdges, a_line_of_a_log_has_all_of_its_fields) {
  const std::string fields[] = {"\"input_toks\": 300", "\"output_toks\": 21", "\"queued_ts\": 51.5",
                                "\"first_token_ts\": 51.9", "\"last_token_ts\": 52.9"};
  std::string text;
  for (std::size_t without = 0; without < 5; ++without) {
    text += "{\"x\": 1";
    for (std::size_t i = 0; i < 5; ++i) text += i == without ? "" : ", " + fields[i];
    text += "}\n";
  }
  text +=
      "{\"input_toks\": 100, \"output_toks\": 11, \"queued_ts\": 10, \"first_token_ts\": 10.5, "
      "\"last_token_ts\": 12.5}\n"
      "{\"input_toks\": 100, \"output_toks\": 1, \"queued_ts\": 11, \"first_token_ts\": 11.3, "
      "\"last_token_ts\": 11.4}\n";
  ScoreInputs inputs = known_inputs();
  inputs.log = [&](std::string_view) { return std::optional(text); };
  const Score s = score_requests(table_of({{{"id", "r"},
                                            {"log", "l"},
                                            {"gpu", "h200-sxm"},
                                            {"model", "llama-3-8b"},
                                            {"engine", "vllm"}}}),
                                 inputs)
                      .value();
  ASSERT_EQ(s.series.size(), 6U);
  ASSERT_EQ(s.series[0].rows.size(), 1U);
  EXPECT_NEAR(*s.series[0].rows[0].measured, (0.5 + 0.3) / 2, 1e-9);
  EXPECT_NEAR(*s.series[1].rows[0].measured, (2.0 / 10 + 0.1) / 2, 1e-9) << "one token: over one";
  EXPECT_NEAR(*s.series[2].rows[0].measured, (2.5 + 0.4) / 2, 1e-9);
}

TEST(RowEdges, conditions_that_are_no_object_say_nothing) {
  const auto streams = [](const std::string& conditions) {
    const auto probe = read_storage_probe(
        "{\"kind\": \"storage-probe\", \"schema_version\": 1, \"target\": \"/x\", " + conditions +
            "\"figures\": []}",
        "p.json");
    EXPECT_TRUE(probe) << to_text(probe.error());
    return probe ? probe->streams : -1;
  };
  EXPECT_EQ(streams(""), StorageProbe{}.streams);
  EXPECT_EQ(streams("\"conditions\": {\"streams\": \"12\"}, "), 12);
  EXPECT_EQ(streams("\"conditions\": [\"12\"], "), StorageProbe{}.streams);
  EXPECT_EQ(streams("\"conditions\": 12, "), StorageProbe{}.streams);
}

// What a published row is predicted from are the other rows of its system, never itself.
TEST(RowEdges, a_published_checkpoint_has_no_part_in_its_own_prediction) {
  const CsvTable table =
      machine::known().knowledge->table("validation/checkpoint_truth.csv").value();
  const Score s = score_storage(table, known_inputs()).value();
  ASSERT_FALSE(s.series[0].rows.empty());
  for (const ScoredRow& scored : s.series[0].rows) {
    int others = 0;
    for (const CsvRow& row : table.rows()) {
      const std::string system(table.text(row, "system"));
      const std::string config(table.text(row, "config"));
      const bool counts = config.find(" data nodes") != std::string::npos &&
                          table.number(row, "checkpoint_GiB") && table.number(row, "write_s");
      const bool same = scored.id.starts_with(system + "/");
      const bool own =
          scored.id == system + "/" + std::string(table.text(row, "model")) + "/" + config;
      others += counts && same && !own ? 1 : 0;
    }
    EXPECT_EQ(scored.note, "from " + std::to_string(others) + " other rows of the system")
        << scored.id;
  }
}

TEST(RowEdges, a_count_of_nics_needs_its_cross_and_its_unit) {
  ASSERT_TRUE(parse_nics("8x400G"));
  EXPECT_EQ(parse_nics("8 x 400G")->count, 8);
  EXPECT_EQ(parse_nics("8 x 400G")->rate, gbits_per_s(400));
  EXPECT_FALSE(parse_nics("8*400G"));
  EXPECT_FALSE(parse_nics("8 400G"));
  EXPECT_FALSE(parse_nics("8x400"));
  EXPECT_FALSE(parse_nics("8x400M"));
  EXPECT_FALSE(parse_nics("8"));
}

// Twenty ranks are two domains of eight and one of four: three.
TEST(RowEdges, a_domain_that_is_half_empty_is_one) {
  const auto note = [](const char* ranks, const char* nodes) {
    const Score s = score_collectives(table_of({{{"id", "a"},
                                                 {"system", "s"},
                                                 {"gpu", "h100-sxm"},
                                                 {"gpus_per_node", "8"},
                                                 {"nodes", nodes},
                                                 {"ranks", ranks},
                                                 {"fabric", "InfiniBand"},
                                                 {"nic_per_node", "8x400G"},
                                                 {"collective", "all_gather"},
                                                 {"bytes", "1073741824"},
                                                 {"quality", "A"},
                                                 {"time_us_oop", "100"}}}),
                                      known_inputs())
                        .value();
    return s.series[0].rows.at(0).note;
  };
  const std::string doubtful = "more than its NICs carry: their number or rate is doubtful";
  EXPECT_EQ(note("20", "3"), doubtful);
  EXPECT_EQ(note("24", "3"), doubtful);
  EXPECT_EQ(note("16", "2"), "") << "two domains share their trees";
}

RowFields served_fields(const RowFields& more) {
  return with_fields({{"id", "a"},
                      {"mode", "agg"},
                      {"backend", "vllm"},
                      {"model_path", "meta-llama/Llama-3.1-8B"},
                      {"system", "h200_sxm"},
                      {"precision", "fp8"},
                      {"isl", "1024"},
                      {"osl", "512"},
                      {"batch_size", "8"},
                      {"tp_size", "2"},
                      {"silicon_tpot_ms", "10"},
                      {"silicon_ttft_ms", "200"}},
                     more);
}

TEST(RowEdges, a_served_row_has_both_of_its_times) {
  const auto count = [](const RowFields& more) {
    return served_rows(table_of({served_fields(more)}), known_inputs()).size();
  };
  EXPECT_EQ(count({}), 1U);
  for (const char* time : {"silicon_tpot_ms", "silicon_ttft_ms"}) {
    EXPECT_EQ(count({{time, ""}}), 0U);
    EXPECT_EQ(count({{time, "0"}}), 0U);
    EXPECT_EQ(count({{time, "-1"}}), 0U);
    EXPECT_EQ(count({{time, "0.001"}}), 1U);
  }
  EXPECT_EQ(count({{"mtp", "1"}}), 0U);
  EXPECT_EQ(count({{"model_path", "unheard"}}), 0U);
  const auto rows = served_rows(table_of({served_fields({})}), known_inputs());
  EXPECT_DOUBLE_EQ(rows[0].tpot, 0.01);
  EXPECT_DOUBLE_EQ(rows[0].ttft, 0.2);
  EXPECT_EQ(rows[0].requests, 0);
  EXPECT_EQ(rows[0].query.split.moe_tp, 0);
  EXPECT_EQ(rows[0].query.split.tp, 2);
}

// DeepSeek's models of one shape are one series of tests, whatever a dump calls them.
TEST(RowEdges, a_dump_of_plain_tests_speaks_for_all_of_deepseek_s_names) {
  const auto checked = [](const char* other) {
    const RowFields row = {{"id", "a"},
                           {"silicon_data_source", "x; measured=2026-02-03"},
                           {"mode", "disagg"},
                           {"backend", "trtllm"},
                           {"model_path", "deepseek-ai/DeepSeek-R1"},
                           {"system", "gb200"},
                           {"precision", "fp4"},
                           {"isl", "1024"},
                           {"osl", "1024"},
                           {"batch_size", "12"},
                           {"prefill_tp_size", "4"},
                           {"decode_tp_size", "8"},
                           {"decode_moe_ep_size", "4"}};
    const CsvTable table = table_of({row, with_fields(row, {{"id", "b"},
                                                            {"model_path", other},
                                                            {"batch_size", "48"},
                                                            {"prefill_num_workers", "1"},
                                                            {"decode_num_workers", "4"}})});
    const auto read = ApartRows(table, known_inputs()).read(table.rows().at(0), known_inputs());
    EXPECT_TRUE(read);
    return read->guessed;
  };
  EXPECT_TRUE(checked("deepseek-ai/DeepSeek-R1"));
  EXPECT_TRUE(checked("nvidia/DeepSeek-R1-0528-FP4"));
  EXPECT_FALSE(checked("moonshotai/Kimi-K2-Instruct"));
}

TEST(RowEdges, parts_of_a_calibration_are_named_by_format_and_kernel) {
  std::vector<RowFields> rows;
  for (int i = 0; i < 12; ++i) {
    rows.push_back({{"gpu", "NVIDIA H200"},
                    {"op", "gemm"},
                    {"dtype", "bf16"},
                    {"m", std::to_string(256 << (i % 4))},
                    {"n", std::to_string(1024 << (i / 4))},
                    {"k", "4096"},
                    {"seconds", "0.0001"}});
  }
  const machine::Models& models = machine::known();
  const auto report =
      calibrate(table_of(rows), *models.catalog().accelerator("h200-sxm"), models.kernels);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->parts.size(), 1U);
  EXPECT_EQ(report->parts[0].name, "bf16 products");
  EXPECT_EQ(report->gpu, "NVIDIA H200");
  EXPECT_EQ(report->used, 12);
}

}  // namespace
}  // namespace orrery::score
