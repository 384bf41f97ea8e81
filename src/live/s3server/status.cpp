#include "live/s3server/status.h"

#include <algorithm>

#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "live/net/exposition.h"
#include "live/store/storage_class.h"

namespace orrery::s3server {
namespace {

constexpr std::size_t kBucketsShown = 1000;  // one series per bucket; more would make scraping slow

using net::Exposition;
using net::MetricLabels;

std::string named(const char* name) { return std::string("orrery_store_") + name; }

MetricLabels kind_label(std::size_t kind, MetricLabels more = {}) {
  more.insert(more.begin(), {"kind", std::string(kRequestKindNames[kind])});
  return more;
}

MetricLabels tier_label(std::string_view tier) { return {{"tier", std::string(tier)}}; }

void add_requests(Exposition& to, const GatewayCounts& counts) {
  to.family(named("requests_total"), "counter", "Requests answered.");
  for (std::size_t k = 0; k < counts.kinds.size(); ++k) {
    const KindCounts& kind = counts.kinds[k];
    const auto all = kind.requests.load();
    const auto refused = kind.refused.load();
    const auto faults = kind.faults.load();
    to.sample(kind_label(k, {{"outcome", "good"}}), static_cast<double>(all - refused - faults));
    to.sample(kind_label(k, {{"outcome", "refused"}}), static_cast<double>(refused));
    to.sample(kind_label(k, {{"outcome", "fault"}}), static_cast<double>(faults));
  }
  to.family(named("bytes_total"), "counter", "Bytes of objects received, and of answers sent.");
  for (std::size_t k = 0; k < counts.kinds.size(); ++k) {
    to.sample(kind_label(k), static_cast<double>(counts.kinds[k].bytes));
  }
  to.family(named("request_seconds"), "histogram", "Time until the answer begins.");
  for (std::size_t k = 0; k < counts.kinds.size(); ++k) {
    const KindCounts& kind = counts.kinds[k];
    double sum = 0;
    for (std::size_t i = 0; i <= kLatencyBounds.size(); ++i) {
      sum += static_cast<double>(kind.within[i]);
      const std::string bound = i < kLatencyBounds.size() ? shortest(kLatencyBounds[i]) : "+Inf";
      to.sample(kind_label(k, {{"le", bound}}), sum, "_bucket");
    }
    to.sample(kind_label(k), static_cast<double>(kind.micros) / 1e6, "_sum");
    to.sample(kind_label(k), sum, "_count");
  }
  to.family(named("tier_reads_total"), "counter", "Objects read, by the tier they were read from.");
  for (std::size_t i = 0; i < counts.tiers.size(); ++i) {
    to.sample(tier_label(kTierOrder[i]), static_cast<double>(counts.tiers[i].reads));
  }
  to.family(named("tier_read_bytes_total"), "counter",
            "Bytes read, by the tier they were read from.");
  for (std::size_t i = 0; i < counts.tiers.size(); ++i) {
    to.sample(tier_label(kTierOrder[i]), static_cast<double>(counts.tiers[i].bytes));
  }
  to.single(named("slow_tier_reads_total"), "counter",
            "Reads of objects that belong to a slow tier.", static_cast<double>(counts.slow_reads));
  to.single(named("slow_tier_hits_total"), "counter",
            "Reads of objects that belong to a slow tier, served from the hot tier.",
            static_cast<double>(counts.promoted_hits));
  to.single(named("slowed_total"), "counter", "Requests answered with SlowDown.",
            static_cast<double>(counts.slowed));
}

void add_moves(Exposition& to, const MoveCounts& moves) {
  to.family(named("moves_total"), "counter", "Steps of moves between tiers that succeeded.");
  to.sample({{"step", "copy"}}, static_cast<double>(moves.copies));
  to.sample({{"step", "verify"}}, static_cast<double>(moves.verified));
  to.sample({{"step", "remove"}}, static_cast<double>(moves.removed));
  to.single(named("moves_failed_total"), "counter", "Steps of moves that failed.",
            static_cast<double>(moves.failed));
  to.single(named("moved_bytes_total"), "counter", "Bytes copied between tiers.",
            static_cast<double>(moves.bytes));
  to.single(named("moves_waiting"), "gauge", "Objects waiting to be moved to another tier.",
            static_cast<double>(moves.waiting));
}

void add_keeping(Exposition& to, const StoreStatus& status) {
  const ScrubCounts& scrub = status.scrub;
  to.single(named("scrubbed_bytes_total"), "counter",
            "Bytes of shards that the scrubber has read and checked.",
            static_cast<double>(scrub.bytes));
  to.single(named("scrub_rounds_total"), "counter", "Complete scrub passes over all shards.",
            static_cast<double>(scrub.rounds));
  to.single(named("shards_damaged_total"), "counter", "Shards found missing or damaged.",
            static_cast<double>(scrub.damaged));
  to.single(named("shards_rebuilt_total"), "counter",
            "Damaged or missing shards that were rebuilt.", static_cast<double>(scrub.mended));
  to.single(named("blobs_lost_total"), "counter", "Blobs with too few intact shards to be read.",
            static_cast<double>(scrub.lost));
  to.single(named("hedged_reads_total"), "counter",
            "Reads from slow drives that were also sent to other drives.",
            static_cast<double>(status.hedges.asked));
  to.single(named("hedged_reads_won_total"), "counter",
            "Reads from slow drives that the other drives answered first.",
            static_cast<double>(status.hedges.won));
  to.single(named("drives_slow"), "gauge", "Drives whose reads take much longer than usual.",
            status.hedges.suspects);
  to.family(named("tier_redundancy_left"), "gauge",
            "Drives that can still fail without data loss; below 0, data is lost.");
  for (const TierStatus& tier : status.tiers) {
    to.sample(tier_label(tier.name), tier.redundancy_left());
  }
  to.family(named("tier_parity"), "gauge",
            "Drives that can fail without data loss when all are available.");
  for (const TierStatus& tier : status.tiers) {
    to.sample(tier_label(tier.name), tier.plan.parity);
  }
  const auto drive_label = [](const DriveStatus& drive) -> MetricLabels {
    return {{"drive", drive.name}, {"tier", drive.tier}};
  };
  // Another object store does not report its free space.
  const auto is_sized = [](const DriveStatus& drive) { return drive.space.total_bytes > 0; };
  to.family(named("drive_up"), "gauge", "1 if the drive is available, else 0.");
  for (const DriveStatus& drive : status.drives) to.sample(drive_label(drive), drive.there ? 1 : 0);
  to.family(named("drive_free_bytes"), "gauge", "Free space on the drive in bytes.");
  for (const DriveStatus& drive : status.drives) {
    if (is_sized(drive)) to.sample(drive_label(drive), static_cast<double>(drive.space.free_bytes));
  }
  to.family(named("drive_bytes"), "gauge", "Size of the drive in bytes.");
  for (const DriveStatus& drive : status.drives) {
    if (is_sized(drive))
      to.sample(drive_label(drive), static_cast<double>(drive.space.total_bytes));
  }
}

void add_buckets(Exposition& to, const std::map<std::string, BucketUse>& buckets) {
  std::size_t shown = 0;
  to.family(named("bucket_bytes"), "gauge", "Bytes of all versions in a bucket.");
  for (const auto& [name, use] : buckets) {
    if (++shown > kBucketsShown) break;
    to.sample({{"bucket", name}}, static_cast<double>(use.bytes));
  }
  shown = 0;
  to.family(named("bucket_objects"), "gauge", "Versions in a bucket.");
  for (const auto& [name, use] : buckets) {
    if (++shown > kBucketsShown) break;
    to.sample({{"bucket", name}}, static_cast<double>(use.objects));
  }
}

}  // namespace

void add_drives(StoreStatus& to, const OpenedFolder& folder) {
  to.id = folder.id;
  for (const Tier& tier : folder.tiers) {
    TierStatus shown{.name = tier.name, .plan = tier.plan};
    for (const std::string& name : tier.drives) {
      const auto at = folder.drives.find(name);
      DriveStatus drive{.name = name, .tier = tier.name};
      if (const auto place = folder.folders.find(name); place != folder.folders.end()) {
        drive.place = place->second;
      }
      if (at != folder.drives.end() && at->second) {
        if (const auto space = at->second->space()) {
          drive.there = true;
          drive.space = *space;
        }
      }
      if (!drive.there) ++shown.drives_away;
      to.drives.push_back(std::move(drive));
    }
    to.tiers.push_back(std::move(shown));
  }
}

std::string metrics_text(const StoreStatus& status) {
  Exposition to;
  add_requests(to, *status.requests);
  if (status.moves) add_moves(to, *status.moves);
  add_keeping(to, status);
  add_buckets(to, status.buckets);
  if (status.load) {
    to.single(named("queue_depth"), "gauge", "Requests waiting for a handler or being handled.",
              status.load->requests);
    to.single(named("connections"), "gauge", "Open connections.", status.load->connections);
    to.single(named("malformed_total"), "counter",
              "Malformed requests that were refused before handling.",
              static_cast<double>(status.load->malformed));
  }
  return to.text();
}

std::string status_json(const StoreStatus& status) {
  JsonWriter json(2);
  json.begin_object().field("schema_version", 1).field("store", status.id);
  json.key("tiers").begin_array();
  for (const TierStatus& tier : status.tiers) {
    json.begin_object()
        .field("name", tier.name)
        .field("data", tier.plan.data)
        .field("parity", tier.plan.parity)
        .field("drives_away", tier.drives_away)
        .field("redundancy_left", tier.redundancy_left());
    const auto rank = static_cast<std::size_t>(store::tier_rank(tier.name));
    if (rank < status.requests->tiers.size()) {
      json.field("reads", status.requests->tiers[rank].reads.load())
          .field("read_bytes", status.requests->tiers[rank].bytes.load());
    }
    json.end_object();
  }
  json.end_array().key("drives").begin_array();
  for (const DriveStatus& drive : status.drives) {
    json.begin_object()
        .field("name", drive.name)
        .field("tier", drive.tier)
        .field("place", drive.place)
        .field("there", drive.there)
        .field("total_bytes", drive.space.total_bytes)
        .field("free_bytes", drive.space.free_bytes)
        .end_object();
  }
  json.end_array().key("buckets").begin_array();
  for (const auto& [name, use] : status.buckets) {
    json.begin_object()
        .field("name", name)
        .field("objects", use.objects)
        .field("bytes", use.bytes)
        .end_object();
  }
  json.end_array().key("requests").begin_object();
  for (std::size_t k = 0; k < kRequestKindNames.size(); ++k) {
    json.field(kRequestKindNames[k], status.requests->kinds[k].requests.load());
  }
  json.end_object().key("scrub").begin_object();
  json.field("rounds", status.scrub.rounds)
      .field("bytes", status.scrub.bytes)
      .field("shards_damaged", status.scrub.damaged)
      .field("shards_rebuilt", status.scrub.mended)
      .field("blobs_lost", status.scrub.lost)
      .end_object();
  json.field("drives_slow", status.hedges.suspects);
  if (status.moves) {
    json.key("moves").begin_object();
    json.field("waiting", status.moves->waiting.load())
        .field("copies", status.moves->copies.load())
        .field("verified", status.moves->verified.load())
        .field("removed", status.moves->removed.load())
        .field("failed", status.moves->failed.load())
        .field("bytes", status.moves->bytes.load())
        .end_object();
  }
  json.end_object();
  return json.text() + '\n';
}

}  // namespace orrery::s3server
