// Agents, retrieval and cascades in a run, compared with the closed forms.
#include <gtest/gtest.h>

#include <map>

#include "model/jobs/build_machine.h"
#include "twin/processes/service_plan.h"
#include "twin/run/run_fixture.h"

namespace orrery::run {
namespace {

design::Serve asked_service() {
  design::Serve serve;
  serve.model = "llama-3-8b";
  serve.tp = 1;
  serve.replicas = 4;
  serve.arrivals = {.rate = PerSecond(4), .peak = 1, .input_tokens = 700, .output_tokens = 60};
  return serve;
}

design::Design design_with(const design::Serve& serve) {
  design::Design d = world::sample_design();
  d.workloads.front().task = serve;
  return d;
}

// Request windows at the load of the day.
struct Level {
  processes::ServicePlan plan;
  std::vector<processes::LoadWindow> levels;
  serving::ServingPoint point;
  traffic::TaskCase task;

  explicit Level(const design::Design& d) {
    const machine::Machine m = jobs::build_machine(d, machine::known());
    plan = plan_of(m);
    EXPECT_TRUE(plan.feasible()) << plan.job.infeasible;
    const double high[] = {plan.ask.high};
    levels = processes::simulate_windows(m.models(), plan.ask, high).levels;
    const machine::Costs costs = serving_costs(m.models(), plan.ask.query);
    const serving::RequestShape& r = plan.ask.query.request;
    point = steady_arrivals(plan.ask.replica, r, 1, serving_source(costs));
    task = jobs::task_of(std::get<design::Serve>(d.workloads.front().task), r, point);
  }
  double mean(processes::LatencyPoints processes::WindowPart::* of) const {
    const double one[] = {1};
    return processes::sampled(levels, one, of, 0).value;
  }
};

// At low load a task of the run takes as long as the closed form says.
TEST(SpecialServices, agent_tasks_take_as_long_as_planned) {
  design::Serve serve = asked_service();
  serve.router = catalog::ServeRouter::session;
  serve.arrivals.agent = design::AgentLoop{.calls = 5, .tool_time = seconds(3), .tool_tokens = 200};
  Level run(design_with(serve));
  run.levels = traffic::of_tasks(std::move(run.levels));
  const double one[] = {1};
  const processes::Sampled mean =
      processes::sampled(run.levels, one, &processes::WindowPart::task, 0);
  EXPECT_NEAR(mean.value / task_mean(run.task).base(), 1, 0.05);
  const processes::Sampled late =
      processes::sampled(run.levels, one, &processes::WindowPart::task, 0.99);
  EXPECT_NEAR(late.value / task_p99(run.task).base(), 1, 0.1 + late.error);
  EXPECT_GT(late.value, mean.value * 1.5);
}

// The replicas get the same requests; the time of the retrieval is added.
TEST(SpecialServices, retrieval_delays_first_tokens_and_needs_no_replica) {
  const Level bare(design_with(asked_service()));
  design::Serve serve = asked_service();
  serve.retrieval = design::Retrieval{.index = terabytes(1), .reads = 60, .hops = 6};
  design::Design d = design_with(serve);
  std::get<design::Serve>(d.workloads.front().task).retrieval->tier = d.storage.front().label();
  const Level looks(d);
  ASSERT_TRUE(looks.plan.ask.retrieval);
  const double before = retrieval_mean(*looks.plan.ask.retrieval).base();
  EXPECT_EQ(looks.levels.front().stay, bare.levels.front().stay);
  const double shift =
      looks.mean(&processes::WindowPart::ttft) - bare.mean(&processes::WindowPart::ttft);
  EXPECT_NEAR(shift / before, 1, 0.05);
  EXPECT_NEAR(
      (looks.mean(&processes::WindowPart::whole) - bare.mean(&processes::WindowPart::whole)) /
          shift,
      1, 1e-3);
}

TEST(SpecialServices, escalated_requests_reach_the_larger_service) {
  design::Serve small = asked_service();
  small.arrivals.peak = 2;
  small.escalate = design::Escalation{.service = "large", .share = 0.25};
  design::Design d = design_with(small);
  design::Serve large = asked_service();
  large.arrivals.rate = PerSecond(0);
  d.workloads.push_back({.terms = {}, .task = large});
  d.workloads.back().terms.name = "large";
  const Simulated run(d, {.horizon = hours(6), .replications = 1});
  const auto from = plan_of(run.machine);
  const auto to = plan_of(run.machine, 1);
  for (std::size_t h = 0; h < 24; ++h) {
    EXPECT_NEAR(to.job.day[h], 0.25 * from.job.day[h], 1e-12) << h;
  }
  // Both services have the same lengths and replicas, and a quarter of the requests is escalated: a
  // final answer takes 1.25 times as long on average.
  std::map<std::string, double> figures;
  const run::Run told = run.simulation.run_of(run.done);
  for (const figures::Section& s : told.sections) {
    for (const figures::Figure& f : s.figures) figures[f.id()] = f.estimate.value;
  }
  ASSERT_TRUE(figures.contains("answer_time"));
  const auto mean = [&](const processes::ServicePlan& p) {
    const double high[] = {p.ask.high};
    const double one[] = {1};
    const auto w = processes::simulate_windows(run.machine.models(), p.ask, high);
    return processes::sampled(w.levels, one, &processes::WindowPart::whole, 0).value;
  };
  EXPECT_NEAR(figures["answer_time"] / (mean(from) + 0.25 * mean(to)), 1, 0.05);
}

// One piece of several hours on hosts that last ten: work lost with them is repeated as often as
// memoryless faults imply.
TEST(SpecialServices, a_batch_element_restarts_if_its_host_is_lost) {
  design::Design d = world::sample_design();
  d.fleet.front().count = 16;
  d.fleet.front().failures.node_mtbf = hours(10);
  design::Batch batch;
  batch.tasks = 8;
  batch.inference = design::Inference{
      .model = "llama-3-8b", .requests = 1e6, .input_tokens = 800, .output_tokens = 100};
  batch.repeat = design::Recurrence{.every = days(3), .window = std::nullopt};
  d.workloads.front().task = batch;
  const machine::Machine probe = jobs::build_machine(d, machine::known());
  const jobs::BatchWork one = jobs::accelerator_work(probe, batch, probe.fleets.front());
  ASSERT_EQ(one.infeasible, "");
  // Five hours of eight replicas.
  batch.inference->requests = one.rate.base() * 8 * hours(5).base();
  d.workloads.front().task = batch;
  const Simulated run(d, {.horizon = days(150), .replications = 8});
  const double lost = (run.machine.failures_of(run.machine.fleets.front()).rate * hours(5));
  ASSERT_NEAR(lost, 0.5, 0.2);
  double sum = 0;
  double runs = 0;
  for (const Replication& r : run.done) {
    for (const double t : r.batches.front().run_times_s) sum += t, ++runs;
  }
  ASSERT_GT(runs, 350);
  const double wanted = jobs::work_again(hours(5), lost / hours(5));
  EXPECT_GT(wanted, 1.15);
  EXPECT_NEAR(sum / runs / hours(5).base() / wanted, 1, 0.1);
}

// Five replicas, two per accelerator: three placements. Losing a placement loses its replicas, and
// in the end all are up again.
TEST(SpecialServices, replicas_of_one_accelerator_are_lost_together) {
  design::Serve serve = asked_service();
  serve.tp = std::nullopt;
  serve.replicas = 5;
  design::Design d = design_with(serve);
  d.fleet.front().mig = {{.profile = "3g.40gb", .count = 2}};
  d.fleet.front().count = 4;
  d.fleet.front().failures.node_mtbf = hours(20);
  const Simulated run(d, {.horizon = days(20), .replications = 2});
  const processes::ServicePlan plan = plan_of(run.machine);
  ASSERT_TRUE(plan.feasible()) << plan.job.infeasible;
  EXPECT_EQ(plan.slots, 1);
  EXPECT_EQ(plan.placements(5), 3);
  EXPECT_EQ(plan.replicas_at(1), 2);
  EXPECT_EQ(plan.replicas_at(2), 1);
  for (const Replication& r : run.done) {
    const processes::ServiceOutcome& o = r.services.front();
    ASSERT_GT(o.faults, 10u);
    EXPECT_GT(o.lost_replicas, o.faults);
    EXPECT_LE(o.lost_replicas, 2 * o.faults);
    std::int64_t up = 0;
    std::int64_t all = 0;
    for (const auto& [load, ns] : o.time_ns) {
      EXPECT_LE(load.standing, 5);
      (load.standing == 5 ? up : all) += ns;
    }
    all += up;
    EXPECT_NEAR(static_cast<double>(all), days(20).base() * 1e9, 1e9);
    EXPECT_GT(static_cast<double>(up) / static_cast<double>(all), 0.9);
  }
}

}  // namespace
}  // namespace orrery::run
