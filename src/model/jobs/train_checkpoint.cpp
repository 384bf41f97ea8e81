// Checkpoints and restarts: sizes, limits, stalls, the interval that suits the job's failures.
#include <algorithm>

#include "core/workload/adapters.h"
#include "model/design/names.h"
#include "model/figures/assumptions.h"
#include "model/jobs/train_job.h"

namespace orrery::jobs {
namespace {

using figures::assumptions::kAdamBytes;
using figures::assumptions::kCommit;
using figures::assumptions::kDeviceToHost;
using figures::assumptions::kHalfBytes;
using figures::assumptions::kMilestone;
using figures::assumptions::kSerialise;
using figures::assumptions::kSnapshotBuffers;
using figures::assumptions::kVersionsKept;

// Only the adapters are saved: the frozen weights do not change.
double saved_parameters(const TrainJob& job) {
  if (!job.train->lora || !job.model) return job.parameters;
  const design::Lora& lora = *job.train->lora;
  return adapter_parameters(*job.model, workload::adapter_targets(lora.targets), lora.rank);
}

storage::StateBytes saved_state(const TrainJob& job) {
  const double given = job.train->checkpoint->bytes_per_param.value_or(kAdamBytes);
  if (given <= 2) return {.weight = given};
  const storage::StateBytes adam = state_bytes(storage::SavedState::adam_mixed);
  const double scale = (given - adam.weight) / adam.optimizer();
  return {.weight = adam.weight, .master = adam.master * scale, .moments = adam.moments * scale};
}

storage::SaveLayout layout_of(const TrainJob& job) {
  storage::SaveLayout l{.ranks = job.accelerators, .model_shards = job.step.model_shards};
  l.ranks_per_node = std::max(1, job.fleet->accelerators_per_host);
  l.sharding = job.step.weights_sharded     ? storage::SaveSharding::zero3
               : job.step.optimizer_sharded ? storage::SaveSharding::zero1
                                            : storage::SaveSharding::replicated;
  return l;
}

storage::WritePath write_path(const machine::Tier& tier, const machine::Fleet& fleet,
                              const machine::Machine& m) {
  storage::WritePath path{.serialise = kSerialise, .creates = tier.creates, .commit = kCommit};
  const machine::Network& wires = m.storage_wires(fleet);
  const machine::Crossing way = m.crossing_to(fleet, tier);
  if (tier.per_node) {
    path.node = tier.write;
    path.creates = storage::kUnlimitedCreates;  // every node has its own file system
  } else {
    if (tier.write > BytesPerSecond(0)) path.server = way.capped(tier.write);
    path.commit += way.latency();
    if (wires.per_node() > BytesPerSecond(0)) path.node = wires.per_node();
  }
  return path;
}

void find_tiers(SavePlan& v, const design::Checkpoint& wanted, const machine::Fleet& fleet,
                const machine::Machine& m) {
  for (const std::string& label : wanted.to) {
    const machine::Tier* tier = find_tier(m.tiers, label);
    if (tier == nullptr || !stands_in(*tier, fleet)) continue;
    if (!m.crossing_to(fleet, *tier).leads_there()) continue;
    if (v.first == nullptr) v.first = tier;
    if (v.safe == nullptr && tier->durable()) v.safe = tier;
  }
}

void fill_restore(SavePlan& v, const TrainJob& job, const machine::Machine& m) {
  const machine::Tier& from = v.safe ? *v.safe : *v.first;
  // A restart also reads the frozen weights, next to which adapters are small.
  const storage::StateBytes state =
      job.train->lora ? storage::StateBytes{.weight = kHalfBytes} : saved_state(job);
  const storage::RestoreLoad load = restore_load(job.parameters, state, {.save = layout_of(job)});
  storage::ReadPath path;
  if (from.per_node) {
    path.node = from.read;
  } else {
    const machine::Network& wires = m.storage_wires(*job.fleet);
    if (from.read > BytesPerSecond(0)) {
      path.server = m.crossing_to(*job.fleet, from).capped(from.read);
    }
    if (wires.per_node() > BytesPerSecond(0)) path.node = wires.per_node();
  }
  v.restore = restore_time(load, path);
}

// A save to a tier that survives the loss of any node is drained when it is written; a save to
// local drives when its copy is written.
void fill_stall(SavePlan& v, const TrainJob& job, Seconds restart) {
  storage::AsyncPath path{.copy_rate = kDeviceToHost, .rank_bytes = v.load.busiest_rank};
  path.drain = v.drain.total;
  const Seconds blocking = v.async ? path.rank_bytes / path.copy_rate : v.write.total;
  const failure::IntervalChoice best =
      failure::choose_interval({.save_stall = blocking,
                                .mtbf = job.failure.mtbf,
                                .restart = restart,
                                .drain = v.async ? v.drain.total : Seconds(0)});
  v.interval_given = job.train->checkpoint->every.has_value();
  v.interval = job.train->checkpoint->every.value_or(best.interval);
  v.interval_limit = best.limit;
  path.interval = v.interval;
  v.stall = v.async ? async_stall(path) : storage::sync_stall(v.write.total);
}

void fill_exposure(SavePlan& v, const TrainJob& job) {
  const bool local_first = v.first->per_node;
  v.exposure = storage::expose({.nodes = static_cast<double>(job.hosts),
                                .node_mtbf = 1.0 / job.failure.node_rate,
                                .drain = local_first ? v.drain.total : Seconds(0),
                                .interval = v.interval,
                                .holders = job.train->checkpoint->replicas.value_or(1)});
}

const design::KeepRule* rule_of(const machine::Tier& tier, const design::Checkpoint& wanted) {
  for (const design::KeepRule& rule : wanted.keep) {
    if (rule.tier == tier.label || rule.tier == word_of(tier.tier->tier)) return &rule;
  }
  return nullptr;
}

Bytes kept_on(const machine::Tier& tier, const SavePlan& v, const design::Checkpoint& wanted,
              Seconds run) {
  // Without a rule nothing is deleted: the run keeps all its saves.
  const double all = v.interval > Seconds(0) ? std::max(1.0, run / v.interval) : 1;
  const design::KeepRule* rule = rule_of(tier, wanted);
  if (rule == nullptr) return v.size * all;
  if (!rule->newest) return v.size * (1 + run / wanted.milestone.value_or(kMilestone));
  double saves = *rule->newest + 1;  // one more for the save in flight
  // A deleted save still takes space for the time that versions are kept.
  if (tier.tier->versioned) saves += std::min(all, kVersionsKept / v.interval);
  return v.size * saves;
}

void fill_later(SavePlan& v, const TrainJob& job, const machine::Machine& m) {
  const design::Checkpoint& wanted = *job.train->checkpoint;
  for (const std::string& label : wanted.to) {
    const machine::Tier* tier = find_tier(m.tiers, label);
    if (tier == nullptr || !tier->durable() || tier == v.safe) continue;
    if (!m.crossing_to(*job.fleet, *tier).leads_there()) continue;
    const design::KeepRule* rule = rule_of(*tier, wanted);
    const bool milestones = rule != nullptr && !rule->newest;
    v.later.push_back(
        {.tier = tier,
         .kept = kept_on(*tier, v, wanted, job.raw_time),
         .every = milestones ? wanted.milestone.value_or(kMilestone) : v.interval,
         .takes = write_time(v.load, v.files, write_path(*tier, *job.fleet, m)).total});
  }
}

}  // namespace

void fill_checkpoint(TrainJob& job, const machine::Machine& m) {
  if (!job.train->checkpoint) return;
  const design::Checkpoint& wanted = *job.train->checkpoint;
  SavePlan v;
  find_tiers(v, wanted, *job.fleet, m);
  if (v.first == nullptr) return;  // reported by a rule
  v.async = wanted.mode == design::CheckpointMode::async;
  v.load = save_load(saved_parameters(job), saved_state(job), layout_of(job));
  v.size = v.load.total;
  v.files = wanted.files ? *wanted.files : v.load.writers;
  v.write = write_time(v.load, v.files, write_path(*v.first, *job.fleet, m));
  v.drain = v.safe && v.safe != v.first
                ? write_time(v.load, v.files, write_path(*v.safe, *job.fleet, m))
                : v.write;
  fill_restore(v, job, m);
  job.failure.restart += v.restore.total * job.failure.attempts;
  fill_stall(v, job, job.failure.restart);
  fill_exposure(v, job);
  v.host_memory =
      v.async ? storage::snapshot_memory(v.load.busiest_node, kSnapshotBuffers) : Bytes(0);
  if (v.safe) {
    v.kept_on_safe = kept_on(*v.safe, v, wanted, job.raw_time);
    fill_later(v, job, m);
  }
  job.checkpoint = v;
}

}  // namespace orrery::jobs
