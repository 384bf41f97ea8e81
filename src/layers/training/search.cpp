#include "layers/training/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/workload/model_math.h"

namespace orrery::training {
namespace {

std::vector<int> divisors_up_to(int number, int most) {
  std::vector<int> all;
  for (int d = 1; d <= std::min(number, most); ++d) {
    if (number % d == 0) all.push_back(d);
  }
  return all;
}

template <class T>
const T pick(const std::vector<T>& options, std::int64_t& index) {
  const auto n = static_cast<std::int64_t>(options.size());
  const auto at = static_cast<std::size_t>(index % n);
  index /= n;
  return options[at];
}

// Returns the time of one step's products at peak rate on all devices: no layout can be faster.
double ideal_seconds(const SearchQuery& q) {
  if (q.peak_flops <= 0) return 0;
  const TrainingJob& job = q.job;
  const double passes = job.task == TrainingTask::lora ? 2 : 3;
  const double flops = workload::forward_flops_per_token(job.model, 1).base() * passes *
                       job.sequence * static_cast<double>(job.batch);
  return flops / (q.peak_flops * job.gpus);
}

bool ranks_before(const RankedLayout& a, const RankedLayout& b) {
  if (a.step.seconds != b.step.seconds) return a.step.seconds < b.step.seconds;
  return a.index < b.index;
}

// Returns true if two layouts are the same answer written differently, such as two context-parallel
// ranks with two sequences each and one rank with one: equal time and memory except for rounding.
bool is_equivalent(const RankedLayout& a, const RankedLayout& b) {
  constexpr double kRounding = 1e-9;
  return std::abs(a.step.seconds - b.step.seconds) <= kRounding * a.step.seconds &&
         std::abs(a.memory.base() - b.memory.base()) <= kRounding * a.memory.base();
}

void keep_best(std::vector<RankedLayout>& best, RankedLayout found, int keep) {
  // The first of equivalent layouts in the space's order is kept, whichever is found first.
  const auto same = std::ranges::find_if(
      best, [&](const RankedLayout& other) { return is_equivalent(other, found); });
  if (same != best.end()) {
    if (same->index <= found.index) return;
    best.erase(same);
  }
  const auto at = std::ranges::upper_bound(best, found, ranks_before);
  best.insert(at, found);
  if (best.size() > static_cast<std::size_t>(keep)) best.pop_back();
}

// Memory falls in proportion to the layers recomputed: finds the smallest share that fits.
Bytes settle_recompute(const SearchQuery& q, Layout& l, StepScratch& scratch) {
  const auto peak = [&](double share) {
    l.recompute_share = share;
    return estimate_memory(q.job, l, q.framework, scratch).peak;
  };
  const Bytes all = peak(1);
  if (all >= q.memory_limit) return all;
  const double layers = q.job.model.layers;
  const Bytes none = peak(1 / layers);
  double share = 1 / layers;
  if (none > q.memory_limit) {
    const double needed = (none - q.memory_limit) / (none - all) * (1 - share) + share;
    share = std::min(1.0, std::ceil(needed * layers) / layers);
  }
  return peak(share);
}

// Recomputing more of a layer saves memory and costs time, so a layout that recomputes is never an
// answer if the same one without recompute fits. Candidates that differ only in recompute are
// adjacent, so the last result is cached.
class LessRecompute {
 public:
  explicit LessRecompute(const SearchQuery& q) : q_(q) {}

  bool fits(const Layout& l, StepScratch& scratch) {
    // Without a limit the search is for the lowest memory, and recompute does help that.
    if (!std::isfinite(q_.memory_limit.base())) return false;
    if (l.recompute == catalog::Recompute::none || !q_.space.tries_no_recompute()) return false;
    Layout less = l;
    less.recompute = catalog::Recompute::none;
    if (!(known_ && less == last_)) {
      last_fits_ = estimate_memory(q_.job, less, q_.framework, scratch).peak <= q_.memory_limit;
      last_ = less;
      known_ = true;
    }
    return last_fits_;
  }
  // Stores a result that the search has just computed, so it need not be computed again.
  void note(const Layout& l, bool fits) {
    if (l.recompute != catalog::Recompute::none) return;
    last_ = l, last_fits_ = fits, known_ = true;
  }

 private:
  const SearchQuery& q_;
  Layout last_;
  bool last_fits_ = false;
  bool known_ = false;
};

// Returns true if the layout is another candidate written differently: interleaving has its own
// schedule, one tensor-parallel rank has nothing to split, a single replica has nothing to shard.
bool is_repeat(const LayoutSpace& s, const Layout& l) {
  if (l.schedule != s.schedule.front() && (l.vp > 1 || l.pp == 1)) return true;
  if (l.sequence_parallel != s.sequence_parallel.front() && l.tp == 1) return true;
  return l.sharding != s.sharding.front() && l.dp * l.cp == 1;
}

// Memory grows with the microbatch and shrinks with recompute. So if a microbatch does not fit even
// with everything recomputed, no larger one does.
class TooLargeFrom {
 public:
  bool covers(const Layout& l) const {
    if (!known_ || l.microbatch < least_.microbatch) return false;
    Layout same = l;
    same.microbatch = least_.microbatch;
    same.recompute = least_.recompute;
    return same == least_;
  }
  void note(const Layout& l) {
    if (l.recompute != catalog::Recompute::full || covers(l)) return;
    least_ = l, known_ = true;
  }

 private:
  Layout least_;
  bool known_ = false;
};

double lower_bound(double ideal, const TrainingJob& job, const Layout& l) {
  // The bubble of a zero-bubble schedule can vanish; that of the others is smallest for equal
  // stages.
  if (l.schedule == catalog::Schedule::zero_bubble && l.vp == 1) return ideal;
  const double m = microbatches_of(job, l);
  return ideal * (1 + (l.pp - 1.0) / l.vp / m);
}

}  // namespace

bool LayoutSpace::tries_no_recompute() const {
  return std::ranges::find(recompute, catalog::Recompute::none) != recompute.end();
}

std::int64_t LayoutSpace::size() const {
  std::int64_t n = 1;
  for (std::size_t count :
       {tp.size(), pp.size(), vp.size(), cp.size(), ep.size(), microbatch.size(), sharding.size(),
        recompute.size(), schedule.size(), sequence_parallel.size()}) {
    n *= static_cast<std::int64_t>(count);
  }
  return n;
}

Layout LayoutSpace::at(std::int64_t index, int gpus) const {
  Layout l;
  l.sequence_parallel = pick(sequence_parallel, index);
  l.schedule = pick(schedule, index);
  l.recompute = pick(recompute, index);
  l.sharding = pick(sharding, index);
  l.microbatch = pick(microbatch, index);
  l.vp = pick(vp, index);
  l.ep = pick(ep, index);
  l.cp = pick(cp, index);
  l.pp = pick(pp, index);
  l.tp = pick(tp, index);
  l.async_tp = async_tp;
  const int model = l.tp * l.pp * l.cp;
  l.dp = gpus % model == 0 ? gpus / model : 0;
  return l;
}

LayoutSpace whole_space(const TrainingJob& job) {
  const catalog::ModelShape& m = job.model;
  LayoutSpace s;
  s.tp = divisors_up_to(std::max(1, m.heads), std::min(job.gpus, std::max(8, job.scaleup)));
  std::erase_if(s.tp, [&](int tp) { return job.gpus % tp != 0; });
  s.pp = divisors_up_to(job.gpus, m.layers);
  s.vp = {1};
  for (int v : divisors_up_to(m.layers, m.layers)) {
    if (v > 1) s.vp.push_back(v);
  }
  s.cp = {1};
  for (int c = 2; c <= std::min(job.gpus, 16) && job.sequence / c >= 2048; c *= 2)
    s.cp.push_back(c);
  s.ep = m.is_moe() ? divisors_up_to(m.experts, job.gpus) : std::vector<int>{1};
  for (int b = 1; b <= std::min(job.batch, 64); b *= 2) s.microbatch.push_back(b);
  s.sharding = {catalog::Sharding::zero1, catalog::Sharding::none, catalog::Sharding::zero2,
                catalog::Sharding::zero3};
  s.recompute = {catalog::Recompute::none, catalog::Recompute::selective, catalog::Recompute::full};
  s.schedule = {catalog::Schedule::one_f_one_b, catalog::Schedule::zero_bubble};
  s.sequence_parallel = {true, false};
  return s;
}

SearchCounts& SearchCounts::operator+=(const SearchCounts& o) {
  candidates += o.candidates;
  refused += o.refused;
  too_large += o.too_large;
  bounded += o.bounded;
  evaluated += o.evaluated;
  return *this;
}

SearchResult search_layouts(const SearchQuery& q, std::int64_t begin, std::int64_t end) {
  SearchResult result;
  StepScratch scratch;
  const double ideal = ideal_seconds(q);
  LessRecompute less(q);
  TooLargeFrom too_large;
  for (std::int64_t i = begin; i < end; ++i) {
    ++result.counts.candidates;
    Layout l = q.space.at(i, q.job.gpus);
    if (l.dp == 0 || is_repeat(q.space, l) || layout_fault(q.job, l) != LayoutFault::none) {
      ++result.counts.refused;
      continue;
    }
    const bool full = result.best.size() >= static_cast<std::size_t>(q.keep);
    if (full && lower_bound(ideal, q.job, l) > result.best.back().step.seconds) {
      ++result.counts.bounded;
      continue;
    }
    if (too_large.covers(l)) {
      ++result.counts.too_large;
      continue;
    }
    if (less.fits(l, scratch)) {
      ++result.counts.bounded;
      continue;
    }
    const Bytes memory = q.space.partial_recompute && l.recompute == catalog::Recompute::full
                             ? settle_recompute(q, l, scratch)
                             : estimate_memory(q.job, l, q.framework, scratch).peak;
    less.note(l, memory <= q.memory_limit);
    if (memory > q.memory_limit) {
      too_large.note(q.space.at(i, q.job.gpus));
      ++result.counts.too_large;
      continue;
    }
    ++result.counts.evaluated;
    const StepEstimate step = estimate_step(q.job, l, q.framework, q.source, scratch);
    keep_best(result.best, {i, l, step, memory}, q.keep);
  }
  return result;
}

SearchResult merge(const std::vector<SearchResult>& parts, int keep) {
  SearchResult all;
  for (const SearchResult& part : parts) {
    all.counts += part.counts;
    for (const RankedLayout& r : part.best) keep_best(all.best, r, keep);
  }
  return all;
}

std::string why_slower(const RankedLayout& best, const RankedLayout& other) {
  int part = 0;
  double grew = -std::numeric_limits<double>::infinity();
  for (int i = 0; i < kStepPhaseCount; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double more = other.step.parts[at] - best.step.parts[at];
    if (more > grew) {
      grew = more;
      part = i;
    }
  }
  const double behind = other.step.seconds / best.step.seconds - 1;
  return fmt::format("{:.1f} % slower, mostly because of {} (+{:.0f} ms)", 100 * behind,
                     to_text(static_cast<StepPhase>(part)), 1e3 * grew);
}

}  // namespace orrery::training
