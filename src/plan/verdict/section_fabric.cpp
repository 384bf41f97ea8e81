// Sections of the networks: what is built, what it delivers, what it costs.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/math.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "layers/fabric/hazards.h"
#include "layers/fabric/pause_fluid.h"
#include "model/figures/assumptions.h"
#include "model/figures/half_width.h"
#include "model/machine/links.h"
#include "plan/review/serve_sizing.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

using figures::FigureId;

figures::Figure counted(FigureId id, double value) {
  return {.kind = id, .estimate = exact(value, Basis::derived, "docs/models/fabric.md")};
}

void add_counts(figures::Section& s, const fabric::Topology& t) {
  if (t.switches() == 0) return;
  s.figures.push_back(counted(FigureId::leaf_switches, static_cast<double>(t.leaves)));
  if (t.spines > 0) {
    s.figures.push_back(counted(FigureId::spine_switches, static_cast<double>(t.spines)));
  }
  if (t.cores > 0) {
    s.figures.push_back(counted(FigureId::core_switches, static_cast<double>(t.cores)));
  }
  s.figures.push_back(counted(
      FigureId::cables,
      static_cast<double>(t.node_cables() + t.leaf_spine_cables() + t.spine_core_cables())));
  s.figures.back().formula =
      fmt::format("{} to nodes + {} leaf-spine + {} spine-core", grouped(t.node_cables()),
                  grouped(t.leaf_spine_cables()), grouped(t.spine_core_cables()));
}

void add_rates(figures::Section& s, const machine::Network& n) {
  s.figures.push_back(
      {.kind = FigureId::per_node,
       .estimate = exact(n.per_node().base(), n.wanted->port_rate ? Basis::given : Basis::vendor,
                         n.wanted->port_rate ? "the design" : "the node's catalog row"),
       .formula = fmt::format("{} ports x {}", n.ports_per_node, brief(n.port_rate))});
  const double share = bisection_share(*n.topology);
  s.figures.push_back(
      {.kind = FigureId::bisection,
       .estimate = exact(bisection(*n.topology).base(), Basis::derived, "docs/models/fabric.md"),
       .formula = fmt::format("{} of what half the endpoints can send",
                              show(share, figures::Unit::ratio))});
  s.limit = share < 0.999 ? fmt::format("the leaf uplinks, {} of full bisection",
                                        show(share, figures::Unit::ratio))
                          : "the node's own ports: the fabric does not block";
}

// For messages of a random permutation hashed onto equal paths, the worst link has about
// 1 + sqrt(2 ln P / q) of a link's load for P links and q queue pairs (fabric/ecmp.h); adaptive
// routing spreads them evenly. The closed form is 12 % below the simulated mean.
void add_hashing(figures::Section& s, const machine::Network& n) {
  const fabric::Topology& t = *n.topology;
  if (t.spines == 0 || t.leaf_spine_links == 0) return;
  using figures::assumptions::kEvenLinkSpread;
  constexpr const char* kPage = "docs/models/fabric.md";
  const bool even = n.wanted->routing == catalog::RoutingKind::adaptive;
  const int pairs = n.wanted->routing == catalog::RoutingKind::ecmp ? n.wanted->queue_pairs : 1;
  const double links = static_cast<double>(t.leaf_spine_links);
  const double load = even ? 1 : 1 + std::sqrt(2 * math::log(std::max(2.0, links)) / pairs);
  s.figures.push_back(
      {.kind = FigureId::worst_link,
       .estimate = even ? within(load, 0, kEvenLinkSpread, Basis::derived, kPage)
                        : figures::estimated(FigureId::worst_link, load, Basis::derived, kPage),
       .formula =
           even ? "adaptive routing spreads the flows that hashing would put on one link"
                : fmt::format("1 + sqrt(2 ln {} / {}), {} routing", grouped(t.leaf_spine_links),
                              pairs, word_of(n.wanted->routing))});
}

// What routing leaves to exposed collectives, which the steps of training runs feel.
void add_routed_share(figures::Section& s, const machine::Network& n) {
  if (!n.routed) return;
  using enum fabric::ShareBound;
  const auto left = [&](fabric::ShareBound bound) { return n.routed->left_of(1, 1, bound); };
  const fabric::RoutedTreeSpec& tree = n.routed->spec();
  const fabric::GroupPlace ring{.members = tree.hosts, .scatter = tree.scattered ? 1.0 : 0.0};
  const double share = left(mean);
  s.figures.push_back(
      {.kind = FigureId::routed_share,
       .estimate = {share, std::min(share, left(low)), std::max(share, left(high)), Basis::derived,
                    "docs/models/fabric.md"},
       .formula = fmt::format(
           "{} routing, {} queue pair{}; a ring of all hosts, {}, keeps {}", word_of(tree.routing),
           tree.queue_pairs, tree.queue_pairs == 1 ? "" : "s",
           tree.scattered ? "placed anywhere" : "in the order of the leaves",
           show(n.routed->left(fabric::CrossingPattern::ring, ring), figures::Unit::ratio))});
  constexpr double kFelt = 0.97;
  if (share < kFelt && bisection_share(*n.topology) > 0.999) {
    s.limit = fmt::format(
        "collisions on the uplinks: {} of the rate is left when all traffic "
        "crosses leaves",
        show(share, figures::Unit::ratio));
  }
}

// Returns true if the design says how the network marks and pauses, or that NICs may cause pause
// storms.
bool tells_pauses(const review::Review& r, const machine::Networks& here,
                  const machine::Network& n) {
  const design::RoceChecklist& roce = n.wanted->roce;
  const bool storms =
      &n == &here.compute && std::ranges::any_of(r.fleets(), [&](const machine::Fleet& f) {
        return f.site == here.site && f.fleet->failures.storm_mtbf;
      });
  return storms || roce.ecn_kmin || roce.ecn_kmax || roce.ecn_pmax || roce.xoff ||
         roce.watchdog_time;
}

// Figures for eight senders to one port, and for a NIC in a pause storm: bounds (fabric/hazards.h)
// and the fixed point of the marks (fabric/pause_fluid.h). `orrery fabric storm` and `simulate`
// show them over time.
void add_pauses(figures::Section& s, const review::Review& r, const machine::Network& n) {
  using figures::assumptions::kPauseSenders;
  const fabric::PauseOptions o = machine::pause_options(n);
  const BytesPerSecond rate = n.topology->spec.link_rate;
  if (rate <= BytesPerSecond(0)) return;  // its nodes have no port on this network
  const auto add = [&](FigureId id, double value, std::string formula) {
    s.figures.push_back(
        {.kind = id,
         .estimate = figures::estimated(id, value, Basis::derived, "docs/models/pauses.md"),
         .formula = std::move(formula)});
  };
  if (o.marking) {
    const fabric::MarkedQueue q = fabric::marked_queue(*o.marking, o.control, kPauseSenders, rate);
    add(FigureId::marked_queue, q.queue.base(),
        q.is_marked_enough
            ? fmt::format("kmin + p/pmax (kmax - kmin), p = {}", significant(q.probability, 2))
            : "pmax marks too few packets: the queue stays near kmax and oscillates");
  }
  if (o.pauses) {
    const fabric::IncastBound bound =
        fabric::incast_bound({.senders = kPauseSenders,
                              .sender_rate = rate,
                              .port_rate = rate,
                              .pause_threshold = o.xoff * kPauseSenders});
    add(FigureId::pause_after, bound.fill_time.base(),
        "xoff of each port / excess rate of each port");
    const Seconds hang =
        r.design().scheduler.recovery.hang_timeout.value_or(figures::assumptions::kHangTimeout);
    add(FigureId::storm_time, o.watchdog.value_or(hang).base(),
        o.watchdog ? "until the watchdog drops the packets queued for it"
                   : "no watchdog: until the collectives time out");
  }
}

void add_money(figures::Section& s, const machine::Network& n) {
  const catalog::PriceRange price = n.bill.price();
  if (price.high > Usd(0)) {
    s.figures.push_back({.kind = FigureId::price,
                         .estimate = {price.middle().base(), price.low.base(), price.high.base(),
                                      Basis::vendor, "catalog price ranges"}});
  }
  s.figures.push_back(
      {.kind = FigureId::power,
       .estimate = figures::estimated(FigureId::power, n.bill.power().base(), Basis::vendor,
                                      "catalog switches and optics")});
}

// A familiar yardstick: a large all-reduce over all accelerators of the site.
void add_all_reduce(figures::Section& s, const review::Review& r, const machine::Networks& here) {
  const machine::Fleet* fleet = nullptr;
  for (const machine::Fleet& f : r.fleets()) {
    if (fleet == nullptr && f.accelerator() && !f.rented() && f.site == here.site) fleet = &f;
  }
  if (fleet == nullptr || fleet->accelerators < 2) return;
  const machine::Links links(wiring_of(*fleet, here), r.models().collectives);
  const workload::CollectiveCall call{workload::Collective::all_reduce, gib(1),
                                      links.group_of(fleet->accelerators)};
  const machine::CollectivePrediction p = links.predict(call);
  if (!std::isfinite(p.seconds.value)) return;  // a path between them is missing: a rule says which
  s.figures.push_back({.kind = FigureId::all_reduce_1gib,
                       .note = fmt::format("{} accelerators", grouped(call.group.ranks)),
                       .estimate = p.seconds,
                       .formula = fmt::format(
                           "{}; bus bandwidth {}; limited by the {}", to_text(p.detail.algorithm),
                           brief(p.detail.bus_bandwidth), to_text(p.detail.limit))});
}

figures::Section network_section(const review::Review& review, const machine::Networks& here,
                                 const machine::Network& n) {
  figures::Section s{.layer = figures::Layer::fabric, .name = n.name + " network"};
  if (review.machine->networks.size() > 1) s.name += " of " + here.site->name;
  const fabric::Topology& t = *n.topology;
  s.summary =
      fmt::format("{}, {} tier{}, {} endpoint{} at {}{}", to_text(t.spec.kind), t.tiers,
                  t.tiers == 1 ? "" : "s", grouped(t.endpoints), t.endpoints == 1 ? "" : "s",
                  brief(t.spec.link_rate), n.switch_part ? ", " + n.switch_part->name : "");
  add_counts(s, t);
  add_rates(s, n);
  add_hashing(s, n);
  if (&n == &here.compute) add_routed_share(s, n);
  if (n.is_roce && tells_pauses(review, here, n)) add_pauses(s, review, n);
  add_money(s, n);
  if (&n == &here.compute) add_all_reduce(s, review, here);
  return s;
}

// The weights of a service's model, which a new release sends to every site.
void add_release(figures::Section& s, const review::Review& r, const design::WanLink& line) {
  const review::ServeView* largest = nullptr;
  Bytes most;
  for (const review::ServeView& v : r.serves) {
    if (!v.feasible() || v.model == nullptr || v.serve->zones.empty()) continue;
    if (v.weights <= most) continue;
    most = v.weights;
    largest = &v;
  }
  if (largest == nullptr) return;
  s.figures.push_back(
      {.kind = FigureId::weights_across,
       .note = largest->label,
       .estimate =
           figures::estimated(FigureId::weights_across, (most / line.rate + line.latency).base(),
                              Basis::derived, "the line at its full rate"),
       .formula = fmt::format("{} / {} + {}", brief(most), brief(line.rate), brief(line.latency))});
}

figures::Section line_section(const review::Review& r, const design::WanLink& line) {
  figures::Section s{
      .layer = figures::Layer::fabric,
      .name = fmt::format("line {} - {}", line.between.front(), line.between.back())};
  const auto given = [](double value) { return exact(value, Basis::given, "the design"); };
  s.figures.push_back({.kind = FigureId::wan_rate, .estimate = given(line.rate.base())});
  s.figures.push_back({.kind = FigureId::wan_latency, .estimate = given(line.latency.base())});
  if (line.price) {
    s.figures.push_back(
        {.kind = FigureId::wan_price, .estimate = given((*line.price * years(1)).base())});
  }
  add_release(s, r, line);
  s.limit = "the line itself: other traffic on it is not known";
  return s;
}

}  // namespace

std::vector<figures::Section> fabric_sections(const review::Review& review) {
  std::vector<figures::Section> sections;
  for (const machine::Networks& here : review.machine->networks) {
    for (const machine::Network* n : {&here.compute, &here.storage, &here.management}) {
      if (n->topology) sections.push_back(network_section(review, here, *n));
    }
  }
  for (const design::WanLink& line : review.design().fabric.wan) {
    sections.push_back(line_section(review, line));
  }
  return sections;
}

}  // namespace orrery::verdict
