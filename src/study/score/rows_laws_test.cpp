// Published rows as questions: every column reaches the field it names, blank ones leave their
// default, and what cannot be asked says why.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/machine/known_fixture.h"
#include "study/score/collectives_score.h"
#include "study/score/log_standing.h"
#include "study/score/model_of.h"
#include "study/score/offline_score.h"
#include "study/score/serving_refit.h"
#include "study/score/serving_rows.h"
#include "study/score/training_rows.h"

namespace orrery::score {
namespace {

using testing::HasSubstr;

ScoreInputs plain_inputs() { return {.models = machine::known(), .model = {}}; }

// A table of one row, by name and value.
CsvTable one_row(const std::map<std::string, std::string>& fields) {
  std::string head, values;
  for (const auto& [name, value] : fields) {
    head += name + ",";
    values += csv_field(value) + ",";
  }
  // A row of blanks alone would be no row.
  return CsvTable::parse(head + "end\n" + values + "x\n", "rows.csv").value();
}

std::map<std::string, std::string> training_fields() {
  return {{"id", "r"},           {"gpu", "h100-sxm"},   {"model", "llama-3-8b"},
          {"n_gpus", "16"},      {"seq", "4096"},       {"gbs", "32"},
          {"precision", "bf16"}, {"certainty", "read"}, {"framework", "nemo"}};
}

std::expected<TrainingRow, std::string> training_row(
    const std::map<std::string, std::string>& more) {
  auto fields = training_fields();
  for (const auto& [name, value] : more) fields[name] = value;
  const CsvTable table = one_row(fields);
  return read_training_row(table, table.rows().at(0), plain_inputs());
}

TEST(TrainingRowLaws, columns_reach_their_fields) {
  const auto r = training_row({{"tokens_per_s_per_gpu", "1234"},
                               {"peak_gib", "55"},
                               {"watts", "600"},
                               {"nic_gbps_per_gpu", "400"},
                               {"release", "25.04"},
                               {"scaleup_gpus", "4"},
                               {"shard_group", "8"},
                               {"tp", "2"},
                               {"pp", "4"},
                               {"cp", "1"},
                               {"mbs", "3"}});
  ASSERT_TRUE(r) << r.error();
  EXPECT_EQ(r->query.gpus, 16);
  EXPECT_EQ(r->query.sequence, 4096);
  EXPECT_EQ(r->query.batch, 32);
  EXPECT_EQ(r->query.nic, gbits_per_s(400)) << "bits, not bytes";
  EXPECT_EQ(r->query.scaleup, 4);
  EXPECT_EQ(r->query.release, "25.04");
  EXPECT_EQ(r->query.shard_group, 8);
  EXPECT_EQ(r->tokens_per_s_per_gpu, 1234);
  EXPECT_EQ(r->peak_gib, 55);
  EXPECT_EQ(r->watts, 600);
  EXPECT_EQ(r->query.layout.tp, 2);
  EXPECT_EQ(r->query.layout.pp, 4);
  EXPECT_EQ(r->query.layout.microbatch, 3);
  EXPECT_EQ(r->query.layout.ep, 1) << "a dense model has no experts to spread";
  EXPECT_EQ(r->query.layout.vp, 1) << "a published layout that names none has one chunk a stage";
  EXPECT_TRUE(r->query.compiled);
  EXPECT_EQ(r->query.task, training::TrainingTask::pretrain);
}

TEST(TrainingRowLaws, a_row_counts_where_somebody_read_or_measured_it) {
  EXPECT_TRUE(training_row({})->counts);
  EXPECT_TRUE(training_row({{"certainty", "measured, own"}})->counts);
  EXPECT_FALSE(training_row({{"certainty", "recalled"}})->counts);
  EXPECT_FALSE(training_row({{"certainty", ""}})->counts);
}

TEST(TrainingRowLaws, what_is_missing_is_said) {
  for (const char* column : {"n_gpus", "seq", "gbs"}) {
    for (const char* value : {"", "0", "-1"}) {
      EXPECT_FALSE(training_row({{column, value}})) << column << ' ' << value;
    }
  }
  EXPECT_THAT(training_row({{"gpu", "abacus"}}).error(), HasSubstr("abacus"));
  EXPECT_THAT(training_row({{"model", "unheard"}}).error(), HasSubstr("unheard"));
  EXPECT_THAT(training_row({{"precision", "roman"}}).error(), HasSubstr("roman"));
}

TEST(TrainingRowLaws, flags_and_tasks_are_read_as_written) {
  EXPECT_FALSE(training_row({{"compile", "0"}})->query.compiled);
  EXPECT_TRUE(training_row({{"compile", "1"}})->query.compiled);
  EXPECT_TRUE(training_row({{"token_drop", "1"}})->query.padded_experts);
  EXPECT_EQ(training_row({{"task", "lora"}})->query.task, training::TrainingTask::lora);
  EXPECT_EQ(training_row({{"task", "sft"}})->query.task, training::TrainingTask::finetune);
  EXPECT_TRUE(training_row({{"framework", "megatron-core"}})->query.balanced_experts);
  EXPECT_FALSE(training_row({})->query.balanced_experts);
  EXPECT_TRUE(training_row({{"balanced_experts", "1"}})->query.balanced_experts);
  EXPECT_TRUE(training_row({{"lora_targets", "all"}})->query.recipe.lora_on_mlp);
  EXPECT_FALSE(training_row({{"lora_targets", "attention"}})->query.recipe.lora_on_mlp);
  EXPECT_EQ(training_row({{"sequence_parallel", "0"}})->query.layout.sequence_parallel, false);
  EXPECT_FALSE(training_row({})->query.layout.sequence_parallel.has_value());
}

TEST(TrainingRowLaws, an_interleaved_schedule_has_two_chunks_where_none_are_told) {
  EXPECT_EQ(training_row({{"schedule", "interleaved"}})->query.layout.vp, 2);
  EXPECT_EQ(training_row({{"schedule", "interleaved"}, {"vp", "4"}})->query.layout.vp, 4);
  EXPECT_FALSE(training_row({})->query.layout.vp.has_value()) << "left open";
}

TEST(TrainingRowLaws, parts_of_a_list_are_whole_words) {
  const auto graph = [](const char* text) {
    return training_row({{"cuda_graph", text}})->query.recipe.graph;
  };
  EXPECT_FALSE(graph("").told);
  EXPECT_TRUE(graph("none").told);
  EXPECT_FALSE(graph("none").whole_step);
  EXPECT_TRUE(graph("full").whole_step);
  EXPECT_TRUE(graph("layer").mixer && graph("layer").mlp && graph("layer").router);
  EXPECT_TRUE(graph("partial:attn").mixer);
  EXPECT_TRUE(graph("partial:mamba").mixer);
  EXPECT_FALSE(graph("partial:mlp").mixer);
  EXPECT_TRUE(graph("partial:attn+moe_router").router);
  EXPECT_FALSE(graph("partial:moe_router").mlp);
  const auto modules = training_row({{"recompute_modules", "moe_act+mlp"}})->query.recipe.recompute;
  EXPECT_TRUE(modules.named && modules.activation && modules.mlp);
  EXPECT_FALSE(modules.experts) << "moe_act is not moe";
  EXPECT_FALSE(training_row({})->query.recipe.recompute.named);
}

// A shape of its own where the catalog has no such model: heads of equal width, embeddings tied
// where the MLP is GPT-2's.
TEST(TrainingRowLaws, a_row_may_bring_its_own_shape) {
  const std::map<std::string, std::string> shape = {{"model", "own"}, {"hidden", "2048"},
                                                    {"layers", "24"}, {"heads", "16"},
                                                    {"ffn", "8192"},  {"vocab", "50000"}};
  const auto gated = training_row(shape);
  ASSERT_TRUE(gated) << gated.error();
  EXPECT_EQ(gated->query.model.head_dim, 128);
  EXPECT_EQ(gated->query.model.kv_heads, 16);
  EXPECT_EQ(gated->query.model.layers, 24);
  EXPECT_TRUE(gated->query.model.gated_mlp);
  EXPECT_FALSE(gated->query.model.tied_embeddings);
  auto old = shape;
  old["gated_mlp"] = "0";
  EXPECT_TRUE(training_row(old)->query.model.tied_embeddings);
  EXPECT_EQ(training_row({{"layers", "4"}})->query.model.layers, 4) << "a truncated depth";
}

std::map<std::string, std::string> collective_fields() {
  return {{"id", "r"},
          {"gpu", "h100-sxm"},
          {"gpus_per_node", "8"},
          {"nodes", "2"},
          {"ranks", "16"},
          {"fabric", "IB"},
          {"collective", "all_reduce"},
          {"bytes", "1048576"},
          {"quality", "A"},
          {"nic_per_node", "8x400G"}};
}

std::expected<CollectiveRow, std::string> collective_row(
    const std::map<std::string, std::string>& more) {
  auto fields = collective_fields();
  for (const auto& [name, value] : more) fields[name] = value;
  const CsvTable table = one_row(fields);
  return read_collective_row(table, table.rows().at(0), machine::known().catalog());
}

TEST(CollectiveRowLaws, the_machine_of_a_row_is_the_one_it_names) {
  const auto r = collective_row({{"time_us_oop", "50"}, {"time_us_ip", "60"}});
  ASSERT_TRUE(r) << r.error();
  EXPECT_EQ(r->measured_us, 50) << "out of place where it is there";
  EXPECT_EQ(r->wiring.domain, 8);
  EXPECT_EQ(r->wiring.nics_per_host, 8);
  EXPECT_EQ(r->wiring.nic_rate, gbits_per_s(400));
  EXPECT_EQ(r->wiring.network, catalog::NetworkKind::infiniband);
  EXPECT_EQ(r->call.group.ranks, 16);
  EXPECT_EQ(r->call.group.per_domain, 8);
  EXPECT_FALSE(r->wiring.torch_timed);
  EXPECT_EQ(collective_row({{"time_us_oop", "0"}, {"time_us_ip", "60"}})->measured_us, 60);
  EXPECT_FALSE(collective_row({})->measured_us);
  EXPECT_TRUE(collective_row({{"quality", "B handbook"}})->wiring.torch_timed);
  EXPECT_TRUE(collective_row({{"quality", "B handbook"}})->counts);
  EXPECT_FALSE(collective_row({{"quality", "C: ill"}})->counts);
}

TEST(CollectiveRowLaws, ranks_of_one_host_need_no_network) {
  const auto r = collective_row({{"ranks", "8"}, {"nodes", "1"}, {"nic_per_node", ""}});
  ASSERT_TRUE(r) << r.error();
  EXPECT_EQ(r->wiring.network, catalog::NetworkKind::none);
  EXPECT_THAT(collective_row({{"nic_per_node", ""}}).error(), HasSubstr("NICs"));
  EXPECT_FALSE(collective_row({{"ranks", "1"}})) << "one rank says nothing to nobody";
  EXPECT_FALSE(collective_row({{"bytes", "0"}}));
}

// A rack's link joins 72 where the row says that NVLink spans hosts, else the hosts are apart.
TEST(CollectiveRowLaws, a_rack_is_one_domain_where_its_link_spans_hosts) {
  const std::map<std::string, std::string> rack = {
      {"gpu", "gb200"}, {"gpus_per_node", "4"}, {"nodes", "18"}, {"ranks", "72"}};
  auto spans = rack;
  spans["fabric"] = "NVLink5 MNNVL";
  EXPECT_EQ(collective_row(spans)->wiring.domain, 72);
  EXPECT_EQ(collective_row(rack)->wiring.domain, 4);
}

TEST(CollectiveRowLaws, texts_of_nics) {
  EXPECT_DOUBLE_EQ(parse_nics("8 x 400G")->rate.base(), 50e9);
  EXPECT_DOUBLE_EQ(parse_nics("16 EFA")->rate.base(), 50e9);
  EXPECT_FALSE(parse_nics("8x400M"));
  EXPECT_FALSE(parse_nics("0x400G"));
  EXPECT_FALSE(parse_nics("1234567890x400G"));
  EXPECT_FALSE(parse_nics("8x400"));
}

Score scored_collectives(const std::map<std::string, std::string>& more) {
  auto fields = collective_fields();
  for (const auto& [name, value] : more) fields[name] = value;
  return score_collectives(one_row(fields), plain_inputs()).value();
}

TEST(CollectiveRowLaws, a_time_is_in_microseconds_and_its_group_by_size) {
  const Score large = scored_collectives({{"bytes", "67108864"}, {"time_us_oop", "400"}});
  const ScoredRow& row = large.series[0].rows.at(0);
  // 2 x 15/16 of 64 MiB at no more than 8 x 50 GB/s is at least 300 us, and no minute.
  EXPECT_GT(row.predicted.value, 100);
  EXPECT_LT(row.predicted.value, 5000);
  EXPECT_EQ(row.predicted.basis, Basis::fitted);
  EXPECT_THAT(row.groups, testing::Contains("size=from 64 MiB"));
  EXPECT_THAT(scored_collectives({{"bytes", "67108863"}}).series[0].rows.at(0).groups,
              testing::Contains("size=below 64 MiB"));
  const double nccl = large.series[1].rows.at(0).predicted.value;
  EXPECT_GT(nccl, 50);
  EXPECT_LT(nccl, 5000);
}

// Sixteen ranks of eight NICs at 50 GB/s carry no terabyte a second; a ring on a link no more than
// the link.
TEST(CollectiveRowLaws, a_rate_that_cannot_be_is_called_doubtful) {
  const auto note = [](const std::map<std::string, std::string>& more) {
    return scored_collectives(more).series[0].rows.at(0).note;
  };
  EXPECT_EQ(note({{"bytes", "1073741824"}, {"time_us_oop", "6000"}}), "");
  EXPECT_THAT(
      note({{"bytes", "1073741824"}, {"time_us_oop", "100"}, {"ranks", "64"}, {"nodes", "8"}}),
      HasSubstr("NICs"));
  EXPECT_THAT(note({{"bytes", "1073741824"},
                    {"time_us_oop", "100"},
                    {"ranks", "8"},
                    {"nodes", "1"},
                    {"algo", "ring"}}),
              HasSubstr("ring"));
}

TEST(LogStandingLaws, a_log_is_held_against_each_of_its_sizes) {
  const catalog::Accelerator& h100 = *machine::known().catalog().accelerator("h100-sxm");
  EXPECT_EQ(domain_of_host(h100, 8), 8);
  EXPECT_EQ(domain_of_host(h100, 4), 4);
  EXPECT_EQ(domain_of_host(*machine::known().catalog().accelerator("gb200"), 4), 72);
  const machine::Wiring wiring{.accelerator = &h100,
                               .domain = 8,
                               .accelerators_per_host = 8,
                               .nics_per_host = 8,
                               .nic_rate = gbits_per_s(400),
                               .network = catalog::NetworkKind::infiniband};
  fabric::NcclLog log{.kind = workload::Collective::all_reduce};
  log.lines = {
      {.bytes = 0, .time_us = 10}, {.bytes = 1e6, .time_us = 1e9}, {.bytes = 1e9, .time_us = 1}};
  const LogStanding s = stand_log(log, 16, wiring, machine::known().collectives);
  ASSERT_EQ(s.lines.size(), 2U) << "nothing takes no time";
  EXPECT_TRUE(s.lines[0].slow());
  EXPECT_TRUE(s.lines[1].fast());
  EXPECT_LT(s.lines[0].expected.seconds.value, s.lines[1].expected.seconds.value);
  // Ten times slower than expected at every size has a reason; as expected it has none.
  fabric::NcclLog slow = log, fine = log;
  slow.lines.clear(), fine.lines.clear();
  for (const LogLine& line : s.lines) {
    const double us = line.expected.seconds.value * 1e6;
    fine.lines.push_back({.bytes = line.measured.bytes, .time_us = us});
    slow.lines.push_back({.bytes = line.measured.bytes, .time_us = 10 * us});
  }
  EXPECT_TRUE(stand_log(fine, 16, wiring, machine::known().collectives).reasons.empty());
  EXPECT_FALSE(stand_log(slow, 16, wiring, machine::known().collectives).reasons.empty());
}

TEST(ModelNames, a_model_is_known_by_any_of_its_names) {
  const auto id = [](std::string_view name) {
    const auto model = model_of(name, plain_inputs());
    return model ? model->id : "none";
  };
  EXPECT_EQ(id("llama-3-8b"), "llama-3-8b");
  EXPECT_EQ(id("LLaMA v3.1 8B"), id("llama-3.1-8b"));
  EXPECT_EQ(id("meta-llama/Llama_3.1_8B"), id("llama-3.1-8b"));
  EXPECT_EQ(id("meta-llama/Llama-3.1-70B-Instruct-FP8"), id("llama-3.1-70b"));
  EXPECT_EQ(id("mistralai/Mixtral-8x7B-v0.1"), id("mixtral-8x7b"));
  EXPECT_NE(id("llama-3.1-8b"), "none");
  EXPECT_EQ(id("nobody/nothing"), "none");
  ScoreInputs own = plain_inputs();
  own.model = [](std::string_view) {
    catalog::ModelShape m;
    m.id = "own";
    return std::optional(m);
  };
  EXPECT_EQ(model_of("nobody/nothing", own)->id, "own");
}

std::map<std::string, std::string> offline_fields() {
  return {{"id", "r"},       {"model", "Llama 3.3 70B"},
          {"gpu", "H200"},   {"precision", "FP8"},
          {"num_gpus", "2"}, {"isl", "128"},
          {"osl", "2048"},   {"metric", "output tokens/s total"}};
}

std::expected<OfflineRow, std::string> offline_row(const std::map<std::string, std::string>& more) {
  auto fields = offline_fields();
  for (const auto& [name, value] : more) fields[name] = value;
  const CsvTable table = one_row(fields);
  return read_offline_row(table, table.rows().at(0), plain_inputs());
}

TEST(OfflineRowLaws, a_row_is_the_test_that_was_run) {
  const auto r = offline_row({});
  ASSERT_TRUE(r) << r.error();
  EXPECT_EQ(r->query.accelerator->id, "h200-sxm");
  EXPECT_EQ(r->query.precision.products, catalog::Dtype::fp8);
  EXPECT_EQ(r->query.precision.kv, catalog::Dtype::fp8);
  EXPECT_EQ(r->query.split.tp, 2);
  EXPECT_EQ(r->requests, 3000) << "as many as that test queued";
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
  EXPECT_EQ(offline_row({{"gpu", "A100-PCIE-80GB"}})->query.domain, 1) << "no bridge joins cards";
}

TEST(OfflineRowLaws, a_rate_per_device_is_that_of_all_over_them) {
  const auto value = [](const char* metric) {
    auto fields = offline_fields();
    fields["osl"] = "128", fields["isl"] = "20000";  // a thousand requests: a short simulation
    fields["metric"] = metric, fields["osl"] = "2000";
    return score_offline(one_row(fields), plain_inputs())
        .value()
        .series[0]
        .rows.at(0)
        .predicted.value;
  };
  EXPECT_NEAR(value("output tokens/s total") / value("output tokens/s per GPU"), 2, 1e-9);
}

std::map<std::string, std::string> serving_fields() {
  return {{"id", "r"},
          {"backend", "trtllm"},
          {"model_path", "meta-llama/Llama-3.1-70B"},
          {"system", "h200_sxm"},
          {"precision", "fp8"},
          {"mode", "agg"},
          {"isl", "1024"},
          {"osl", "1024"},
          {"batch_size", "8"},
          {"tp_size", "4"}};
}

std::expected<jobs::ServingQuery, std::string> serving_row(
    const std::map<std::string, std::string>& more, const std::string& role = "") {
  auto fields = serving_fields();
  for (const auto& [name, value] : more) fields[name] = value;
  const CsvTable table = one_row(fields);
  return read_serving_row(table, table.rows().at(0), plain_inputs(), role);
}

TEST(ServingRowLaws, a_row_is_the_replica_that_was_run) {
  const auto q = serving_row({});
  ASSERT_TRUE(q) << q.error();
  EXPECT_EQ(q->accelerator->id, "h200-sxm");
  EXPECT_EQ(q->split.tp, 4);
  EXPECT_EQ(q->concurrency, 8);
  EXPECT_EQ(q->precision.products, catalog::Dtype::fp8);
  EXPECT_EQ(q->precision.kv, catalog::Dtype::fp8);
  EXPECT_EQ(q->request.checked_per_step, 1);
  EXPECT_EQ(serving_row({{"precision", "bf16"}})->precision.kv, catalog::Dtype::bf16);
  EXPECT_EQ(serving_row({{"precision", "fp4"}})->precision.products, catalog::Dtype::fp4);
  EXPECT_EQ(serving_row({{"gemm_quant_mode", "nvfp4"}})->precision.products, catalog::Dtype::fp4);
  EXPECT_FALSE(serving_row({{"gemm_quant_mode", "int4_wo"}}));
  EXPECT_EQ(serving_row({{"silicon_data_source", "x; silicon_concurrency=64; y"}})->concurrency, 64)
      << "the source names the clients";
  const auto guessed = serving_row({{"mtp", "1"}});
  EXPECT_EQ(guessed->request.checked_per_step, 4) << "its own token and three guesses";
  EXPECT_GT(guessed->request.accepted_per_step, 2);
}

// Where every rank attends by itself the group's size is named twice.
TEST(ServingRowLaws, attention_by_rank_is_no_tensor_parallelism) {
  const auto q = serving_row({{"tp_size", "8"}, {"attention_dp_size", "8"}});
  EXPECT_EQ(q->split.tp, 1);
  EXPECT_EQ(q->split.attention_dp, 8);
  EXPECT_EQ(serving_row({{"tp_size", "4"}, {"attention_dp_size", "2"}})->split.tp, 4);
}

TEST(ServingRowLaws, budgets_are_those_of_the_tests) {
  EXPECT_EQ(serving_row({{"backend", "sglang"}})->limits->token_budget, 16384);
  EXPECT_EQ(serving_row({{"backend", "sglang"}, {"tp_size", "4"}, {"attention_dp_size", "4"}})
                ->limits->token_budget,
            4096)
      << "of each rank";
  EXPECT_EQ(serving_row({})->limits->token_budget, 16384);
  EXPECT_EQ(serving_row({{"isl", "20000"}})->limits->token_budget, 8 + 20000 + 64)
      << "a prompt is not cut";
}

TEST(ServingRowLaws, the_load_of_a_test_is_cut_and_polled_as_it_was) {
  jobs::ServingQuery q = *serving_row({});
  EXPECT_EQ(load_of_test(q).least_share, 0.8);
  EXPECT_NEAR(load_of_test(q).waves_most, 12000.0 / 1024, 1e-9);
  q.request.output = 12000;
  EXPECT_EQ(load_of_test(q).waves_most, 2);
  EXPECT_GT(load_of_test(*serving_row({})).gathering.iterations, 0) << "1,024 tokens on four";
  EXPECT_EQ(load_of_test(*serving_row({{"isl", "4096"}})).gathering.iterations, 0);
  EXPECT_EQ(load_of_test(*serving_row({{"tp_size", "8"}})).gathering.iterations, 0);
  EXPECT_EQ(load_of_test(*serving_row({{"backend", "vllm"}})).gathering.iterations, 0);
  const auto polls = [](const char* clients) {
    return load_of_test(
               *serving_row(
                   {{"backend", "sglang"}, {"system", "b200_sxm"}, {"batch_size", clients}}))
        .receive_every;
  };
  EXPECT_EQ(polls("8"), 10);
  EXPECT_EQ(polls("16"), 30);
}

std::expected<ServedApart, std::string> apart_row(const std::vector<std::string>& rows) {
  const std::string head =
      "id,backend,model_path,system,precision,mode,isl,osl,batch_size,prefill_tp_size,"
      "decode_tp_size,decode_moe_ep_size,prefill_num_workers,decode_num_workers\n";
  std::string text = head;
  for (const std::string& row : rows) text += row + "\n";
  const CsvTable table = CsvTable::parse(text, "apart.csv").value();
  return ApartRows(table, plain_inputs()).read(table.rows().at(0), plain_inputs());
}

// Lengths are nine tenths of what a test names; replicas are the row's own, those of another row of
// the same test, or as many as most tests have.
TEST(ServingRowLaws, replicas_apart_are_published_alike_or_usual) {
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
  EXPECT_EQ(torn->from, ReplicasFrom::usual) << "two of the same test do not agree";
  EXPECT_EQ(torn->query.decode_replicas, 4);
  EXPECT_EQ(torn->query.prefill_replicas, 1);
}

// A group of more devices than a host attends on every rank by itself where a host holds the model.
TEST(ServingRowLaws, a_group_wider_than_a_host_attends_by_rank_where_a_host_would_do) {
  const std::string held =
      "a,trtllm,mistralai/Mixtral-8x7B-v0.1,h200_sxm,fp8,disagg,1000,200,8,4,16,8,1,1";
  const auto ranks = apart_row({held});
  ASSERT_TRUE(ranks) << ranks.error();
  EXPECT_EQ(ranks->query.decode_replicas, 1);
  EXPECT_EQ(ranks->query.decode.split.tp, 1);
  EXPECT_EQ(ranks->query.decode.split.attention_dp, 16);
  EXPECT_EQ(ranks->query.decode.split.ep, 16) << "experts are spread over all";
  const auto whole =
      apart_row({"a,trtllm,deepseek-ai/DeepSeek-R1,h100_sxm,fp8,disagg,1000,200,8,16,16,16,1,1"});
  ASSERT_TRUE(whole) << whole.error();
  EXPECT_EQ(whole->query.decode.split.tp, 16) << "eight of 80 GB do not hold it";
  EXPECT_EQ(whole->query.decode.split.attention_dp, 1);
}

jobs::DisaggregatedQuery unsaid(const std::string& row) {
  const auto read = apart_row({row});
  EXPECT_TRUE(read) << read.error();
  EXPECT_EQ(read->from, ReplicasFrom::usual);
  return read->query;
}

// TensorRT-LLM's tests send a few clients more than there are places, which are a power of two of
// each replica or rank; other engines take whoever comes.
TEST(ServingRowLaws, places_are_the_power_of_two_below_the_clients) {
  const std::string model = ",deepseek-ai/DeepSeek-R1,gb200,fp4,disagg,1024,1024,";
  EXPECT_EQ(unsaid("a,trtllm" + model + "666,4,32,4,,").decode.limits->max_sequences, 16)
      << "512 on 32 ranks";
  EXPECT_EQ(unsaid("a,trtllm" + model + "192,4,8,4,,").decode.limits->max_sequences, 32)
      << "of four replicas";
  EXPECT_EQ(unsaid("a,trtllm" + model + "128,4,8,4,,").decode.limits->max_sequences, 32);
  EXPECT_EQ(unsaid("a,sglang" + model + "666,4,32,4,,").decode.limits->max_sequences, 4096);
}

// Of a sweep that doubles its clients, all but the last fit.
TEST(ServingRowLaws, a_sweep_that_goes_on_has_places_for_all_but_its_last) {
  const std::string row = "a,trtllm,deepseek-ai/DeepSeek-R1,gb200,fp4,disagg,1024,1024,";
  const auto first = apart_row({row + "96,4,8,4,,", row + "192,4,8,4,,"});
  const auto last = apart_row({row + "192,4,8,4,,", row + "96,4,8,4,,"});
  EXPECT_GT(first->query.decode.limits->max_sequences, 24);
  EXPECT_EQ(last->query.decode.limits->max_sequences, 32);
}

TEST(ServingRowLaws, prefill_replicas_are_added_until_decoding_does_not_wait) {
  const std::string row = "a,sglang,deepseek-ai/DeepSeek-R1,gb200,fp4,disagg,8192,1024,";
  EXPECT_EQ(unsaid(row + "4,4,8,4,,").prefill_replicas, 1);
  const jobs::DisaggregatedQuery many = unsaid(row + "1024,4,8,4,,");
  EXPECT_GT(many.prefill_replicas, 2);
  const auto p = predict_disaggregated(plain_inputs().models, many);
  ASSERT_TRUE(p);
  EXPECT_LT(p->point.prefill_load, 0.9);
}

// 72 devices of both roles together: a decode group of two to some power and prefill on the rest,
// the less of it the shorter prompts are.
TEST(ServingRowLaws, devices_of_both_roles_together_are_shared_out) {
  const auto decoding = [](const std::string& input) {
    const jobs::DisaggregatedQuery q = unsaid("a,sglang,deepseek-ai/DeepSeek-R1,gb200,fp8,disagg," +
                                              input + ",1024,2048,72,72,72,,");
    EXPECT_EQ(q.prefill.split.tp, 8) << "the fewest that hold the weights";
    const double decode = q.decode_replicas * q.decode.split.devices();
    EXPECT_EQ(q.prefill_replicas * q.prefill.split.devices(), 72 - decode);
    return decode;
  };
  EXPECT_EQ(decoding("8192"), 16);
  EXPECT_EQ(decoding("256"), 64);
}

TEST(ServingRowLaws, rows_to_fit_are_joined_plain_and_in_seconds) {
  const CsvTable table =
      CsvTable::parse(
          "id,backend,model_path,system,precision,mode,isl,osl,batch_size,tp_size,mtp,"
          "silicon_ttft_ms,silicon_tpot_ms\n"
          "a,vllm,meta-llama/Llama-3.1-70B,h200_sxm,fp8,agg,1024,128,8,4,0,100,10\n"
          "b,vllm,meta-llama/Llama-3.1-70B,h200_sxm,fp8,agg,1024,128,8,4,1,100,10\n"
          "c,vllm,meta-llama/Llama-3.1-70B,h200_sxm,fp8,disagg,1024,128,8,4,0,100,10\n"
          "d,vllm,meta-llama/Llama-3.1-70B,h200_sxm,fp8,agg,1024,128,8,4,0,100,\n",
          "s.csv")
          .value();
  const auto rows = served_rows(table, plain_inputs());
  ASSERT_EQ(rows.size(), 1U) << "no guesses, one kind of replica, both times measured";
  EXPECT_DOUBLE_EQ(rows[0].tpot, 0.01);
  EXPECT_DOUBLE_EQ(rows[0].ttft, 0.1);
  auto offline = offline_fields();
  offline["metric"] = "output tokens/s per GPU", offline["value"] = "500";
  const auto queued = served_rows(one_row(offline), plain_inputs());
  ASSERT_EQ(queued.size(), 1U);
  EXPECT_DOUBLE_EQ(queued[0].tpot, 1.0 / (500 * 2)) << "of both devices together";
  EXPECT_EQ(queued[0].requests, 3000);
}

}  // namespace
}  // namespace orrery::score
