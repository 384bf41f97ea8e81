// Rules about tiers, caches and checkpoints.
#include <fmt/core.h>

#include <algorithm>

#include "core/base/units.h"
#include "layers/storage/cache.h"
#include "layers/storage/guidance.h"
#include "model/design/names.h"
#include "model/figures/assumptions.h"
#include "plan/rules/edits.h"
#include "plan/rules/rules.h"

namespace orrery::rules {
namespace {

// Margin on rates: a rate that only just keeps up falls behind at the first delay.
constexpr double kAhead = 1.1;
using figures::assumptions::kNodeDrives;

std::string_view architecture_of(const machine::Fleet& fleet) {
  if (fleet.accelerator() == nullptr) return {};
  const std::string_view id = fleet.accelerator()->id;
  if (id.starts_with("gb200") || id.starts_with("gb300")) return "SuperPOD GB200";
  if (id.starts_with("h100") || id.starts_with("h200") || id.starts_with("b200") ||
      id.starts_with("b300")) {
    return "SuperPOD H100";
  }
  return {};
}

const machine::Tier* hot_tier(const review::Review& r) {
  for (const machine::Tier& t : r.tiers()) {
    if (t.tier->tier == design::Tier::hot || t.tier->tier == design::Tier::gpu_direct) return &t;
  }
  return nullptr;
}

void check_guidance(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  const machine::Tier* hot = hot_tier(r);
  if (hot == nullptr) return;
  for (const machine::Fleet& fleet : r.fleets()) {
    const std::string_view architecture = architecture_of(fleet);
    // A few nodes are fewer than the smallest unit in the guidance.
    if (architecture.empty() || fleet.rented() || fleet.hosts < 16) continue;
    const double units =
        static_cast<double>(fleet.accelerators) / storage::gpus_per_unit(architecture);
    const bool gb200 = architecture == "SuperPOD GB200";
    const storage::GuidanceLevel level =
        gb200 ? storage::GuidanceLevel::better : storage::GuidanceLevel::good;
    for (const auto& [metric, rate] :
         {std::pair{"read", hot->read}, std::pair{"write", hot->write}}) {
      const auto wanted = guided_rate(
          r.models().storage_guidance,
          {.architecture = architecture, .metric = metric, .units = units, .level = level});
      if (!wanted || rate >= *wanted * 0.98) continue;
      Finding f = finding_at(r, rule, hot->path + "." + metric);
      f.what = fmt::format("Tier '{}' {}s {}; {} guidance for {} accelerators is at least {}.",
                           hot->label, metric, brief(rate), architecture, fleet.accelerators,
                           brief(*wanted));
      f.why =
          "Below the lowest published level, loading and checkpoints are likely to leave the "
          "accelerators idle.";
      f.fix = fmt::format("Raise {} to {}.", metric, at_least(*wanted));
      f.edit = Edit{hot->path + "." + metric, at_least(*wanted)};
      out.push_back(std::move(f));
    }
  }
}

void check_gb200_ratio(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const machine::Fleet& fleet : r.fleets()) {
    if (architecture_of(fleet) != "SuperPOD GB200" || fleet.rented()) continue;
    const machine::Tier* hot = hot_tier(r);
    Finding f = finding_at(r, rule, hot ? hot->path : fleet.path);
    f.what = "GB200 storage guidance is 2.25 times lower per accelerator than H100's.";
    f.why =
        "A scalable unit grew from 256 to 576 accelerators, but its storage guidance stayed at 125 "
        "GB/s (RA-11338-001).";
    f.fix = "Size storage from the workload's own needs, not from the guidance alone.";
    out.push_back(std::move(f));
  }
}

void check_lru(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::TrainView& t : r.trains) {
    if (!t.feed.known || !t.train->dataset.shuffle || t.train->dataset.epochs <= 1) continue;
    for (const machine::Tier& cache : r.tiers()) {
      if (cache.tier->caches != t.feed.tier->label ||
          cache.tier->policy != catalog::EvictionPolicy::lru)
        continue;
      const Bytes used = r.used_of(*t.feed.tier);
      const double share =
          used > Bytes(0) ? std::min(1.0, cache.capacity * (cache.per_node ? t.hosts : 1) / used)
                          : 0.5;
      if (share >= 1) continue;
      Finding f = finding_at(r, rule, cache.path + ".policy");
      f.what = fmt::format(
          "Tier '{}' uses LRU eviction for the shuffled epochs of '{}': {} of the reads hit; "
          "pinning would give {}.",
          cache.label, t.label,
          show(hit_rate(catalog::EvictionPolicy::lru, storage::EpochOrder::shuffled, share),
               figures::Unit::ratio),
          show(hit_rate(catalog::EvictionPolicy::pin, storage::EpochOrder::shuffled, share),
               figures::Unit::ratio));
      f.why = "When every item is read once per epoch, LRU evicts exactly the items needed next.";
      f.fix = "Set policy: pin on this tier.";
      f.edit = Edit{cache.path + ".policy", "pin"};
      out.push_back(std::move(f));
    }
  }
}

void check_drain(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::TrainView& t : r.trains) {
    if (!t.checkpoint || !t.checkpoint->interval_given || !t.checkpoint->async) continue;
    const jobs::SavePlan& k = *t.checkpoint;
    if (k.drain.total <= k.interval) continue;
    Finding f = finding_at(r, rule, t.path + ".checkpoint.every");
    f.what = fmt::format("'{}' saves every {}, but a save takes {} to drain.", t.label,
                         brief(k.interval), brief(k.drain.total));
    f.why = fmt::format(
        "The next save waits for the previous one: a stall of {} each time, limited by {}.",
        brief(k.stall.wait), to_text(k.drain.wall));
    f.fix = fmt::format("Save every {} or less often, or remove the limit: {}.",
                        brief(k.drain.total), to_text(k.drain.wall));
    f.edit = Edit{t.path + ".checkpoint.every", "auto"};
    out.push_back(std::move(f));
  }
}

// Finds saves that are still under way when the next failure is due, and so never become safe.
void check_never_safe(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::TrainView& t : r.trains) {
    if (!t.checkpoint || t.checkpoint->safe == nullptr) continue;
    const jobs::SavePlan& k = *t.checkpoint;
    if (k.drain.total <= t.failure.mtbf) continue;
    Finding f = finding_at(r, rule, t.path + ".checkpoint.to");
    f.what = fmt::format("A save of '{}' takes {} until it is safe on '{}'; hosts fail every {}.",
                         t.label, brief(k.drain.total), k.safe->label, brief(t.failure.mtbf));
    f.why =
        "A failure sets the run back before any of its saves is complete: it makes no progress.";
    f.edit = edit_safe(t);
    f.fix = f.edit ? fmt::format("Write at {} to tier '{}'.", f.edit->value, k.safe->label)
                   : fmt::format("Remove the limit ({}), or save on another tier.",
                                 to_text(k.drain.wall));
    out.push_back(std::move(f));
  }
}

// Finds copies to a further tier that take longer than the time between two of them, and so pile
// up.
void check_later_copies(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::TrainView& t : r.trains) {
    if (!t.checkpoint) continue;
    for (const jobs::LaterCopy& c : t.checkpoint->later) {
      if (c.takes <= c.every) continue;
      Finding f = finding_at(r, rule, t.path + ".checkpoint.to");
      f.what = fmt::format("A copy of '{}' to tier '{}' takes {}; one is due every {}.", t.label,
                           c.tier->label, brief(c.takes), brief(c.every));
      f.why = "Copies pile up on the tier before it, and the last copy of a run never arrives.";
      f.fix = "Write faster there, or keep only milestones on it.";
      if (c.tier->tier->write) {
        f.edit = Edit{c.tier->path + ".write",
                      at_least(*c.tier->tier->write * (c.takes / c.every) * kAhead)};
      }
      out.push_back(std::move(f));
    }
  }
}

// Finds events that arrive faster than their tier can write, and models that are older than
// promised.
void check_features(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::TrainView& t : r.trains) {
    const auto& features = t.train->features;
    const machine::Tier* tier = t.feasible() ? features_tier(t, *r.machine) : nullptr;
    if (tier != nullptr && features->rate * features->size > tier->write) {
      Finding f = finding_at(r, rule, t.path + ".features.rate");
      f.what = fmt::format("Events of '{}' arrive at {}; tier '{}' writes {}.", t.label,
                           brief(features->rate * features->size), tier->label, brief(tier->write));
      f.why = "Events that are not written are lost, or wait for ever.";
      f.fix = "Write faster there, or store less of each event.";
      if (tier->tier->write) {
        f.edit = Edit{tier->path + ".write", at_least(features->rate * features->size * kAhead)};
      }
      out.push_back(std::move(f));
    }
    if (!t.feasible() || !features || !features->freshness || !t.train->repeat) continue;
    const Seconds age = t.train->repeat->every + t.run_time;
    if (age <= *features->freshness) continue;
    Finding f = finding_at(r, rule, t.path + ".features.freshness");
    f.what =
        fmt::format("An event reaches the model of '{}' after up to {}; the design asks for {}.",
                    t.label, brief(age), brief(*features->freshness));
    f.why = fmt::format("It waits for the next run, up to {}, and for that run to end, {}.",
                        brief(t.train->repeat->every), brief(t.run_time));
    f.fix = "Train more often, or on more machines.";
    out.push_back(std::move(f));
  }
}

void check_local_only(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::TrainView& t : r.trains) {
    if (!t.checkpoint || t.checkpoint->safe != nullptr) continue;
    const double replicas = t.train->checkpoint->replicas.value_or(1);
    Finding f = finding_at(r, rule, t.path + ".checkpoint.to");
    f.what = fmt::format("Checkpoints of '{}' stay on the nodes that wrote them ({} cop{} each).",
                         t.label, replicas, replicas == 1 ? "y" : "ies");
    f.why = fmt::format("A host fails every {}, and a shard of every checkpoint is lost with it.",
                        brief(t.failure.mtbf));
    f.fix = "Add a shared tier to `to`, e.g. [node-nvme, hot]; declare one if there is none.";
    f.edit = edit_save_target(r, t);
    out.push_back(std::move(f));
  }
}

// Finds tiers on drives in the nodes that a run uses although its nodes have no drives.
void check_node_drives(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::TrainView& t : r.trains) {
    if (t.fleet == nullptr) continue;
    std::vector<std::string> named;
    if (t.train->checkpoint) named = t.train->checkpoint->to;
    if (!t.train->dataset.tier.empty()) named.push_back(t.train->dataset.tier);
    for (const std::string& label : named) {
      const machine::Tier* tier = find_tier(r.tiers(), label);
      // If no node has drives, there is no such tier at all.
      const bool there =
          tier != nullptr ? stands_in(*tier, *t.fleet) : label != word_of(design::Tier::node_nvme);
      if (there) continue;
      Finding f = finding_at(r, rule, t.path);
      f.what = fmt::format("'{}' uses tier '{}', but the nodes of fleet '{}' have no drives.",
                           t.label, label, t.fleet->fleet->name);
      f.why = "Without drives nothing can be saved there or read; the review leaves it out.";
      f.fix = fmt::format("Buy drives for the nodes, {} in each, or name a shared tier.",
                          at_least(kNodeDrives));
      f.edit = Edit{t.fleet->path + ".custom.local_nvme", at_least(kNodeDrives)};
      out.push_back(std::move(f));
      break;
    }
  }
}

void check_targets(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::TrainView& t : r.trains) {
    if (!t.feasible()) continue;
    const bool declared = t.train->checkpoint.has_value();
    if (declared && t.checkpoint) continue;
    // A run that ends before a failure is due needs no checkpoint. One that meets failures might
    // never end.
    const Seconds work = t.raw_rate() > 0 ? Seconds(t.units / t.raw_rate()) : Seconds(0);
    if (!declared && work < t.failure.mtbf * 0.2) continue;
    Finding f = finding_at(r, rule, t.path + ".checkpoint");
    f.what = declared ? fmt::format("No tier of the design takes the checkpoints of '{}'.", t.label)
                      : fmt::format(
                            "'{}' computes for {} without checkpoints on hosts that fail every {}.",
                            t.label, brief(work), brief(t.failure.mtbf));
    f.why = "Every failure loses all work since the start of the run.";
    f.fix =
        "Add checkpoint: { every: auto, to: [hot], keep: { hot: 3 } }, with a hot tier in "
        "`storage`.";
    f.edit = edit_save_target(r, t);
    out.push_back(std::move(f));
  }
}

void check_capacity(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const machine::Tier& t : r.tiers()) {
    if (t.capacity <= Bytes(0) || r.used_of(t) <= t.capacity) continue;
    Finding f = finding_at(r, rule, t.path + ".capacity");
    f.what = fmt::format("Tier '{}' must hold {} but has {}.", t.label, brief(r.used_of(t)),
                         brief(t.capacity));
    f.why =
        "This counts data sets and kept checkpoints; without a `keep` rule a run keeps all its "
        "saves.";
    f.fix = "Add capacity, or a keep rule such as keep: { hot: 3, cold: milestones }.";
    f.edit = edit_capacity(r, t);
    out.push_back(std::move(f));
  }
}

void check_small_files(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::TrainView& t : r.trains) {
    if (!t.feed.known || t.train->dataset.format != design::DataFormat::files) continue;
    if (t.feed.loader.limit != storage::LoaderLimit::storage) continue;
    Finding f = finding_at(r, rule, t.path + ".dataset.format");
    f.what = fmt::format(
        "'{}' reads one file of {} per sample and waits for them: accelerators work {} of the "
        "step.",
        t.label, brief(t.feed.sample), show(t.feed.loader.utilisation, figures::Unit::ratio));
    f.why =
        "Each request costs the time to first byte and a metadata operation; a shard costs them "
        "once for thousands of samples.";
    f.fix = "Pack the samples: format: shards.";
    f.edit = Edit{t.path + ".dataset.format", "shards"};
    out.push_back(std::move(f));
  }
}

void check_starving(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  // Accelerator use below which loading or checkpoints are usually to blame: a common rule of
  // thumb.
  constexpr double kStarving = 0.8;
  for (const review::TrainView& t : r.trains) {
    if (!t.feed.known || t.feed.loader.utilisation >= kStarving) continue;
    Finding f = finding_at(r, rule, t.path + ".dataset");
    f.what = fmt::format(
        "'{}' waits for data: its accelerators work {} of the time, limited by {}.", t.label,
        show(t.feed.loader.utilisation, figures::Unit::ratio), to_text(t.feed.loader.limit));
    f.why = fmt::format("The job needs {}; tier '{}' reads {}.", brief(t.feed.wanted),
                        t.feed.tier->label, brief(t.feed.tier->read));
    f.fix =
        t.feed.loader.limit == storage::LoaderLimit::decode
            ? "Give the loaders more cores, decode on the accelerator, or store decoded samples."
            : "Read faster: more servers, a cache tier with policy pin, or larger objects.";
    f.edit = edit_feed(r, t);
    out.push_back(std::move(f));
  }
}

Seconds part_of(const storage::AccessLatency& l) {
  switch (l.longest) {
    case storage::AccessPart::media:
      return l.media;
    case storage::AccessPart::network:
      return l.network;
    case storage::AccessPart::service:
      return l.service;
    case storage::AccessPart::transfer:
      return l.transfer;
    case storage::AccessPart::host_copy:
      return l.host_copy;
  }
  return l.media;
}

void check_latency(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const machine::Tier& t : r.tiers()) {
    const Seconds target = machine::latency_target(t.tier->tier);
    if (t.latency.total <= target || t.implied) continue;
    Finding f = finding_at(r, rule, t.path + ".tier");
    f.what = fmt::format("Tier '{}' answers a small read in {}; a {} tier should answer within {}.",
                         t.label, brief(t.latency.total), word_of(t.tier->tier), brief(target));
    f.why = fmt::format("{} of this time is spent in {}.",
                        show(part_of(t.latency) / t.latency.total, figures::Unit::ratio),
                        to_text(t.latency.longest));
    const bool is_gateway = t.tier->kind == design::TierKind::object &&
                            t.latency.longest == storage::AccessPart::service;
    f.fix = is_gateway ? "Use a file system or a cache on the nodes for small reads, or declare "
                         "the tier as the class that it is."
            : t.latency.longest == storage::AccessPart::media
                ? "Use faster media, or declare the tier as the class that it is."
                : "Shorten that part, or declare the tier as the class that it is.";
    out.push_back(std::move(f));
  }
}

constexpr Rule kStorageRules[] = {
    {"storage.latency-target", figures::Layer::storage, Severity::note,
     "a tier answers as fast as its class promises",
     "Scality guide: under 50 us GPU-direct, under 1 ms hot; others docs/models/loader.md",
     check_latency},
    {"storage.unit-guidance", figures::Layer::storage, Severity::warning,
     "the hot tier meets the guidance for its scalable units", "RA-11333-001 table 6, RA-11338-001",
     check_guidance},
    {"storage.gb200-guidance", figures::Layer::storage, Severity::note,
     "GB200's guidance per accelerator is 2.25 times lower than H100's", "RA-11338-001",
     check_gb200_ratio},
    {"storage.lru-shuffled", figures::Layer::storage, Severity::warning,
     "a cache for shuffled epochs does not use LRU", "docs/models/cache.md", check_lru},
    {"storage.drain-interval", figures::Layer::storage, Severity::error,
     "a checkpoint drains before the next begins", "docs/models/checkpoint.md", check_drain},
    {"storage.never-safe", figures::Layer::storage, Severity::error,
     "a checkpoint is safe before the next failure is due", "docs/models/checkpoint.md",
     check_never_safe},
    {"storage.later-copies", figures::Layer::storage, Severity::warning,
     "a copy to a further tier ends before the next is due", "docs/models/checkpoint.md",
     check_later_copies},
    {"storage.features", figures::Layer::storage, Severity::error,
     "events are stored as fast as they arrive, and reach the model in time",
     "the workload's own terms", check_features},
    {"storage.local-only", figures::Layer::storage, Severity::error,
     "some copy of a checkpoint survives the node that wrote it", "docs/models/checkpoint.md",
     check_local_only},
    {"storage.node-drives", figures::Layer::storage, Severity::error,
     "nodes have drives for the data that is kept in them", "docs/models/storage.md",
     check_node_drives},
    {"storage.checkpoint-target", figures::Layer::storage, Severity::error,
     "a long run saves checkpoints", "docs/models/failure.md", check_targets},
    {"storage.capacity", figures::Layer::storage, Severity::error,
     "a tier holds what is kept on it", "docs/models/storage.md", check_capacity},
    {"storage.small-files", figures::Layer::storage, Severity::warning,
     "samples are packed if requests limit the loader", "docs/models/loader.md", check_small_files},
    {"storage.starving", figures::Layer::storage, Severity::warning,
     "accelerators work at least 80 % of the step",
     "Scality guide: use under 80 % points to loading or checkpoints", check_starving},
};

}  // namespace

std::span<const Rule> storage_rules() { return kStorageRules; }

}  // namespace orrery::rules
