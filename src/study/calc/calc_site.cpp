// Goodput, spares, power, ownership, collectives.
#include <fmt/core.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/base/units.h"
#include "layers/cost/ownership.h"
#include "layers/facility/node_power.h"
#include "layers/facility/rack.h"
#include "layers/failure/effective_time.h"
#include "layers/failure/interval.h"
#include "layers/failure/spares.h"
#include "model/machine/links.h"
#include "study/calc/calc.h"

namespace orrery::calc {

Calculation calc_goodput(const GoodputQuestion& q) {
  const failure::IntervalChoice best =
      failure::choose_interval({.save_stall = q.stall, .mtbf = q.mtbf, .restart = q.restart});
  const Seconds interval = q.interval.value_or(best.interval);
  const failure::EffectiveTimeInput in{
      .interval = interval, .save_stall = q.stall, .mtbf = q.mtbf, .restart = q.restart};
  const double goodput = exact_efficiency(in);
  const failure::TimeShares shares = time_shares(in);
  Calculation c{.question = fmt::format("What share of the time is left with a failure every {}?",
                                        brief(q.mtbf))};
  c.answer = fmt::format("{} of the time is training, with a save every {}.",
                         show(goodput, figures::Unit::ratio), brief(interval));
  const auto seconds_figure = [&](std::string id, std::string label, Seconds v,
                                  std::string formula) {
    c.figures.push_back({.id = std::move(id),
                         .label = std::move(label),
                         .unit = figures::Unit::seconds,
                         .estimate = exact(v.base(), Basis::derived, "docs/models/failure.md"),
                         .formula = std::move(formula)});
  };
  seconds_figure("young", "Young's interval", failure::young_interval(q.stall, q.mtbf),
                 fmt::format("sqrt(2 x {} x {})", brief(q.stall), brief(q.mtbf)));
  seconds_figure("daly", "Daly's interval", failure::daly_interval(q.stall, q.mtbf),
                 "sqrt(2 C M) (1 + sqrt(C/2M)/3 + C/18M) - C");
  seconds_figure("optimum", "exact optimum", failure::exact_interval(q.stall, q.mtbf),
                 "M x with x + ln(1 - x) = -C/M");
  const auto share = [&](std::string id, std::string label, double v, std::string formula) {
    c.figures.push_back(
        {.id = std::move(id),
         .label = std::move(label),
         .unit = figures::Unit::ratio,
         .estimate = within(v, 0.02, 0.02, Basis::derived, "docs/models/failure.md"),
         .formula = std::move(formula)});
  };
  share("goodput", "goodput", goodput,
        fmt::format("tau / (M e^(R/M) (e^((tau + C)/M) - 1)) with tau {}, M {}, R {}, C {}",
                    brief(interval), brief(q.mtbf), brief(q.restart), brief(q.stall)));
  share("saving", "time lost to saves", shares.saving, "");
  share("lost_work", "time lost to work done again", shares.lost_work, "");
  share("restarting", "time lost to restarts", shares.restarting, "");
  c.assumptions = {"failures come at random (exponential)",
                   "a save stalls the job for its whole duration"};
  return c;
}

Calculation calc_spares(const SparesQuestion& q) {
  const failure::Spares s = failure::size_spares({.nodes = q.nodes,
                                                  .node_rate = 1.0 / q.node_mtbf,
                                                  .repair = q.repair,
                                                  .shortfall = q.shortfall});
  Calculation c{.question =
                    fmt::format("How many spares do {} nodes need?", significant(q.nodes, 6))};
  c.answer = fmt::format("{}: too few nodes are left {} of the time.", s.count,
                         show(s.shortfall, figures::Unit::ratio));
  c.figures.push_back(
      {.id = "in_repair",
       .label = "mean number of nodes in repair",
       .unit = figures::Unit::count,
       .estimate = within(s.mean_in_repair, 0.3, 0.5, Basis::derived, "docs/models/failure.md"),
       .formula = fmt::format("{} nodes x {} / {}", significant(q.nodes, 6), brief(q.repair),
                              brief(q.node_mtbf))});
  c.figures.push_back({.id = "spares",
                       .label = "spares",
                       .unit = figures::Unit::count,
                       .estimate = exact(s.count, Basis::derived, "docs/models/failure.md"),
                       .formula = fmt::format("smallest k with P(Poisson({}) > k) < {}",
                                              significant(s.mean_in_repair, 3), q.shortfall)});
  c.assumptions = {"nodes fail one by one; if whole racks fail, more spares are needed"};
  return c;
}

Result<Calculation> calc_power(const PowerQuestion& q) {
  const auto node = facility::node_power_of(*q.node, q.accelerator);
  if (!node) {
    return fail(
        {.code = "calc.power", .what = fmt::format("the catalog has no power for {}", q.node->id)});
  }
  const auto phases = power_phases(*node, {.matrix = q.matrix, .communication = q.communication});
  const Watts mean = facility::mean_power(phases) * q.count;
  const Watts nameplate = node->nameplate * q.count;
  Calculation c{.question = fmt::format("What do {} {} draw?", grouped(q.count), q.node->name)};
  c.answer = fmt::format("{} at nameplate, {} on average; {} at the meter.", brief(nameplate),
                         brief(mean), brief(mean * q.pue));
  const auto power = [&](std::string id, std::string label, Watts v, double spread, Basis basis,
                         std::string formula) {
    c.figures.push_back({.id = std::move(id),
                         .label = std::move(label),
                         .unit = figures::Unit::watts,
                         .estimate = within(v.base(), spread, spread, basis, node->reference),
                         .formula = std::move(formula)});
  };
  power("nameplate", "nameplate", nameplate, 0.02, Basis::vendor,
        fmt::format("{} x {}", q.count, brief(node->nameplate)));
  power("mean", "mean power of the work", mean, 0.11, Basis::fitted,
        fmt::format("{} x (idle {} + (peak {} - idle) x phases)", q.count, brief(node->idle),
                    brief(node->peak)));
  power("site", "mean power of the site", mean * q.pue, 0.15, Basis::derived,
        fmt::format("{} x PUE {}", brief(mean), q.pue));
  if (q.cooling) {
    const facility::RackFit rack =
        facility::fit_rack({.node_power = node->nameplate,
                            .node_units = static_cast<double>(q.node->rack_units.value_or(0))},
                           *q.cooling);
    c.figures.push_back({.id = "nodes_per_rack",
                         .label = "nodes per rack with " + q.cooling->id,
                         .unit = figures::Unit::count,
                         .estimate = exact(rack.nodes, Basis::derived, "docs/models/cooling.md"),
                         .formula = fmt::format("{} per rack, limited by {}", brief(rack.limit),
                                                to_text(rack.bound))});
  }
  c.assumptions = {fmt::format(
      "matrix work {}, exposed communication {} of the time, the rest idle",
      show(q.matrix, figures::Unit::ratio), show(q.communication, figures::Unit::ratio))};
  return c;
}

Result<Calculation> calc_tco(const TcoQuestion& q, const catalog::Catalog& catalog) {
  if (!q.node->price || !q.node->max_power) {
    return fail({.code = "calc.tco",
                 .what = fmt::format("the catalog has no price or power for {}", q.node->id)});
  }
  const double units = q.count * std::max(1, q.node->accelerators);
  cost::OwnershipInput in = cost::ownership_defaults(
      catalog, units, q.node->typical_train_power.value_or(*q.node->max_power * 0.76) * q.count);
  in.capex = cost::capex_with_adders(catalog, q.node->price->middle() * q.count);
  in.contracted = *q.node->max_power * q.count;
  in.pue = q.pue;
  in.electricity = q.electricity;
  in.goodput = q.goodput;
  in.utilisation = q.utilisation;
  const cost::Ownership owned = owned_cost(in);
  Calculation c{.question =
                    fmt::format("What does owning {} {} cost?", grouped(q.count), q.node->name)};
  c.answer = fmt::format("{} per year, {} USD per useful accelerator-hour.",
                         show(owned.annual.base(), figures::Unit::usd),
                         significant(owned.per_accelerator.base() * 3600, 3));
  for (const cost::CostItem& i : owned.items) {
    c.figures.push_back(
        {.id = lowered(i.name),
         .label = i.name,
         .unit = figures::Unit::usd_per_year,
         .estimate = within(i.per_year.base(), 0.2, 0.2, Basis::derived, i.reference)});
    std::ranges::replace(c.figures.back().id, ' ', '_');
  }
  c.figures.push_back({.id = "useful_hour",
                       .label = "cost per useful accelerator-hour",
                       .unit = figures::Unit::usd_per_hour,
                       .estimate = within(owned.per_accelerator.base() * 3600, 0.2, 0.25,
                                          Basis::derived, "docs/models/ownership.md"),
                       .formula = fmt::format("{} / ({} accelerators x 8760 h x {} x {})",
                                              show(owned.annual.base(), figures::Unit::usd),
                                              significant(units, 6), q.utilisation, q.goodput)});
  c.assumptions = {fmt::format("{:.0f} years at {:.0f} %, residual {:.0f} %", in.years,
                               100 * in.rate, 100 * in.residual),
                   "network and storage as shares of the servers' price (catalog tco_params)"};
  return c;
}

Result<Calculation> calc_collective(const CollectiveQuestion& q, const machine::Models& models) {
  const int domain = std::min(q.accelerator->scaleup_domain, std::max(1, q.node->accelerators));
  const int per_host = std::max(
      1, q.node->accelerators_per_host > 0 ? q.node->accelerators_per_host : q.node->accelerators);
  machine::Wiring wiring{
      .accelerator = q.accelerator, .domain = domain, .accelerators_per_host = per_host};
  wiring.nics_per_host =
      static_cast<double>(q.node->compute_nics) * per_host / std::max(1, q.node->accelerators);
  wiring.nic_rate = q.node->nic_rate;
  wiring.network = q.roce ? catalog::NetworkKind::roce : catalog::NetworkKind::infiniband;
  if (q.ranks > domain && wiring.nics_per_host <= 0) {
    return fail(
        {.code = "calc.collective",
         .what = fmt::format("{} ranks exceed the scale-up domain of {}, and {} has no compute NIC",
                             q.ranks, domain, q.node->id)});
  }
  const machine::Links links(wiring, models.collectives);
  const workload::CollectiveCall call{q.kind, q.bytes, links.group_of(q.ranks)};
  const machine::CollectivePrediction p = links.predict(call);
  Calculation c{.question = fmt::format("How long does {} of {} take over {} ranks?",
                                        to_text(q.kind), brief(q.bytes), q.ranks)};
  c.answer = fmt::format("{} by {}, bus bandwidth {}, limited by the {}.",
                         brief(Seconds(p.seconds.value)), to_text(p.detail.algorithm),
                         brief(p.detail.bus_bandwidth), to_text(p.detail.limit));
  c.figures.push_back(
      {.id = "time", .label = "time", .unit = figures::Unit::seconds, .estimate = p.seconds});
  const auto rate = [&](std::string id, std::string label, BytesPerSecond v, std::string formula) {
    Estimate e = exact(v.base(), p.seconds.basis, p.seconds.reference);
    if (p.seconds.value > 0) {
      e.low = v.base() * p.seconds.value / p.seconds.high;
      e.high = v.base() * p.seconds.value / p.seconds.low;
    }
    c.figures.push_back({.id = std::move(id),
                         .label = std::move(label),
                         .unit = figures::Unit::bytes_per_s,
                         .estimate = std::move(e),
                         .formula = std::move(formula)});
  };
  rate("bus_bandwidth", "bus bandwidth", p.detail.bus_bandwidth,
       fmt::format("{} / time x {}", brief(q.bytes),
                   significant(fabric::bus_factor(q.kind, q.ranks), 4)));
  rate("nic_rate", "payload of one NIC", p.detail.nic_rate, "");
  rate("scaleup_rate", "payload of one scale-up port", p.detail.scaleup_rate, "");
  c.assumptions = {
      fmt::format("{} ranks per scale-up domain, {} NICs per host at {}", call.group.per_domain,
                  significant(wiring.nics_per_host, 3), brief(wiring.nic_rate)),
      "sizes as nccl-tests counts them; no other traffic"};
  return c;
}

}  // namespace orrery::calc
