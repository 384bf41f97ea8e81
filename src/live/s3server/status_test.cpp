// The status of a store: every series of the metrics and every field of the JSON, each with a
// different number so that a swap is noticed.
#include "live/s3server/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/base/text.h"
#include "live/drives/simulated_drive_fixture.h"
#include "live/s3server/mover.h"

namespace orrery::s3server::status_tests {
namespace {

using testing::HasSubstr;
using testing::Not;

std::map<std::string, std::string> series_of(const std::string& text) {
  std::map<std::string, std::string> out;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty() || line.starts_with('#')) continue;
    const auto blank = line.rfind(' ');
    EXPECT_TRUE(line.starts_with("orrery_store_")) << line;
    out.emplace(line.substr(13, blank - 13), line.substr(blank + 1));
  }
  return out;
}

class StatusTest : public testing::Test {
 protected:
  StatusTest() {
    counts.add(RequestKind::get, 200, 100, 0.5);
    counts.add(RequestKind::get, 399, 11, 0.001);
    counts.add(RequestKind::get, 400, 12, 0.002);
    counts.add(RequestKind::get, 499, 13, 10);
    counts.add(RequestKind::get, 500, 14, 10.5);
    counts.add(RequestKind::put, 200, 7, 0.02);
    counts.add(RequestKind::remove, 204, 0, 0.02);
    counts.add(RequestKind::remove, 204, 0, 0.02);
    for (std::size_t i = 0; i < 4; ++i) {
      counts.tiers[i].reads = 31 + i;
      counts.tiers[i].bytes = 310 + i;
    }
    counts.slow_reads = 41;
    counts.promoted_hits = 42;
    counts.slowed = 43;
    moves.rounds = 50;
    moves.copies = 51;
    moves.verified = 52;
    moves.removed = 53;
    moves.failed = 54;
    moves.bytes = 55;
    moves.waiting = 56;
    load.requests = 61;
    load.connections = 62;
    load.malformed = 63;
    status.id = "store-1";
    status.requests = &counts;
    status.moves = &moves;
    status.load = &load;
    status.hedges = {.asked = 71, .won = 72, .suspects = 73};
    status.scrub.bytes = 81;
    status.scrub.rounds = 82;
    status.scrub.damaged = 83;
    status.scrub.mended = 84;
    status.scrub.lost = 85;
    status.tiers = {{.name = "hot", .plan = {4, 2}, .drives_away = 3},
                    {.name = "own", .plan = {1, 0}, .drives_away = 0}};
    status.drives = {
        {.name = "d0", .tier = "hot", .place = "/mnt/0", .there = true, .space = {1000, 600}},
        {.name = "d1", .tier = "own", .place = "s3", .there = false, .space = {}}};
    status.buckets = {{"pail", {.bytes = 91, .objects = 92}},
                      {"tub", {.bytes = 93, .objects = 94}}};
  }
  GatewayCounts counts;
  MoveCounts moves;
  net::ServerLoad load;
  StoreStatus status;
};

const std::map<std::string, std::string>& wanted_series() {
  static const std::map<std::string, std::string> kWanted = {
      {"requests_total{kind=\"get\",outcome=\"good\"}", "2"},
      {"requests_total{kind=\"get\",outcome=\"refused\"}", "2"},
      {"requests_total{kind=\"get\",outcome=\"fault\"}", "1"},
      {"requests_total{kind=\"put\",outcome=\"good\"}", "1"},
      {"requests_total{kind=\"list\",outcome=\"good\"}", "0"},
      {"requests_total{kind=\"delete\",outcome=\"good\"}", "2"},
      {"requests_total{kind=\"other\",outcome=\"good\"}", "0"},
      {"bytes_total{kind=\"get\"}", "150"},
      {"bytes_total{kind=\"put\"}", "7"},
      {"request_seconds_bucket{kind=\"get\",le=\"0.001\"}", "1"},
      {"request_seconds_bucket{kind=\"get\",le=\"0.003\"}", "2"},
      {"request_seconds_bucket{kind=\"get\",le=\"0.01\"}", "2"},
      {"request_seconds_bucket{kind=\"get\",le=\"0.03\"}", "2"},
      {"request_seconds_bucket{kind=\"get\",le=\"0.1\"}", "2"},
      {"request_seconds_bucket{kind=\"get\",le=\"0.3\"}", "2"},
      {"request_seconds_bucket{kind=\"get\",le=\"1\"}", "3"},
      {"request_seconds_bucket{kind=\"get\",le=\"3\"}", "3"},
      {"request_seconds_bucket{kind=\"get\",le=\"10\"}", "4"},
      {"request_seconds_bucket{kind=\"get\",le=\"+Inf\"}", "5"},
      {"request_seconds_sum{kind=\"get\"}", "21.003"},
      {"request_seconds_count{kind=\"get\"}", "5"},
      {"request_seconds_sum{kind=\"delete\"}", "0.04"},
      {"tier_reads_total{tier=\"gpu-direct\"}", "31"},
      {"tier_reads_total{tier=\"hot\"}", "32"},
      {"tier_reads_total{tier=\"warm\"}", "33"},
      {"tier_reads_total{tier=\"cold\"}", "34"},
      {"tier_read_bytes_total{tier=\"gpu-direct\"}", "310"},
      {"tier_read_bytes_total{tier=\"cold\"}", "313"},
      {"slow_tier_reads_total", "41"},
      {"slow_tier_hits_total", "42"},
      {"slowed_total", "43"},
      {"moves_total{step=\"copy\"}", "51"},
      {"moves_total{step=\"verify\"}", "52"},
      {"moves_total{step=\"remove\"}", "53"},
      {"moves_failed_total", "54"},
      {"moved_bytes_total", "55"},
      {"moves_waiting", "56"},
      {"scrubbed_bytes_total", "81"},
      {"scrub_rounds_total", "82"},
      {"shards_damaged_total", "83"},
      {"shards_rebuilt_total", "84"},
      {"blobs_lost_total", "85"},
      {"hedged_reads_total", "71"},
      {"hedged_reads_won_total", "72"},
      {"drives_slow", "73"},
      {"tier_redundancy_left{tier=\"hot\"}", "-1"},
      {"tier_redundancy_left{tier=\"own\"}", "0"},
      {"tier_parity{tier=\"hot\"}", "2"},
      {"tier_parity{tier=\"own\"}", "0"},
      {"drive_up{drive=\"d0\",tier=\"hot\"}", "1"},
      {"drive_up{drive=\"d1\",tier=\"own\"}", "0"},
      {"drive_free_bytes{drive=\"d0\",tier=\"hot\"}", "600"},
      {"drive_bytes{drive=\"d0\",tier=\"hot\"}", "1000"},
      {"bucket_bytes{bucket=\"pail\"}", "91"},
      {"bucket_objects{bucket=\"pail\"}", "92"},
      {"bucket_bytes{bucket=\"tub\"}", "93"},
      {"bucket_objects{bucket=\"tub\"}", "94"},
      {"queue_depth", "61"},
      {"connections", "62"},
      {"malformed_total", "63"}};
  return kWanted;
}

TEST_F(StatusTest, metrics_have_every_series) {
  const auto series = series_of(metrics_text(status));
  for (const auto& [name, value] : wanted_series()) {
    const auto at = series.find(name);
    ASSERT_NE(at, series.end()) << name;
    EXPECT_EQ(at->second, value) << name;
  }
  // 15 outcomes, 5 of bytes, 5 histograms of 12, 8 of tiers, and the rest as above.
  EXPECT_EQ(series.size(), 15u + 5 + 60 + 8 + 3 + 6 + 8 + 4 + 4 + 4 + 3);
  EXPECT_EQ(series.count("drive_bytes{drive=\"d1\",tier=\"own\"}"), 0u);
}

TEST_F(StatusTest, metrics_have_types_and_leave_out_what_is_absent) {
  const std::string text = metrics_text(status);
  for (const char* counter : {"requests_total", "bytes_total", "slowed_total", "moves_total",
                              "scrubbed_bytes_total", "malformed_total"}) {
    EXPECT_THAT(text, HasSubstr(std::string("# TYPE orrery_store_") + counter + " counter\n"));
  }
  EXPECT_THAT(text, HasSubstr("# TYPE orrery_store_request_seconds histogram\n"));
  for (const char* gauge : {"moves_waiting", "drives_slow", "drive_up", "bucket_bytes",
                            "queue_depth", "connections", "tier_redundancy_left"}) {
    EXPECT_THAT(text, HasSubstr(std::string("# TYPE orrery_store_") + gauge + " gauge\n"));
  }
  status.moves = nullptr;
  status.load = nullptr;
  EXPECT_THAT(metrics_text(status), Not(HasSubstr("moves")));
  EXPECT_THAT(metrics_text(status), Not(HasSubstr("queue_depth")));
  EXPECT_THAT(status_json(status), Not(HasSubstr("moves")));
}

TEST_F(StatusTest, metrics_show_at_most_1000_buckets) {
  status.buckets.clear();
  for (int i = 0; i < 1001; ++i) status.buckets["b" + std::to_string(10'000 + i)] = {1, 1};
  const std::string text = metrics_text(status);
  EXPECT_THAT(text, HasSubstr("bucket_bytes{bucket=\"b10999\"}"));
  EXPECT_THAT(text, HasSubstr("bucket_objects{bucket=\"b10999\"}"));
  EXPECT_THAT(text, Not(HasSubstr("b11000")));
}

constexpr const char* kJson = R"({
  "schema_version": 1,
  "store": "store-1",
  "tiers": [
    {
      "name": "hot",
      "data": 4,
      "parity": 2,
      "drives_away": 3,
      "redundancy_left": -1,
      "reads": 32,
      "read_bytes": 311
    },
    {
      "name": "own",
      "data": 1,
      "parity": 0,
      "drives_away": 0,
      "redundancy_left": 0
    }
  ],
  "drives": [
    {
      "name": "d0",
      "tier": "hot",
      "place": "/mnt/0",
      "there": true,
      "total_bytes": 1000,
      "free_bytes": 600
    },
    {
      "name": "d1",
      "tier": "own",
      "place": "s3",
      "there": false,
      "total_bytes": 0,
      "free_bytes": 0
    }
  ],
  "buckets": [
    {
      "name": "pail",
      "objects": 92,
      "bytes": 91
    },
    {
      "name": "tub",
      "objects": 94,
      "bytes": 93
    }
  ],
  "requests": {
    "get": 5,
    "put": 1,
    "list": 0,
    "delete": 2,
    "other": 0
  },
  "scrub": {
    "rounds": 82,
    "bytes": 81,
    "shards_damaged": 83,
    "shards_rebuilt": 84,
    "blobs_lost": 85
  },
  "drives_slow": 73,
  "moves": {
    "waiting": 56,
    "copies": 51,
    "verified": 52,
    "removed": 53,
    "failed": 54,
    "bytes": 55
  }
}
)";

// One of three drives is available, one is missing and one does not answer.
TEST(DriveStatuses, drives_that_do_not_answer_are_away) {
  OpenedFolder folder{.id = "s"};
  folder.tiers = {{.name = "hot", .plan = {1, 2}, .drives = {"a", "b", "c"}},
                  {.name = "cold", .plan = {1, 0}, .drives = {"d"}}};
  folder.drives["a"] = std::make_unique<drives::SimulatedDrive>();
  folder.drives["b"] = nullptr;
  auto broken = std::make_unique<drives::SimulatedDrive>();
  broken->broken = true;
  folder.drives["c"] = std::move(broken);
  folder.folders = {{"a", "/disks/a"}, {"b", "/disks/b"}};
  StoreStatus status;
  add_drives(status, folder);
  EXPECT_EQ(status.id, "s");
  ASSERT_EQ(status.tiers.size(), 2u);
  ASSERT_EQ(status.drives.size(), 4u);
  EXPECT_TRUE(status.drives[0].there);
  EXPECT_GT(status.drives[0].space.total_bytes, 0u);
  EXPECT_EQ(status.drives[0].place, "/disks/a");
  EXPECT_EQ(status.drives[1].place, "/disks/b");
  EXPECT_EQ(status.drives[3].tier, "cold");
  int away = 0;
  for (const DriveStatus& drive : status.drives) away += drive.tier == "hot" && !drive.there;
  EXPECT_FALSE(status.drives[1].there);
  EXPECT_EQ(status.tiers[0].drives_away, away);
  EXPECT_GE(away, 1);
  EXPECT_EQ(status.tiers[0].redundancy_left(), 2 - away);
  EXPECT_EQ(status.tiers[1].drives_away, 1) << "it is not among the drives";
}

TEST_F(StatusTest, the_json_has_every_field) { EXPECT_EQ(status_json(status), kJson); }

}  // namespace
}  // namespace orrery::s3server::status_tests
