// Claims about state and checkpoints: bytes per parameter, sizes, stalls, the storage that a save
// in a fraction of a step would need.
#include <fmt/core.h>

#include <array>

#include "core/base/text.h"
#include "core/workload/model_math.h"
#include "layers/storage/checkpoint.h"
#include "layers/storage/guidance.h"
#include "model/jobs/predict_training.h"
#include "study/calc/calc.h"
#include "study/calc/claim_trial.h"

namespace orrery::calc {
namespace {

constexpr const char* kPage = "docs/models/checkpoint.md";

figures::Number figure_named(const Calculation& c, std::string_view id) {
  for (const figures::Number& f : c.figures) {
    if (f.id == id) return f;
  }
  return {};
}

Calculation checkpoint_of_70b(const ClaimContext& c, storage::SavedState state) {
  CheckpointQuestion q;
  q.model.shape = &c.model("llama-3-70b");
  q.bytes_per_param = state_bytes(state).total();
  return calc_checkpoint(q);
}

ClaimFinding state_live(const ClaimContext& c) {
  ClaimFinding f{.criterion = about(16, figures::Unit::bytes)};
  const storage::StateBytes s = state_bytes(storage::SavedState::adam_mixed);
  const auto with_gradients = [&](const char* label, double bytes) {
    try_case(f, label, exact(s.total() + bytes, Basis::derived, "docs/models/memory.md"),
             fmt::format("weight {} + gradient {} + master {} + moments {} B", s.weight, bytes,
                         s.master, s.moments));
  };
  with_gradients("16-bit gradients", 2);
  with_gradients("fp32 gradients", 4);
  const training::FrameworkModel m = c.models.training.framework("megatron-bridge", "");
  show_beside(f, "as Megatron stores it", figures::Unit::bytes,
              exact(m.weight_bytes + m.gradient_bytes + m.optimizer_bytes, Basis::derived,
                    "calibration/training_frameworks"),
              fmt::format("{} + {} + {} B", m.weight_bytes, m.gradient_bytes, m.optimizer_bytes));
  f.only_if = "gradients stay in 16 bits; frameworks that add them up in fp32 keep 18 B";
  return f;
}

ClaimFinding state_saved(const ClaimContext&) {
  ClaimFinding f{.criterion = between(12, 14, figures::Unit::bytes)};
  for (const storage::SavedState s :
       {storage::SavedState::adam_mixed, storage::SavedState::adam_rederived}) {
    const storage::StateBytes b = state_bytes(s);
    try_case(f, to_text(s), exact(b.total(), Basis::derived, kPage),
             fmt::format("{} + {} + {} B", b.weight, b.master, b.moments));
  }
  return f;
}

ClaimFinding ckpt_70b(const ClaimContext& c) {
  ClaimFinding f{.criterion = about(1e12, figures::Unit::bytes)};
  const figures::Number size =
      figure_named(checkpoint_of_70b(c, storage::SavedState::adam_mixed), "size");
  try_case(f, "Llama 3 70B, mixed-precision Adam", size.estimate, size.formula);
  const figures::Number lean =
      figure_named(checkpoint_of_70b(c, storage::SavedState::adam_rederived), "size");
  show_beside(f, "without the 16-bit weights", figures::Unit::bytes, lean.estimate, lean.formula);
  return f;
}

ClaimFinding ckpt_70b_day(const ClaimContext& c) {
  ClaimFinding f{.criterion = about(24e12, figures::Unit::bytes)};
  const figures::Number day =
      figure_named(checkpoint_of_70b(c, storage::SavedState::adam_mixed), "written_per_day");
  try_case(f, "Llama 3 70B, once an hour", day.estimate, day.formula);
  return f;
}

// 70B on 1,024 H100, its optimizer state sharded over 128 replicas, saved to a 4 SU store at
// "better".
struct SaveOf70b {
  storage::SaveLoad load;
  Seconds write;
  BytesPerSecond server;
};
SaveOf70b save_of_70b(const ClaimContext& c) {
  const BytesPerSecond server =
      guided_rate(c.models.storage_guidance, {.architecture = "SuperPOD H100",
                                              .metric = "write",
                                              .units = 4,
                                              .level = storage::GuidanceLevel::better})
          .value_or(gbytes_per_s(80));
  const double n = workload::count_parameters(c.model("llama-3-70b")).total;
  const storage::SaveLoad load = save_load(n, state_bytes(storage::SavedState::adam_mixed),
                                           {.ranks = 1024, .model_shards = 8, .ranks_per_node = 8});
  return {load, write_time(load, load.writers, {.server = server}).total, server};
}

ClaimFinding async_stall_claim(const ClaimContext& c) {
  const SaveOf70b s = save_of_70b(c);
  const BytesPerSecond copy = gbytes_per_s(c.input("pcie5-copy").number());
  const Seconds snapshot = s.load.busiest_rank / copy;
  ClaimFinding f{.criterion = about(snapshot.base(), figures::Unit::seconds)};
  f.criterion.text = "stall within 5 % of the snapshot time";
  for (const Seconds every : {s.write * 0.5, s.write * 0.9, minutes(10), hours(1)}) {
    const storage::SaveStall stall = storage::async_stall({.copy_rate = copy,
                                                           .interval = every,
                                                           .rank_bytes = s.load.busiest_rank,
                                                           .drain = s.write});
    try_case(
        f, "a save every " + show(every.base(), figures::Unit::seconds),
        computed(stall.total.base(), 0.1, kPage),
        fmt::format("snapshot {} + wait {}", show(stall.snapshot.base(), figures::Unit::seconds),
                    show(stall.wait.base(), figures::Unit::seconds)));
  }
  show_beside(f, "write, when synchronous", figures::Unit::seconds,
              computed(s.write.base(), 0.12, kPage),
              fmt::format("{} / {}", show(s.load.total.base(), figures::Unit::bytes),
                          show(s.server.base(), figures::Unit::bytes_per_s)));
  f.only_if = fmt::format(
      "the last drain is over: saves of 70B at least {} apart at {}; sooner, "
      "the job waits for it",
      show(s.write.base(), figures::Unit::seconds),
      show(s.server.base(), figures::Unit::bytes_per_s));
  return f;
}

ClaimFinding slow_ckpt(const ClaimContext& c) {
  const SaveOf70b s = save_of_70b(c);
  ClaimFinding f{.criterion = about(1, figures::Unit::factor)};
  f.criterion.text = "stall within 5 % of the write time";
  const double ratio = storage::sync_stall(s.write).total / s.write;
  try_case(f, "70B, synchronous", exact(ratio, Basis::derived, kPage), "stall / write time");
  show_beside(f, "write time", figures::Unit::seconds, computed(s.write.base(), 0.12, kPage));
  return f;
}

ClaimFinding ckpt_fraction(const ClaimContext& c) {
  ClaimFinding f{.criterion = at_most(1, figures::Unit::factor)};
  f.criterion.text = "write time of at most one step";
  jobs::TrainingQuery q{
      .model = c.model("llama-3-70b"), .accelerator = &c.accelerator("h100-sxm"), .gpus = 1024};
  q.nic = gbits_per_s(400);
  q.sequence = 8192;
  q.batch = 1024;
  q.layout = {.tp = 8, .pp = 2, .vp = 1, .cp = 1, .ep = 1, .microbatch = 1};
  q.layout.sharding = catalog::Sharding::zero1;
  q.layout.recompute = catalog::Recompute::selective;
  const auto p = predict_training(c.models, q);
  if (!p) return f;
  const Bytes size =
      checkpoint_size(workload::count_parameters(q.model).total, storage::SavedState::adam_mixed);
  const Seconds step(p->step_time_s.value);
  for (const storage::GuidanceLevel level :
       {storage::GuidanceLevel::good, storage::GuidanceLevel::better,
        storage::GuidanceLevel::best}) {
    const auto rate = guided_rate(
        c.models.storage_guidance,
        {.architecture = "SuperPOD H100", .metric = "write", .units = 4, .level = level});
    if (!rate) continue;
    const Seconds write = size / *rate;
    try_case(f, fmt::format("4 SU store at '{}'", to_text(level)),
             computed(write / step, 0.15, kPage),
             fmt::format("{} / {} / {} per step", show(size.base(), figures::Unit::bytes),
                         show(rate->base(), figures::Unit::bytes_per_s),
                         show(step.base(), figures::Unit::seconds)));
  }
  const BytesPerSecond needed = size / step;
  show_beside(f, "step of 70B on 1,024 H100", figures::Unit::seconds, p->step_time_s);
  show_beside(f, "bandwidth that writes it in one step", figures::Unit::bytes_per_s,
              computed(needed.base(), 0.15, kPage));
  show_beside(f, "and in a tenth of a step", figures::Unit::bytes_per_s,
              computed(10 * needed.base(), 0.15, kPage));
  f.only_if = fmt::format(
      "the store writes more than {} (70B, 1,024 H100); a tenth of a step would need {}, which no "
      "guidance for that size recommends",
      show(needed.base(), figures::Unit::bytes_per_s),
      show(10 * needed.base(), figures::Unit::bytes_per_s));
  f.instead = f.only_if;
  return f;
}

constexpr std::array kCheckpointClaims = {
    ClaimRule{"state-live", state_live},
    ClaimRule{"state-saved", state_saved},
    ClaimRule{"ckpt-70b", ckpt_70b},
    ClaimRule{"ckpt-70b-day", ckpt_70b_day},
    ClaimRule{"async-stall", async_stall_claim},
    ClaimRule{"slow-ckpt", slow_ckpt},
    ClaimRule{"ckpt-fraction", ckpt_fraction},
};

}  // namespace

std::span<const ClaimRule> checkpoint_claims() { return kCheckpointClaims; }

}  // namespace orrery::calc
