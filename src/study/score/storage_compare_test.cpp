#include "study/score/storage_compare.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "model/design_text/read_design.h"
#include "model/machine/known_fixture.h"
#include "study/score/rows_fixture.h"
#include "study/score/storage_probe.h"
#include "study/score/tier_fixture.h"

namespace orrery::score {
namespace {

using Figures = std::vector<MeasuredFigure>;
using Json = nlohmann::json;
using testing::HasSubstr;

TEST(StorageCompare, figures_at_plan_are_as_planned) {
  const TierReview world;
  const review::Review r = world.review();
  const auto s = compare_storage(
      probe_of("folder", {{"sequential_read", 38e9}, {"sequential_write", 60e9}}), r, "");
  ASSERT_TRUE(s);
  EXPECT_EQ(s->tier, "node-nvme");
  EXPECT_EQ(figure_of(*s, "sequential_read").standing, Standing::as_planned);
  EXPECT_EQ(figure_of(*s, "sequential_write").standing, Standing::faster);
  EXPECT_TRUE(s->as_planned());
}

TEST(StorageCompare, slower_figures_have_a_limit) {
  const TierReview world;
  const review::Review r = world.review();
  const auto wall = [&](std::vector<MeasuredFigure> figures, std::string_view id) {
    const auto s = compare_storage(probe_of("folder", std::move(figures)), r, "node-nvme");
    return s ? figure_of(*s, id).wall : StorageWall::none;
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

TEST(StorageCompare, a_checkpoint_waits_for_flush_copy_or_device) {
  const TierReview world;
  const review::Review r = world.review();
  const auto wall = [&](double stall_end, double write) {
    const auto s = compare_storage(probe_of("folder", {{"checkpoint_rate", 1e9},
                                                       {"checkpoint_stall_end", stall_end},
                                                       {"checkpoint_safe", 10},
                                                       {"sequential_write", write}}),
                                   r, "node-nvme");
    return figure_of(*s, "checkpoint_rate").wall;
  };
  EXPECT_EQ(wall(2, 5e9), StorageWall::fsync);
  EXPECT_EQ(wall(9.5, 5e9), StorageWall::host_cpu);
  EXPECT_EQ(wall(2, 1e9), StorageWall::device_bandwidth);
}

TEST(StorageCompare, one_client_is_limited_by_its_network) {
  const TierReview world;
  const review::Review r = world.review();
  const double network = r.networks().storage.per_node().base();
  ASSERT_GT(network, 0);
  ASSERT_LT(network, 200e9);
  const auto full = compare_storage(probe_of("folder", {{"sequential_read", network}}), r, "hot");
  EXPECT_EQ(figure_of(*full, "sequential_read").planned.value, network);
  EXPECT_EQ(figure_of(*full, "sequential_read").standing, Standing::as_planned);
  const auto less =
      compare_storage(probe_of("folder", {{"sequential_read", 0.82 * network}}), r, "hot");
  EXPECT_EQ(figure_of(*less, "sequential_read").wall, StorageWall::network);
}

TEST(StorageCompare, a_bucket_is_limited_by_streams) {
  const TierReview world;
  const review::Review r = world.review();
  const auto s =
      compare_storage(probe_of("bucket", {{"sequential_read", 4e7}, {"stream_read", 1e7}}), r, "");
  ASSERT_TRUE(s);
  EXPECT_EQ(s->tier, "cold");
  EXPECT_EQ(figure_of(*s, "sequential_read").wall, StorageWall::iops);
  EXPECT_THAT(figure_of(*s, "sequential_read").why, HasSubstr("streams"));
}

TEST(StorageCompare, small_objects_are_limited_by_first_byte_latency) {
  const TierReview world;
  const review::Review r = world.review();
  StorageProbe probe = probe_of("bucket", {{"sequential_read", 4e7}});
  const auto large = compare_storage(probe, r, "");
  probe.object_bytes = 65536;
  const auto small = compare_storage(probe, r, "");
  EXPECT_LT(figure_of(*small, "sequential_read").planned.value,
            0.5 * figure_of(*large, "sequential_read").planned.value);
}

TEST(StorageCompare, planned_rates_have_a_source) {
  TierReview world;
  const auto s = compare_storage(
      probe_of("folder", {{"sequential_read", 38e9}, {"first_byte", 1e-9}, {"decode_core", 100}}),
      world.review(), "node-nvme");
  ASSERT_TRUE(s);
  EXPECT_EQ(figure_of(*s, "sequential_read").planned.basis, Basis::given);
  EXPECT_EQ(figure_of(*s, "first_byte").standing, Standing::faster);
  EXPECT_EQ(figure_of(*s, "first_byte").wall, StorageWall::none);
  // A JPEG takes some milliseconds: hundreds per second, not thousandths.
  EXPECT_GT(figure_of(*s, "decode_core").planned.value, 20);
  EXPECT_LT(figure_of(*s, "decode_core").planned.value, 5000);
  world.models.tiers = {
      {.tier = "node-nvme", .read = BytesPerSecond(38e9), .error = 0.07, .source = "me"}};
  const auto measured =
      compare_storage(probe_of("folder", {{"sequential_read", 38e9}}), world.review(), "node-nvme");
  EXPECT_EQ(figure_of(*measured, "sequential_read").planned.basis, Basis::measured);
  EXPECT_NEAR(figure_of(*measured, "sequential_read").planned.high, 1.07 * 38e9, 1);
}

TEST(StorageCompare, streams_limit_only_if_they_scale) {
  const TierReview world;
  const review::Review r = world.review();
  const auto wall = [&](double one) {
    const auto s = compare_storage(
        probe_of("bucket", {{"sequential_read", 4e7}, {"stream_read", one}}), r, "");
    return figure_of(*s, "sequential_read").wall;
  };
  EXPECT_EQ(wall(1e7), StorageWall::iops);
  EXPECT_EQ(wall(4e7), StorageWall::device_bandwidth);
}

TEST(StorageCompare, an_unknown_tier_is_refused) {
  const TierReview world;
  const auto s = compare_storage(probe_of("folder", {}), world.review(), "lukewarm");
  ASSERT_FALSE(s);
  EXPECT_THAT(to_text(s.error()), HasSubstr("node-nvme, hot, cold"));
  EXPECT_EQ(s.error().front().code, "probe.tier");
}

constexpr std::string_view kWallsDesign = R"(
orrery: 1
name: walls
site: { region: usa, power: 2 MW, cooling: air-contained, rack: 40 kW }
fleet:
  - { name: train, node: dgx-h100, count: 16 }
fabric:
  compute: { topology: rail-fat-tree, switch: qm9700 }
  storage: { topology: fat-tree, switch: qm9700 }
storage:
  - { tier: node-nvme, kind: local-nvme, read: 40 GB/s, write: 20 GB/s, capacity: 30 TB }
  - { tier: hot, kind: parallel-fs, servers: 4, device: tlc-gen4, devices_per_server: 16,
      read: 200 GB/s, write: 150 GB/s, capacity: 200 TB, metadata: { creates: 7000/s },
      first_byte: 300 us }
  - { tier: cold, kind: object, capacity: 20 PB, read: 100 GB/s, write: 50 GB/s }
scheduler: { kind: slurm }
workloads:
  - train: { name: pretrain, model: llama-3-8b, tokens: 100B, sequence: 8192, batch: 256,
             precision: bf16, layout: auto,
             checkpoint: { every: 30 min, to: [hot] } }
economics: { horizon: 4 y, power_price: 0.1 USD/kWh }
)";

struct WallsWorld {
  design::Design design = [] {
    auto read = design_text::read_design(kWallsDesign, machine::known().catalog(),
                                         {.file = "w.yaml"}, nullptr);
    EXPECT_TRUE(read) << to_text(read.error());
    return *read;
  }();
  review::Review review = review::run_stages(design, machine::known());

  const machine::Tier& tier(const std::string& name) const {
    return *find_tier(review.tiers(), name);
  }
};

// Computed once: a review takes some milliseconds.
const WallsWorld& walls() {
  static const WallsWorld* const kWorld = new WallsWorld;
  return *kWorld;
}

StorageStanding stand(const std::string& tier, Figures figures, const std::string& kind = "folder",
                      int streams = 4) {
  for (MeasuredFigure& f : figures) {
    if (f.low == 0 && f.high == 0) f.low = f.high = f.value;
  }
  const StorageProbe probe{
      .target = "here", .kind = kind, .streams = streams, .figures = std::move(figures)};
  const auto s = compare_storage(probe, walls().review, tier);
  EXPECT_TRUE(s) << to_text(s.error());
  return *s;
}

StorageComparison compared(const StorageStanding& s, std::string_view id) {
  const auto at = std::ranges::find(s.figures, id, &StorageComparison::id);
  EXPECT_NE(at, s.figures.end()) << id;
  return at == s.figures.end() ? StorageComparison{} : *at;
}

void expect_planned(const StorageComparison& c, double value, double error) {
  EXPECT_NEAR(c.planned.value, value, 1e-9 * value) << c.id;
  EXPECT_NEAR(c.planned.low, value * (1 - error), 1e-9 * value) << c.id;
  EXPECT_NEAR(c.planned.high, value * (1 + error), 1e-9 * value) << c.id;
}

const Figures kAll = {{"sequential_read", 1}, {"sequential_write", 1}, {"stream_read", 1},
                      {"shard_read", 1},      {"small_file_read", 1},  {"checkpoint_rate", 1},
                      {"creates", 1},         {"first_byte", 1},       {"random_read", 1},
                      {"random_write", 1},    {"decode_core", 1}};

// Local drives deliver their full rate: there is no network in between.
TEST(StorageCompare, local_drives_are_planned_as_a_whole) {
  const machine::Tier& t = walls().tier("node-nvme");
  const StorageStanding s = stand("node-nvme", kAll);
  EXPECT_EQ(s.tier, "node-nvme");
  expect_planned(compared(s, "sequential_read"), 40e9, t.rate_error);
  expect_planned(compared(s, "sequential_write"), 20e9, t.rate_error);
  expect_planned(compared(s, "checkpoint_rate"), 20e9, t.rate_error);
  expect_planned(compared(s, "creates"), t.creates.base(), 0.5);
  expect_planned(compared(s, "first_byte"), t.first_byte.base(), 0.5);
  // 4.48 ms per picture of 500 x 375: data/calibration/dataset_kinds.csv.
  expect_planned(compared(s, "decode_core"), 1000 / 4.48, 0.3);
  EXPECT_EQ(compared(s, "decode_core").planned.reference, "calibration/dataset_kinds.csv");
  EXPECT_EQ(compared(s, "decode_core").planned.basis, Basis::measured);
  EXPECT_EQ(compared(s, "decode_core").unit, figures::Unit::per_second);
  EXPECT_EQ(compared(s, "sequential_read").planned.basis, Basis::given);
  EXPECT_EQ(compared(s, "sequential_read").unit, figures::Unit::bytes_per_s);
  EXPECT_EQ(compared(s, "first_byte").unit, figures::Unit::seconds);
  EXPECT_EQ(compared(s, "creates").planned.reference, "docs/models/storage.md");
}

// 64 drives of a million reads and 220,000 writes per second; the design's own figures come first.
TEST(StorageCompare, a_shared_tier_is_limited_by_drives_and_network) {
  const machine::Tier& t = walls().tier("hot");
  const double network = walls().review.networks().storage.per_node().base();
  ASSERT_LT(network, 150e9);
  const StorageStanding s = stand("hot", kAll);
  expect_planned(compared(s, "sequential_read"), network, t.rate_error);
  expect_planned(compared(s, "sequential_write"), network, t.rate_error);
  expect_planned(compared(s, "checkpoint_rate"), network, t.rate_error);
  expect_planned(compared(s, "random_read"), 64e6, 0.2);
  expect_planned(compared(s, "random_write"), 64 * 220e3, 0.2);
  expect_planned(compared(s, "creates"), t.creates.base(), 0.2);
  expect_planned(compared(s, "first_byte"), t.first_byte.base(), 0.2);
  EXPECT_EQ(compared(s, "random_read").planned.basis, Basis::vendor);
}

// Objects of 16 MiB, shards of 32 MiB and pictures of 110 kB on a number of streams: a first byte
// each and the rest at a stream's rate.
TEST(StorageCompare, bucket_rate_follows_the_streams) {
  const machine::Tier& t = walls().tier("cold");
  const double first = t.first_byte.base(), stream = t.stream_rate.base();
  const auto rate = [&](double size, int streams) {
    return streams * size / (first + size / stream);
  };
  const StorageStanding s = stand("cold", kAll, "bucket", 3);
  ASSERT_LT(rate(33554432, 3), walls().review.networks().storage.per_node().base());
  expect_planned(compared(s, "sequential_read"), rate(16777216, 3), t.rate_error);
  expect_planned(compared(s, "shard_read"), rate(33554432, 3), t.rate_error);
  expect_planned(compared(s, "small_file_read"), rate(110000, 3), t.rate_error);
  expect_planned(compared(s, "stream_read"), stream, t.rate_error);
  EXPECT_EQ(stand("", kAll, "bucket").tier, "cold");
  EXPECT_EQ(stand("", kAll).tier, "node-nvme");
  for (const StorageComparison& c : s.figures) EXPECT_FALSE(c.id.starts_with("random_")) << c.id;
}

// Planned 40 GB/s with an error: an interval that touches the plan's is as planned.
TEST(StorageCompare, touching_intervals_are_as_planned) {
  const double e = walls().tier("node-nvme").rate_error;
  const auto standing = [](double low, double high) {
    return compared(stand("node-nvme", {{"sequential_read", (low + high) / 2, low, high}}),
                    "sequential_read")
        .standing;
  };
  const double least = 40e9 * (1 - e), most = 40e9 * (1 + e);
  EXPECT_EQ(standing(0.5 * least, least), Standing::as_planned);
  EXPECT_EQ(standing(0.5 * least, 0.999 * least), Standing::slower);
  EXPECT_EQ(standing(most, 2 * most), Standing::as_planned);
  EXPECT_EQ(standing(1.001 * most, 2 * most), Standing::faster);
  const double first = walls().tier("node-nvme").first_byte.base();
  const auto wait = [](double low, double high) {
    return compared(stand("node-nvme", {{"first_byte", (low + high) / 2, low, high}}), "first_byte")
        .standing;
  };
  EXPECT_EQ(wait(1.5 * first, 9 * first), Standing::as_planned);
  EXPECT_EQ(wait(1.501 * first, 9 * first), Standing::slower);
  EXPECT_EQ(wait(0.1 * first, 0.5 * first), Standing::as_planned);
  EXPECT_EQ(wait(0.1 * first, 0.499 * first), Standing::faster);
}

TEST(StorageCompare, reads_are_limited_by_core_network_or_streams) {
  const auto reason = [](const std::string& tier, const Figures& figures, int streams = 4) {
    const StorageComparison c =
        compared(stand(tier, figures, "folder", streams), "sequential_read");
    EXPECT_NE(c.why, "");
    return c.wall;
  };
  const MeasuredFigure slow{"sequential_read", 4e9};
  const auto full = reason("node-nvme", {slow, {"sequential_read_cores", 0.9}});
  EXPECT_EQ(full, StorageWall::host_cpu);
  const auto not_full = reason("node-nvme", {slow, {"sequential_read_cores", 0.899}});
  EXPECT_EQ(not_full, StorageWall::device_bandwidth);
  // 4 GB/s of five streams of 0.88 GB/s are ten elevenths of them; of 0.9 GB/s less.
  const auto streams = reason("node-nvme", {slow, {"stream_read", 0.88e9}}, 5);
  EXPECT_EQ(streams, StorageWall::iops);
  EXPECT_EQ(reason("node-nvme", {slow, {"stream_read", 0.9e9}}, 5), StorageWall::device_bandwidth);
  const double network = walls().review.networks().storage.per_node().base();
  EXPECT_EQ(reason("hot", {{"sequential_read", 0.79 * network, 1, 2}}),
            StorageWall::device_bandwidth);
  const auto used = reason("hot", {{"sequential_read", 0.801 * network, 1, 2}});
  EXPECT_EQ(used, StorageWall::network);
  const Figures writes = {
      {"sequential_write", 4e9}, {"sequential_read_cores", 0.97}, {"stream_read", 1e9}};
  EXPECT_EQ(compared(stand("node-nvme", writes), "sequential_write").wall,
            StorageWall::device_bandwidth);
}

TEST(StorageCompare, each_kind_of_request_has_its_limit) {
  const auto reason = [](const std::string& tier, const Figures& figures) {
    const StorageComparison c = compared(stand(tier, figures), figures.front().id);
    EXPECT_NE(c.why, "");
    return c.wall;
  };
  EXPECT_EQ(reason("hot", {{"random_read", 9}}), StorageWall::iops);
  EXPECT_EQ(reason("hot", {{"random_write", 9}}), StorageWall::iops);
  EXPECT_EQ(reason("hot", {{"creates", 9}}), StorageWall::metadata);
  EXPECT_EQ(reason("hot", {{"decode_core", 9}}), StorageWall::loader_cpu);
  EXPECT_EQ(reason("hot", {{"first_byte", 9}}), StorageWall::iops);
  EXPECT_EQ(reason("hot", {{"small_file_read", 2e7}, {"shard_read", 3.01e7}}),
            StorageWall::metadata);
  EXPECT_EQ(reason("hot", {{"small_file_read", 2e7}, {"shard_read", 3e7}}),
            StorageWall::device_bandwidth);
}

// Ten seconds until safe: a quarter of them flushed, and seven tenths of the plain writes' rate.
TEST(StorageCompare, checkpoints_are_limited_by_flush_copy_or_device) {
  const auto reason = [](double stall_end, double rate) {
    const StorageComparison c = compared(stand("node-nvme", {{"checkpoint_rate", rate},
                                                             {"checkpoint_stall_end", stall_end},
                                                             {"checkpoint_safe", 10},
                                                             {"sequential_write", 1e9}}),
                                         "checkpoint_rate");
    EXPECT_NE(c.why, "");
    return c.wall;
  };
  EXPECT_EQ(reason(7.4, 0.69e9), StorageWall::fsync);
  EXPECT_EQ(reason(7.6, 0.69e9), StorageWall::host_cpu);
  EXPECT_EQ(reason(7.4, 0.71e9), StorageWall::device_bandwidth);
  EXPECT_EQ(reason(0, 0.5e9), StorageWall::device_bandwidth);
}

TEST(StorageCompare, json_has_every_figure_with_its_unit) {
  JsonWriter w;
  w.begin_object();
  standing_json(stand("node-nvme", {{"sequential_read", 4e9}, {"creates", 1e12}}), w);
  w.end_object();
  const Json j = Json::parse(w.text());
  const Json& plan = j["plan"];
  EXPECT_EQ(plan["tier"], "node-nvme");
  EXPECT_EQ(plan["as_planned"], false);
  ASSERT_EQ(plan["figures"].size(), 2U);
  const Json& read = plan["figures"][0];
  const double e = walls().tier("node-nvme").rate_error;
  EXPECT_EQ(read["id"], "sequential_read");
  EXPECT_EQ(read["standing"], "slower than planned");
  EXPECT_EQ(read["measured_bytes_per_s"], 4e9);
  EXPECT_EQ(read["planned_bytes_per_s"], 40e9);
  EXPECT_NEAR(read["planned_low_bytes_per_s"].get<double>(), 40e9 * (1 - e), 1);
  EXPECT_NEAR(read["planned_high_bytes_per_s"].get<double>(), 40e9 * (1 + e), 1);
  EXPECT_EQ(read["reference"], walls().tier("node-nvme").rate_basis);
  EXPECT_EQ(read["wall"], "device bandwidth");
  EXPECT_FALSE(read["why"].empty());
  const Json& creates = plan["figures"][1];
  EXPECT_EQ(creates["standing"], "faster than planned");
  EXPECT_FALSE(creates.contains("wall"));
}

TEST(StorageCompare, an_ambiguous_tier_is_refused) {
  design::Design bare = walls().design;
  std::erase_if(bare.storage,
                [](const design::StorageTier& t) { return t.kind == design::TierKind::object; });
  const review::Review review = review::run_stages(bare, machine::known());
  const auto s = compare_storage({.target = "b", .kind = "bucket", .figures = {}}, review, "");
  ASSERT_FALSE(s);
}

}  // namespace
}  // namespace orrery::score
