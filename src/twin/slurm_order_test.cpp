// The slurm policy against what a real Slurm did (data/validation/slurm_order.csv): 44 small cases
// that ran side by side on 110 nodes of Slurm 22.05.8, each in partitions of its own. All jobs of a
// case were submitted while its partition was down, which was then set up at t=0; jobs of the
// higher tier came 6 s later and may preempt. Jobs differ from their limits, widths from whole
// nodes, so every case has jobs that pass others.
#include <gtest/gtest.h>

#include <iostream>
#include <map>

#include "base/text.h"
#include "catalog/embedded_table.h"
#include "twin/queue.h"

namespace orrery::twin {
namespace {

using cluster::JobIndex;
using sim::SimTime;

// Real starts vary by the seconds that a node takes to clean up and by the period's phase.
constexpr double kClearlyApart = 4;
// After a preemption Slurm holds the victim for two minutes.
constexpr Seconds kHold = seconds(121);

struct OrderJob {
  JobRequest ask;
  SimTime submit;
  Seconds run;
  std::vector<double> real;  // starts
  std::vector<double> simulated;
  JobIndex index = cluster::kNoJob;
  sim::TimerId end;
};

class OrderCase final : public QueuePort, public sim::EventHandler {
 public:
  std::vector<OrderJob> jobs;
  int nodes = 0;

  void play() {
    QueueOptions options{.backfill = cluster::BackfillVariant::slurm, .requeue_delay = kHold};
    options.periodic.interval = SimTime::from(seconds(2));
    options.periodic.resolution = SimTime::from(seconds(1));
    options.preemption = cluster::PreemptionRules{.order = cluster::VictimOrder::fewest_nodes};
    sim::Kernel kernel;
    kernel_ = &kernel;
    Queue queue(kernel, cluster::NodePool(std::vector<int>(static_cast<std::size_t>(nodes), 8)),
                options, *this);
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
  void job_started(JobIndex, std::uint64_t i, std::span<const cluster::NodeShare>) override {
    jobs[i].simulated.push_back(kernel_->now().seconds().base());
    jobs[i].end =
        kernel_->schedule(kernel_->now().after(jobs[i].run), sim::EventRank::finish, *this, 1, i);
  }
  void job_stopped(JobIndex, std::uint64_t i, StopCause) override { kernel_->cancel(jobs[i].end); }

 private:
  sim::Kernel* kernel_ = nullptr;
  Queue* queue_ = nullptr;
};

std::map<int, OrderCase> measured_cases() {
  const CsvTable t = catalog::embedded_table("validation/slurm_order.csv").value();
  std::map<int, OrderCase> cases;
  for (const CsvRow& row : t.rows()) {
    const auto number = [&](const char* column) { return t.number(row, column).value(); };
    const auto count = [&](const char* column) { return static_cast<int>(number(column)); };
    OrderCase& c = cases[count("case")];
    c.nodes = count("fleet_nodes");
    OrderJob job;
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

TEST(SlurmOrder, JobsStartInTheOrderInWhichRealSlurmStartsThem) {
  int pairs = 0;
  int turned = 0;
  int cases_off = 0;
  int passed = 0;     // jobs that a job of higher priority and the same tier let by
  int preempted = 0;  // jobs that were started twice
  std::map<int, OrderCase> cases = measured_cases();
  ASSERT_EQ(cases.size(), 44u);
  for (auto& [name, c] : cases) {
    c.play();
    bool is_off = false;
    for (const OrderJob& a : c.jobs) {
      ASSERT_FALSE(a.real.empty());
      is_off = is_off || a.real.size() != a.simulated.size();
      preempted += a.real.size() > 1 ? 1 : 0;
      for (const OrderJob& b : c.jobs) {
        if (a.real.front() + kClearlyApart > b.real.front()) continue;
        ++pairs;
        if (a.ask.tier == b.ask.tier && a.ask.priority < b.ask.priority) ++passed;
        if (a.simulated.front() <= b.simulated.front()) continue;
        ++turned;
        is_off = true;
      }
    }
    cases_off += is_off ? 1 : 0;
    if (is_off) std::cout << "case " << name << " differs\n";
  }
  RecordProperty("pairs", pairs);
  EXPECT_GT(pairs, 500);
  EXPECT_GT(passed, 30);
  EXPECT_GT(preempted, 10);
  // Case 43: Slurm's own estimate of a blocked job's start lumps ends that lie close together, and
  // lets a job pass that ours keeps back. Case 40: two jobs end within a second of each other, and
  // which of two decisions falls between them is chance.
  EXPECT_LE(turned, 3);
  EXPECT_LE(cases_off, 2);
}

}  // namespace
}  // namespace orrery::twin
