#include "twin/processes/work_plan.h"

#include <algorithm>

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

std::size_t index_of(const machine::Fleet* fleet) {
  return fleet == nullptr ? 0 : fleet->index.value();
}

}  // namespace

StreamPlan stream_plan(const machine::Machine& m, const design::Workload& w,
                       const catalog::ReadFile& read) {
  StreamPlan p{.job = jobs::stream_job(m, w)};
  p.fleet = index_of(p.job.fleet);
  if (p.feasible() && p.job.from_trace) read_trace(p, read);
  return p;
}

SlicePlan slice_plan(const machine::Machine& m, const design::Workload& w) {
  SlicePlan p{.job = jobs::slice_job(m, w)};
  p.fleet = index_of(p.job.fleet);
  return p;
}

BatchPlan batch_plan(const machine::Machine& m, const design::Workload& w) {
  BatchPlan p{.job = jobs::batch_job(m, w)};
  if (!p.feasible()) return p;
  const machine::Fleet& fleet = *p.job.fleet;
  p.fleet = fleet.index.value();
  const int hosts =
      w.terms.nodes ? std::min(fleet.hosts, *w.terms.nodes * fleet.hosts_per_node()) : fleet.hosts;
  p.element = p.job.element(std::min(p.job.elements, std::max(1, hosts)));
  return p;
}

}  // namespace orrery::processes
