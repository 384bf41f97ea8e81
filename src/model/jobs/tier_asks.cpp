#include "model/jobs/tier_asks.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/base/units.h"
#include "model/design/goals.h"
#include "model/figures/assumptions.h"
#include "model/jobs/arrivals.h"

namespace orrery::jobs {
namespace {

using figures::assumptions::kSaveShare;
// A rate that never limits, but that can be computed with.
constexpr BytesPerSecond kBoundlessRate{1e18};
constexpr Bytes kBoundlessRoom{1e30};

// Returns the largest stall that the design's goals allow, if they name one.
std::optional<Seconds> stall_goal(const design::Design& design) {
  for (const design::Goal& g : design.goals) {
    const bool is_above =
        g.comparison == design::Comparison::less || g.comparison == design::Comparison::at_most;
    if (g.metric == "checkpoint_stall" && is_above) return Seconds(g.bound);
  }
  return std::nullopt;
}

Seconds time_to_save(const SavePlan& save, const design::Design& design) {
  const Seconds share = save.interval * kSaveShare;
  const auto goal = save.async ? std::nullopt : stall_goal(design);
  return max(seconds(1), goal ? min(*goal, share) : share);
}

void ask_samples(std::vector<machine::TierAsk>& asks, const TrainJob& job) {
  const FeedPlan& feed = job.feed;
  if (!feed.known) return;
  const design::Dataset& d = job.train->dataset;
  const BytesPerSecond missed = feed.wanted * (1 - feed.hit_rate);
  const bool files = d.format == design::DataFormat::files && feed.object > Bytes(0);
  const auto opens = [&](BytesPerSecond rate) { return files ? rate / feed.object : PerSecond(0); };
  const auto reads = [&](BytesPerSecond rate) {
    return files ? opens(rate) : rate * feed.by_themselves / feed.sample;
  };
  const std::string what = fmt::format("samples of '{}'", job.label);
  asks.push_back({.tier = feed.tier->label,
                  .what = what,
                  .demand = {.capacity = d.size.value_or(feed.sample * d.samples.value_or(0)),
                             .read = missed,
                             .write = {},
                             .requests = reads(missed)},
                  .creates = opens(missed)});
  if (feed.cache == nullptr) return;
  const BytesPerSecond hits = feed.wanted * feed.hit_rate;
  asks.push_back(
      {.tier = feed.cache->label,
       .what = what,
       .demand = {.capacity = {}, .read = hits, .write = missed, .requests = reads(hits)},
       .creates = opens(hits)});
}

void ask_saves(std::vector<machine::TierAsk>& asks, const TrainJob& job,
               const design::Design& design) {
  if (!job.checkpoint) return;
  const SavePlan& save = *job.checkpoint;
  const auto add = [&](const machine::Tier& tier, Bytes kept, Seconds within) {
    asks.push_back(
        {.tier = tier.label,
         .what =
             fmt::format("saves of '{}', {} within {}", job.label, brief(save.size), brief(within)),
         .demand = {.capacity = kept, .read = {}, .write = save.size / within, .requests = {}},
         .creates = save.files / within});
  };
  const Seconds within = time_to_save(save, design);
  if (save.first && save.first != save.safe) add(*save.first, Bytes(0), within);
  if (save.safe) add(*save.safe, save.kept_on_safe, within);
  for (const LaterCopy& copy : save.later) {
    add(*copy.tier, copy.kept, max(seconds(1), copy.every * kSaveShare));
  }
}

void ask_events(std::vector<machine::TierAsk>& asks, const TrainJob& job,
                const machine::Machine& m) {
  const machine::Tier* tier = features_tier(job, m);
  if (tier == nullptr) return;
  const design::FeatureStream& events = *job.train->features;
  asks.push_back({.tier = tier->label,
                  .what = fmt::format("events of '{}'", job.label),
                  .demand = {.capacity = features_kept(*job.train),
                             .read = {},
                             .write = events.rate * events.size,
                             .requests = {}},
                  .creates = {}});
}

void ask_batch(std::vector<machine::TierAsk>& asks, const design::Batch& batch,
               const std::string& label, const machine::Machine& m) {
  const machine::Tier* tier =
      batch.dataset.tier.empty() ? nullptr : find_tier(m.tiers, batch.dataset.tier);
  if (tier == nullptr) return;
  std::optional<Seconds> window = batch.deadline;
  if (batch.repeat) {
    const Seconds own = batch.repeat->window.value_or(batch.repeat->every);
    window = window ? min(*window, own) : own;
  }
  const Bytes in = batch.dataset.size.value_or(Bytes(0));
  const Bytes out = batch.output.value_or(Bytes(0));
  const auto rate = [&](Bytes size) { return window ? size / *window : BytesPerSecond(0); };
  asks.push_back(
      {.tier = tier->label,
       .what = fmt::format("input and output of '{}'", label),
       .demand = {.capacity = in + out, .read = rate(in), .write = rate(out), .requests = {}},
       .creates = {}});
}

void ask_stage(std::vector<machine::TierAsk>& asks, const PipelineStage& s,
               const design::Pipeline& all) {
  if (!s.moves() || s.to == nullptr) return;
  const std::string what = fmt::format("stage '{}'", s.label);
  const BytesPerSecond rate = s.stage->rate.value_or(BytesPerSecond(0));
  asks.push_back(
      {.tier = s.to->label,
       .what = what,
       .demand = {.capacity = kept_by(s, all), .read = {}, .write = rate, .requests = {}},
       .creates = {}});
  if (s.from == nullptr) return;
  asks.push_back({.tier = s.from->label,
                  .what = what,
                  .demand = {.capacity = {}, .read = rate, .write = {}, .requests = {}},
                  .creates = {}});
}

// Returns the machine with tiers that hold and carry whatever they are asked for.
machine::Machine without_bounds(const machine::Machine& m) {
  machine::Machine free = m;
  for (machine::Tier& t : free.tiers) {
    if (!is_automatic(t)) continue;
    t.read = max(t.read, kBoundlessRate);
    t.write = max(t.write, kBoundlessRate);
    t.creates = PerSecond(1e18);
    if (!t.tier->capacity) t.capacity = kBoundlessRoom;
  }
  return free;
}

}  // namespace

std::vector<machine::TierAsk> asks_of(const TrainJob& job, const machine::Machine& m) {
  std::vector<machine::TierAsk> asks;
  ask_samples(asks, job);
  ask_saves(asks, job, m.design());
  ask_events(asks, job, m);
  return asks;
}

std::vector<machine::TierAsk> asks_of_pipeline(const machine::Machine& m) {
  std::vector<machine::TierAsk> asks;
  for (const PipelineStage& s : pipeline_of(m)) ask_stage(asks, s, m.design().pipeline);
  return asks;
}

std::vector<machine::TierAsk> asks_of_indexes(const machine::Machine& m) {
  std::vector<machine::TierAsk> asks;
  for (const design::Workload& w : m.design().workloads) {
    const auto* serve = std::get_if<design::Serve>(&w.task);
    if (serve == nullptr || !serve->retrieval) continue;
    const design::Retrieval& r = *serve->retrieval;
    const machine::Tier* tier = find_tier(m.tiers, r.tier);
    if (tier == nullptr) continue;
    PerSecond reads;
    for (const jobs::RequestStream& s : streams_into(m.design(), w))
      reads += s.rate * (s.peak * r.reads);
    asks.push_back({.tier = tier->label,
                    .what = fmt::format("index of '{}'", label_of(m.design(), w)),
                    .demand = {.capacity = r.index,
                               .read = reads * r.read_size,
                               .write = {},
                               .requests = reads},
                    .creates = {}});
  }
  return asks;
}

std::vector<machine::TierAsk> asks_of(const machine::Machine& m) {
  const machine::Machine free = without_bounds(m);
  std::vector<machine::TierAsk> all = asks_of_pipeline(free);
  std::ranges::move(asks_of_indexes(free), std::back_inserter(all));
  for (const design::Workload& w : m.design().workloads) {
    if (const auto* batch = std::get_if<design::Batch>(&w.task)) {
      ask_batch(all, *batch, label_of(m.design(), w), free);
    }
    if (!std::holds_alternative<design::Train>(w.task)) continue;
    TrainJob job = name_job(free, w);
    if (job.feasible()) fill_step(job, free);
    if (!job.feasible()) continue;
    fill_costs(job, free);
    std::ranges::move(asks_of(job, free), std::back_inserter(all));
  }
  return all;
}

}  // namespace orrery::jobs
