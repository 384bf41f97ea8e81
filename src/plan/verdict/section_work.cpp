// Sections of tiers, queues, batch work and slices.
#include <fmt/core.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/base/units.h"
#include "model/design_text/profiles.h"
#include "model/figures/assumptions.h"
#include "model/figures/half_width.h"
#include "model/machine/tier_purchase.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

using figures::FigureId;

constexpr const char* kCarbonPage = "docs/models/carbon.md";

figures::Figure tier_rate(FigureId id, BytesPerSecond rate, const machine::Tier& v) {
  const Basis basis = v.measured ? Basis::measured : v.rates_given ? Basis::given : Basis::vendor;
  return {.kind = id,
          .estimate = within(rate.base(), v.rate_error, v.rate_error, basis, v.rate_basis)};
}

void add_latency(figures::Section& s, const machine::Tier& v) {
  const storage::AccessLatency& l = v.latency;
  const bool is_given = v.tier->first_byte.has_value();
  const figures::HalfWidth& width = figures::half_width(FigureId::latency);
  s.figures.push_back(
      {.kind = FigureId::latency,
       .estimate = within(l.total.base(), width.below, is_given ? width.below : width.above,
                          is_given ? Basis::given : Basis::assumed, "docs/models/loader.md"),
       .formula = fmt::format(
           "media {} + network {} + service {} + transfer {} + host's copy {}; target {}",
           brief(l.media), brief(l.network), brief(l.service), brief(l.transfer),
           brief(l.host_copy), brief(machine::latency_target(v.tier->tier)))});
}

// Purchase price and power per usable terabyte of an owned tier.
void add_economics(figures::Section& s, const machine::Tier& v, const catalog::Catalog& catalog) {
  if (v.per_node || !v.tier->provider.empty() || v.capacity <= Bytes(0)) return;
  const auto bought = purchase_of(v, catalog);
  if (!bought || bought->devices <= 0) return;
  const double tb = v.capacity / terabytes(1);
  const std::string why = bought->as_counted ? "as the design counts them"
                          : v.need           ? "limited by " + v.need->bound_by
                                             : "limited by " + std::string(to_text(bought->limit));
  const std::string formula = fmt::format(
      "{} x {} for {} TB, {}{}", significant(bought->devices, 6), bought->device->id,
      significant(tb, 4), why,
      bought->servers > 0 ? fmt::format(", in {} servers", significant(bought->servers, 4)) : "");
  const double usd = bought->price.middle().base() * bought->devices / tb;
  const double low = bought->price.low.base() * bought->devices / tb;
  const double high = bought->price.high.base() * bought->devices / tb;
  if (!v.tier->capex) {
    s.figures.push_back(
        {.kind = FigureId::usd_per_tb,
         .estimate = {usd, low, high, Basis::vendor, bought->device->provenance.reference},
         .formula = formula});
  }
  const double watts = bought->power.base() * bought->devices / tb;
  s.figures.push_back(
      {.kind = FigureId::watts_per_tb,
       .estimate = figures::estimated(FigureId::watts_per_tb, watts, Basis::derived,
                                      bought->device->provenance.reference),
       .formula = formula});
}

// The nines of durability per year, with their error: drives fail 2.5 times more or less often.
void add_durability(figures::Section& s, const machine::Tier& v, const catalog::Catalog& catalog) {
  using figures::assumptions::kFailureSpread;
  const auto usual = durability_of(v, catalog);
  const auto often = durability_of(v, catalog, kFailureSpread);
  const auto rarely = durability_of(v, catalog, 1 / kFailureSpread);
  if (!usual || !often || !rarely) return;
  const auto [low, high] = std::minmax({usual->nines, often->nines, rarely->nines});
  const storage::Protection p = machine::options_of(v).protection;
  const bool is_said = v.tier->protection.has_value();
  s.figures.push_back(
      {.kind = FigureId::nines,
       .estimate = {usual->nines, low, high, is_said ? Basis::derived : Basis::assumed,
                    "docs/models/durability.md"},
       .formula =
           fmt::format("{} over {} servers",
                       is_said || !v.tier->usable
                           ? fmt::format("{} + {}{}", p.data, p.parity, is_said ? "" : ", assumed,")
                           : "8 + 2, assumed,",
                       significant(v.servers, 6))});
}

// How many servers a tier gets if the design leaves it open, and what limits them.
void add_servers(figures::Section& s, const machine::Tier& v) {
  if (!v.need) return;
  const storage::TierSize& size = v.need->size;
  // Rates are known to a quarter; the number of servers that a code is spread over is exact.
  const double spread = v.need->for_durability ? 0 : v.rate_error;
  const auto few = [](double devices) {
    return devices < 0.005 ? std::string("0") : significant(devices, 3);
  };
  s.figures.push_back(
      {.kind = FigureId::servers,
       .estimate = within(v.servers, spread, spread, Basis::derived, "docs/models/storage.md"),
       .formula = fmt::format(
           "max(capacity {}, read {}, write {}, requests {}) devices, {} per server; {}",
           few(size.by_capacity), few(size.by_read), few(size.by_write), few(size.by_requests),
           machine::options_of(v).server.devices, v.need->bound_by)});
}

std::string summary_of(const machine::Tier& v, const catalog::Catalog& catalog) {
  std::string text = v.per_node                 ? "per host"
                     : v.tier->provider.empty() ? ""
                                                : "rented from " + v.tier->provider;
  if (v.tier->profile.empty()) return text;
  if (!text.empty()) text += "; ";
  return text + "profile " + design_text::profile_text(*v.tier, catalog);
}

// What limits the rate if the servers cannot pass on what the devices deliver.
std::string rate_limit(storage::RateLimit limit) {
  return limit == storage::RateLimit::devices ? "" : fmt::format("limited by {}", to_text(limit));
}

figures::Section tier_section(const machine::Tier& v, Bytes used, const catalog::Catalog& catalog) {
  figures::Section s{.layer = figures::Layer::storage, .name = v.label + " tier"};
  s.summary = summary_of(v, catalog);
  if (v.read > BytesPerSecond(0)) s.figures.push_back(tier_rate(FigureId::read, v.read, v));
  if (v.read > BytesPerSecond(0)) s.figures.back().formula = rate_limit(v.read_limit);
  if (v.write > BytesPerSecond(0)) s.figures.push_back(tier_rate(FigureId::write, v.write, v));
  if (v.write > BytesPerSecond(0)) s.figures.back().formula = rate_limit(v.write_limit);
  add_latency(s, v);
  add_servers(s, v);
  if (v.capacity > Bytes(0)) {
    s.figures.push_back({.kind = FigureId::capacity,
                         .estimate = v.tier->capacity
                                         ? exact(v.capacity.base(), Basis::given, "the design")
                                         : exact(v.capacity.base(), Basis::vendor, v.rate_basis)});
  }
  if (used > Bytes(0)) {
    s.figures.push_back(
        {.kind = FigureId::used,
         .estimate = figures::estimated(FigureId::used, used.base(), Basis::derived,
                                        "docs/models/storage.md")});
    s.limit = v.capacity > Bytes(0)
                  ? fmt::format("{} full", show(used / v.capacity, figures::Unit::ratio))
                  : "";
  }
  add_durability(s, v, catalog);
  add_economics(s, v, catalog);
  return s;
}

// What waiting for clean hours costs, and what it saves.
void add_clean(figures::Section& s, const std::optional<review::CleanView>& clean) {
  if (!clean) return;
  s.figures.push_back(
      {.kind = FigureId::clean_hold,
       .estimate = figures::estimated(FigureId::clean_hold, clean->held.base(), Basis::derived,
                                      kCarbonPage),
       .formula = "before it enters the queue"});
  s.figures.push_back({.kind = FigureId::clean_ratio,
                       .estimate = figures::estimated(FigureId::clean_ratio, clean->ratio,
                                                      Basis::derived, kCarbonPage)});
}

figures::Section jobs_section(const review::JobsView& v) {
  figures::Section s{.layer = figures::Layer::cluster, .name = v.label};
  if (v.from_trace) {
    s.summary = fmt::format("trace {}: queue waits need simulated time", v.jobs->trace);
    return s;
  }
  s.summary = fmt::format("{} accelerators per job on average, up to {}",
                          significant(v.mean_size, 3), v.largest);
  s.figures.push_back(
      {.kind = FigureId::load,
       .estimate = figures::estimated(FigureId::load, v.queue.load, Basis::derived,
                                      "docs/models/cluster.md")});
  if (v.queue.stable) {
    s.figures.push_back({.kind = FigureId::mean_wait,
                         .estimate =
                             figures::estimated(FigureId::mean_wait, v.queue.mean_wait.base(),
                                                Basis::assumed, "docs/models/cluster.md"),
                         .formula = "M/G/c, service variation 3: coarse; a trace gives a better "
                                    "answer"});
  }
  add_clean(s, v.clean);
  s.limit = v.queue.stable ? "" : "more work arrives than the fleet can do";
  return s;
}

// The work that requests amount to, and the share that is computed twice.
void add_inference(figures::Section& s, const review::BatchView& v) {
  constexpr const char* kInferencePage = "docs/models/serving.md";
  s.figures.push_back(
      {.kind = FigureId::work_hours,
       .estimate = figures::estimated(FigureId::work_hours, v.work.accelerator_hours,
                                      Basis::derived, kInferencePage),
       .formula = fmt::format("{} requests / {} per second x {} accelerators per replica",
                              significant(v.batch->inference->requests, 4),
                              significant(v.work.rate.base(), 3), v.work.devices)});
  s.figures.push_back(
      {.kind = FigureId::work_again,
       .estimate = figures::estimated(FigureId::work_again, 1 - 1 / v.again, Basis::derived,
                                      kInferencePage),
       .formula = "a piece starts again if its host fails or is taken back"});
}

figures::Section batch_section(const review::BatchView& v) {
  figures::Section s{.layer = figures::Layer::cluster, .name = v.label};
  if (!v.work.infeasible.empty()) {
    s.summary = "cannot run: " + v.work.infeasible;
    return s;
  }
  s.summary = fmt::format("{} {} at once", grouped(static_cast<std::int64_t>(v.at_once)),
                          v.on_cores ? "cores" : "accelerators");
  if (v.batch->inference) add_inference(s, v);
  s.figures.push_back(
      {.kind = FigureId::duration,
       .estimate = figures::estimated(FigureId::duration, v.duration.base(), Basis::derived,
                                      "docs/models/cluster.md"),
       .formula =
           fmt::format("max(compute {}, read {}, write {}){}", brief(v.compute), brief(v.read),
                       brief(v.write), v.bound ? " of " + brief(*v.bound) : "")});
  add_clean(s, v.clean);
  s.limit = v.duration > max(v.compute, v.read) ? "writing the output"
            : v.read > v.compute                ? "reading the data"
            : v.on_cores                        ? "cores"
                                                : "accelerators";
  return s;
}

// The ledger of a fleet: which workload holds how many nodes.
figures::Section book_section(const review::Review& r, const machine::Fleet& fleet) {
  const machine::FleetBook& book = r.book_of(fleet);
  figures::Section s{.layer = figures::Layer::cluster, .name = fleet.fleet->name + " fleet"};
  s.summary =
      fmt::format("{} in service, {} spare", how_many(book.count, "node"), fleet.fleet->spares);
  const auto count = [&](FigureId id, double nodes, std::string formula) {
    s.figures.push_back({.kind = id,
                         .estimate = exact(nodes, Basis::derived, "docs/models/cluster.md"),
                         .formula = std::move(formula)});
  };
  count(FigureId::booked, book.booked(),
        fmt::format("{} all the time + {} in turn", significant(book.held(), 6),
                    significant(book.in_turn(), 6)));
  for (const machine::Booking& b : book.bookings) {
    s.figures.back().inputs.push_back(
        {label_of(r.design(), *b.workload),
         fmt::format("{} nodes, {} needed, {} of the time", significant(b.nodes, 4),
                     significant(b.needed, 4), show(b.share, figures::Unit::ratio)),
         b.given ? "the design" : "docs/models/cluster.md"});
  }
  if (book.over() > 0) {
    count(FigureId::over_booked, book.over(), "");
  } else {
    count(FigureId::idle, book.idle(), "");
  }
  s.figures.push_back({.kind = FigureId::use,
                       .estimate = exact(book.count > 0 ? book.used() / book.count : 0,
                                         Basis::derived, "docs/models/cluster.md"),
                       .formula = "sum of nodes needed x share of the time / nodes in service"});
  return s;
}

figures::Section mig_section(const review::MigView& v) {
  figures::Section s{.layer = figures::Layer::cluster, .name = "slices of " + v.fleet->fleet->name};
  s.figures.push_back({.kind = FigureId::stranded,
                       .estimate = exact(v.packing.compute_stranded_share(), Basis::derived,
                                         "docs/models/cluster.md")});
  return s;
}

}  // namespace

std::vector<figures::Section> storage_sections(const review::Review& review) {
  std::vector<figures::Section> sections;
  for (const machine::Tier& v : review.tiers())
    sections.push_back(tier_section(v, review.used_of(v), review.catalog()));
  return sections;
}

std::vector<figures::Section> cluster_sections(const review::Review& review) {
  std::vector<figures::Section> sections;
  for (const machine::Fleet& f : review.fleets()) {
    if (!review.book_of(f).bookings.empty()) sections.push_back(book_section(review, f));
  }
  for (const review::JobsView& v : review.jobs) sections.push_back(jobs_section(v));
  for (const review::BatchView& v : review.batches) sections.push_back(batch_section(v));
  for (const review::MigView& v : review.mig) sections.push_back(mig_section(v));
  return sections;
}

}  // namespace orrery::verdict
