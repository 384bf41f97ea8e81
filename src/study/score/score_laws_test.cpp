// Scores by their own definitions: errors of what was measured, what counts, where a row's interval
// comes from, and what a report of them says.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/catalog/embedded.h"
#include "core/catalog/embedded_table.h"
#include "model/machine/known_fixture.h"
#include "study/score/calibrate.h"
#include "study/score/one_mfu.h"
#include "study/score/open_loop_score.h"
#include "study/score/serving_refit.h"
#include "study/score/serving_score.h"
#include "study/score/steps_score.h"
#include "study/score/storage_probe.h"
#include "study/score/storage_score.h"
#include "study/score/training_explain.h"
#include "study/score/training_fit.h"
#include "study/score/training_held_out.h"
#include "study/score/training_refit.h"
#include "study/score/training_score.h"

namespace orrery::score {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

// Not a constant: what it points at is made by the first who asks, not before main.
ScoreInputs shipped_inputs() { return {.models = machine::known(), .model = {}}; }

ScoredRow judged(std::string id, Estimate predicted, std::optional<double> measured,
                 bool counts = true, std::vector<std::string> groups = {"gpu=x"}) {
  return {.id = std::move(id),
          .predicted = std::move(predicted),
          .measured = measured,
          .counts = counts,
          .groups = std::move(groups),
          .note = "n|"};
}

// Errors are of the measured value: 120 for 100 is 20 %, 100 for 120 is 16.7 %.
TEST(ScoreLaws, an_error_is_of_what_was_measured_and_an_interval_has_two_sides) {
  EXPECT_DOUBLE_EQ(judged("a", {120, 90, 130}, 100).ape(), 0.2);
  EXPECT_DOUBLE_EQ(judged("a", {100, 90, 130}, 120).ape(), 20.0 / 120);
  EXPECT_TRUE(judged("a", {120, 100, 130}, 100).covered());
  EXPECT_TRUE(judged("a", {120, 100, 130}, 130).covered());
  EXPECT_FALSE(judged("a", {120, 101, 130}, 100).covered());
  EXPECT_FALSE(judged("a", {120, 100, 130}, 131).covered());
  EXPECT_FALSE(judged("a", {120, 100, 130}, std::nullopt).covered());
}

Score eleven_rows() {
  Score s{.kind = "k", .rows = 13, .series = {{"time", "s", {}}}, .skipped = {{"z", "why"}}};
  for (int i = 0; i <= 10; ++i) {  // errors of 0 to 10 %
    const double p = 100 + i;
    s.series[0].rows.push_back(judged(fmt::format("r{}", i), {p, p - 5, p + 5}, 100));
  }
  s.series[0].rows.push_back(judged("blank", {1, 1, 1}, std::nullopt));
  s.series[0].rows.push_back(
      judged("ill", {900, 1, 2}, 100, false, {"gpu=x", "quality=C", "certainty=recalled"}));
  return s;
}

TEST(ScoreLaws, a_summary_is_of_the_measured_rows_that_count) {
  const ScoreSummary s = totals_of(eleven_rows().series[0]);
  EXPECT_EQ(s.scored, 11);
  EXPECT_NEAR(s.median_ape, 0.05, 1e-12);
  EXPECT_NEAR(s.mean_ape, 0.05, 1e-12);
  EXPECT_NEAR(s.p90_ape, 0.09, 1e-12);
  EXPECT_NEAR(s.coverage, 6.0 / 11, 1e-12) << "those within 5";
  std::map<std::string, int> groups;
  for (const GroupSummary& g : groups_of_series(eleven_rows().series[0])) {
    groups[g.name] = g.summary.scored;
  }
  EXPECT_EQ(groups["gpu=x"], 11);
  EXPECT_EQ(groups["quality=C"], 1);
  EXPECT_EQ(groups["certainty=recalled"], 1);
  const Score skewed_rows = eleven_rows();
  const auto worst = worst_rows(skewed_rows.series[0], 3);
  ASSERT_EQ(worst.size(), 3U);
  EXPECT_EQ(worst[0]->id, "r10");
  EXPECT_EQ(worst[2]->id, "r8");
  // One far off moves the mean, not the middle.
  Score skewed = eleven_rows();
  skewed.series[0].rows[10].predicted.value = 300;
  EXPECT_NEAR(totals_of(skewed.series[0]).median_ape, 0.05, 1e-12);
}

TEST(ScoreLaws, reports_say_the_summaries_in_per_cent) {
  const Score s = eleven_rows();
  EXPECT_THAT(score_text(s), HasSubstr("k: 13 rows, 11 scored, 1 skipped\nmedian error 5.0 %, "
                                       "mean 5.0 %, p90 9.0 %; 54.5 % of rows"));
  const std::string md = score_markdown(s);
  EXPECT_THAT(md, HasSubstr("| all that count | 11 | 5.0 % | 5.0 % | 9.0 % | 54.5 % |"));
  Score blank = s;
  for (ScoredRow& r : blank.series[0].rows) r.measured.reset();
  EXPECT_THAT(score_markdown(blank), Not(HasSubstr("gpu=x"))) << "a group without rows is none";
  const Json j = Json::parse(score_json(s));
  EXPECT_EQ(j["scored"], 11);
  EXPECT_NEAR(j["p90_ape"].get<double>(), 0.09, 1e-12);
  EXPECT_NEAR(j["coverage"].get<double>(), 6.0 / 11, 1e-12);
  EXPECT_EQ(j["worst"][0]["id"], "r10");
  EXPECT_EQ(j["skipped"][0]["reason"], "why");
  const auto csv = CsvTable::parse(score_predictions_csv(s), "p.csv").value();
  EXPECT_EQ(csv.number(csv.rows()[3], "predicted"), 103);
  EXPECT_EQ(csv.number(csv.rows()[3], "low"), 98);
  EXPECT_EQ(csv.number(csv.rows()[3], "high"), 108);
  Score own = s;
  own.predictions = "its own\n";
  EXPECT_EQ(score_predictions_csv(own), "its own\n");
}

Score steps_in(const std::string& rows) {
  return *score_steps(
      *CsvTable::parse("id,model,gpu,phase,batch,tokens_or_context,seconds,watts\n" + rows,
                       "s.csv"),
      shipped_inputs());
}

TEST(StepsLaws, a_prompt_takes_longer_than_a_token_and_a_device_is_the_one_named) {
  const Score s = steps_in(
      "a,8b,,prefill,1,4096,0.1,600\nb,8b,,decode,1,4096,0.01,\nc,8b,h100-sxm,decode,1,4096,0.01,\n"
      "d,8b,,decode,,4096,0.01,\ne,8b,,decode,1,,0.01,\nf,8b,abacus,decode,1,1,0.01,\n");
  ASSERT_EQ(s.series[0].rows.size(), 3U);
  ASSERT_EQ(s.skipped.size(), 3U);
  EXPECT_EQ(s.skipped[2].reason, "unknown accelerator");
  const auto seconds = [&](std::size_t i) { return s.series[0].rows[i].predicted.value; };
  EXPECT_GT(seconds(0), 5 * seconds(1));
  EXPECT_GT(seconds(2), 1.1 * seconds(1)) << "3.35 TB/s against 4.8";
  ASSERT_EQ(s.series[1].rows.size(), 1U) << "watts where they were measured";
  EXPECT_EQ(s.series[1].rows[0].measured, 600);
  EXPECT_GT(s.series[1].rows[0].predicted.value, 200);
  EXPECT_LT(s.series[1].rows[0].predicted.value, 800);
  EXPECT_EQ(s.series[0].rows[0].measured, 0.1);
}

std::string serving_table(const std::string& rows) {
  return "id,backend,model_path,system,precision,mode,isl,osl,batch_size,tp_size,mtp,"
         "decode_tp_size,prefill_tp_size,silicon_ttft_ms,silicon_tpot_ms\n" +
         rows;
}

TEST(ServingScoreLaws, times_are_in_milliseconds_and_groups_say_what_ran) {
  const Score s = *score_serving(
      *CsvTable::parse(
          serving_table("a,vllm,meta-llama/Llama-3.1-70B,h200_sxm,fp8,agg,1024,128,8,4,"
                        "0,,,100,10\n"
                        "b,vllm,meta-llama/Llama-3.1-70B,h200_sxm,fp8,disagg,1024,128,"
                        "8,,0,4,4,100,10\n"),
          "r.csv"),
      shipped_inputs());
  ASSERT_EQ(s.series[0].rows.size(), 2U);
  const ScoredRow& tpot = s.series[0].rows[0];
  const ScoredRow& ttft = s.series[1].rows[0];
  EXPECT_GT(tpot.predicted.value, 3);
  EXPECT_LT(tpot.predicted.value, 60);
  EXPECT_GT(ttft.predicted.value, 2 * tpot.predicted.value) << "a prompt of 1,024 tokens";
  EXPECT_EQ(tpot.measured, 10);
  EXPECT_EQ(ttft.measured, 100);
  EXPECT_THAT(tpot.groups, testing::IsSupersetOf({"class=dense", "workers=one kind",
                                                  "mode, speculation=agg off or unknown"}));
  const ScoredRow& apart = s.series[0].rows[1];
  EXPECT_THAT(apart.groups, testing::Contains("workers=apart, unpublished"));
  // Replicas that nobody published: guesses may halve the time, fewer replicas lengthen it a
  // little.
  EXPECT_NEAR(apart.predicted.high / apart.predicted.value, 1.3, 1e-9);
  EXPECT_NEAR(apart.predicted.value / apart.predicted.low, 1.9, 1e-9);
}

TEST(OpenLoopLaws, a_row_without_a_rate_is_skipped_and_tails_are_wider) {
  const std::string head =
      "id,model,gpu,engine,tp,arrivals,rate,duration_s,system_prompts,users_per_system_prompt,"
      "system_prompt_len,question_len,output_len,requests,failures,ttft_ms_mean\n";
  const auto score = [&](const std::string& rows) {
    return *score_open_loop(*CsvTable::parse(head + rows, "o.csv"), shipped_inputs());
  };
  const std::string common = ",meta-llama/Llama-2-7b-hf,h100-sxm,vllm,1,";
  const Score s = score("a" + common + "constant,8,30,4,2,1000,100,64,240,2,30\n" +  //
                        "b" + common + "even,8,30,4,2,1000,100,64,240,3,30\n" +      //
                        "c" + common + "constant,0,30,4,2,1000,100,64,240,0,30\n" +  //
                        "d" + common + "constant,8,30,240,1,1000,100,64,240,0,30\n");
  ASSERT_EQ(s.skipped.size(), 1U);
  EXPECT_EQ(s.skipped[0].reason, "no rate");
  const auto at = [&](std::size_t series, std::size_t row) { return s.series[series].rows[row]; };
  EXPECT_TRUE(at(0, 0).counts) << "2 of 240 is below one in a hundred";
  EXPECT_FALSE(at(0, 1).counts) << "3 of 240 is above";
  // Requests at even distances wait less than those that come as they like.
  EXPECT_LT(at(1, 1).predicted.value, at(1, 0).predicted.value);
  // Prompts that share nothing cost more to read than those of four systems.
  EXPECT_GT(at(1, 2).predicted.value, 1.2 * at(1, 0).predicted.value);
  const auto width = [](const ScoredRow& r) { return r.predicted.high / r.predicted.value - 1; };
  EXPECT_NEAR(width(at(1, 0)), 2 * width(at(0, 0)), 1e-9) << "first tokens twice as wide as tokens";
  EXPECT_NEAR(width(at(2, 0)), width(at(0, 0)), 1e-9);
  const Estimate& e = at(0, 0).predicted;
  EXPECT_NEAR(e.low * e.high, e.value * e.value, 1e-9 * e.value * e.value);
}

// A prompt is its system's part and its question.
TEST(OpenLoopLaws, a_longer_system_prompt_is_a_longer_prompt) {
  const std::string head =
      "id,model,gpu,engine,tp,arrivals,rate,duration_s,system_prompts,system_prompt_len,"
      "question_len,output_len\n";
  const Score s = *score_open_loop(
      *CsvTable::parse(head +
                           "a,meta-llama/Llama-2-7b-hf,h100-sxm,vllm,1,even,1,20,20,100,100,8\n"
                           "b,meta-llama/Llama-2-7b-hf,h100-sxm,vllm,1,even,1,20,20,3000,100,8\n",
                       "o.csv"),
      shipped_inputs());
  EXPECT_GT(s.series[1].rows[1].predicted.value, 2 * s.series[1].rows[0].predicted.value);
}

std::string training_csv(const std::string& rows) {
  return "id,gpu,n_gpus,model,seq,gbs,mbs,tp,pp,cp,precision,framework,release,certainty,"
         "tokens_per_s_per_gpu,peak_gib,watts,source\n" +
         rows;
}

TEST(TrainingScoreLaws, groups_and_notes_say_what_a_row_is) {
  const CsvTable table =
      *CsvTable::parse(training_csv("a,h100-sxm,8,llama-3-8b,4096,16,1,1,1,1,bf16,nemo,25.02,read,"
                                    "9000,50,600,x\n"
                                    "b,h100-sxm,8,llama-3-8b,4096,16,1,1,1,1,bf16,nemo,25.04,read,"
                                    "6000,,,x\n"
                                    "c,h100-sxm,8,llama-3-8b,4096,16,,,,,fp8,nemo,25.04,recalled,"
                                    "12000,,,y z\n"),
                       "t.csv");
  const Score s = score_training(table, shipped_inputs()).value();
  ASSERT_EQ(s.series[0].rows.size(), 3U);
  EXPECT_THAT(
      s.series[0].rows[0].groups,
      testing::IsSupersetOf({"class=dense 16-bit", "class=dense bf16", "layout=published"}));
  EXPECT_THAT(s.series[0].rows[2].groups,
              testing::IsSupersetOf(
                  {"class=dense 8-bit or less", "layout=unpublished", "certainty=recalled"}));
  EXPECT_THAT(s.series[0].rows[0].note, HasSubstr("release 25.04 ran the same at 6000"));
  EXPECT_THAT(s.series[0].rows[1].note, HasSubstr("release 25.02 ran the same at 9000"))
      << "either way";
  EXPECT_THAT(s.series[0].rows[2].note, HasSubstr("chosen"));
  EXPECT_THAT(s.series[0].rows[2].note, HasSubstr("% of the step"));
  ASSERT_EQ(s.series[1].rows.size(), 1U);
  // 8.03e9 parameters: 2 + 4 B and an eighth of 12 B are 56 GiB, and activations; in GiB.
  EXPECT_GT(s.series[1].rows[0].predicted.value, 55);
  EXPECT_LT(s.series[1].rows[0].predicted.value, 75);
  EXPECT_EQ(s.series[2].rows.size(), 1U);
  EXPECT_GT(s.series[2].rows[0].predicted.value, 300);
}

// Two rows at half and at all of one ideal: the middle of both is three quarters, so they are off
// by half and by a quarter.
TEST(TrainingScoreLaws, one_mfu_for_all_is_off_by_how_far_rows_differ) {
  const CsvTable table = *CsvTable::parse(
      training_csv("a,h100-sxm,8,llama-3-8b,4096,16,1,1,1,1,bf16,nemo,,read,5000,,,x\n"
                   "b,h100-sxm,8,llama-3-8b,4096,16,1,1,1,1,bf16,nemo,,read,10000,,"
                   ",x\n"
                   "c,h100-sxm,8,mixtral-8x7b,4096,16,1,1,1,1,bf16,nemo,,read,1,,,x\n"),
      "t.csv");
  const ScoreSummary s = score_one_mfu(table, shipped_inputs());
  EXPECT_EQ(s.scored, 2) << "of dense rows";
  EXPECT_NEAR(s.mean_ape, (0.5 + 0.25) / 2, 1e-9);
}

TEST(TrainingScoreLaws, a_row_is_explained_by_seconds_that_add_up) {
  const CsvTable table = *CsvTable::parse(
      training_csv("a,h100-sxm,8,llama-3-8b,4096,16,1,1,1,1,bf16,nemo,25.02,read,4000,,,x\n"),
      "t.csv");
  const auto text = explain_training_row(table, shipped_inputs(), "a");
  ASSERT_TRUE(text) << to_text(text.error());
  const auto number = [&](const std::string& label) {
    const std::size_t at = text->find("  " + label);
    EXPECT_NE(at, std::string::npos) << label;
    return std::stod(text->substr(at + 2 + label.size()));
  };
  // 16 sequences of 4,096 tokens on eight devices at 4,000 tokens/s each: 2.048 s.
  EXPECT_NEAR(number("measured"), 2.048, 1e-4);
  EXPECT_NEAR(number("difference"), 2.048 - number("predicted"), 2e-4);
  double seconds = 0, percent = 0;
  for (std::size_t at = text->find("difference"); (at = text->find('\n', at)) != std::string::npos;
       ++at) {
    const std::string line = text->substr(at + 1, text->find('\n', at + 1) - at - 1);
    if (line.size() < 19) continue;
    seconds += std::stod(line.substr(19));
    percent += std::stod(line.substr(line.find(" s ") + 3));
  }
  EXPECT_NEAR(seconds, number("predicted"), 2e-3);
  EXPECT_NEAR(percent, 100, 0.6);
  EXPECT_THAT(*text, HasSubstr("cannot explain it")) << "some part is too small for that";
}

TEST(ProbeLaws, an_interval_is_the_wider_side_and_what_is_nothing_says_nothing) {
  const auto measured = [](const std::string& figures) {
    const auto probe = read_storage_probe(
        R"({"schema_version":1,"kind":"storage-probe","target":"/x","target_kind":"folder",)"
        R"("conditions":{"streams":"16"},"figures":[)" +
            figures + "]}",
        "p.json");
    EXPECT_TRUE(probe) << to_text(probe.error());
    return *probe;
  };
  const StorageProbe p = measured(
      R"({"id":"sequential_read","value_bytes_per_s":100,"low_bytes_per_s":60,"high_bytes_per_s":110},)"
      R"({"id":"sequential_write","value_bytes_per_s":0},{"id":"first_byte","value_s":0.5})");
  EXPECT_EQ(p.streams, 16);
  EXPECT_EQ(p.figure("sequential_read")->low, 60);
  const auto m = tier_measurement(p, {.tier = "node-nvme"});
  ASSERT_TRUE(m);
  EXPECT_NEAR(m->error, 0.4, 1e-12) << "60 for 100, not 110";
  EXPECT_FALSE(m->write) << "nothing was written";
  const std::string text = tier_calibration_text(*m);
  EXPECT_THAT(text, HasSubstr("as planned"));
  EXPECT_THAT(text, Not(HasSubstr("--whole-tier"))) << "a node's own drives are the tier";
  EXPECT_EQ(tier_measurement(measured(R"({"id":"sequential_read","value_bytes_per_s":100})"),
                             {.tier = "hot", .whole_tier = true})
                ->read,
            BytesPerSecond(100));
}

TEST(ProbeLaws, reports_that_cannot_be_are_refused) {
  const auto code = [](const std::string& text) {
    const auto probe = read_storage_probe(text, "p.json");
    return probe ? "none" : probe.error().front().code;
  };
  const auto with = [](const std::string& figure, const std::string& version = "1") {
    return R"({"schema_version":)" + version + R"(,"kind":"storage-probe","figures":[)" + figure +
           "]}";
  };
  EXPECT_EQ(code(with(R"({"id":"x","value_s":1})")), "none");
  EXPECT_EQ(code(with(R"({"id":"x","value_s":-1})")), "calibrate.storage-report");
  EXPECT_EQ(code(with(R"({"id":"x","value_s":1})", "2")), "calibrate.storage-report");
  EXPECT_EQ(code(with(R"({"id":"x","value_s":1,"a":[[[[[[[1]]]]]]]})")), "calibrate.storage-report")
      << "too deep";
  EXPECT_EQ(code(with(R"({"id":"x","value_s":1})") + std::string(1 << 20, ' ')),
            "calibrate.storage-report")
      << "too large";
  const auto streams = read_storage_probe(
      R"({"schema_version":1,"kind":"storage-probe","conditions":{"streams":"0"},"figures":[]})",
      "p");
  ASSERT_TRUE(streams);
  EXPECT_EQ(streams->streams, 4) << "none are no streams";
}

TEST(ProbeLaws, rows_of_one_tier_are_one_tier_and_errors_are_bounded) {
  const auto read = [](const std::string& rows) {
    return read_tier_calibration(
        *CsvTable::parse("tier,parameter,value,error,fit\n" + rows, "m.csv"));
  };
  const auto both =
      read("hot,read_bytes_per_s,5,0.1,x\nhot,write_bytes_per_s,4,3,x\ncold,creates_per_s,3,,x\n");
  ASSERT_TRUE(both);
  ASSERT_EQ(both->size(), 2U);
  EXPECT_EQ((*both)[0].read, BytesPerSecond(5));
  EXPECT_EQ((*both)[0].write, BytesPerSecond(4));
  EXPECT_EQ((*both)[0].error, 0.9) << "three times as much is no error of a rate";
  EXPECT_EQ((*both)[1].creates, PerSecond(3));
  EXPECT_FALSE(read("hot,read_bytes_per_s,0,0.1,x\n"));
  EXPECT_FALSE(read(",read_bytes_per_s,1,0.1,x\n"));
}

CsvTable probe_table(const std::function<bool(const CsvTable&, const CsvRow&)>& keeps) {
  static const CsvTable all = catalog::embedded_table("validation/h200_probe.csv").value();
  std::string text;
  for (const std::string& c : all.columns()) text += (text.empty() ? "" : ",") + c;
  text += '\n';
  for (const CsvRow& row : all.rows()) {
    if (!keeps(all, row)) continue;
    std::string line;
    for (const std::string& f : row.fields)
      line += (&f == &row.fields.front() ? "" : ",") + csv_field(f);
    text += line + '\n';
  }
  return *CsvTable::parse(text, "probe.csv");
}

Result<CalibrationReport> report_of(const CsvTable& table) {
  return calibrate(table, *machine::known().catalog().accelerator("h200-sxm"),
                   machine::known().kernels);
}

TEST(CalibrateLaws, eleven_products_fix_no_parameters) {
  int left = 11;
  const auto few = report_of(probe_table([&left](const CsvTable& t, const CsvRow& r) {
    return t.text(r, "op") == "gemm" && t.number(r, "sustained") == 0 && left-- > 0;
  }));
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().front().code, "calibrate.rows");
}

TEST(CalibrateLaws, what_is_reported_is_in_per_cent_and_of_the_shipped_before) {
  CalibrationReport r{.accelerator = "a", .gpu = "G", .parts = {}};
  r.rows = 20, r.used = 15, r.sustained = 3;
  r.sustained_time_error = 0.02, r.sustained_watts_error = 0.03;
  r.parts.push_back({.name = "p", .fit = {}, .median_before = 0.25});
  r.parts[0].fit.fitted_on = 7, r.parts[0].fit.held_out = 4;
  r.parts[0].fit.median_error = 0.05, r.parts[0].fit.p90_error = 0.125;
  const std::string text = calibration_text(r);
  EXPECT_THAT(text, HasSubstr("15 of 20 rows used"));
  EXPECT_THAT(text, HasSubstr("median   5.0 %, p90  12.5 % (shipped parameters: median 25.0 %)"));
  EXPECT_THAT(text, HasSubstr("time 2.0 %, watts 3.0 %"));
}

// The shipped files with one of them changed.
catalog::Knowledge changed_knowledge(std::string_view path, std::string_view from,
                                     const std::string& to) {
  static std::vector<catalog::EmbeddedFile> files;  // the knowledge looks at them as long as it is
  files.assign(catalog::embedded_files().begin(), catalog::embedded_files().end());
  static std::string text;
  for (catalog::EmbeddedFile& file : files) {
    if (file.path != path) continue;
    text = file.text;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    file.text = text;
  }
  return load_knowledge(files).value();
}

TEST(FitLaws, a_value_without_an_origin_or_a_prior_is_refused) {
  const auto code = [](const catalog::Knowledge& k) {
    const auto p = training_fit_parameters(k);
    return p ? "" : p.error().front().code;
  };
  EXPECT_EQ(code(*machine::known().knowledge), "");
  EXPECT_EQ(code(changed_knowledge("calibration/training_accelerators.csv", ",fitted", ",heard")),
            "calibration.origin");
  EXPECT_EQ(
      code(changed_knowledge("calibration/training_priors.csv", "framework,,", "framework,x,")),
      "calibration.prior");
}

TEST(TrainingScoreLaws, a_row_that_is_not_there_is_said) {
  const auto none =
      explain_training_row(*CsvTable::parse(training_csv(""), "t.csv"), shipped_inputs(), "a");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().front().code, "score.row");
}

Score storage_rows(const std::string& text) {
  return score_storage(*CsvTable::parse(text, "r.csv"), shipped_inputs()).value();
}

TEST(StorageScoreLaws, a_rate_at_the_mark_has_its_spread_and_is_in_mebibytes) {
  const Score s = storage_rows(
      "submitter,system_path,model,accelerator,num_accelerators,MiB_per_s\na,b,unet3d,h100,10,\n");
  const Estimate& e = s.series[0].rows.at(0).predicted;
  EXPECT_NEAR(e.low / e.value, 0.986 / 1.017, 1e-9);
  EXPECT_NEAR(e.high / e.value, 1.078 / 1.017, 1e-9);
  const Score twice = storage_rows(
      "submitter,system_path,model,accelerator,num_accelerators,MiB_per_s\na,b,unet3d,h100,20,\n");
  EXPECT_NEAR(twice.series[0].rows.at(0).predicted.value / e.value, 2, 1e-9);
}

// 14 bytes of 8 billion parameters are 105 GiB; a read rate is bytes over seconds.
TEST(StorageScoreLaws, a_checkpoint_is_scored_by_the_others_of_its_system) {
  const Score s = score_storage(catalog::embedded_table("validation/checkpoint_truth.csv").value(),
                                shipped_inputs())
                      .value();
  for (const ScoredRow& row : s.series[2].rows) {
    ASSERT_TRUE(row.measured);
    EXPECT_GT(*row.measured, 1) << row.id;
    EXPECT_LT(*row.measured, 2000) << row.id;
    EXPECT_NEAR(row.predicted.high / row.predicted.value, 1.25, 1e-9);
  }
  for (const ScoredRow& row : s.series[0].rows)
    EXPECT_NEAR(row.predicted.high / row.predicted.value, 1.1, 1e-9);
}

}  // namespace
}  // namespace orrery::score
