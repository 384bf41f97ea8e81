#include "study/score/storage_compare.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/units.h"
#include "layers/storage/dataset.h"
#include "layers/storage/loader.h"
#include "layers/storage/probe_sizes.h"
#include "model/design/names.h"

namespace orrery::score {
namespace {

// Half-widths of planned intervals, as fractions. Rates have the tier's own. Creations and
// latencies are defaults by kind of tier if the design gives none; decode times come from one
// contended core.
constexpr double kErrorAssumed = 0.5;
constexpr double kErrorGiven = 0.2;
constexpr double kErrorDecode = 0.3;

// Thresholds that distinguish the causes.
constexpr double kCoreFull = 0.9;
constexpr double kNetworkFull = 0.8;
constexpr double kFlushing = 0.25;
constexpr double kCopying = 0.7;

struct Planned {
  std::string id;
  std::string label;
  figures::Unit unit = figures::Unit::bytes_per_s;
  Estimate estimate;
  bool lower_is_better = false;
};

// The tier as one client sees it.
struct ClientView {
  const machine::Tier& tier;
  BytesPerSecond network;  // zero: none is declared, or the tier is in the node
  int streams = 1;

  BytesPerSecond capped(BytesPerSecond rate) const {
    return network > BytesPerSecond(0) ? min(rate, network) : rate;
  }
  storage::FetchPath path() const {
    return {.first_byte = tier.first_byte,
            .stream = tier.stream_rate,
            .streams = static_cast<double>(streams),
            .client = network > BytesPerSecond(0) ? network : tier.read,
            .server = tier.read,
            .requests = tier.creates};
  }
};

ClientView client_of(const machine::Tier& tier, const review::Review& review, int streams) {
  const machine::Network& network = review.design().fabric.storage.converged
                                        ? review.networks().compute
                                        : review.networks().storage;
  return {tier, tier.per_node ? BytesPerSecond(0) : network.per_node(), streams};
}

void plan_rates(const ClientView& c, const StorageProbe& probe, std::vector<Planned>& all) {
  const machine::Tier& t = c.tier;
  const Basis basis = t.measured ? Basis::measured : t.rates_given ? Basis::given : Basis::vendor;
  const auto rate = [&](std::string id, std::string label, BytesPerSecond value) {
    if (value <= BytesPerSecond(0)) return;
    all.push_back({std::move(id), std::move(label), figures::Unit::bytes_per_s,
                   within(value.base(), t.rate_error, t.rate_error, basis, t.rate_basis)});
  };
  const BytesPerSecond read =
      probe.kind == "bucket"
          ? fetch_rate(bytes(static_cast<double>(probe.object_bytes)), c.path()).rate
          : c.capped(t.read);
  rate("sequential_read", "sequential read", read);
  rate("sequential_write", "sequential write", c.capped(t.write));
  rate("stream_read", "one stream", t.stream_rate);
  rate("shard_read", "shards", fetch_rate(bytes(storage::kProbeShardBytes), c.path()).rate);
  rate("small_file_read", fmt::format("files of {} kB", storage::kProbeSampleBytes / 1000),
       fetch_rate(bytes(storage::kProbeSampleBytes), c.path()).rate);
  rate("checkpoint_rate", "checkpoint made safe", c.capped(t.write));
}

void plan_requests(const ClientView& c, std::vector<Planned>& all) {
  const machine::Tier& t = c.tier;
  const double creates = t.tier->metadata.creates ? kErrorGiven : kErrorAssumed;
  const double latency = t.tier->first_byte ? kErrorGiven : kErrorAssumed;
  const std::string source = "docs/models/storage.md";
  all.push_back({"creates", "creations", figures::Unit::per_second,
                 within(t.creates.base(), creates, creates, Basis::assumed, source)});
  all.push_back({"first_byte", "first byte", figures::Unit::seconds,
                 within(t.first_byte.base(), latency, latency, Basis::assumed, source), true});
  if (t.device == nullptr || t.devices <= 0) return;
  const auto iops = [&](const char* id, const char* label, std::optional<double> one) {
    if (!one) return;
    all.push_back({id, label, figures::Unit::per_second,
                   within(*one * t.devices, kErrorGiven, kErrorGiven, Basis::vendor,
                          t.device->provenance.reference)});
  };
  iops("random_read", "random reads of 4 KiB", t.device->random_read_iops);
  iops("random_write", "random writes of 4 KiB", t.device->random_write_iops);
}

// Uses the design's own image data set if it has one, else the published kind.
void plan_decode(const review::Review& review, std::vector<Planned>& all) {
  const storage::DatasetKind* image = find_dataset_kind(review.models().dataset_kinds, "image");
  if (image == nullptr) return;
  Seconds decode = image->decode;
  std::string source = "calibration/dataset_kinds.csv";
  for (const review::TrainView& v : review.trains) {
    const design::Dataset& data = v.train->dataset;
    if (data.kind != design::DataKind::image || !data.decode) continue;
    decode = *data.decode;
    source = "the design";
  }
  if (decode <= Seconds(0)) return;
  all.push_back({"decode_core", "JPEGs per core", figures::Unit::per_second,
                 within(1 / decode.base(), kErrorDecode, kErrorDecode, Basis::measured, source)});
}

Standing standing_of(const MeasuredFigure& m, const Planned& p) {
  if (p.lower_is_better) {
    if (m.low > p.estimate.high) return Standing::slower;
    return m.high < p.estimate.low ? Standing::faster : Standing::as_planned;
  }
  if (m.high < p.estimate.low) return Standing::slower;
  return m.low > p.estimate.high ? Standing::faster : Standing::as_planned;
}

double value_or_zero(const StorageProbe& probe, std::string_view id) {
  const MeasuredFigure* f = probe.figure(id);
  return f ? f->value : 0;
}

struct Reason {
  StorageWall wall;
  std::string why;
};

Reason transfer_reason(const StorageComparison& c, const StorageProbe& probe,
                       const ClientView& client) {
  const double cores = value_or_zero(probe, "sequential_read_cores");
  if (c.id == "sequential_read" && cores >= kCoreFull) {
    return {StorageWall::host_cpu,
            fmt::format("the reading core is busy for {:.0f} % of the time", 100 * cores)};
  }
  const double network = client.network.base();
  if (network > 0 && c.measured.value >= kNetworkFull * network) {
    return {StorageWall::network,
            fmt::format("{} of the node's {} storage network are used",
                        brief(BytesPerSecond(c.measured.value)), brief(client.network))};
  }
  const double one = value_or_zero(probe, "stream_read");
  if (c.id == "sequential_read" && one > 0 && c.measured.value >= kCoreFull * one * probe.streams) {
    return {StorageWall::iops, fmt::format("{} streams give {} times one: more streams give more",
                                           probe.streams, probe.streams)};
  }
  return {StorageWall::device_bandwidth, "no other limit shows before the device is full"};
}

Reason small_file_reason(const StorageProbe& probe) {
  const double small = value_or_zero(probe, "small_file_read");
  const double shard = value_or_zero(probe, "shard_read");
  if (shard > 1.5 * small) {
    return {StorageWall::metadata,
            fmt::format("the same bytes in shards are {:.1f} times as fast", shard / small)};
  }
  return {StorageWall::device_bandwidth, "shards of the same bytes are no faster"};
}

Reason checkpoint_reason(const StorageComparison& c, const StorageProbe& probe,
                         const ClientView& client) {
  const double stall = value_or_zero(probe, "checkpoint_stall_end");
  const double safe = value_or_zero(probe, "checkpoint_safe");
  const double write = value_or_zero(probe, "sequential_write");
  if (stall > 0 && safe - stall > kFlushing * safe && c.measured.value < kCopying * write) {
    return {StorageWall::fsync,
            fmt::format("{:.0f} % of the time until the save is safe goes to flushing",
                        100 * (safe - stall) / safe)};
  }
  if (stall > 0 && c.measured.value < kCopying * write) {
    return {StorageWall::host_cpu,
            fmt::format("the device takes {} when the page cache is bypassed",
                        brief(BytesPerSecond(write)))};
  }
  return transfer_reason(c, probe, client);
}

Reason reason_of(const StorageComparison& c, const StorageProbe& probe, const ClientView& client) {
  if (c.id == "creates") return {StorageWall::metadata, "names are created too slowly"};
  if (c.id == "decode_core") return {StorageWall::loader_cpu, "a core decodes fewer of them"};
  if (c.id == "first_byte") return {StorageWall::iops, "a single request waits longer"};
  if (c.id.starts_with("random_"))
    return {StorageWall::iops, "requests per second are the limit, not bytes"};
  if (c.id == "small_file_read") return small_file_reason(probe);
  if (c.id == "checkpoint_rate") return checkpoint_reason(c, probe, client);
  return transfer_reason(c, probe, client);
}

const machine::Tier* tier_of(const review::Review& review, const StorageProbe& probe,
                             const std::string& name) {
  if (!name.empty()) return find_tier(review.tiers(), name);
  for (const machine::Tier& t : review.tiers()) {
    const bool object = t.tier->kind == design::TierKind::object;
    if (probe.kind == "bucket" ? object : t.per_node) return &t;
  }
  return nullptr;
}

Diagnostic no_tier(const review::Review& review, const std::string& name) {
  std::string known;
  for (const machine::Tier& t : review.tiers()) known += (known.empty() ? "" : ", ") + t.label;
  return {.code = "probe.tier",
          .place = {},
          .what = name.empty() ? "the tier of the design cannot be determined"
                               : fmt::format("the design has no tier \"{}\"", name),
          .why = "its tiers: " + known,
          .fix = "give --tier NAME"};
}

}  // namespace

const char* to_text(StorageWall wall) {
  switch (wall) {
    case StorageWall::none:
      return "none";
    case StorageWall::device_bandwidth:
      return "device bandwidth";
    case StorageWall::iops:
      return "requests per second";
    case StorageWall::metadata:
      return "metadata";
    case StorageWall::loader_cpu:
      return "loader CPU";
    case StorageWall::host_cpu:
      return "host CPU";
    case StorageWall::network:
      return "network";
    case StorageWall::fsync:
      return "fsync";
  }
  return "none";
}

const char* to_text(Standing standing) {
  switch (standing) {
    case Standing::as_planned:
      return "as fast as it should be";
    case Standing::faster:
      return "faster than planned";
    case Standing::slower:
      return "slower than planned";
  }
  return "";
}

bool StorageStanding::as_planned() const {
  return std::ranges::none_of(
      figures, [](const StorageComparison& c) { return c.standing == Standing::slower; });
}

Result<StorageStanding> compare_storage(const StorageProbe& probe, const review::Review& review,
                                        const std::string& tier) {
  const machine::Tier* view = tier_of(review, probe, tier);
  if (view == nullptr) return fail(no_tier(review, tier));
  const ClientView client = client_of(*view, review, probe.streams);
  std::vector<Planned> planned;
  plan_rates(client, probe, planned);
  plan_requests(client, planned);
  plan_decode(review, planned);
  StorageStanding out{.tier = view->label};
  for (const Planned& p : planned) {
    const MeasuredFigure* m = probe.figure(p.id);
    if (m == nullptr) continue;
    StorageComparison c{p.id, p.label, p.unit, *m, p.estimate, standing_of(*m, p)};
    if (c.standing == Standing::slower) {
      const Reason reason = reason_of(c, probe, client);
      c.wall = reason.wall;
      c.why = reason.why;
    }
    out.figures.push_back(std::move(c));
  }
  return out;
}

std::string standing_text(const StorageStanding& standing) {
  std::string out = fmt::format("\nbeside the plan, tier {}\n", standing.tier);
  for (const StorageComparison& c : standing.figures) {
    out += fmt::format("  {:<24} {:>11}, planned {:>11} ({}): {}\n", c.label,
                       show(c.measured.value, c.unit), show(c.planned.value, c.unit),
                       show_interval(c.planned, c.unit), to_text(c.standing));
    if (c.standing == Standing::slower) {
      out += fmt::format("  {:<24} wall: {} ({})\n", "", to_text(c.wall), c.why);
    }
  }
  return out + (standing.as_planned() ? "  as fast as it should be\n" : "");
}

void standing_json(const StorageStanding& standing, JsonWriter& json) {
  json.key("plan").begin_object().field("tier", standing.tier);
  json.field("as_planned", standing.as_planned()).key("figures").begin_array();
  for (const StorageComparison& c : standing.figures) {
    const std::string suffix(json_suffix(c.unit));
    json.begin_object().field("id", c.id).field("standing", to_text(c.standing));
    json.field("measured" + suffix, c.measured.value).field("planned" + suffix, c.planned.value);
    json.field("planned_low" + suffix, c.planned.low);
    json.field("planned_high" + suffix, c.planned.high);
    json.field("reference", c.planned.reference);
    if (c.standing == Standing::slower) json.field("wall", to_text(c.wall)).field("why", c.why);
    json.end_object();
  }
  json.end_array().end_object();
}

}  // namespace orrery::score
