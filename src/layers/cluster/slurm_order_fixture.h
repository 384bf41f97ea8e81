// The cases of data/validation/slurm_order.csv and how to run them with the slurm policy. Shared by
// the test against recorded real starts and the test against a Slurm on this machine.
//
// A case has a few nodes of eight GPUs and five to seven jobs. All are submitted while the
// partition is down; it is set up at t=0. Jobs of the higher tier come 6 s later and may preempt.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "core/base/text.h"
#include "core/catalog/embedded_table.h"
#include "layers/cluster/queue.h"

namespace orrery::cluster {

using sim::SimTime;

// Real starts vary by the seconds that a node needs to clean up and by the phase of the period.
inline constexpr double kClearlyApart = 4;
// After a preemption Slurm holds the victim for two minutes.
inline constexpr Seconds kHold = seconds(121);

struct OrderJob {
  int number = 0;  // within its case
  JobRequest ask;
  SimTime submit;
  Seconds run;
  std::vector<double> real;  // recorded starts
  std::vector<double> simulated;
  JobIndex index = kNoJob;
  sim::TimerId end;
};

class OrderCase final : public QueuePort, public sim::EventHandler {
 public:
  std::vector<OrderJob> jobs;
  int nodes = 0;

  void play() {
    QueueOptions options{.backfill = BackfillVariant::slurm, .requeue_delay = kHold};
    options.periodic.interval = SimTime::from(seconds(2));
    options.periodic.resolution = SimTime::from(seconds(1));
    options.preemption = PreemptionRules{.order = VictimOrder::fewest_nodes};
    sim::Kernel kernel;
    kernel_ = &kernel;
    Queue queue(kernel, NodePool(std::vector<int>(static_cast<std::size_t>(nodes), 8)), options,
                *this);
    queue_ = &queue;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      kernel.schedule(jobs[i].submit, sim::EventRank::start, *this, 0, i);
    }
    kernel.run();
  }

  void on_event(sim::Kernel&, std::uint32_t kind, std::uint64_t i) override {
    if (kind == 1) return queue_->finish(jobs[i].index);
    jobs[i].ask.tag = i;
    jobs[i].index = queue_->submit(jobs[i].ask).value();
  }
  void job_started(JobIndex, std::uint64_t i, std::span<const NodeShare>) override {
    jobs[i].simulated.push_back(kernel_->now().seconds().base());
    jobs[i].end =
        kernel_->schedule(kernel_->now().after(jobs[i].run), sim::EventRank::finish, *this, 1, i);
  }
  void job_stopped(JobIndex, std::uint64_t i, StopCause) override { kernel_->cancel(jobs[i].end); }

 private:
  sim::Kernel* kernel_ = nullptr;
  Queue* queue_ = nullptr;
};

inline std::map<int, OrderCase> measured_cases() {
  const CsvTable t = catalog::embedded_table("validation/slurm_order.csv").value();
  std::map<int, OrderCase> cases;
  for (const CsvRow& row : t.rows()) {
    const auto number = [&](const char* column) { return t.number(row, column).value(); };
    const auto count = [&](const char* column) { return static_cast<int>(number(column)); };
    OrderCase& c = cases[count("case")];
    c.nodes = count("fleet_nodes");
    OrderJob job;
    job.number = count("job");
    job.ask.ask = {.gpus = count("nodes") * count("gpus_per_node"),
                   .per_node = count("gpus_per_node")};
    job.ask.limit = SimTime::from(minutes(number("limit_min")));
    job.ask.priority = number("priority");
    job.ask.tier = count("tier");
    job.submit = SimTime::from(seconds(number("submit_s")));
    job.run = seconds(number("run_s"));
    for (const std::string_view start : split_at_blanks(t.text(row, "starts_s"))) {
      job.real.push_back(parse_number(start).value());
    }
    c.jobs.push_back(job);
  }
  return cases;
}

}  // namespace orrery::cluster
