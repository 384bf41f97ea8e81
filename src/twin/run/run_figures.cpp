#include "twin/run/run_figures.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/base/units.h"
#include "model/design/goals.h"
#include "twin/run/site_figures.h"
#include "twin/run/work_figures.h"
#include "twin/world/host_lives.h"

namespace orrery::run {

using cluster::at;
using cluster::ByCause;
using cluster::Cause;
using cluster::GpuTime;
using cluster::kCauses;
using cluster::Share;

namespace {

using figures::Figure;
using figures::FigureId;
using figures::Layer;
using figures::Section;
using figures::Unit;

// Accelerators busy for less than this share make a run name the layer that is to blame.
constexpr double kBusyEnough = 0.8;

class Teller {
 public:
  Teller(Run& run, const processes::Scenario& scenario, std::span<const Replication> done)
      : run_(run), scenario_(scenario), done_(done), over_(done) {}

  void tell() {
    for (std::size_t j = 0; j < scenario_.trains.size(); ++j) tell_job(j);
    for (std::size_t s = 0; s < scenario_.services.size(); ++s) {
      tell_service(run_, scenario_, over_, s);
    }
    for (std::size_t b = 0; b < scenario_.batches.size(); ++b) {
      tell_batch(run_, scenario_, over_, b);
    }
    for (std::size_t s = 0; s < scenario_.streams.size(); ++s) {
      tell_stream(run_, scenario_, over_, s);
    }
    for (std::size_t s = 0; s < scenario_.slices.size(); ++s) {
      tell_slices(run_, scenario_, over_, s);
    }
    tell_pipeline(run_, scenario_, over_);
    tell_faults();
    tell_fleets();
    for (const design::SiteIndex s : scenario_.machine->sites.indices()) {
      tell_site(run_, scenario_, over_, s);
    }
    tell_racks(run_, scenario_, done_.front());
    std::ranges::stable_sort(run_.sections, {}, [](const Section& s) { return s.layer; });
    judge();
    diagnose();
    note();
  }

 private:
  using Of = OverReplications::Of;

  Estimate over(const Of& of) const { return over_.estimate(of); }

  void add(Section& s, FigureId id, const Of& of, std::string formula = {}) const {
    over_.add(s, id, of, std::move(formula));
  }

  void add_with(const Estimate& model, Section& s, FigureId id, const Of& of,
                std::string formula = {}) const {
    over_.add_with(model, s, id, of, std::move(formula));
  }

  Of job(std::size_t j, double (*of)(const processes::JobOutcome&)) const {
    return [j, of](const Replication& r) { return of(r.jobs[j]); };
  }

  static Of share(std::size_t j, Cause cause) {
    return [j, cause](const Replication& r) {
      const processes::JobOutcome& o = r.jobs[j];
      return o.span_ns > 0
                 ? static_cast<double>(o.time_ns[at(cause)]) / static_cast<double>(o.span_ns)
                 : 0;
    };
  }

  void tell_job(std::size_t j) {
    const jobs::TrainJob& t = scenario_.trains[j];
    if (!t.feasible()) {
      run_.sections.push_back({.layer = Layer::training, .name = t.label, .summary = t.infeasible});
      run_.infeasible.push_back(t.label + " cannot run: " + t.infeasible);
      return;
    }
    tell_training(j, t);
    tell_failure(j, t);
    if (t.checkpoint) tell_saves(j);
    add_waterfall(j, t);
  }

  void tell_training(std::size_t j, const jobs::TrainJob& t) {
    Section s{.layer = Layer::training, .name = t.label};
    s.summary = fmt::format("{} hosts, {}", grouped(t.hosts), t.step.layout);
    const jobs::StepPlan& p = t.step;
    s.figures.push_back(
        {.kind = FigureId::step_time,
         .estimate = within(p.step.base(), 1 - 1 / (1 + p.error), p.error, p.basis, p.reference)});
    const double horizon = run_.simulated.base();
    const Estimate slower = within(1, 1 - 1 / (1 + p.error), p.error, p.basis, p.reference);
    const Estimate faster = exact(1, p.basis, p.reference) / slower;
    add_with(faster, s, t.model ? FigureId::useful_rate : FigureId::useful_samples,
             job(j,
                 [](const processes::JobOutcome& o) {
                   return o.span_ns > 0 ? o.units / (static_cast<double>(o.span_ns) / 1e9) : 0;
                 }),
             "over the wall time of the run");
    if (over(job(j, [](const processes::JobOutcome& o) { return o.host_draw.base(); })).value > 0) {
      add_with(power_model(), s, FigureId::host_draw,
               job(j, [](const processes::JobOutcome& o) { return o.host_draw.base(); }));
    }
    add(s, FigureId::runs_finished, job(j, [](const processes::JobOutcome& o) {
          return static_cast<double>(o.runs_finished);
        }));
    if (std::ranges::all_of(done_,
                            [j](const Replication& r) { return r.jobs[j].runs_finished > 0; })) {
      add_with(slower, s, FigureId::run_time, job(j, [](const processes::JobOutcome& o) {
                 return static_cast<double>(o.finished_ns) / 1e9;
               }));
    } else if (t.units > 0) {
      const double units = t.units;
      add_with(slower, s, FigureId::run_time, [j, units, horizon](const Replication& r) {
        return r.jobs[j].units > 0 ? units / r.jobs[j].units * horizon : 0;
      });
      s.figures.back().note = "at the pace seen so far";
    }
    if (t.train->repeat) {
      add(s, FigureId::windows_missed, job(j, [](const processes::JobOutcome& o) {
            return static_cast<double>(o.windows_missed);
          }));
    }
    run_.sections.push_back(std::move(s));
  }

  void tell_failure(std::size_t j, const jobs::TrainJob& t) {
    Section s{.layer = Layer::failure, .name = t.label};
    add(s, FigureId::goodput, job(j, [](const processes::JobOutcome& o) { return o.goodput(); }),
        "productive / wall time of the run");
    add(s, FigureId::interruptions_seen, job(j, [](const processes::JobOutcome& o) {
          return static_cast<double>(o.interruptions);
        }));
    add(s, FigureId::time_between_stops, job(j, [](const processes::JobOutcome& o) {
          const double span = static_cast<double>(o.span_ns) / 1e9;
          return o.interruptions > 0 ? span / static_cast<double>(o.interruptions) : span;
        }));
    add(s, FigureId::restart, job(j, [](const processes::JobOutcome& o) {
          return o.outages > 0
                     ? static_cast<double>(o.outage_ns) / 1e9 / static_cast<double>(o.outages)
                     : 0;
        }));
    const Of preempted =
        job(j, [](const processes::JobOutcome& o) { return static_cast<double>(o.preemptions); });
    if (over(preempted).high > 0) {
      add(s, FigureId::preemptions, preempted);
    }
    const Of shrinks =
        job(j, [](const processes::JobOutcome& o) { return static_cast<double>(o.shrinks); });
    if (over(shrinks).high > 0) {
      add(s, FigureId::shrinks, shrinks);
      add(s, FigureId::grows,
          job(j, [](const processes::JobOutcome& o) { return static_cast<double>(o.grows); }));
    }
    const Of holds =
        job(j, [](const processes::JobOutcome& o) { return static_cast<double>(o.holds); });
    if (over(holds).high > 0) {
      add(s, FigureId::holds, holds);
    }
    for (std::size_t c = 1; c < kCauses; ++c) {
      const auto cause = static_cast<Cause>(c);
      const Estimate e = over(share(j, cause));
      if (e.high <= 0) continue;
      s.figures.push_back({.kind = FigureId::time_share,
                           .of = std::string(word_of(cause)),
                           .estimate = e,
                           .formula = "of the run's wall time"});
    }
    s.summary = fmt::format("{} hosts, {} between faults of the job expected", grouped(t.hosts),
                            brief(t.failure.mtbf));
    run_.sections.push_back(std::move(s));
  }

  void tell_saves(std::size_t j) {
    Section s{.layer = Layer::storage, .name = scenario_.trains[j].label + " checkpoint"};
    const jobs::SavePlan& save = *scenario_.trains[j].checkpoint;
    s.summary = fmt::format("{} every {}, safe after {}", brief(save.size), brief(save.interval),
                            brief(save.stall.safe));
    add(s, FigureId::saves,
        job(j, [](const processes::JobOutcome& o) { return static_cast<double>(o.saves); }));
    add(s, FigureId::restores,
        job(j, [](const processes::JobOutcome& o) { return static_cast<double>(o.restores); }));
    s.figures.push_back(
        {.kind = FigureId::stall,
         .estimate = exact(save.stall.total.base(), Basis::derived, "docs/models/storage.md")});
    run_.sections.push_back(std::move(s));
  }

  void add_waterfall(std::size_t j, const jobs::TrainJob& t) {
    Waterfall w{.job = t.label};
    for (std::size_t c = 0; c < kCauses; ++c) {
      const auto cause = static_cast<Cause>(c);
      const double value = over(share(j, cause)).value;
      if (value > 0) w.steps.push_back({cause, value});
    }
    std::ranges::stable_sort(w.steps, [](const WaterfallStep& a, const WaterfallStep& b) {
      if ((a.cause == Cause::productive) != (b.cause == Cause::productive)) {
        return a.cause == Cause::productive;
      }
      return a.share > b.share;
    });
    run_.waterfalls.push_back(std::move(w));
  }

  // The faults of all fleets together, most frequent first.
  void tell_faults() {
    Section s{.layer = Layer::failure, .name = "faults of hosts"};
    const std::vector<std::string> names =
        world::fault_names(scenario_.machine->models().fault_causes);
    for (std::size_t c = 0; c < names.size(); ++c) {
      const Of of = [c](const Replication& r) { return static_cast<double>(r.faults[c]); };
      if (over(of).value <= 0) continue;
      add(s, FigureId::faults, of);
      s.figures.back().of = names[c];
    }
    std::ranges::stable_sort(s.figures, std::ranges::greater(),
                             [](const Figure& f) { return f.estimate.value; });
    const Of lemons = [](const Replication& r) { return static_cast<double>(r.lemons_found); };
    if (over(lemons).value > 0) {
      add(s, FigureId::lemons_found, lemons);
    }
    if (!s.figures.empty()) run_.sections.push_back(std::move(s));
  }

  void tell_fleets() {
    for (const design::FleetIndex f : scenario_.fleets.indices()) {
      const world::FleetPart& part = scenario_.fleets[f];
      Section s{.layer = Layer::cluster, .name = part.fleet->fleet->name};
      s.summary = fmt::format("{} host{}, {} in reserve", grouped(part.hosts),
                              part.hosts == 1 ? "" : "s", grouped(part.spares));
      for (const Word<Share>& w : words_of(Share{}).rows()) {
        const Share wanted = w.value;
        add(s, FigureId::fleet_share,
            [f, wanted](const Replication& r) { return fleet_share(r.fleet_time[f], wanted); });
        if (part.accelerators_per_host == 0) s.figures.back().note = "of hosts";
        s.figures.back().of = std::string(w.word);
      }
      if (!scenario_.machine->design().scheduler.reservations.empty()) {
        add(s, FigureId::reserved_stops,
            [f](const Replication& r) { return static_cast<double>(r.reserved_stops[f]); });
      }
      run_.sections.push_back(std::move(s));
    }
  }

  static double fleet_share(const ByCause<GpuTime>& time, Share wanted) {
    double part = 0;
    double all = 0;
    for (std::size_t c = 0; c < kCauses; ++c) {
      const auto value = static_cast<double>(time[c]);
      all += value;
      if (share_of(static_cast<Cause>(c)) == wanted) part += value;
    }
    return all > 0 ? part / all : 0;
  }

  // Judges the goals that a run can measure. Money and other figures that only the review has are
  // left to it.
  void judge() {
    for (figures::GoalOutcome& g : judge_goals(scenario_.machine->design(), run_.sections)) {
      if (g.known) {
        run_.goals.push_back(std::move(g));
      } else {
        run_.goals_left_to_plan.push_back(g.text);
      }
    }
  }

  std::vector<std::string> never_started() const;
  void diagnose();
  void note();

  Run& run_;
  const processes::Scenario& scenario_;
  std::span<const Replication> done_;
  OverReplications over_;
};

// The layer that causes a loss, and what to look at.
struct Blame {
  Cause cause;
  const char* layer;
  const char* advice;
};
constexpr Blame kBlames[] = {
    {Cause::feed, "storage", "the loaders do not keep up; look at read rate, cores and cache"},
    {Cause::contention, "fabric",
     "storage traffic shares the compute wires; give it a separate network"},
    {Cause::straggler, "failure", "slow hosts set the pace; find and replace them"},
    {Cause::shrunk, "cluster",
     "hosts are missing and the run continues with fewer replicas; add spares"},
    {Cause::cap, "facility", "the site's power limits the clocks"},
    {Cause::paused, "fabric", "NICs pause the network; use a watchdog and monitor the NICs"},
    {Cause::heat, "facility", "the cooling does not keep up; add cooling or draw less power"},
    {Cause::save, "storage",
     "saves stall the steps; save asynchronously, or use a faster first tier"},
    {Cause::lost, "failure",
     "work since the last safe copy is lost; save more often, drain faster"},
    {Cause::detect, "failure", "faults stay undetected for too long; add health checks"},
    {Cause::requeue, "cluster",
     "the time from a fault to a new start is long; use the recovery agent"},
    {Cause::no_host, "cluster",
     "the job waits for hosts; add spares, or use a layout on fewer hosts"},
    {Cause::start, "cluster", "starting takes long; keep images on the hosts, and compiled graphs"},
    {Cause::restore, "storage",
     "the checkpoint is read slowly; use a faster tier, or broadcast one copy"},
    {Cause::repair, "failure", "hosts are in repair; speed up repairs, or reduce faults"},
    {Cause::power, "facility", "the site was without power; add batteries or generators"},
    {Cause::reserve, "cluster", "hosts are kept in reserve"},
    {Cause::standby, "serving",
     "replicas wait for requests; use fewer of them, or run other work beside them"},
    {Cause::stranded, "cluster",
     "jobs wait while accelerators are free; use smaller gangs, or change placement or quotas"},
    {Cause::idle, "cluster", "the design has no work for them"},
};

// Returns the runs that ask for more hosts at once than their fleet, its partition or their quota
// has.
std::vector<std::string> Teller::never_started() const {
  std::vector<std::string> all;
  if (done_.empty()) return all;
  for (std::size_t i = 0; i < scenario_.trains.size(); ++i) {
    if (done_.front().jobs[i].never_fits) all.push_back(scenario_.trains[i].label);
  }
  return all;
}

void Teller::diagnose() {
  ByCause<double> time{};
  double all = 0;
  for (const Replication& r : done_) {
    for (std::size_t c = 0; c < kCauses; ++c) {
      time[c] += static_cast<double>(r.gpu_time[c]);
      all += static_cast<double>(r.gpu_time[c]);
    }
  }
  const double busy = all > 0 ? time[at(Cause::productive)] / all : 1;
  if (busy >= kBusyEnough) return;
  const Blame* worst =
      std::ranges::max_element(kBlames, {}, [&](const Blame& b) { return time[at(b.cause)]; });
  const auto never = never_started();
  const bool is_barred = worst->cause == Cause::idle && !never.empty();
  run_.diagnosis = fmt::format(
      "Accelerators are productive {} of the time. The largest loss, {} of the time, is '{}' "
      "(layer {}): {}.",
      show(busy, Unit::ratio), show(time[at(worst->cause)] / all, Unit::ratio),
      word_of(worst->cause), worst->layer,
      is_barred ? fmt::format("{} never starts: it asks for more hosts at once than it may have",
                              fmt::join(never, ", "))
                : worst->advice);
}

void Teller::note() {
  for (const std::string& label : never_started()) {
    run_.infeasible.push_back(label +
                              " never starts: it asks for more hosts at once than its fleet, its "
                              "partition or its quota has");
  }
  for (const processes::ServicePlan& s : scenario_.services) {
    if (!s.stands_in.empty()) run_.notes.push_back(s.job.label + ": " + s.stands_in);
  }
  if (!scenario_.services.empty()) {
    run_.notes.push_back(
        "services are answered in windows of requests at several loads, weighted by the load of "
        "every hour; the loss of a replica is shown separately and has no weight in them");
  }
  if (std::ranges::any_of(scenario_.services, [](const processes::ServicePlan& s) {
        return s.job.serve->autoscale.has_value();
      })) {
    run_.notes.push_back(
        "accelerators that an autoscaler frees go to other work or are booked as idle; owned ones "
        "are paid for and draw idle power in any case; traffic changes once per hour");
  }
  if (!scenario_.streams.empty()) {
    run_.notes.push_back(
        "jobs of a stream start over when they lose their hosts, because nothing is known of their "
        "checkpoints");
  }
  if (!scenario_.trains.empty()) {
    run_.notes.push_back(scenario_.has_storage_run
                             ? "saves and reads were simulated on the links that they share before "
                               "the replications, which use those results; a restore takes the "
                               "time that the review gives"
                             : "storage is not simulated: a save and a restore take the times that "
                               "the review gives");
  }
  if (!std::ranges::any_of(scenario_.machine->sites, &machine::Site::hours)) {
    run_.notes.push_back(
        "carbon uses the grid's yearly mean, and PUE the climate's: no site names its `hours`");
  }
  const bool is_sound = std::ranges::all_of(done_, &Replication::is_sound);
  if (!is_sound)
    run_.notes.push_back("THE GPU-SECONDS DO NOT ADD UP: this is an error in the program");
  const auto met = std::ranges::count(run_.goals, true, &figures::GoalOutcome::met);
  run_.summary = fmt::format(
      "{}{} of simulated time, {} replication{}.",
      run_.goals.empty() ? "" : fmt::format("{} of {} goals met in ", met, run_.goals.size()),
      brief(run_.simulated), run_.replications, run_.replications == 1 ? "" : "s");
}

}  // namespace

void tell(Run& run, const processes::Scenario& scenario, std::span<const Replication> done) {
  Teller(run, scenario, done).tell();
}

bool Run::passes() const {
  return infeasible.empty() && std::ranges::all_of(goals, &figures::GoalOutcome::met);
}

}  // namespace orrery::run
