// Claims about state and checkpoints: bytes a parameter, sizes, stalls, what a fraction of a step
// would ask of storage.
#include <fmt/core.h>

#include <array>

#include "base/text.h"
#include "calc/calc.h"
#include "calc/claim_trial.h"
#include "machine/predict_training.h"
#include "storage/checkpoint.h"
#include "storage/guidance.h"
#include "workload/model_math.h"

namespace orrery {
namespace {

constexpr const char* kPage = "docs/models/checkpoint.md";

Figure figure_named(const Calculation& c, std::string_view id) {
  for (const Figure& f : c.figures) {
    if (f.id == id) return f;
  }
  return {};
}

Calculation checkpoint_of_70b(const ClaimContext& c, SavedState state) {
  CheckpointQuestion q;
  q.model.shape = &c.model("llama-3-70b");
  q.bytes_per_param = state_bytes(state).total();
  return calc_checkpoint(q);
}

ClaimFinding state_live(const ClaimContext& c) {
  ClaimFinding f{.criterion = about(16, Unit::bytes)};
  const StateBytes s = state_bytes(SavedState::adam_mixed);
  const auto with_gradients = [&](const char* label, double bytes) {
    try_case(f, label, exact(s.total() + bytes, Basis::derived, "docs/models/memory.md"),
             fmt::format("weight {} + gradient {} + master {} + moments {} B", s.weight, bytes,
                         s.master, s.moments));
  };
  with_gradients("16-bit gradients", 2);
  with_gradients("fp32 gradients", 4);
  const FrameworkModel m = c.models.training.framework("megatron-bridge", "");
  show_beside(f, "as Megatron keeps it", Unit::bytes,
              exact(m.weight_bytes + m.gradient_bytes + m.optimizer_bytes, Basis::derived,
                    "calibration/training_frameworks"),
              fmt::format("{} + {} + {} B", m.weight_bytes, m.gradient_bytes, m.optimizer_bytes));
  f.only_if = "gradients stay in 16 bits; frameworks that add them up in fp32 keep 18 B";
  return f;
}

ClaimFinding state_saved(const ClaimContext&) {
  ClaimFinding f{.criterion = between(12, 14, Unit::bytes)};
  for (const SavedState s : {SavedState::adam_mixed, SavedState::adam_rederived}) {
    const StateBytes b = state_bytes(s);
    try_case(f, to_text(s), exact(b.total(), Basis::derived, kPage),
             fmt::format("{} + {} + {} B", b.weight, b.master, b.moments));
  }
  return f;
}

ClaimFinding ckpt_70b(const ClaimContext& c) {
  ClaimFinding f{.criterion = about(1e12, Unit::bytes)};
  const Figure size = figure_named(checkpoint_of_70b(c, SavedState::adam_mixed), "size");
  try_case(f, "Llama 3 70B, mixed-precision Adam", size.estimate, size.formula);
  const Figure lean = figure_named(checkpoint_of_70b(c, SavedState::adam_rederived), "size");
  show_beside(f, "without the 16-bit weights", Unit::bytes, lean.estimate, lean.formula);
  return f;
}

ClaimFinding ckpt_70b_day(const ClaimContext& c) {
  ClaimFinding f{.criterion = about(24e12, Unit::bytes)};
  const Figure day = figure_named(checkpoint_of_70b(c, SavedState::adam_mixed), "written_per_day");
  try_case(f, "Llama 3 70B, once an hour", day.estimate, day.formula);
  return f;
}

// 70B on 1,024 H100, its optimizer state split over 128 replicas, to a 4 SU store at "better".
struct SaveOf70b {
  SaveLoad load;
  Seconds write;
  BytesPerSecond server;
};
SaveOf70b save_of_70b(const ClaimContext& c) {
  const BytesPerSecond server =
      guided_rate(c.models.storage_guidance, {.architecture = "SuperPOD H100",
                                              .metric = "write",
                                              .units = 4,
                                              .level = GuidanceLevel::better})
          .value_or(gbytes_per_s(80));
  const double n = count_parameters(c.model("llama-3-70b")).total;
  const SaveLoad load = save_load(n, state_bytes(SavedState::adam_mixed),
                                  {.ranks = 1024, .model_shards = 8, .ranks_per_node = 8});
  return {load, write_time(load, load.writers, {.server = server}).total, server};
}

ClaimFinding async_stall_claim(const ClaimContext& c) {
  const SaveOf70b s = save_of_70b(c);
  const BytesPerSecond copy = gbytes_per_s(c.input("pcie5-copy").number());
  const Seconds snapshot = s.load.busiest_rank / copy;
  ClaimFinding f{.criterion = about(snapshot.base(), Unit::seconds)};
  f.criterion.text = "stall within 5 % of the snapshot time";
  for (const Seconds every : {s.write * 0.5, s.write * 0.9, minutes(10), hours(1)}) {
    const SaveStall stall = async_stall({.copy_rate = copy,
                                         .interval = every,
                                         .rank_bytes = s.load.busiest_rank,
                                         .drain = s.write});
    try_case(f, "a save every " + show(every.base(), Unit::seconds),
             computed(stall.total.base(), 0.1, kPage),
             fmt::format("snapshot {} + wait {}", show(stall.snapshot.base(), Unit::seconds),
                         show(stall.wait.base(), Unit::seconds)));
  }
  show_beside(f, "write, when synchronous", Unit::seconds, computed(s.write.base(), 0.12, kPage),
              fmt::format("{} / {}", show(s.load.total.base(), Unit::bytes),
                          show(s.server.base(), Unit::bytes_per_s)));
  f.only_if = fmt::format(
      "the last drain is over: saves of 70B at least {} apart at {}; sooner, "
      "the job waits for it",
      show(s.write.base(), Unit::seconds), show(s.server.base(), Unit::bytes_per_s));
  return f;
}

ClaimFinding slow_ckpt(const ClaimContext& c) {
  const SaveOf70b s = save_of_70b(c);
  ClaimFinding f{.criterion = about(1, Unit::factor)};
  f.criterion.text = "stall within 5 % of the write time";
  const double ratio = sync_stall(s.write).total / s.write;
  try_case(f, "70B, synchronous", exact(ratio, Basis::derived, kPage), "stall / write time");
  show_beside(f, "write time", Unit::seconds, computed(s.write.base(), 0.12, kPage));
  return f;
}

ClaimFinding ckpt_fraction(const ClaimContext& c) {
  ClaimFinding f{.criterion = at_most(1, Unit::factor)};
  f.criterion.text = "write time of at most one step";
  TrainingQuery q{
      .model = c.model("llama-3-70b"), .accelerator = &c.accelerator("h100-sxm"), .gpus = 1024};
  q.nic = gbits_per_s(400);
  q.sequence = 8192;
  q.batch = 1024;
  q.layout = {.tp = 8, .pp = 2, .vp = 1, .cp = 1, .ep = 1, .microbatch = 1};
  q.layout.sharding = Sharding::zero1;
  q.layout.recompute = Recompute::selective;
  const auto p = predict_training(c.models, q);
  if (!p) return f;
  const Bytes size = checkpoint_size(count_parameters(q.model).total, SavedState::adam_mixed);
  const Seconds step(p->step_time_s.value);
  for (const GuidanceLevel level :
       {GuidanceLevel::good, GuidanceLevel::better, GuidanceLevel::best}) {
    const auto rate = guided_rate(
        c.models.storage_guidance,
        {.architecture = "SuperPOD H100", .metric = "write", .units = 4, .level = level});
    if (!rate) continue;
    const Seconds write = size / *rate;
    try_case(f, fmt::format("4 SU store at '{}'", to_text(level)),
             computed(write / step, 0.15, kPage),
             fmt::format("{} / {} / {} a step", show(size.base(), Unit::bytes),
                         show(rate->base(), Unit::bytes_per_s), show(step.base(), Unit::seconds)));
  }
  const BytesPerSecond needed = size / step;
  show_beside(f, "step of 70B on 1,024 H100", Unit::seconds, p->step_time_s);
  show_beside(f, "bandwidth that writes it in one step", Unit::bytes_per_s,
              computed(needed.base(), 0.15, kPage));
  show_beside(f, "and in a tenth of a step", Unit::bytes_per_s,
              computed(10 * needed.base(), 0.15, kPage));
  f.only_if = fmt::format(
      "the store writes more than {} (70B, 1,024 H100); a tenth of a step would "
      "take {}, which no guidance for that size asks",
      show(needed.base(), Unit::bytes_per_s), show(10 * needed.base(), Unit::bytes_per_s));
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

}  // namespace orrery
