// Details of what the agents read and ask: each line here is one that another program prints.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "live/agent/checkpoint_burst.h"
#include "live/agent/checkpoint_format.h"
#include "live/agent/exporter.h"
#include "live/agent/io_ring.h"
#include "live/agent/journal.h"
#include "live/agent/probe_folder.h"
#include "live/agent/slurm_parse.h"
#include "live/agent/slurm_port.h"
#include "live/agent/straggler_input.h"
#include "live/agent/test_folder.h"

namespace orrery::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(SlurmDetails, what_a_job_may_say) {
  const auto job = [](const std::string& line) {
    const auto jobs = parse_jobs(line + "\n");
    EXPECT_TRUE(jobs) << line;
    return jobs && !jobs->empty() ? jobs->front() : failure::JobView{};
  };
  EXPECT_TRUE(job("1;REQUEUE_HOLD;1;1;N/A;N/A;;None;").held);
  EXPECT_TRUE(job("1;SPECIAL_EXIT;1;1;N/A;N/A;;None;").held);
  EXPECT_TRUE(job("1;PENDING;1;1;N/A;N/A;;JobHoldMaxRequeue;").held);
  EXPECT_FALSE(job("1;PENDING;1;1;N/A;N/A;;Resources;").held);
  EXPECT_TRUE(job("1;PENDING;1;1;N/A;N/A;n[1-2];Resources;").nodes.empty())
      << "a waiting job has no nodes, whatever it had";
  EXPECT_EQ(job("1;RUNNING;1;1;N/A;2026-11-15T05:30:00;n1;None;").ended, Seconds())
      << "when it would end is not when it ended";
  EXPECT_FALSE(parse_jobs("1;RUNNING;-1;1;N/A;N/A;n1;None;\n"));
  EXPECT_FALSE(parse_jobs("1;RUNNING;2000000000;1;N/A;N/A;n1;None;\n"));
  EXPECT_TRUE(parse_jobs("12 lines of a banner;\nslurm_load_jobs error: 7\n")->empty())
      << "a row begins with a number and its end";
  EXPECT_EQ(parse_slurm_time("2026-11-15T07:08:09"),
            days(20'772) + hours(7) + minutes(8) + seconds(9));
  EXPECT_EQ(parse_slurm_time("2026x11-15T07:08:09"), Seconds());
  const auto nodes = parse_nodes(
      "n1;idle+not_responding;none;\nn2;idle;fatal: old;\nn3;idle+drain;by "
      "hand;\nn4;mixed*+drain;x;\n"
      "n5;failing;x;\nn6;down+powering_up;x;\nn7;idle*+reboot_requested;x;\n");
  ASSERT_TRUE(nodes);
  EXPECT_TRUE((*nodes)[0].silent);
  EXPECT_FALSE((*nodes)[1].broken) << "a reason that was left from an earlier time";
  EXPECT_FALSE((*nodes)[2].spare || (*nodes)[2].broken);
  EXPECT_TRUE((*nodes)[3].silent && (*nodes)[3].drained);
  EXPECT_TRUE((*nodes)[4].broken && (*nodes)[4].drained);
  EXPECT_FALSE((*nodes)[5].down || (*nodes)[6].silent) << "taken off on purpose";
}

// A cluster that answers from tables.
struct Answers {
  std::string squeue, sinfo = "n1;idle;none;\n", config, excluded;
  std::vector<Command> asked;

  CommandRunner runner() {
    return [this](const Command& c) -> Result<CommandResult> {
      asked.push_back(c);
      if (c.words[0] == "sinfo") return CommandResult{.out = sinfo};
      if (c.words[0] == "scontrol" && c.words[1] == "show") return CommandResult{.out = config};
      if (c.words.back() == "%x" || c.words.back() == "%A;%x")
        return CommandResult{.out = excluded};
      return CommandResult{.out = c.words[0] == "squeue" ? squeue : ""};
    };
  }
};

TEST(SlurmDetails, a_port_asks_for_what_is_avoided_only_where_a_job_waits_after_a_run) {
  Answers answers{.squeue = "7;PENDING;0;1;N/A;N/A;;Resources;\n", .excluded = "7;n9\n"};
  SlurmPort port({}, answers.runner());
  ASSERT_TRUE(port.look());
  EXPECT_EQ(answers.asked.size(), 3u) << "it has not run yet";
  answers.squeue = "12;PENDING;2;1;N/A;N/A;;Resources;\n7;PENDING;1;1;N/A;N/A;;Resources;\n";
  answers.excluded = "1;n5\n12;n[1-2]\n13;n7\n7;(null)\n5;n8\n";
  const auto look = port.look();
  ASSERT_TRUE(look);
  EXPECT_THAT(look->jobs[0].avoids, ElementsAre("n1", "n2"));
  EXPECT_TRUE(look->jobs[1].avoids.empty());
  for (const Command& c : answers.asked) EXPECT_EQ(c.environment.size(), 2u) << "no conf was given";
  // What is added stands beside what the owner wished.
  answers.excluded = "m[1-2]\n";
  ASSERT_TRUE(
      port.act({.kind = failure::ActionKind::exclude_nodes, .job = "7", .nodes = {"n3", "n1"}}));
  EXPECT_EQ(answers.asked.back().words.back(), "ExcNodeList=m1,m2,n1,n3");
  ASSERT_TRUE(port.act(
      {.kind = failure::ActionKind::drain_node, .nodes = {"n1"}, .why = "a \"b\"\n\x7f c"}));
  EXPECT_EQ(answers.asked.back().words.back(), "Reason=a  b    c") << "one line of plain letters";
  for (const std::string& bad :
       {std::string("-n1"), std::string(), std::string(256, 'n'), std::string("n 1")}) {
    const auto refused = port.act({.kind = failure::ActionKind::drain_node, .nodes = {bad}});
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().front().code, "slurm.name");
  }
  answers.config = "PreemptType = preempt/qos\nJobRequeue = 0\nReturnToService = 2\n";
  EXPECT_TRUE(slurm_habits({}, answers.runner())->preempts);
  EXPECT_FALSE(slurm_habits({}, answers.runner())->requeues);
  EXPECT_EQ(slurm_habits({}, answers.runner())->returns_service, 2);
  answers.config = "PreemptType = preempt/none\nJobRequeue = 1\n";
  EXPECT_FALSE(slurm_habits({}, answers.runner())->preempts);
  EXPECT_TRUE(slurm_habits({}, answers.runner())->requeues);
}

// A fence that ends as it is told.
struct ToldFence final : RunningCommand {
  explicit ToldFence(std::optional<CommandResult>* told) : result(told) {}
  std::optional<CommandResult> poll() override { return *result; }
  std::optional<CommandResult>* result;
};

TEST(SlurmDetails, fences_stand_as_their_programs_ended) {
  Answers answers{.sinfo = "n1;down;x;\nn2;down;x;\n"};
  std::optional<CommandResult> result;
  int started = 0;
  SlurmPort port({.fence = "fence"}, answers.runner(),
                 [&](const Command&) -> Result<std::unique_ptr<RunningCommand>> {
                   ++started;
                   return std::make_unique<ToldFence>(&result);
                 });
  const auto fence = [&](const std::string& node) {
    return port.act({.kind = failure::ActionKind::fence_node, .nodes = {node}});
  };
  const auto state = [&] { return port.look()->nodes[0].fence; };
  EXPECT_EQ(state(), failure::FenceState::none);
  ASSERT_TRUE(fence("n1"));
  ASSERT_TRUE(fence("n1"));
  EXPECT_EQ(started, 1) << "one at a time for a node";
  EXPECT_EQ(state(), failure::FenceState::under_way);
  result = CommandResult{.exit_code = 1};
  EXPECT_EQ(state(), failure::FenceState::failed);
  ASSERT_TRUE(fence("n1"));
  result = CommandResult{};
  EXPECT_EQ(state(), failure::FenceState::off);
  EXPECT_EQ(state(), failure::FenceState::off) << "said until it is well again";
  answers.sinfo = "n1;idle;x;\nn2;down;x;\n";
  EXPECT_EQ(state(), failure::FenceState::off);
  EXPECT_EQ(state(), failure::FenceState::none);
  result.reset();
  for (int i = 0; i < 256; ++i) ASSERT_TRUE(fence("m" + std::to_string(i)));
  const auto many = fence("m999");
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().front().code, "slurm.fences");
}

std::string metrics_page(const SlurmLook& look, double now = 1794722400) {
  return exposition(slurm_metrics(look, Seconds(now)).value_or(MetricFamilies{}));
}

TEST(ExporterDetails, the_head_of_a_queue_is_the_highest_and_the_oldest_that_waits_for_a_place) {
  Diagnostics faults;
  SlurmLook look;
  look.nodes = parse_sinfo(
      "a;p;idle;gpu:8;gpu:0;x;\nb;p;mixed;gpu:8;gpu:4;x;\nc;p;completing;gpu:8;gpu:8;x;\n"
      "d;p;down+powered_down;gpu:8;gpu:0;x;\ne;q;idle;gpu:8;gpu:0;x;\nf;p;idle+not_responding;gpu:"
      "8;gpu:0;x;\n",
      faults);
  look.jobs = parse_squeue(
      "1;p;PENDING;3;N/A;gres:gpu:10;50;2026-11-15T05:50:00;N/A;Priority;\n"
      "2;p;PENDING;2;N/A;gres:gpu:8;50;2026-11-15T05:40:00;N/A;Resources;\n"
      "3;p;PENDING;9;N/A;gres:gpu:9;99;2026-11-15T05:40:00;N/A;Dependency;\n"
      "4;p;RUNNING;1;N/A;N/A;50;2026-11-13T05:00:00;2026-11-13T05:59:00;None;\n"
      "5;q;PENDING;1;N/A;N/A;50;2026-11-15T05:00:00;N/A;Resources;\n",
      faults);
  ASSERT_TRUE(faults.empty());
  EXPECT_EQ(look.jobs[0].gpus_per_node, 4) << "ten on three nodes are four on one of them";
  const std::string page = metrics_page(look);
  EXPECT_THAT(page, HasSubstr("queue_head_nodes{partition=\"p\"} 2\n")) << "the older of two";
  EXPECT_THAT(page, HasSubstr("queue_head_gpus{partition=\"p\"} 8\n")) << "two nodes of four";
  EXPECT_THAT(page, HasSubstr("queue_head_fitting_nodes{partition=\"p\"} 2\n")) << "a and b";
  EXPECT_THAT(page, HasSubstr("queue_head_fitting_nodes{partition=\"q\"} 1\n"))
      << "one without GPUs wants an idle node";
  EXPECT_THAT(page, HasSubstr("nodes{state=\"allocated\"} 1\n")) << "completing";
  EXPECT_THAT(page, HasSubstr("nodes{state=\"down\"} 0\n")) << "powered down is not down";
  EXPECT_THAT(page, HasSubstr("nodes{state=\"other\"} 2\n"));
  // Job 4 started two days ago: it says nothing of today. Waits are 600 and 1200 s.
  EXPECT_THAT(page, HasSubstr("queue_wait_seconds{partition=\"p\",quantile=\"0.5\"} 900\n"));
  // A clock that is behind the controller's gives no negative wait.
  EXPECT_THAT(metrics_page(look, 1794720000), Not(HasSubstr("} -")));
}

TEST(ExporterDetails, node_files_are_plain_files_that_end_in_prom) {
  const TestFolder folder;
  const std::string line = "orrery_measured_step_time_seconds{rank=\"1\"} 2\n";
  folder.write("a.prom", line);
  folder.write("b.txt", "orrery_measured_step_time_seconds{rank=\"2\"} 2\n");
  folder.write("target", "orrery_measured_step_time_seconds{rank=\"3\"} 2\n");
  ASSERT_EQ(::symlink("target", folder.at("c.prom").c_str()), 0);
  folder.write("large.prom", "# " + std::string((1 << 20) + 1, 'x'));
  double now = 1794722400;
  int logged = 0;
  ExporterSetup setup{.slurm = false, .question = {}, .node_files = folder.path(), .probes = {}};
  setup.read_file = [](const std::string& path) -> Result<std::string> {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  setup.now = [&now] { return Seconds(now); };
  setup.log = [&logged](const Diagnostics&) { ++logged; };
  Exporter exporter(std::move(setup));
  std::string page = exporter.page();
  EXPECT_THAT(page, HasSubstr("{rank=\"1\"} 2"));
  EXPECT_THAT(page, Not(HasSubstr("rank=\"2\"")));
  EXPECT_THAT(page, Not(HasSubstr("rank=\"3\""))) << "a link could lead anywhere";
  EXPECT_THAT(page, HasSubstr("source_faults{source=\"node-files\"} 1\n")) << "the large one";
  EXPECT_THAT(page, HasSubstr("source_up{source=\"plan\"} 0\n")) << "there is no plan";
  EXPECT_THAT(page, HasSubstr("looks_total 1\n"));
  exporter.page();
  EXPECT_THAT(exporter.page(), HasSubstr("looks_total 1\n")) << "within a second";
  now += 1;
  EXPECT_THAT(exporter.page(), HasSubstr("looks_total 2\n"));
  EXPECT_EQ(logged, 1) << "the same fault is said once";
  // A family that several files give stands under one head.
  folder.write("d.prom", "orrery_measured_step_time_seconds{rank=\"4\"} 2\n");
  now += 5;
  page = exporter.page();
  EXPECT_THAT(page, HasSubstr("rank=\"4\""));
  EXPECT_EQ(page.find("# TYPE orrery_measured_step"), page.rfind("# TYPE orrery_measured_step"));
}

TEST(ExporterDetails, a_probe_gives_only_figures_above_nothing) {
  const std::string head = "id,unit,value,low,high,repeats,label\n";
  EXPECT_FALSE(probe_metrics(head + "sequential_read,bytes_per_s,0,0,0,5,x\n", {"hot", "p"}));
  EXPECT_EQ(probe_file_of("=x.csv").tier, "=x") << "no name before it";
  ExporterSetup setup{
      .slurm = false, .question = {}, .node_files = {}, .probes = {{"hot", "gone"}, {"cold", "p"}}};
  setup.read_file = [&](const std::string& path) -> Result<std::string> {
    if (path == "gone") return fail({.code = "no.file", .what = path});
    return head + "sequential_write,bytes_per_s,3,3,3,5,x\n";
  };
  setup.now = [] { return Seconds(1794722400); };
  const std::string page = Exporter(std::move(setup)).page();
  EXPECT_THAT(page, HasSubstr("tier_bytes_per_second{op=\"write\",tier=\"cold\"} 3\n"))
      << "one bad probe does not hide the others";
  EXPECT_THAT(page, HasSubstr("source_faults{source=\"probe\"} 1\n"));
}

TEST(StragglerDetails, ranks_are_numbers_that_can_be) {
  const std::string head = "step,rank,seconds\n";
  EXPECT_FALSE(read_step_times(head + "1,-1,1\n1,0,1\n", "s.csv"));
  EXPECT_FALSE(read_step_times(head + "1,1000000000,1\n1,0,1\n", "s.csv"));
  EXPECT_FALSE(read_step_times(head + "1,0,0\n1,1,1\n", "s.csv"));
  EXPECT_TRUE(
      read_step_times("\n  " + std::string(R"({"status":"success","data":{"resultType":"matrix",
      "result":[{"metric":{"rank":"0"},"values":[[1,"2"]]},{"metric":{"rank":"1"},"values":[[1,"2"]]}]}})"),
                      "x.json"));
  EXPECT_FALSE(read_step_times(R"({"status":"success","data":{"resultType":"matrix","result":[
      {"metric":{"rank":"-4"},"values":[[1,"2"]]},{"metric":{"rank":"1"},"values":[[1,"2"]]},
      {"metric":{"rank":"2"},"values":[[1,"2"]]}]}})",
                               "x.json"));
  std::string many = head;
  for (int i = 0; i <= 100'000; ++i) many += "1," + std::to_string(i) + ",1\n";
  const auto refused = read_step_times(many, "s.csv");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().front().code, "stragglers.input");
}

KeptItem item_of(const std::string& id, const std::vector<std::string>& paths) {
  KeptItem item{.id = id, .files = {}};
  for (const std::string& path : paths) item.files.push_back({.path = path, .bytes = 1});
  return item;
}

TEST(FormatDetails, what_ends_a_checkpoint) {
  EXPECT_TRUE(is_finished(item_of("checkpoint-5", {"trainer_state.json"}), {}, ""));
  EXPECT_TRUE(is_finished(item_of("c", {"model.safetensors"}), {}, ""));
  EXPECT_FALSE(
      is_finished(item_of("c", {"model.safetensors", "model-00001-of-00002.safetensors"}), {}, ""))
      << "shards want their index";
  EXPECT_FALSE(is_finished(item_of("c", {".metadata"}), {}, "done")) << "the marker that was named";
  EXPECT_TRUE(is_finished(item_of("iter_0000010", {"x"}), 10, ""));
  EXPECT_FALSE(is_finished(item_of("iter_0000011", {"x"}), 10, ""));
  EXPECT_EQ(step_of("step-" + std::string(30, '9')), 0) << "no step is that large";
  const auto framed = [](const std::string& header) {
    std::string file;
    for (int i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i));
    return file + header;
  };
  const std::string two = R"({"b":{"data_offsets":[8,24]},"c":{"data_offsets":[0,8]}})";
  EXPECT_EQ(safetensors_bytes(framed(two)), 8 + two.size() + 24)
      << "to the end of the last tensor, wherever it stands";
  EXPECT_EQ(safetensors_bytes(framed(R"({"__metadata__":{"a":"b"}})")), 8u + 26u);
  EXPECT_FALSE(safetensors_bytes(framed(R"({"a":1})").substr(0, 12)));
  EXPECT_FALSE(safetensors_header_bytes("short"));
  const std::string length("\x05\0\0\0\0\0\0\0", 8);
  EXPECT_EQ(safetensors_header_bytes(length), 5u);
  EXPECT_FALSE(safetensors_header_bytes(std::string_view(length).substr(0, 7)))
      << "a length has eight bytes, whatever lies behind them";
  EXPECT_FALSE(safetensors_header_bytes(std::string("\xff\xff\xff\xff\xff\xff\xff\x00", 8)));
  EXPECT_TRUE(missing_shard(R"({"weight_map":{"a":7}})", item_of("c", {})));
}

TEST(BurstDetails, a_burst_is_cut_into_its_writers_and_can_be_stopped) {
  const TestFolder folder;
  const BurstTimes t =
      run_burst({.folder = folder.path(), .writers = 2, .bytes = 10'000, .write_bytes = 4096});
  EXPECT_EQ(t.fault, "");
  EXPECT_EQ(t.bytes, 10'000u) << "5,000 each, which is no whole number of pages";
  EXPECT_LE(t.stall_end_s, t.safe_s);
  EXPECT_GT(t.stall_end_s, 0);
  const BurstTimes stopped = run_burst(
      {.folder = folder.path(), .writers = 2, .bytes = 10'000, .stop = [] { return true; }});
  EXPECT_EQ(stopped.bytes, 0u);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(RingDetails, requests_cover_the_span_and_stop_at_the_bytes_asked_for) {
  const TestFolder folder;
  const auto made = ProbeFolder::make(folder.path(), 0);
  ASSERT_TRUE(made);
  const auto file = open_nameless(*made, false);
  ASSERT_TRUE(file);
  for (const IoEngine engine : {IoEngine::threads, IoEngine::io_uring}) {
    std::string why;
    if (engine == IoEngine::io_uring && !io_uring_works(why)) continue;
    IoPlan plan{.file = file->file.get(),
                .write = true,
                .block_bytes = 4096,
                .depth = 3,
                .span_bytes = 40'960,
                .seconds_max = 30,
                .bytes_max = 81'920};
    const IoRun written = run_io(plan, engine);
    EXPECT_EQ(written.fault, "");
    EXPECT_EQ(written.operations, 20u);
    EXPECT_EQ(written.bytes, 81'920u);
    EXPECT_GT(written.seconds, 0);
    EXPECT_LT(written.cpu_share, 8) << "shares of a core, not thousandths";
    EXPECT_EQ(::lseek(file->file.get(), 0, SEEK_END), 40'960) << "round and round in its span";
    plan.random = true;
    plan.span_bytes = 1 << 20;
    EXPECT_EQ(run_io(plan, engine).operations, 20u);
    EXPECT_GT(::lseek(file->file.get(), 0, SEEK_END), 400'000)
        << "twenty blocks drawn from 256 do not all lie among the first hundred";
    ASSERT_EQ(::ftruncate(file->file.get(), 40'960), 0);
    plan.span_bytes = 40'960;
    plan.write = false;
    EXPECT_EQ(run_io(plan, engine).operations, 20u);
    plan.seconds_max = 0.02;
    plan.bytes_max = 0;
    EXPECT_LT(run_io(plan, engine).seconds, 5) << "time alone ends it";
    plan.span_bytes = 1 << 20;  // beyond its end
    plan.seconds_max = 5;
    EXPECT_THAT(run_io(plan, engine).fault, HasSubstr("of 4096 bytes"));
  }
}

}  // namespace
}  // namespace orrery::agent
