// Input files that are refused, by code, each next to one that just passes: tables, traces, logs,
// lists and output of other programs.
#include <gtest/gtest.h>

#include <string>

#include "core/base/csv.h"
#include "core/catalog/config_json.h"
#include "core/catalog/fact_tables.h"
#include "core/catalog/site_hours.h"
#include "core/workload/job_trace.h"
#include "core/workload/pod_trace.h"
#include "layers/engines/engine.h"
#include "layers/fabric/collective_parameters.h"
#include "layers/fabric/counters.h"
#include "layers/fabric/graph.h"
#include "layers/fabric/nccl_log.h"
#include "layers/facility/schedule.h"
#include "layers/failure/causes.h"
#include "live/agent/exporter_metrics.h"
#include "live/agent/exporter_slurm.h"
#include "live/agent/lifecycle_lines.h"
#include "live/agent/slurm_parse.h"
#include "live/agent/slurm_port.h"
#include "live/s3/xml.h"
#include "model/design_text/yaml_tree.h"
#include "model/jobs/predict_training.h"
#include "model/machine/known_fixture.h"
#include "output/emit/kubernetes.h"
#include "output/emit/megatron_arguments.h"
#include "output/emit/script.h"
#include "output/emit/stamp.h"
#include "study/rehearse/rewind.h"
#include "study/search/rank.h"

namespace orrery {
namespace {

template <class T>
std::string code_of(const Result<T>& result) {
  return result ? "" : result.error().front().code;
}

std::string code_of(const Diagnostics& faults) { return faults.empty() ? "" : faults[0].code; }

CsvTable table(std::string_view text) { return *CsvTable::parse(text, "t.csv"); }

TEST(codes_files, tables) {
  const auto code = [](std::string_view text) { return code_of(CsvTable::parse(text, "t.csv")); };
  EXPECT_EQ(code("a,b\n1,2\n"), "");
  EXPECT_EQ(code(""), "csv.empty");
  EXPECT_EQ(code("a,b\n1,\"2\"\n"), "");
  EXPECT_EQ(code("a,b\n1,\"2\n"), "csv.quote");
  EXPECT_EQ(code("a,b\n1\n"), "csv.ragged");
  EXPECT_EQ(code("a,b\n1,2,3\n"), "csv.ragged");
  EXPECT_EQ(code("a,a\n1,2\n"), "csv.duplicate-column");
  const catalog::Knowledge& knowledge = *machine::known().knowledge;
  EXPECT_EQ(code_of(catalog::catalog_table(knowledge, "nodes")), "");
  EXPECT_EQ(code_of(catalog::catalog_table(knowledge, "notes")), "catalog.table");
}

TEST(codes_files, hours) {
  const auto code = [](const std::string& columns, const std::string& row, int rows = 24) {
    std::string text = columns + "\n";
    for (int i = 0; i < rows; ++i) text += row + "\n";
    return code_of(catalog::read_site_hours(text, "h.csv"));
  };
  EXPECT_EQ(code("pue", "1"), "");
  EXPECT_EQ(code("pue", "0.99"), "hours.value");
  EXPECT_EQ(code("pue", "1", 23), "hours.days");
  EXPECT_EQ(code("pue,dry_bulb_c", "1,20"), "hours.column");
  EXPECT_EQ(code("carbon_g_per_kwh,dry_bulb_c", "2000,60"), "");
  EXPECT_EQ(code("carbon_g_per_kwh,dry_bulb_c", "2001,60"), "hours.value");
}

TEST(codes_files, counters_and_logs) {
  const std::string header =
      "switch,port,peer,seconds,tx_bytes,rx_bytes,speed_gbps,pause_rx,pause_tx,ecn_marked,drops\n";
  const auto judged = [&](const std::string& row) {
    return code_of(fabric::judge_counters(table(header + row)));
  };
  EXPECT_EQ(judged("s,1,h,10,1,1,400,0,0,0,0\n"), "");
  EXPECT_EQ(judged("s,1,h,10,1,1,400,0,0,0,-1\n"), "counters.field");
  EXPECT_EQ(judged("s,1,h,10,many,1,400,0,0,0,0\n"), "counters.field");
  EXPECT_EQ(code_of(fabric::parse_nccl_log("# nThread 1\n", "n.log")), "nccl.empty");
}

TEST(codes_files, calibration) {
  EXPECT_EQ(code_of(fabric::read_collective_parameters(table("group,id,parameter,value\n"))),
            "calibration.empty");
  const std::string causes = "cause,group,weight,scope,keeps_disk,sight\n";
  const auto cause = [&](const std::string& row) {
    return code_of(failure::read_fault_causes(table(causes + row)));
  };
  EXPECT_EQ(cause("fan,host,1,host,yes,health\n"), "");
  EXPECT_EQ(cause("fan,host,0,host,yes,health\n"), "failure.cause");
  EXPECT_EQ(cause("fan,roof,1,host,yes,health\n"), "failure.cause");
  EXPECT_EQ(cause("fan,host,1,rack,yes,health\n"), "failure.cause");
  EXPECT_EQ(cause("fan,host,1,host,perhaps,health\n"), "failure.cause");
  EXPECT_EQ(cause("fan,host,1,host,yes,luck\n"), "failure.cause");
  const std::string engines =
      "id,also,policy,memory_share,block_tokens,reserve_gib,host_step_us,eager_layer_us,"
      "first_token_ms,kernels_hidden,keeps_all_output\n";
  const auto engine = [&](const std::string& row) {
    return code_of(engines::read_engines(table(engines + row)));
  };
  EXPECT_EQ(engine("e,,vllm,0.9,16,3,300,0,8,0.3,0\n"), "");
  EXPECT_EQ(engine("e,,vllm,1.1,16,3,300,0,8,0.3,0\n"), "serving.engine-row");
  EXPECT_EQ(engine("e,,vllm,0.9,0,3,300,0,8,0.3,0\n"), "serving.engine-row");
  EXPECT_EQ(engine("e,,vllm,0.9,16,3,300,0,8,1.3,0\n"), "serving.engine-row");
  EXPECT_EQ(engine("e,,tgi,0.9,16,3,300,0,8,0.3,0\n"), "serving.engine-row");
}

TEST(codes_files, schedules) {
  const auto code = [](std::vector<std::string> after) {
    const std::vector<facility::ScheduleItem> items{
        {.id = "a", .low = days(1), .typical = days(2), .high = days(3)},
        {.id = "b",
         .low = days(1),
         .typical = days(2),
         .high = days(3),
         .after = std::move(after)}};
    return code_of(plan_schedule(items));
  };
  EXPECT_EQ(code({"a"}), "");
  EXPECT_EQ(code({"c"}), "schedule.unknown");
  EXPECT_EQ(code({"b"}), "schedule.cycle");
}

TEST(codes_files, traces) {
  const auto jobs = [](std::string_view text) { return code_of(workload::read_jobs(text, "j")); };
  EXPECT_EQ(jobs("submit,run,gpus\n0,60,8\n"), "");
  EXPECT_EQ(jobs("submit,run,gpus\n0,60,0\n"), "trace.empty");
  EXPECT_EQ(jobs("submit,run,gpus\n0,soon,8\n"), "trace.row");
  const auto pods = [](const std::string& row) {
    return code_of(workload::read_pods("cpu_milli,memory_mib,num_gpu,gpu_milli\n" + row, "p"));
  };
  EXPECT_EQ(pods("1,1,1,500\n"), "");
  EXPECT_EQ(pods("1,1,2,1000\n"), "");
  EXPECT_EQ(pods("1,1,2,500\n"), "trace.row");
  EXPECT_EQ(pods("-1,1,1,500\n"), "trace.row");
  EXPECT_EQ(pods(""), "trace.row");
  const auto nodes = [](const std::string& row) {
    return code_of(workload::read_pod_nodes("cpu_milli,memory_mib,gpu,model\n" + row, "n"));
  };
  EXPECT_EQ(nodes("1,1,8,A10\n"), "");
  EXPECT_EQ(nodes("1,1,9,A10\n"), "trace.row");
}

TEST(codes_files, traces_too_short_to_rewind) {
  std::vector<workload::JobRecord> jobs;
  for (int i = 0; i < 30; ++i) {
    jobs.push_back({.submit = seconds(60.0 * i),
                    .run = minutes(5),
                    .limit = minutes(10),
                    .wait = seconds(1),
                    .gpus = 8});
  }
  const cluster::NodePool pool({32});
  const rehearse::RewindOptions options{.policies = {cluster::BackfillVariant::easy}};
  EXPECT_EQ(code_of(rehearse::rewind(jobs, pool, options)), "rewind.record");
}

TEST(codes_files, models_and_megatron_lines) {
  const std::string arguments =
      "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 "
      "--micro-batch-size ";
  EXPECT_EQ(code_of(emit::query_from_megatron(arguments + "1", "a")), "");
  EXPECT_EQ(code_of(emit::query_from_megatron(arguments + "0", "a")), "megatron.missing");
  const std::string config =
      R"({"architectures":["MixtralForCausalLM"],"model_type":"mixtral","hidden_size":4096,)"
      R"("num_hidden_layers":32,)"
      R"("num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,)"
      R"("vocab_size":32000,"num_local_experts":8,"num_experts_per_tok":2)";
  const auto model = [&](const std::string& rest) {
    return code_of(catalog::model_from_config_json(config + rest + "}", "m"));
  };
  EXPECT_EQ(model(""), "");
  EXPECT_EQ(model(R"(,"moe_latent_size":1024)"), "config.experts");
}

TEST(codes_files, training_that_cannot_be_laid_out) {
  jobs::TrainingQuery good{.model = *machine::known().catalog().model("llama-3-8b"),
                           .accelerator = machine::known().catalog().accelerator("h100-sxm"),
                           .gpus = 8};
  good.sequence = 4096;
  good.batch = 8;
  good.layout = {.tp = 2, .pp = 1, .vp = 1, .cp = 1, .ep = 1, .microbatch = 1};
  EXPECT_EQ(code_of(predict_training(machine::known(), good)), "");
  jobs::TrainingQuery odd = good;
  odd.layout.tp = 3;
  EXPECT_EQ(code_of(predict_training(machine::known(), odd)), "training.layout");
  odd = good;
  odd.batch = 9;
  EXPECT_EQ(code_of(predict_training(machine::known(), odd)), "training.layout");
}

TEST(codes_files, accelerators_that_are_not_sold) {
  search::RankQuery q{.model = *machine::known().catalog().model("llama-3-8b"),
                      .request = {.input = 1024, .output = 128}};
  q.accelerators = {"h100-sxm"};
  EXPECT_EQ(code_of(rank_accelerators(machine::known(), q)), "");
  q.accelerators = {"h100-sxm", "h99"};
  EXPECT_EQ(code_of(rank_accelerators(machine::known(), q)), "rank.accelerator");
}

TEST(codes_files, our_own_emitted_files) {
  const std::string digest(64, 'a');
  const emit::Manifest one{
      {.target = "slurm", .path = "slurm.conf", .digest = digest, .design = digest}};
  const auto again = emit::read_manifest(emit::write_manifest(one), "m");
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(*again, one);
  EXPECT_EQ(code_of(emit::read_manifest("{}", "m")), "emit.manifest");
  EXPECT_EQ(code_of(emit::read_manifest("no json", "m")), "emit.manifest");
  EXPECT_EQ(code_of(emit::Script::from_text("a @b@\n").word("b", "c").text()), "");
  EXPECT_EQ(code_of(emit::Script::from_text("a @b@\n").text()), "emit.script");
  EXPECT_EQ(code_of(emit::Script::from_text("a\n").word("b", "c").text()), "emit.script");
  const auto checked = [](std::string_view yaml) {
    return code_of(emit::check_kubernetes(yaml, "k.yaml").faults);
  };
  EXPECT_EQ(checked("apiVersion: v1\nkind: Namespace\nmetadata: { name: a }\n"), "");
  EXPECT_EQ(checked("apiVersion: v1\nkind: Spacename\nmetadata: { name: a }\n"), "emit.schema");
  EXPECT_EQ(checked("apiVersion: v1\nkind: Namespace\nmetadata: { name: A_b }\n"), "emit.schema");
}

TEST(codes_files, yaml_and_xml) {
  Diagnostics faults;
  EXPECT_TRUE(design_text::parse_yaml("a: 1\n", "y", faults));
  EXPECT_EQ(code_of(faults), "");
  EXPECT_FALSE(design_text::parse_yaml("? [a, b]\n: 1\n", "y", faults));
  EXPECT_EQ(code_of(faults), "yaml.key");
  EXPECT_EQ(code_of(s3::read_xml("<a><b>1</b></a>")), "");
  EXPECT_EQ(code_of(s3::read_xml("<a><b>1</a>")), "xml.malformed");
}

TEST(codes_files, answers_of_slurm) {
  EXPECT_EQ(code_of(agent::parse_jobs("1;RUNNING;0;1;N/A;N/A;n1;None;\n")), "");
  EXPECT_EQ(code_of(agent::parse_jobs("1;RUNNING\n")), "slurm.output");
  EXPECT_EQ(code_of(agent::parse_nodes("n1;idle;none;\n")), "");
  EXPECT_EQ(code_of(agent::parse_nodes("n1\n")), "slurm.output");
  Diagnostics faults;
  agent::parse_sinfo("n1;batch;idle;gpu:8;gpu:0;none;\n", faults);
  EXPECT_EQ(code_of(faults), "");
  agent::parse_sinfo("n1;batch\n", faults);
  EXPECT_EQ(code_of(faults), "slurm.output");
  const auto answers = [](int exit_code) {
    return [exit_code](const agent::Command&) -> Result<agent::CommandResult> {
      return agent::CommandResult{.exit_code = exit_code};
    };
  };
  EXPECT_EQ(code_of(agent::look_at_slurm({}, answers(0))), "");
  EXPECT_EQ(code_of(agent::look_at_slurm({}, answers(1))), "slurm.failed");
  agent::SlurmPort refused({}, answers(1));
  EXPECT_EQ(code_of(refused.look()), "slurm.refused");
  agent::SlurmPort port({}, answers(0));
  using Kind = failure::ActionKind;
  EXPECT_EQ(code_of(port.act({.kind = Kind::drain_node, .nodes = {"n1"}})), "");
  EXPECT_EQ(code_of(port.act({.kind = Kind::drain_node, .nodes = {"n1;rm"}})), "slurm.name");
}

TEST(codes_files, metrics_and_journals) {
  const agent::MetricFamilies known{{.name = "a"}};
  const auto parsed = [&](std::string_view line) {
    return code_of(agent::parse_metrics(line, "m", known).faults);
  };
  EXPECT_EQ(parsed("a{b=\"c\"} 1.5\n"), "");
  EXPECT_EQ(parsed("a{b=\"c} 1.5\n"), "exporter.line");
  EXPECT_EQ(parsed("z{b=\"c\"} 1.5\n"), "exporter.line");
  EXPECT_EQ(code_of(agent::recall_lifecycle("my diary\n", "j")), "journal.unreadable");
}

}  // namespace
}  // namespace orrery
