// Sections of a training run: the step, its checkpoints and its failures.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/math.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "layers/failure/causes.h"
#include "model/figures/assumptions.h"
#include "model/figures/half_width.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

using figures::FigureId;

using figures::assumptions::kWriteSpread;
// Share of the whole below which a term is left out.
constexpr double kWorthNaming = 0.005;
// Fewer cores than this do not matter to a host.
constexpr double kCoresShown = 0.01;

std::string seconds_text(Seconds s) { return brief(s); }

const jobs::StepSlice* largest(const jobs::StepPlan& step) {
  const auto it =
      std::ranges::max_element(step.parts, {}, [](const jobs::StepSlice& p) { return p.time; });
  return it == step.parts.end() ? nullptr : &*it;
}

std::vector<figures::Input> parts_as_inputs(const jobs::StepPlan& step) {
  std::vector<figures::Input> inputs;
  for (const jobs::StepSlice& p : step.parts) {
    if (p.time <= Seconds(0)) continue;
    inputs.push_back({p.name,
                      fmt::format("{} ({})", seconds_text(p.time),
                                  show(p.time / step.step, figures::Unit::ratio)),
                      step.reference});
  }
  return inputs;
}

std::string unit_word(const review::TrainView& v) { return v.model ? "tokens" : "samples"; }

void add_rates(figures::Section& s, const review::TrainView& v) {
  const double per_device = v.step.units_per_step / v.step.step.base() / v.accelerators;
  s.figures.push_back(
      {.kind = v.model ? FigureId::rate_per_accelerator : FigureId::samples_per_accelerator,
       .estimate = within(per_device, v.step.error, v.step.error, v.step.basis, v.step.reference),
       .formula =
           fmt::format("{} {} / {} / {} accelerators", count_to_brief(v.step.units_per_step, 4),
                       unit_word(v), seconds_text(v.step.step), v.accelerators)});
  s.figures.push_back(
      {.kind = v.model ? FigureId::useful_rate : FigureId::useful_samples,
       .estimate =
           within(v.units_per_s, v.step.error, v.step.error, v.step.basis, v.step.reference),
       .formula = fmt::format("{} x {} x goodput {}", significant(per_device, 4), v.accelerators,
                              show(v.goodput, figures::Unit::ratio, 4))});
}

// The interval of what is proportional to the run's time: those of step and goodput, in quadrature.
Estimate run_estimate(const review::TrainView& v, double value) {
  const double slower = v.goodput_low > 0 ? v.goodput / v.goodput_low - 1 : 1;
  const double faster = v.goodput_high > 0 ? 1 - v.goodput / v.goodput_high : 0;
  const double error = v.step.error;
  return within(value, std::min(0.9, math::hypot(error, std::max(0.0, faster))),
                math::hypot(error, std::max(0.0, slower)), v.step.basis, v.step.reference);
}

figures::Section training_section(const review::TrainView& v) {
  figures::Section s{.layer = figures::Layer::training, .name = v.label};
  if (!v.feasible()) {
    s.summary = "no step time can be given: " + v.infeasible;
    return s;
  }
  s.summary = fmt::format("{} on {} accelerators, {} ({})",
                          v.model ? v.model->id : "non-transformer network",
                          grouped(v.accelerators), v.step.layout, v.step.chosen);
  const jobs::StepPlan& p = v.step;
  s.figures.push_back({.kind = FigureId::step_time,
                       .estimate = within(p.step.base(), p.error, p.error, p.basis, p.reference),
                       .formula = "sum of the parts below",
                       .inputs = parts_as_inputs(p)});
  s.figures.push_back(
      {.kind = FigureId::mfu,
       .estimate = within(p.flops_utilisation, p.error, p.error, p.basis, p.reference),
       .formula = fmt::format("share of the dense {} peak, causal attention counted by half{}",
                              word_of(v.train->precision),
                              v.train->lora ? ", no gradients of frozen weights" : "")});
  if (p.memory > Bytes(0)) {
    s.figures.push_back(
        {.kind = FigureId::memory,
         .estimate = within(p.memory.base(), p.memory_error, p.memory_error, Basis::derived,
                            "docs/models/memory.md"),
         .formula = fmt::format("{} of {}", brief(p.memory), brief(p.memory_limit))});
  }
  add_rates(s, v);
  if (v.run_time > Seconds(0)) {
    s.figures.push_back(
        {.kind = FigureId::run_time,
         .estimate = run_estimate(v, v.run_time.base()),
         .formula = fmt::format("{} {} / {} per second after losses", count_to_brief(v.units, 4),
                                unit_word(v), count_to_brief(v.units_per_s, 4))});
    s.figures.push_back({.kind = FigureId::accelerator_hours,
                         .estimate = run_estimate(v, v.accelerators * (v.run_time / hours(1))),
                         .formula = fmt::format("{} accelerators x {}", grouped(v.accelerators),
                                                seconds_text(v.run_time))});
  }
  if (const jobs::StepSlice* top = largest(p)) {
    s.limit = fmt::format("{}, {} of the step", top->name,
                          show(top->time / p.step, figures::Unit::ratio));
  }
  return s;
}

void add_checkpoint_times(figures::Section& s, const jobs::SavePlan& k) {
  const auto time = [&](FigureId id, Seconds value, std::string formula) {
    s.figures.push_back({.kind = id,
                         .estimate = within(value.base(), kWriteSpread, kWriteSpread,
                                            Basis::derived, "docs/models/checkpoint.md"),
                         .formula = std::move(formula)});
  };
  const storage::WriteTime& w = k.drain;
  const auto note = [&s](std::string text) { s.figures.back().note = std::move(text); };
  time(FigureId::write_time, w.total,
       fmt::format(
           "max(servers {}, node network {}, serialise {}){} + metadata {} + commit {}",
           brief(w.server), brief(w.network), brief(w.serialise),
           w.uneven > w.total * kWorthNaming
               ? fmt::format(" + extra time of nodes with more to write, {}", brief(w.uneven))
               : "",
           brief(w.metadata), brief(w.commit)));
  note("on " + (k.safe ? k.safe : k.first)->label);
  time(FigureId::stall, k.stall.total,
       k.async ? fmt::format("snapshot {} + wait {} + interference {}", brief(k.stall.snapshot),
                             brief(k.stall.wait), brief(k.stall.interference))
               : "the whole write");
  note(k.async ? "asynchronous" : "synchronous");
  time(FigureId::interval, k.interval,
       k.interval_given ? "given"
                        : fmt::format("optimum for exponential failures{}",
                                      k.interval_limit == failure::IntervalLimit::drain
                                          ? ", not before the drain ends"
                                          : ""));
  // A value that the author wrote is exact and needs no interval.
  if (k.interval_given)
    s.figures.back().estimate = exact(k.interval.base(), Basis::given, "the design");
  time(FigureId::restore_time, k.restore.total,
       fmt::format("max(servers {}, node network {})", brief(k.restore.server),
                   brief(k.restore.network)));
}

figures::Section checkpoint_section(const review::TrainView& v) {
  const jobs::SavePlan& k = *v.checkpoint;
  figures::Section s{.layer = figures::Layer::storage, .name = v.label + " checkpoint"};
  s.summary = fmt::format("{} files of {} ranks, {}", significant(k.files, 6),
                          grouped(v.accelerators), k.async ? "asynchronous" : "synchronous");
  s.figures.push_back(
      {.kind = FigureId::checkpoint_size,
       .estimate = figures::estimated(FigureId::checkpoint_size, k.size.base(), Basis::derived,
                                      "docs/models/checkpoint.md"),
       .formula = fmt::format("{} parameters x {} B", count_to_brief(v.parameters, 5),
                              significant(k.size.base() / v.parameters, 4))});
  add_checkpoint_times(s, k);
  s.figures.push_back({.kind = FigureId::loss_per_save,
                       .estimate =
                           figures::estimated(FigureId::loss_per_save, k.exposure.loss_per_save,
                                              Basis::derived, "docs/models/checkpoint.md")});
  if (k.host_memory > Bytes(0)) {
    s.figures.push_back(
        {.kind = FigureId::host_memory,
         .estimate = exact(k.host_memory.base(), Basis::derived, "docs/models/checkpoint.md")});
  }
  s.limit = to_text(k.drain.wall);
  return s;
}

// The rate that each part of the loader could deliver.
std::string loader_text(const storage::LoaderRate& l) {
  const std::string decoding = std::isfinite(l.decode_samples_per_s)
                                   ? fmt::format("the cores that decode and move them {}",
                                                 count_to_brief(l.decode_samples_per_s, 3))
                                   : "nothing to decode";
  return fmt::format("storage gives {} samples/s per accelerator, {}; the step takes {}",
                     count_to_brief(l.storage_samples_per_s, 3), decoding,
                     count_to_brief(l.demand_samples_per_s, 3));
}

figures::Section feed_section(const review::TrainView& v) {
  const jobs::FeedPlan& f = v.feed;
  figures::Section s{.layer = figures::Layer::storage, .name = v.label + " data"};
  s.summary = fmt::format("read from {}, {} per sample, {} per object", f.tier->label,
                          brief(f.sample), brief(f.object));
  s.figures.push_back({.kind = FigureId::read_rate,
                       .estimate = within(f.wanted.base(), v.step.error, v.step.error,
                                          Basis::derived, "docs/models/loader.md"),
                       .formula = fmt::format("batch {} x {} / {}", v.train->batch, brief(f.sample),
                                              brief(v.step.step))});
  s.figures.push_back(
      {.kind = FigureId::accelerator_utilisation,
       .estimate = figures::estimated(FigureId::accelerator_utilisation, f.loader.utilisation,
                                      Basis::derived, "docs/models/loader.md"),
       .formula = loader_text(f.loader)});
  s.limit = to_text(f.loader.limit);
  if (f.moving_cores < kCoresShown) return s;
  const bool is_direct = f.tier->gpu_path == storage::GpuPath::direct;
  s.figures.push_back(
      {.kind = FigureId::moving_cores,
       .estimate = figures::estimated(FigureId::moving_cores, f.moving_cores, Basis::fitted,
                                      "docs/models/loader.md"),
       .formula = fmt::format(
           "{} per host x {} core seconds per GB, {}", brief(f.wanted / std::max(1, v.hosts)),
           significant(storage::path_cost(f.tier->gpu_path).core_s_per_byte * 1e9, 3),
           is_direct ? "bypassing the host's memory" : "copied through the host's memory")});
  return s;
}

std::string restart_formula(const review::TrainView& v) {
  const jobs::FailurePlan& f = v.failure;
  return fmt::format(
      "detect {} + (requeue {} + start {} + read {}) x {} attempts + wait for a person {}",
      brief(f.detect), brief(f.requeue), brief(f.start),
      brief(v.checkpoint ? v.checkpoint->restore.total : Seconds(0)), significant(f.attempts, 3),
      brief(f.hands));
}

// Interruptions of the whole run, by cause. The count scatters like a Poisson variable, in addition
// to the error of its rate.
figures::Figure interruptions_figure(const review::TrainView& v,
                                     const std::vector<failure::FaultCause>& causes) {
  const jobs::FailurePlan& f = v.failure;
  const double count = v.run_time / f.mtbf;
  const double scatter = 1.2816 / std::sqrt(std::max(1.0, count));
  const double rate = std::max(1.0, f.rate_high);
  const double factor = math::exp(math::hypot(math::log(rate), scatter));
  figures::Figure figure{.kind = FigureId::interruptions,
                         .estimate = {.value = count,
                                      .low = count / factor,
                                      .high = count * factor,
                                      .basis = Basis::paper,
                                      .reference = f.rate_reference},
                         .formula = fmt::format("{} / {}", brief(v.run_time), brief(f.mtbf))};
  for (const Word<failure::FaultGroup>& group : failure::kFaultGroupWords) {
    figure.inputs.push_back({std::string(label_of(group.value)),
                             significant(count * share_of(causes, group.value), 3),
                             "data/calibration/failure_causes.csv"});
  }
  return figure;
}

std::string mtbf_formula(const review::TrainView& v) {
  const auto per_1000_days = [](PerSecond rate) {
    return significant(rate.base() * 86400 * 1000, 3);
  };
  const jobs::FailurePlan& f = v.failure;
  const std::string shared = f.shared_rate > PerSecond(0)
                                 ? fmt::format(" + {} of switches and power units per 1000 days",
                                               per_1000_days(f.shared_rate))
                                 : "";
  return fmt::format("1 / ({} hosts x {} failures per 1000 host-days{})", v.hosts,
                     per_1000_days(f.node_rate), shared);
}

figures::Section failure_section(const review::TrainView& v,
                                 const std::vector<failure::FaultCause>& causes) {
  const jobs::FailurePlan& f = v.failure;
  figures::Section s{.layer = figures::Layer::failure, .name = v.label};
  s.summary = fmt::format("{}, {} spare", how_many(v.hosts, "host"), f.spares);
  const double mtbf = f.mtbf.base();
  const double widest = f.rate_low > 0 ? f.rate_low : 1;
  s.figures.push_back({.kind = FigureId::mtbf,
                       .estimate = {.value = mtbf,
                                    .low = mtbf / std::max(1.0, f.rate_high),
                                    .high = mtbf / std::min(1.0, widest),
                                    .basis = Basis::paper,
                                    .reference = f.rate_reference},
                       .formula = mtbf_formula(v)});
  s.figures.push_back(
      {.kind = FigureId::restart,
       .estimate = within(f.restart.base(), 1 - 1 / f.restart_factor, f.restart_factor - 1,
                          Basis::assumed, "docs/models/failure.md"),
       .formula = restart_formula(v)});
  // If fewer than one in a hundred runs is interrupted, the count would say nothing.
  if (v.run_time / f.mtbf >= 0.01) s.figures.push_back(interruptions_figure(v, causes));
  const double fed = v.feed.known ? v.feed.loader.utilisation : 1;
  s.figures.push_back(
      {.kind = FigureId::goodput,
       .estimate = {.value = v.goodput,
                    .low = std::min(v.goodput, v.goodput_low),
                    .high = std::max(v.goodput, v.goodput_high),
                    .basis = Basis::derived,
                    .reference = "docs/models/failure.md"},
       .formula = fmt::format(
           "data ready {} x no contention {} x checkpoints and failures {} x nodes available {} / "
           "straggler factor {}",
           show(fed, figures::Unit::ratio, 4), show(1 - v.contention, figures::Unit::ratio, 4),
           show(v.efficiency, figures::Unit::ratio, 4),
           show(1 - f.shortfall, figures::Unit::ratio, 4), significant(f.slow, 4)),
       .inputs = {
           {"saving", show(v.shares.saving, figures::Unit::ratio), "docs/models/failure.md"},
           {"lost work", show(v.shares.lost_work, figures::Unit::ratio), "docs/models/failure.md"},
           {"restarting", show(v.shares.restarting, figures::Unit::ratio),
            "docs/models/failure.md"}}});
  const double losses[] = {v.shares.saving, v.shares.lost_work, v.shares.restarting,
                           1 - fed,         v.contention,       f.shortfall};
  const char* names[] = {"checkpoint stalls", "work lost to failures",      "restarts",
                         "waiting for data",  "storage traffic on compute", "too few nodes left"};
  const auto worst = std::ranges::max_element(losses) - std::begin(losses);
  s.limit =
      fmt::format("{}, {} of the time", names[worst], show(losses[worst], figures::Unit::ratio));
  return s;
}

}  // namespace

std::vector<figures::Section> training_sections(const review::Review& review) {
  std::vector<figures::Section> sections;
  for (const review::TrainView& v : review.trains) {
    sections.push_back(training_section(v));
    if (!v.feasible()) continue;
    if (v.feed.known) sections.push_back(feed_section(v));
    if (v.checkpoint) sections.push_back(checkpoint_section(v));
    sections.push_back(failure_section(v, review.models().fault_causes));
  }
  return sections;
}

}  // namespace orrery::verdict
