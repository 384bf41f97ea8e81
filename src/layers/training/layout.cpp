#include "layers/training/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace orrery::training {
namespace {

// Returns how a group with this stride is placed: how many of its ranks are in one domain. A job
// larger than the domain uses a power-of-two share of each domain, as schedulers place it (64 of an
// NVL72's 72).
workload::GroupShape group(int ranks, int stride, int domain) {
  return {.ranks = ranks,
          .per_domain = std::clamp(domain / std::max(1, stride), 1, ranks),
          .apart = std::max(1, stride / std::max(1, domain))};
}

// Slots of a pipeline that embedding and loss may occupy as if they were layers.
constexpr int kEndSlots = 2;

int usable_domain(const TrainingJob& job) {
  if (job.gpus <= job.scaleup) return job.gpus;
  int usable = job.scaleup;
  while (usable > 1 && job.gpus % usable != 0) --usable;
  return usable;
}

}  // namespace

std::string to_text(const Layout& l) {
  std::string text = fmt::format("tp{} pp{}", l.tp, l.pp);
  if (l.vp > 1) text += fmt::format(" vp{}", l.vp);
  if (l.cp > 1) text += fmt::format(" cp{}", l.cp);
  if (l.ep > 1) text += fmt::format(" ep{}", l.ep);
  text += fmt::format(" dp{} mbs{} {}", l.dp, l.microbatch, to_text(l.sharding));
  if (l.recompute != catalog::Recompute::none)
    text += fmt::format(" {} recompute", to_text(l.recompute));
  if (l.recompute == catalog::Recompute::full && l.recompute_share < 1) {
    text += fmt::format(" of {:.0f} % of layers", 100 * l.recompute_share);
  }
  if (l.schedule == catalog::Schedule::zero_bubble) text += " zero-bubble";
  if (l.schedule == catalog::Schedule::dualpipe) text += " dualpipe";
  return text;
}

int microbatches_of(const TrainingJob& job, const Layout& l) {
  return job.batch / (l.dp * l.microbatch);
}

LayoutFault layout_fault(const TrainingJob& job, const Layout& l) {
  const catalog::ModelShape& m = job.model;
  if (std::min({l.tp, l.pp, l.vp, l.dp, l.cp, l.ep, l.microbatch}) < 1) {
    return LayoutFault::below_one;
  }
  if (l.tp * l.pp * l.dp * l.cp != job.gpus) return LayoutFault::device_count;
  if (m.heads % l.tp != 0) return LayoutFault::heads;
  if (m.attention == catalog::AttentionKind::gqa && m.kv_heads % l.tp != 0 &&
      l.tp % m.kv_heads != 0) {
    return LayoutFault::kv_heads;
  }
  if (std::fmod(m.ffn, l.tp) != 0) return LayoutFault::ffn;
  if (m.layers + kEndSlots < l.pp * l.vp) return LayoutFault::layers;
  if (l.vp > 1 && l.pp == 1) return LayoutFault::interleave_without_pipeline;
  // Stages of equal depth are cut into equal chunks, or embedding and loss take a slot each (Llama
  // 3: 126 + 2 on 16 x 8); uneven models are divided by hand.
  if (m.layers % l.pp == 0 && m.layers / l.pp % l.vp != 0 &&
      (m.layers + kEndSlots) % (l.pp * l.vp) != 0) {
    return LayoutFault::chunks;
  }
  if (job.batch % (l.dp * l.microbatch) != 0) return LayoutFault::batch;
  if (l.ep > 1 && !m.is_moe()) return LayoutFault::experts_of_dense_model;
  if (l.ep > 1 && m.experts % l.ep != 0) return LayoutFault::experts;
  if ((job.gpus / l.pp) % l.ep != 0) return LayoutFault::expert_ranks;
  const double shares = static_cast<double>(l.cp) * (l.sequence_parallel ? l.tp : 1);
  if (std::fmod(job.sequence, shares) != 0) return LayoutFault::sequence;
  return LayoutFault::none;
}

std::optional<std::string> refuse_layout(const TrainingJob& job, const Layout& l) {
  const catalog::ModelShape& m = job.model;
  switch (layout_fault(job, l)) {
    case LayoutFault::none:
      return std::nullopt;
    case LayoutFault::below_one:
      return "every degree of parallelism must be at least 1";
    case LayoutFault::device_count:
      return fmt::format("tp {} x pp {} x dp {} x cp {} is {}, not {} GPUs", l.tp, l.pp, l.dp, l.cp,
                         l.tp * l.pp * l.dp * l.cp, job.gpus);
    case LayoutFault::heads:
      return fmt::format("tp {} does not divide {} heads", l.tp, m.heads);
    case LayoutFault::kv_heads:
      return fmt::format("tp {} and {} KV heads do not divide each other", l.tp, m.kv_heads);
    case LayoutFault::ffn:
      return fmt::format("tp {} does not divide ffn {}", l.tp, m.ffn);
    case LayoutFault::layers:
      return fmt::format("{} layers cannot fill pp {} x vp {} chunks", m.layers, l.pp, l.vp);
    case LayoutFault::interleave_without_pipeline:
      return "interleaving (vp > 1) needs a pipeline (pp > 1)";
    case LayoutFault::chunks:
      return fmt::format("vp {} does not divide the {} layers of a stage", l.vp, m.layers / l.pp);
    case LayoutFault::batch:
      return fmt::format("batch {} is not a multiple of dp {} x microbatch {}", job.batch, l.dp,
                         l.microbatch);
    case LayoutFault::experts_of_dense_model:
      return "expert parallelism (ep > 1) needs a model with experts";
    case LayoutFault::experts:
      return fmt::format("ep {} does not divide {} experts", l.ep, m.experts);
    case LayoutFault::expert_ranks:
      return fmt::format("ep {} does not divide the {} ranks of a stage", l.ep, job.gpus / l.pp);
    case LayoutFault::sequence:
      return fmt::format("a sequence of {} tokens does not divide over cp {} and tp {}",
                         job.sequence, l.cp, l.tp);
  }
  return std::nullopt;
}

LayoutGroups groups_of(const TrainingJob& job, const Layout& l) {
  const int domain = usable_domain(job);
  const int stage = job.gpus / l.pp;
  LayoutGroups g;
  g.tp = group(l.tp, 1, domain);
  g.cp = group(l.cp, l.tp, domain);
  g.dp = group(l.dp * l.cp, l.tp, domain);
  g.ep = group(l.ep, 1, domain);
  g.expert_dp = group(std::max(1, stage / l.ep), l.ep, domain);
  g.pp = group(std::min(2, l.pp), stage, domain);
  return g;
}

}  // namespace orrery::training
