#include "model/jobs/pipeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <ranges>

#include "model/figures/assumptions.h"

namespace orrery::jobs {
namespace {

using figures::assumptions::kBytesPerWeight;
using figures::assumptions::kCopyFloor;

const design::Workload* workload_named(const design::Design& d, const std::string& name) {
  for (const design::Workload& w : d.workloads) {
    if (label_of(d, w) == name) return &w;
  }
  return nullptr;
}

Bytes size_of(const design::Dataset& d) {
  return d.size.value_or(d.sample_size.value_or(Bytes(0)) * d.samples.value_or(0));
}

Bytes weights_of(const machine::Machine& m, const design::Workload& w) {
  return Bytes(name_job(m, w).parameters * kBytesPerWeight);
}

// Returns the weights of the model that the nearest stage above trains.
Bytes trained_above(const machine::Machine& m, const std::vector<PipelineStage>& above) {
  for (const PipelineStage& s : std::views::reverse(above)) {
    const bool trains = s.stage->stage == design::DataStage::train && s.workload != nullptr;
    if (trains) return weights_of(m, *s.workload);
  }
  return {};
}

void fill_move(PipelineStage& s, const machine::Machine& m,
               const std::vector<PipelineStage>& above) {
  s.from = s.stage->from.empty() ? nullptr : find_tier(m.tiers, s.stage->from);
  s.to = find_tier(m.tiers, s.stage->to);
  s.in = s.out = s.stage->size ? *s.stage->size : trained_above(m, above);
  s.way = s.stage->rate.value_or(storage::kUnlimitedRate);
  const bool reads_tier = s.stage->stage != design::DataStage::ingest;
  if (s.to == nullptr || (reads_tier && s.from == nullptr)) {
    s.infeasible = "a tier that it names does not exist";
    return;
  }
  if (s.from == nullptr) return;
  const design::Site* here = find_site(m.design(), s.from->tier->site);
  const design::Site* there = find_site(m.design(), s.to->tier->site);
  if (here == there) return;
  const auto line = machine::wan_between(m.design(), here->name, there->name);
  if (!line) {
    s.infeasible =
        fmt::format("no line leads from tier '{}' to tier '{}'", s.from->label, s.to->label);
    return;
  }
  s.way = min(s.way, line->rate);
}

void fill_work(PipelineStage& s, const machine::Machine& m) {
  s.workload = workload_named(m.design(), s.stage->workload);
  if (s.workload == nullptr) {
    s.infeasible = "its workload does not exist";
  } else if (const auto* train = std::get_if<design::Train>(&s.workload->task)) {
    s.in = size_of(train->dataset);
    s.out = weights_of(m, *s.workload);
  } else if (const auto* batch = std::get_if<design::Batch>(&s.workload->task)) {
    s.in = size_of(batch->dataset);
    s.out = batch->output.value_or(Bytes(0));
  }
}

std::vector<std::size_t> waits_for(const design::Stage& stage,
                                   const std::vector<PipelineStage>& above) {
  std::vector<std::size_t> after;
  if (stage.after.empty() && !above.empty()) return {above.size() - 1};
  for (std::size_t i = 0; i < above.size(); ++i) {
    if (std::ranges::find(stage.after, above[i].label) != stage.after.end()) after.push_back(i);
  }
  return after;
}

}  // namespace

std::vector<PipelineStage> pipeline_of(const machine::Machine& m) {
  std::vector<PipelineStage> stages;
  const auto& all = m.design().pipeline.stages;
  const auto last = std::ranges::any_of(
      all, [](const design::Stage& s) { return s.stage == design::DataStage::serve; });
  const design::DataStage serves = last ? design::DataStage::serve : design::DataStage::deploy;
  for (std::size_t i = 0; i < all.size(); ++i) {
    PipelineStage s{.stage = &all[i],
                    .label = std::string(all[i].label()),
                    .path = fmt::format("pipeline.stages[{}]", i)};
    if (s.moves()) {
      fill_move(s, m, stages);
    } else {
      fill_work(s, m);
    }
    s.after = waits_for(all[i], stages);
    s.is_served = all[i].stage == serves;
    stages.push_back(std::move(s));
  }
  return stages;
}

int stage_of(std::span<const PipelineStage> stages, const design::Workload& workload) {
  const auto found = std::ranges::find(stages, &workload, &PipelineStage::workload);
  return found == stages.end() ? -1 : static_cast<int>(found - stages.begin());
}

TiersLeft tiers_left(const machine::Machine& m, std::span<const PipelineStage> stages,
                     std::span<const TrainJob* const> runs) {
  TiersLeft left;
  for (const machine::Tier& t : m.tiers) left.push_back({t.read, t.write});
  const auto of = [&left](const machine::Tier* t) -> TierLeft& { return left[t->index]; };
  for (const TrainJob* job : runs) {
    if (!job->feasible() || stage_of(stages, *job->workload) >= 0) continue;
    const FeedPlan& feed = job->feed;
    if (feed.known && feed.tier != nullptr) {
      of(feed.tier).read -= feed.wanted * (feed.loader.utilisation * (1 - feed.hit_rate));
    }
    if (!job->checkpoint || job->checkpoint->interval <= Seconds(0)) continue;
    const SavePlan& save = *job->checkpoint;
    if (save.safe != nullptr) of(save.safe).write -= save.size / save.interval;
    for (const LaterCopy& copy : save.later) {
      if (copy.every > Seconds(0)) of(copy.tier).write -= save.size / copy.every;
    }
  }
  for (const machine::Tier& t : m.tiers) {
    left[t.index].read = max(left[t.index].read, t.read * kCopyFloor);
    left[t.index].write = max(left[t.index].write, t.write * kCopyFloor);
  }
  return left;
}

Seconds move_time(const PipelineStage& s, const TiersLeft& left) {
  if (s.to == nullptr) return {};
  BytesPerSecond rate = s.way;
  Seconds wait = s.to->first_byte;
  const auto held = [&rate](BytesPerSecond most) {
    if (most > BytesPerSecond(0)) rate = min(rate, most);
  };
  held(left[s.to->index].write);
  if (s.from != nullptr) {
    held(left[s.from->index].read);
    wait += s.from->first_byte + mount_time(*s.from);
  }
  return wait + s.out / rate;
}

Bytes kept_by(const PipelineStage& s, const design::Pipeline& pipeline) {
  const bool keeps_many = s.stage->keep && pipeline.every;
  return s.out * (keeps_many ? std::max(1.0, *s.stage->keep / *pipeline.every) : 1.0);
}

}  // namespace orrery::jobs
