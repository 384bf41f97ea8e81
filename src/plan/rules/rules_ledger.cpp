// Rules about which workload holds which nodes: no node is booked twice, idle nodes are pointed
// out, and two schedulers do not share a node.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/base/probability.h"
#include "core/base/text.h"
#include "model/figures/assumptions.h"
#include "model/machine/partitions.h"
#include "plan/review/serve_sizing.h"
#include "plan/rules/edits.h"
#include "plan/rules/rules.h"

namespace orrery::rules {
namespace {

// A few replicas above the need are prudent; from this factor on they waste money.
constexpr double kAmpleReplicas = 1.5;
constexpr double kFewReplicas = 2;
using figures::assumptions::kIdleAllowed;

// The mean number of nodes of jobs that come and go is not whole; two decimals are enough.
std::string nodes_text(double nodes) {
  return nodes < 10 ? significant(nodes, 3) : significant(std::round(nodes * 100) / 100, 9);
}

// "pretrain 16, assistant 3", the largest first.
std::string holders(const review::Review& r, const machine::FleetBook& book) {
  std::vector<machine::Booking> all = book.bookings;
  std::ranges::stable_sort(all, std::ranges::greater{}, &machine::Booking::nodes);
  std::vector<std::string> texts;
  for (const machine::Booking& b : all) {
    texts.push_back(fmt::format("{} {}", label_of(r.design(), *b.workload), nodes_text(b.nodes)));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

// Returns true if a service or a queue asks for more than the whole fleet, which has a finding of
// its own.
bool says_so_itself(const review::Review& r, const machine::Fleet& fleet) {
  const bool serve = std::ranges::any_of(r.serves, [&](const review::ServeView& v) {
    return v.fleet == &fleet && v.feasible() && v.devices > v.devices_there;
  });
  return serve || std::ranges::any_of(r.jobs, [&](const review::JobsView& j) {
           return j.fleet == &fleet &&
                  (j.largest_fits == cluster::GangVerdict::never || j.queue.load >= 1);
         });
}

void check_nodes(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const machine::Fleet& fleet : r.fleets()) {
    const machine::FleetBook& book = r.book_of(fleet);
    if (book.over() <= 0 || (book.asked() <= book.count && says_so_itself(r, fleet))) continue;
    Finding f = finding_at(r, rule, fleet.path + ".count");
    if (const machine::Booking* largest = book.largest_given()) {
      f.place = place_of(r.design(), machine::path_of(*largest->workload) + ".nodes");
    }
    f.what = fmt::format("Workloads hold {} nodes of fleet '{}', which has {}: {}.",
                         nodes_text(book.booked()), fleet.fleet->name, grouped(book.count),
                         holders(r, book));
    f.why =
        "A node given to one workload is not available to another; each workload's figures assume "
        "nodes that do not exist.";
    f.fix = "Hold fewer nodes, or enlarge the fleet.";
    f.edit = edit_asked(r, fleet);
    out.push_back(std::move(f));
  }
}

// What accelerators without a use cost per year.
Usd cost_of_units(const review::Review& r, double units) {
  return r.cost.accelerators > 0 ? r.cost.annual * (units / r.cost.accelerators) : Usd(0);
}

void check_replicas(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::ServeView& v : r.serves) {
    if (!v.feasible() || !v.replicas_given()) continue;
    const double enough = review::enough_replicas(v, *r.machine);
    if (v.replicas <= enough * kAmpleReplicas || v.replicas - enough < kFewReplicas) continue;
    const double spare = v.devices - v.accelerators_for(enough);
    if (spare <= 0) continue;  // slices of accelerators that are held anyway
    Finding f = finding_at(r, rule, review::replicas_path(v));
    f.what = fmt::format("'{}' runs {} replicas and needs {}; {} {} do nothing and cost {}.",
                         v.label, significant(v.replicas, 4), significant(enough, 4),
                         significant(spare, 6), v.devices_word(),
                         show(cost_of_units(r, spare).base(), figures::Unit::usd_per_year));
    f.why = fmt::format(
        "One replica serves {} requests per second within the objective; {} arrive at peak{}.",
        significant(v.capacity_per_replica.base(), 3), significant(v.peak.base(), 3),
        v.workload->terms.availability
            ? ", and the smaller number also meets the asked availability"
            : "");
    f.fix = "Run fewer, and give the machines other work or do not buy them.";
    if (v.serve->zones.empty()) {
      f.edit = Edit{review::replicas_path(v), significant(enough, 9)};
    }
    out.push_back(std::move(f));
  }
}

// Nodes kept ready to replace those in repair, beyond the declared spares.
double standing_by(const review::Review& r, const machine::Fleet& fleet) {
  double most = 0;
  for (const review::TrainView& t : r.trains) {
    if (t.fleet != &fleet || !t.feasible() || fleet.rented()) continue;
    const double mean = t.failure.mean_in_repair;
    int hosts = 0;
    while (poisson_above(hosts, mean) > kShortfallAllowed) ++hosts;
    const int per_node = fleet.hosts_per_node();
    most = std::max(most, std::ceil(static_cast<double>(hosts) / per_node) - fleet.fleet->spares);
  }
  return std::max(0.0, most);
}

bool batch_rule_speaks(const review::Review& r, const machine::Fleet& fleet) {
  return std::ranges::any_of(r.trains, [&](const review::TrainView& t) {
    return t.fleet == &fleet && !t.workload->terms.nodes;
  });
}

void check_idle(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const machine::Fleet& fleet : r.fleets()) {
    const machine::FleetBook& book = r.book_of(fleet);
    const double idle = std::floor(book.idle() - standing_by(r, fleet) + 1e-9);
    if (book.bookings.empty() || idle < 1 || idle <= kIdleAllowed * book.count) continue;
    if (batch_rule_speaks(r, fleet) ||
        (fleet.rented() && fleet.fleet->rent->contract != catalog::Contract::reserved))
      continue;
    const double units = idle * machine::units_per_node(fleet);
    Finding f = finding_at(r, rule, fleet.path + ".count");
    f.what = fmt::format("{} of {} nodes in '{}' have no workload; they cost {}.",
                         grouped(std::llround(idle)), grouped(book.count), fleet.fleet->name,
                         show(cost_of_units(r, units).base(), figures::Unit::usd_per_year));
    f.why = fmt::format("Its workloads hold {} nodes: {}.", nodes_text(book.booked()),
                        holders(r, book));
    f.fix = "Buy fewer nodes, declare them as spares, or give them work.";
    out.push_back(std::move(f));
  }
}

void check_partitions(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  if (r.design().scheduler.kind != design::SchedulerKind::both) return;
  for (const machine::Fleet& fleet : r.fleets()) {
    double services = 0;
    double batch = 0;
    for (const machine::Booking& b : r.book_of(fleet).bookings) {
      (std::holds_alternative<design::Serve>(b.workload->task) ? services : batch) += b.nodes;
    }
    if (services <= 0 || batch <= 0) continue;
    const auto pods = static_cast<std::int64_t>(std::ceil(services - 1e-9));
    Finding f = finding_at(r, rule, fleet.path + ".partition");
    f.what = fmt::format(
        "Fleet '{}' belongs to {} and holds both services and jobs: {} of its nodes are for "
        "Kubernetes and {} for Slurm.",
        fleet.fleet->name,
        fleet.fleet->partition == design::Partition::slurm ? "Slurm" : "Kubernetes", grouped(pods),
        grouped(std::max<std::int64_t>(0, fleet.fleet->count - pods)));
    f.why = "Neither scheduler sees what the other has started on a shared node.";
    f.fix = fmt::format(
        "Split it into two fleets: {} nodes with `partition: kubernetes`, {} with `partition: "
        "slurm`.",
        pods, std::max<std::int64_t>(0, fleet.fleet->count - pods));
    out.push_back(std::move(f));
  }
}

// The nodes held at one time: all that are held throughout, and the widest of those that take
// turns.
double held_in(const machine::FleetBook& book, const std::vector<machine::FleetPartition>& all,
               std::size_t partition) {
  double held = 0;
  double in_turn = 0;
  for (const machine::Booking& b : book.bookings) {
    if (machine::partition_of(all, *b.workload) != partition) continue;
    if (b.held()) held += b.nodes;
    if (!b.held()) in_turn = std::max(in_turn, b.nodes);
  }
  return held + in_turn;
}

void check_partition_nodes(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const machine::Fleet& fleet : r.fleets()) {
    const machine::FleetBook& book = r.book_of(fleet);
    const auto all = machine::partitions_of(r.design(), r.fleets(), fleet);
    // An over-booked fleet is reported by another rule.
    if (book.over() > 0) continue;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const design::SchedulerPartition& p = *all[i].partition;
      const auto held = static_cast<int>(std::ceil(held_in(book, all, i) - 1e-9));
      if (!p.nodes || held <= *p.nodes) continue;
      const std::string path = all[i].path + ".nodes";
      Finding f = finding_at(r, rule, path);
      f.what = fmt::format("Partition '{}' has {} of the {} nodes of '{}'; its workloads hold {}.",
                           p.name, grouped(*p.nodes), grouped(fleet.fleet->count),
                           fleet.fleet->name, grouped(held));
      f.why = "Slurm starts no job on nodes outside its partition, so some jobs wait for ever.";
      f.fix = "Enlarge the partition, or give a workload another `partition`.";
      int others = 0;
      for (const machine::FleetPartition& other : all) {
        if (other.partition != &p) others += other.partition->nodes.value_or(0);
      }
      if (others + held <= fleet.fleet->count) f.edit = Edit{path, std::to_string(held)};
      out.push_back(std::move(f));
    }
  }
}

bool all_runs(const review::Review& r) {
  return std::ranges::all_of(r.trains, &review::TrainView::feasible) &&
         std::ranges::all_of(r.serves, &review::ServeView::feasible);
}

// The share of the accelerators' hours that workloads hold. How much of it they need is reported by
// another rule.
double held_share(const review::Review& r) {
  double held = 0;
  double bought = 0;
  for (const machine::Fleet& fleet : r.fleets()) {
    if (fleet.accelerators == 0) continue;
    const machine::FleetBook& book = r.book_of(fleet);
    double nodes = 0;
    for (const machine::Booking& b : book.bookings) nodes += b.nodes * std::min(1.0, b.share);
    const double units = machine::units_per_node(fleet);
    held += std::min<double>(nodes, book.count) * units;
    bought += book.count * units;
  }
  return bought > 0 ? held / bought : 0;
}

// Finds machines that are bought but used so little that renting their hours is cheaper in any
// case.
void check_renting(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  const review::CostView& c = r.cost;
  if (!c.owned || !c.market || c.in_nodes || r.design().workloads.empty() || !all_runs(r)) return;
  const double use = held_share(r) * c.utilisation;
  if (use >= c.break_even_earliest) return;
  const Usd rented = c.market->median * years(1) * (c.accelerators * use);
  Finding f = finding_at(r, rule, r.fleets().front().path);
  f.what = fmt::format(
      "This design uses {} of the hours that it buys; owning is cheaper than renting only above "
      "{}, at best.",
      show(use, figures::Unit::ratio), show(c.break_even_earliest, figures::Unit::ratio));
  f.why =
      fmt::format("The hours that it uses cost {} on demand at list prices; owned, they cost {}.",
                  show(rented.base(), figures::Unit::usd_per_year),
                  show(c.annual.base(), figures::Unit::usd_per_year));
  f.fix = "Rent the machines, buy fewer, or share them with more work.";
  out.push_back(std::move(f));
}

constexpr Rule kLedgerRules[] = {
    {"cluster.nodes", figures::Layer::cluster, Severity::error,
     "a fleet has the nodes that its workloads hold", "the workloads' own terms and needs",
     check_nodes},
    {"serving.over-provision", figures::Layer::serving, Severity::warning,
     "a service runs the replicas that its peak and its availability need, and few more",
     "docs/models/cluster.md", check_replicas},
    {"cluster.idle-nodes", figures::Layer::cluster, Severity::note,
     "every node in service has a workload", "docs/models/cluster.md", check_idle},
    {"cost.renting", figures::Layer::cost, Severity::note,
     "purchased machines are used enough to be worth owning", "docs/models/ownership.md",
     check_renting},
    {"cluster.partitions", figures::Layer::cluster, Severity::warning, "a fleet has one scheduler",
     "docs/models/cluster.md", check_partitions},
    {"cluster.partition-nodes", figures::Layer::cluster, Severity::error,
     "a partition has the nodes that its workloads hold", "docs/models/cluster.md",
     check_partition_nodes},
};

}  // namespace

std::span<const Rule> ledger_rules() { return kLedgerRules; }

}  // namespace orrery::rules
