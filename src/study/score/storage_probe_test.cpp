// A probe's report laid over a tier, and beside the plan.
#include "study/score/storage_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/design_text/read_design.h"
#include "model/machine/known_fixture.h"
#include "plan/verdict/verdict.h"
#include "study/score/storage_compare.h"

namespace orrery::score {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kReport = R"({"schema_version":1,"kind":"storage-probe","target":"/scratch",
 "target_kind":"folder","conditions":{"engine":"io_uring"},"figures":[
 {"id":"sequential_read","repeats":3,"value_bytes_per_s":4e9,"low_bytes_per_s":3.6e9,"high_bytes_per_s":4.1e9},
 {"id":"sequential_write","value_bytes_per_s":2e9},
 {"id":"creates","value_per_s":9000},
 {"id":"first_byte","value_s":0.00008}],"notices":[],"interrupted":false})";

constexpr const char* kDesign = R"(
orrery: 1
name: two-tiers
site: { region: usa, power: 2 MW, cooling: air-contained, rack: 40 kW }
fleet:
  - { name: train, node: dgx-h100, count: 16 }
fabric:
  compute: { topology: rail-fat-tree, switch: qm9700 }
  storage: { topology: fat-tree, switch: qm9700 }
storage:
  - { tier: node-nvme, kind: local-nvme, read: 40 GB/s, write: 20 GB/s, capacity: 30 TB }
  - { tier: hot, kind: parallel-fs, servers: 4, read: 200 GB/s, write: 100 GB/s, capacity: 2 PB }
  - { tier: cold, kind: object, capacity: 20 PB, read: 100 GB/s, write: 50 GB/s }
scheduler: { kind: slurm }
workloads:
  - train: { name: pretrain, model: llama-3-8b, tokens: 100B, sequence: 8192, batch: 256,
             precision: bf16, layout: auto,
             checkpoint: { every: 30 min, to: [hot] } }
economics: { horizon: 4 y, power_price: 0.1 USD/kWh }
)";

struct World {
  machine::Models models = machine::known();
  design::Design design = *design_text::read_design(kDesign, machine::known().catalog(),
                                                    {.file = "design.yaml"}, nullptr);

  review::Review review() const { return review::run_stages(design, models); }
};

StorageProbe probe_of(std::string kind, std::vector<MeasuredFigure> figures) {
  for (MeasuredFigure& f : figures) {
    if (f.low == 0) f.low = 0.95 * f.value;
    if (f.high == 0) f.high = 1.05 * f.value;
  }
  return {.target = "here", .kind = std::move(kind), .figures = std::move(figures)};
}

const StorageComparison& of(const StorageStanding& s, std::string_view id) {
  const auto at = std::ranges::find(s.figures, id, &StorageComparison::id);
  EXPECT_NE(at, s.figures.end()) << id;
  return *at;
}

TEST(StorageProbe, a_tier_is_written_as_fast_as_a_checkpoint_is_made_safe) {
  const auto blocks =
      tier_measurement(probe_of("folder", {{"sequential_write", 2e9}}), {"node-nvme", false});
  EXPECT_EQ(blocks->write, gbytes_per_s(2));
  const auto saved =
      tier_measurement(probe_of("folder", {{"sequential_write", 2e9}, {"checkpoint_rate", 5e8}}),
                       {"node-nvme", false});
  EXPECT_EQ(saved->write, gbytes_per_s(0.5));
}

TEST(StorageProbe, a_report_is_read_with_its_units) {
  const auto probe = read_storage_probe(kReport, "p.json");
  ASSERT_TRUE(probe);
  EXPECT_EQ(probe->figure("sequential_read")->value, 4e9);
  EXPECT_EQ(probe->figure("sequential_read")->low, 3.6e9);
  EXPECT_EQ(probe->figure("creates")->high, 9000);
  EXPECT_EQ(probe->figure("random_read"), nullptr);
}

TEST(StorageProbe, hostile_reports_are_refused) {
  for (const std::string& bad :
       {std::string("{}"), std::string("not json"), std::string(R"({"kind":7,"figures":[]})"),
        std::string(R"({"schema_version":1,"kind":"storage-probe","figures":[{"id":"x"}]})"),
        std::string(
            R"({"schema_version":1,"kind":"storage-probe","figures":[{"id":7,"value_s":1}]})"),
        std::string(R"({"schema_version":2,"kind":"storage-probe","figures":[]})"),
        std::string(100'000, '['), std::string(2'000'000, ' ') + "{}"}) {
    const auto probe = read_storage_probe(bad, "p.json");
    ASSERT_FALSE(probe) << bad.substr(0, 60);
    EXPECT_EQ(probe.error()[0].code, "calibrate.storage-report");
  }
}

TEST(StorageProbe, the_drives_of_a_node_are_measured_whole) {
  const auto m = tier_measurement(*read_storage_probe(kReport, "p"), {.tier = "node-nvme"});
  ASSERT_TRUE(m);
  EXPECT_EQ(m->read, BytesPerSecond(4e9));
  EXPECT_EQ(m->write, BytesPerSecond(2e9));
  EXPECT_EQ(m->creates, PerSecond(9000));
  EXPECT_NEAR(m->error, 0.1, 1e-9) << "the wider side of the repeats";
}

TEST(StorageProbe, one_client_does_not_speak_for_a_shared_tier) {
  const auto probe = *read_storage_probe(kReport, "p");
  const auto shared = tier_measurement(probe, {.tier = "hot"});
  ASSERT_TRUE(shared);
  EXPECT_FALSE(shared->read);
  EXPECT_FALSE(shared->creates);
  EXPECT_TRUE(shared->first_byte);
  EXPECT_THAT(tier_calibration_text(*shared), HasSubstr("--whole-tier"));
  EXPECT_TRUE(tier_measurement(probe, {.tier = "hot", .whole_tier = true})->read);
}

TEST(StorageProbe, the_file_between_calibrate_and_plan_round_trips) {
  const auto m = tier_measurement(*read_storage_probe(kReport, "p"), {.tier = "node-nvme"});
  const auto table = CsvTable::parse(tier_calibration_csv(*m), "mine.csv");
  ASSERT_TRUE(table);
  EXPECT_TRUE(is_tier_calibration(*table));
  const auto back = read_tier_calibration(*table);
  ASSERT_TRUE(back);
  ASSERT_EQ(back->size(), 1u);
  EXPECT_EQ(back->front().read, m->read);
  EXPECT_EQ(back->front().first_byte, m->first_byte);
  EXPECT_NEAR(back->front().error, m->error, 1e-3);
}

TEST(StorageProbe, rows_that_say_nothing_are_refused_with_their_line) {
  const auto table = CsvTable::parse(
      "tier,parameter,value,error,fit\nhot,speed,1,0.1,x\nhot,read_bytes_per_s,-1,0.1,x\n", "m");
  const auto read = read_tier_calibration(*table);
  ASSERT_FALSE(read);
  ASSERT_EQ(read.error().size(), 2u);
  EXPECT_EQ(read.error()[0].place.line, 2);
}

TEST(StorageProbe, a_plan_with_it_stands_on_what_was_measured) {
  World world;
  const verdict::Verdict before =
      verdict::verdict_of(world.design, world.models, {.spends = false});
  world.models.tiers = {
      {.tier = "hot", .write = BytesPerSecond(1e9), .error = 0.07, .source = "me"}};
  const verdict::Verdict after = verdict::verdict_of(world.design, world.models, {.spends = false});
  const figures::Figure* write = after.figure(figures::Layer::storage, "write", "hot tier");
  ASSERT_NE(write, nullptr);
  EXPECT_EQ(write->estimate.value, 1e9);
  EXPECT_EQ(write->estimate.basis, Basis::measured);
  EXPECT_EQ(write->estimate.reference, "me");
  EXPECT_NEAR(write->estimate.high, 1.07e9, 1);
  EXPECT_EQ(after.figure(figures::Layer::storage, "read", "hot tier")->estimate.value,
            before.figure(figures::Layer::storage, "read", "hot tier")->estimate.value);
}

TEST(StorageCompare, what_reaches_the_plan_is_as_fast_as_it_should_be) {
  const World world;
  const review::Review r = world.review();
  const auto s = compare_storage(
      probe_of("folder", {{"sequential_read", 38e9}, {"sequential_write", 60e9}}), r, "");
  ASSERT_TRUE(s);
  EXPECT_EQ(s->tier, "node-nvme");
  EXPECT_EQ(of(*s, "sequential_read").standing, Standing::as_planned);
  EXPECT_EQ(of(*s, "sequential_write").standing, Standing::faster);
  EXPECT_TRUE(s->as_planned());
  EXPECT_THAT(standing_text(*s), HasSubstr("as fast as it should be"));
}

TEST(StorageCompare, slower_ones_name_their_wall) {
  const World world;
  const review::Review r = world.review();
  const auto wall = [&](std::vector<MeasuredFigure> figures, std::string_view id) {
    const auto s = compare_storage(probe_of("folder", std::move(figures)), r, "node-nvme");
    return s ? of(*s, id).wall : StorageWall::none;
  };
  EXPECT_EQ(wall({{"sequential_read", 4e9}}, "sequential_read"), StorageWall::device_bandwidth);
  EXPECT_EQ(wall({{"sequential_read", 4e9}, {"sequential_read_cores", 0.97}}, "sequential_read"),
            StorageWall::host_cpu);
  EXPECT_EQ(wall({{"creates", 100}}, "creates"), StorageWall::metadata);
  EXPECT_EQ(wall({{"first_byte", 0.01}}, "first_byte"), StorageWall::iops);
  EXPECT_EQ(wall({{"decode_core", 20}}, "decode_core"), StorageWall::loader_cpu);
  EXPECT_EQ(wall({{"small_file_read", 1e7}, {"shard_read", 1e9}}, "small_file_read"),
            StorageWall::metadata);
  EXPECT_EQ(wall({{"small_file_read", 1e7}, {"shard_read", 1.1e7}}, "small_file_read"),
            StorageWall::device_bandwidth);
}

TEST(StorageCompare, a_checkpoint_waits_for_flushing_copying_or_the_device) {
  const World world;
  const review::Review r = world.review();
  const auto wall = [&](double stall_end, double write) {
    const auto s = compare_storage(probe_of("folder", {{"checkpoint_rate", 1e9},
                                                       {"checkpoint_stall_end", stall_end},
                                                       {"checkpoint_safe", 10},
                                                       {"sequential_write", write}}),
                                   r, "node-nvme");
    return of(*s, "checkpoint_rate").wall;
  };
  EXPECT_EQ(wall(2, 5e9), StorageWall::fsync);
  EXPECT_EQ(wall(9.5, 5e9), StorageWall::host_cpu);
  EXPECT_EQ(wall(2, 1e9), StorageWall::device_bandwidth);
}

TEST(StorageCompare, one_client_of_a_shared_tier_is_held_to_its_network) {
  const World world;
  const review::Review r = world.review();
  const double network = r.networks().storage.per_node().base();
  ASSERT_GT(network, 0);
  ASSERT_LT(network, 200e9);
  const auto full = compare_storage(probe_of("folder", {{"sequential_read", network}}), r, "hot");
  EXPECT_EQ(of(*full, "sequential_read").planned.value, network);
  EXPECT_EQ(of(*full, "sequential_read").standing, Standing::as_planned);
  const auto less =
      compare_storage(probe_of("folder", {{"sequential_read", 0.82 * network}}), r, "hot");
  EXPECT_EQ(of(*less, "sequential_read").wall, StorageWall::network);
}

TEST(StorageCompare, a_bucket_is_the_object_tier_and_streams_are_its_wall) {
  const World world;
  const review::Review r = world.review();
  const auto s =
      compare_storage(probe_of("bucket", {{"sequential_read", 4e7}, {"stream_read", 1e7}}), r, "");
  ASSERT_TRUE(s);
  EXPECT_EQ(s->tier, "cold");
  EXPECT_EQ(of(*s, "sequential_read").wall, StorageWall::iops);
  EXPECT_THAT(of(*s, "sequential_read").why, HasSubstr("streams"));
}

TEST(StorageCompare, small_objects_are_planned_as_slow_as_their_first_byte_makes_them) {
  const World world;
  const review::Review r = world.review();
  StorageProbe probe = probe_of("bucket", {{"sequential_read", 4e7}});
  const auto large = compare_storage(probe, r, "");
  probe.object_bytes = 65536;
  const auto small = compare_storage(probe, r, "");
  EXPECT_LT(of(*small, "sequential_read").planned.value,
            0.5 * of(*large, "sequential_read").planned.value);
}

TEST(StorageCompare, a_plan_says_where_its_rates_come_from_and_latencies_may_be_faster) {
  World world;
  const auto s = compare_storage(
      probe_of("folder", {{"sequential_read", 38e9}, {"first_byte", 1e-9}, {"decode_core", 100}}),
      world.review(), "node-nvme");
  ASSERT_TRUE(s);
  EXPECT_EQ(of(*s, "sequential_read").planned.basis, Basis::given);
  EXPECT_EQ(of(*s, "first_byte").standing, Standing::faster);
  EXPECT_EQ(of(*s, "first_byte").wall, StorageWall::none);
  // A JPEG takes some milliseconds: hundreds a second, not thousandths.
  EXPECT_GT(of(*s, "decode_core").planned.value, 20);
  EXPECT_LT(of(*s, "decode_core").planned.value, 5000);
  world.models.tiers = {
      {.tier = "node-nvme", .read = BytesPerSecond(38e9), .error = 0.07, .source = "me"}};
  const auto measured =
      compare_storage(probe_of("folder", {{"sequential_read", 38e9}}), world.review(), "node-nvme");
  EXPECT_EQ(of(*measured, "sequential_read").planned.basis, Basis::measured);
  EXPECT_NEAR(of(*measured, "sequential_read").planned.high, 1.07 * 38e9, 1);
}

TEST(StorageCompare, streams_are_the_wall_only_where_they_add_up) {
  const World world;
  const review::Review r = world.review();
  const auto wall = [&](double one) {
    const auto s = compare_storage(
        probe_of("bucket", {{"sequential_read", 4e7}, {"stream_read", one}}), r, "");
    return of(*s, "sequential_read").wall;
  };
  EXPECT_EQ(wall(1e7), StorageWall::iops) << "four streams give four times one";
  EXPECT_EQ(wall(4e7), StorageWall::device_bandwidth) << "four give no more than one";
}

TEST(StorageCompare, an_unknown_tier_lists_the_known) {
  const World world;
  const auto s = compare_storage(probe_of("folder", {}), world.review(), "lukewarm");
  ASSERT_FALSE(s);
  EXPECT_THAT(to_text(s.error()), HasSubstr("node-nvme, hot, cold"));
  EXPECT_EQ(s.error().front().code, "probe.tier");
}

}  // namespace
}  // namespace orrery::score
