// Cycles of data through the stages of a pipeline, by hand and drawn at random.
#include "twin/processes/pipeline_process.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "core/base/random.h"
#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "twin/processes/populated_fixture.h"
#include "twin/processes/service_process.h"
#include "twin/world/sample_fixture.h"

namespace orrery::processes {

namespace {

// Hosts that do not fail, three tiers, and one workload of each kind.
constexpr std::string_view kMachine = R"(orrery: 1
name: life
site: { region: usa }
fleet:
  - { name: gpus, node: dgx-h100, count: 6, failures: { node_mtbf: 10000 y } }
  - { name: cpus, node: cpu-2s-server, count: 4, custom: { cores: 100 }, failures: { node_mtbf: 10000 y } }
storage:
  - { name: hot, tier: hot, kind: parallel-fs, read: 20 GB/s, write: 10 GB/s, capacity: 900 TB, first_byte: 1 s }
  - { name: warm, tier: warm, kind: object, read: 5 GB/s, write: 4 GB/s, capacity: 900 TB, first_byte: 2 s }
  - { name: cold, tier: cold, kind: object, read: 2 GB/s, write: 1 GB/s, capacity: 9 PB, first_byte: 3 s }
workloads:
  - batch: { name: clean, fleet: cpus, core_hours: 800, tasks: 400 }
  - train: { name: rank, fleet: gpus, nodes: 4, network: { params: 1B, forward: 20 GFLOP }, samples: 200M, batch: 8192 }
  - serve: { name: chat, fleet: gpus, nodes: 1, model: llama-3-8b, replicas: 3, tp: 1, arrivals: { rate: 1 /s, input_tokens: 200, output_tokens: 100 } }
)";

design::Design with(const std::string& pipeline) {
  auto d = design_text::read_design(std::string(kMachine) + pipeline, machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  return *std::move(d);
}

struct Lived {
  machine::Machine machine;
  Scenario scenario;
  PopulatedWorld populated;

  Lived(design::Design d, Seconds horizon)
      : machine(jobs::build_machine(std::move(d), machine::known())),
        scenario(scenario_of(machine, horizon)),
        populated(scenario, 1) {
    EXPECT_TRUE(populated.world.run({}));
    EXPECT_TRUE(populated.world.is_sound());
  }
  const PipelineProcess& pipeline() const { return *populated.processes.pipeline(); }
};

double s_of(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

// Ingest 36 TB at 10 GB/s: 3600 s, and 1 s to the first byte. To warm: 7.2 TB at 4 GB/s: 1800 s and
// 3 s. Deployed to hot: 1 TB at 5 GB/s: 200 s and 3 s.
constexpr const char* kMoves =
    "pipeline: { every: 2 h, stages: [{ stage: ingest, to: hot, size: 36 TB, rate: 20 GB/s },"
    " { stage: register, from: hot, to: warm, size: 7.2 TB },"
    " { stage: deploy, from: warm, to: hot, size: 1 TB }] }\n";

TEST(PipelineProcess, a_move_takes_as_long_as_the_slowest_part_of_its_path) {
  const Lived lived(with(kMoves), hours(9));
  const PipelineOutcome& o = lived.pipeline().outcome();
  ASSERT_EQ(o.stages.size(), 3U);
  EXPECT_EQ(o.cycles, 5U);
  EXPECT_EQ(o.served, 4U);
  EXPECT_NEAR(o.stages[0].mean_s(o.stages[0].end_ns), 3601, 1e-3);
  EXPECT_NEAR(o.stages[1].mean_s(o.stages[1].start_ns), 3601, 1e-3);
  EXPECT_NEAR(o.stages[1].mean_s(o.stages[1].end_ns), 3601 + 1803, 1e-3);
  EXPECT_NEAR(s_of(o.lead_ns) / 4, 3601 + 1803 + 203, 1e-3);
  EXPECT_NEAR(s_of(o.age_ns), 7200 + 3601 + 1803 + 203, 1e-3);
  EXPECT_EQ(o.stages[0].wait_ns, 0);
  // The closed form of jobs/ gives the same, with no other load.
  const auto left = jobs::tiers_left(lived.machine, lived.pipeline().stages(), {});
  for (std::size_t i = 0; i < 3; ++i) {
    const Seconds alone = move_time(lived.pipeline().stages()[i], left);
    EXPECT_NEAR(o.stages[i].mean_s(o.stages[i].end_ns - o.stages[i].start_ns), alone.base(), 1e-3);
  }
}

// A period shorter than the ingest: the second cycle waits for the first, the third for both, and
// for the half of the tier's writes that the first one's deployment had for 200 s.
TEST(PipelineProcess, a_cycle_waits_for_the_one_before_it) {
  design::Design d = with(kMoves);
  d.pipeline.every = hours(0.5);
  const Lived lived(std::move(d), hours(3.5));
  const PipelineOutcome& o = lived.pipeline().outcome();
  EXPECT_EQ(o.cycles, 7U);
  ASSERT_EQ(o.stages[0].ended, 3U);
  EXPECT_NEAR(s_of(o.stages[0].wait_ns), (3601 - 1800) * (1 + 2) + 100, 1e-3);
  EXPECT_GT(s_of(o.age_ns), 2 * 3601);
}

// Two copies that start together share the reads of the tier that both come from.
TEST(PipelineProcess, concurrent_stages_share_their_tiers) {
  const Lived lived(
      with("pipeline: { stages: [{ stage: archive, name: a, from: warm, to: hot, size: 10 TB },"
           " { stage: archive, name: b, from: warm, to: hot, size: 10 TB, after: [begin] }] }\n"),
      hours(3));
  const PipelineOutcome& o = lived.pipeline().outcome();
  for (const StageOutcome& s : o.stages) EXPECT_NEAR(s.mean_s(s.end_ns), 4000 + 3, 1e-3);
  EXPECT_EQ(o.served, 0U);  // its model does not serve
}

constexpr const char* kWhole =
    "pipeline: { every: 1 d, stages: [{ stage: ingest, to: hot, size: 36 TB, rate: 20 GB/s },"
    " { stage: prepare, workload: clean }, { stage: train, workload: rank },"
    " { stage: register, from: hot, to: warm }, { stage: deploy, from: warm, to: hot },"
    " { stage: serve, workload: chat },"
    " { stage: archive, from: hot, to: cold, size: 3 TB, keep: 30 d, after: [ingest] }] }\n";

TEST(PipelineProcess, data_passes_from_ingest_to_serving_on_one_clock) {
  const Lived lived(with(kWhole), days(4));
  const PipelineOutcome& o = lived.pipeline().outcome();
  EXPECT_EQ(o.cycles, 4U);
  EXPECT_EQ(o.served, 4U);
  const JobOutcome& run = lived.populated.processes.trains()[0]->outcome();
  EXPECT_EQ(run.runs_started, 4U);
  EXPECT_EQ(run.runs_finished, 4U);
  EXPECT_EQ(lived.populated.processes.batches()[0]->outcome().runs_finished, 4U);
  // 400 tasks of two hours on 400 cores.
  const StageOutcome& clean = o.stages[1];
  EXPECT_NEAR(clean.mean_s(clean.end_ns - clean.start_ns), 7200, 1);
  // The weights of a billion parameters, two bytes each.
  EXPECT_EQ(o.stages[3].moved, gigabytes(2) * 4);
  // Three replicas, one after the other.
  const ServicePlan& chat = lived.scenario.services[0];
  const StageOutcome& serve = o.stages[5];
  EXPECT_NEAR(serve.mean_s(serve.end_ns - serve.start_ns), 3 * chat.job.start.base(), 1e-3);
  // All three start at the beginning, and each again with every model.
  EXPECT_NEAR(s_of(lived.populated.processes.services()[0]->outcome().down_ns),
              3 * 5 * chat.job.start.base(), 1e-3);
  // The archive does not wait for the rest.
  EXPECT_NEAR(o.stages[6].mean_s(o.stages[6].start_ns), 3601, 1e-3);
}

// A run that is a stage does not start by itself.
TEST(PipelineProcess, a_workload_that_is_a_stage_runs_only_when_called) {
  design::Design d = with(kWhole);
  d.pipeline.every.reset();
  const Lived lived(std::move(d), days(4));
  EXPECT_EQ(lived.populated.processes.trains()[0]->outcome().runs_started, 1U);
  EXPECT_EQ(lived.pipeline().outcome().served, 1U);
  EXPECT_EQ(lived.pipeline().outcome().age_ns, lived.pipeline().outcome().lead_ns);
}

// Pipelines drawn at random, hosts that fail included.
class AnyPipeline {
 public:
  explicit AnyPipeline(std::uint64_t seed) : random_(seed, "pipeline") {}

  std::string draw() {
    std::string out = fmt::format(
        "pipeline: {{ every: {} h, stages: [{{ stage: ingest, to: hot, size: {} TB, "
        "rate: {} GB/s }}",
        1 + below(40), 1 + below(60), 1 + below(30));
    labels_ = {"ingest"};
    const char* works[] = {"{ stage: prepare, workload: clean", "{ stage: train, workload: rank",
                           "{ stage: serve, workload: chat"};
    for (const char* work : works) {
      for (int i = below(3); i > 0; --i) add(copy());
      if (below(4) > 0) add({work, std::string(work).substr(9, std::string(work).find(',') - 9)});
    }
    return out + stages_ + "] }\n";
  }

 private:
  struct Entry {
    std::string text;
    std::string label;
  };
  int below(int n) { return static_cast<int>(random_.below(static_cast<std::uint64_t>(n))); }
  Entry copy() {
    const char* tiers[] = {"hot", "warm", "cold"};
    const int from = below(3);
    const std::string label = fmt::format("copy-{}", labels_.size());
    return {fmt::format("{{ stage: {}, name: {}, from: {}, to: {}, size: {} GB",
                        below(2) > 0 ? "deploy" : "archive", label, tiers[from],
                        tiers[(from + 1 + below(2)) % 3], 1 + below(20000)),
            label};
  }
  void add(const Entry& entry) {
    stages_ += ", " + entry.text;
    if (below(3) == 0) {
      stages_ +=
          ", after: [" + labels_[static_cast<std::size_t>(below(static_cast<int>(labels_.size())))];
      if (below(2) > 0) stages_ += ", " + labels_.back();
      stages_ += "]";
    } else if (below(5) == 0) {
      stages_ += ", after: [begin]";
    }
    stages_ += " }";
    labels_.push_back(entry.label);
  }

  RandomStream random_;
  std::vector<std::string> labels_;
  std::string stages_;
};

void expect_order(const PipelineProcess& p) {
  const std::vector<Cycle>& cycles = p.cycles();
  for (std::size_t k = 0; k < cycles.size(); ++k) {
    const Cycle& c = cycles[k];
    for (std::size_t s = 0; s < p.stages().size(); ++s) {
      if (c.started[s].is_never()) continue;
      for (const std::size_t before : p.stages()[s].after) {
        ASSERT_FALSE(c.ended[before].is_never());
        EXPECT_GE(c.started[s].ns(), c.ended[before].ns());
      }
      EXPECT_GE(c.started[s].ns(), c.began.ns());
      if (k == 0) continue;
      ASSERT_FALSE(cycles[k - 1].ended[s].is_never()) << "one cycle at a time in a stage";
      EXPECT_GE(c.started[s].ns(), cycles[k - 1].ended[s].ns());
    }
  }
}

// Bytes written to tiers are those that arrived and those on their way; the same for bytes read.
void expect_bytes(const PipelineProcess& p, const machine::Machine& m) {
  std::vector<double> written(m.tiers.size());
  std::vector<double> read(m.tiers.size());
  for (std::size_t s = 0; s < p.stages().size(); ++s) {
    const jobs::PipelineStage& stage = p.stages()[s];
    const StageOutcome& o = p.outcome().stages[s];
    if (!stage.moves()) continue;
    EXPECT_NEAR(o.moved.base(), stage.out.base() * static_cast<double>(o.ended), 1);
    const double begun = stage.out.base() * static_cast<double>(o.started);
    written[stage.to->index.value()] += begun;
    if (stage.from) read[stage.from->index.value()] += begun;
  }
  for (std::size_t t = 0; t < m.tiers.size(); ++t) {
    EXPECT_NEAR(p.plant().use(static_cast<int>(t)).written.base(), written[t], 1);
    EXPECT_NEAR(p.plant().use(static_cast<int>(t)).read.base(), read[t], 1);
  }
}

TEST(PipelineProcess, random_pipelines_keep_their_bytes_and_their_order) {
  std::uint64_t served = 0;
  const std::uint64_t last = std::getenv("ORRERY_FULL") != nullptr ? 200 : 10;
  for (std::uint64_t seed = 1; seed <= last; ++seed) {
    const std::string text = AnyPipeline(seed).draw();
    SCOPED_TRACE(text);
    design::Design d = with(text);
    if (seed % 2 == 0) d.fleet[0].failures.node_mtbf = days(3);
    const Lived lived(std::move(d), days(6));
    expect_order(lived.pipeline());
    expect_bytes(lived.pipeline(), lived.machine);
    const PipelineOutcome& o = lived.pipeline().outcome();
    EXPECT_LE(o.served, o.cycles);
    if (o.served > 0) {
      EXPECT_GE(o.age_ns, o.lead_ns / static_cast<std::int64_t>(o.served));
    }
    served += o.served;
  }
  EXPECT_GT(served, last);
}

}  // namespace
}  // namespace orrery::processes
