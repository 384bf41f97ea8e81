#include "plan/review/ledger_view.h"

#include <algorithm>
#include <cmath>

#include "plan/review/serve_sizing.h"

namespace orrery::review {
namespace {

machine::FleetBook& book_of(machine::Ledger& ledger, const machine::Fleet& fleet) {
  return ledger.fleets[fleet.index];
}

}  // namespace

double share_of_time(const TrainView& t) {
  if (t.run_time <= Seconds(0)) return 1;
  if (t.train->repeat) return t.run_time / t.train->repeat->every;
  if (t.train->runs) return *t.train->runs * (t.run_time / years(1));
  return 1;
}

void book_services(machine::Ledger& ledger, const machine::Machine& m,
                   const std::vector<ServeView>& serves) {
  for (const ServeView& v : serves) {
    if (v.fleet == nullptr || !v.feasible()) continue;
    const double per_node = machine::units_per_node(*v.fleet);
    const double needed = v.accelerators_for(enough_replicas(v, m)) / per_node;
    book(book_of(ledger, *v.fleet),
         {.workload = v.workload, .nodes = v.devices / per_node, .needed = needed});
  }
}

void book_trains(machine::Ledger& ledger, const std::vector<TrainView>& trains) {
  for (const TrainView& t : trains) {
    if (t.fleet == nullptr || !t.feasible()) continue;
    const double units = t.accelerators > 0 ? t.accelerators : t.hosts;
    const double nodes = units / machine::units_per_node(*t.fleet);
    book(book_of(ledger, *t.fleet),
         {.workload = t.workload, .nodes = nodes, .needed = nodes, .share = share_of_time(t)});
  }
}

void book_jobs(machine::Ledger& ledger, const std::vector<JobsView>& jobs) {
  for (const JobsView& j : jobs) {
    if (j.fleet == nullptr) continue;
    const double per_node = machine::units_per_node(*j.fleet);
    const double load = j.work_units / per_node;
    book(book_of(ledger, *j.fleet),
         {.workload = j.workload, .nodes = std::max(load, j.largest / per_node), .needed = load});
  }
}

void book_batches(machine::Ledger& ledger, const std::vector<BatchView>& batches) {
  for (const BatchView& b : batches) {
    if (b.fleet == nullptr) continue;
    const Seconds cycle = b.batch->repeat ? b.batch->repeat->every : years(1);
    book(
        book_of(ledger, *b.fleet),
        {.workload = b.workload, .nodes = b.nodes, .needed = b.nodes, .share = b.duration / cycle});
  }
}

}  // namespace orrery::review
