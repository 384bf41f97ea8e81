#include "twin/processes/work_plan.h"

#include <algorithm>
#include <utility>

#include "model/figures/assumptions.h"

namespace orrery::processes {
namespace {

void read_trace(StreamPlan& p, const catalog::ReadFile& read) {
  const std::string& file = p.job.jobs->trace;
  if (!read) {
    p.job.infeasible = "its trace " + file + " cannot be read from here";
    return;
  }
  const auto text = read(file);
  if (!text) {
    p.job.infeasible = "its trace " + file + " cannot be read";
    return;
  }
  auto trace = workload::read_jobs(*text, file);
  if (!trace) {
    p.job.infeasible = trace.error().empty() ? "its trace has faults" : trace.error().front().what;
    return;
  }
  p.trace = std::move(trace->jobs);
}

design::FleetIndex index_of(const machine::Fleet* fleet) {
  return fleet == nullptr ? design::FleetIndex() : fleet->index;
}

}  // namespace

StreamPlan stream_plan(jobs::StreamJob job, const catalog::ReadFile& read) {
  StreamPlan p{.job = std::move(job)};
  p.fleet = index_of(p.job.fleet);
  if (p.feasible() && p.job.from_trace) read_trace(p, read);
  return p;
}

SlicePlan slice_plan(jobs::SliceJob job) {
  SlicePlan p{.job = std::move(job)};
  p.fleet = index_of(p.job.fleet);
  return p;
}

BatchPlan batch_plan(jobs::BatchJob job) {
  BatchPlan p{.job = std::move(job)};
  if (!p.feasible()) return p;
  const machine::Fleet& fleet = *p.job.fleet;
  p.fleet = fleet.index;
  const auto& terms = p.job.workload->terms;
  const int hosts =
      terms.nodes ? std::min(fleet.hosts, *terms.nodes * fleet.hosts_per_node()) : fleet.hosts;
  p.element = p.job.element(std::min(p.job.elements, std::max(1, hosts)));
  return p;
}

}  // namespace orrery::processes
