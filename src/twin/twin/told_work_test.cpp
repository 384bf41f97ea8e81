// What a run says of services, jobs and batches: sentences and figures by hand.
#include <gtest/gtest.h>

#include "twin/twin/told_fixture.h"

namespace orrery::twin {
namespace {

using figures::Layer;

constexpr std::int64_t kTick = 1'000'000'000;

LoadWindow level_at(double rate, double ttft, double good, double task) {
  LoadWindow w{.rate = rate, .found = 0.4};
  for (WindowPart& part : w.parts) {
    part.requests = 10;
    part.tasks = 10;
    part.good = good;
    part.ttft.fill(ttft);
    part.tpot.fill(ttft / 100);
    part.whole.fill(ttft * 2);
    part.task.fill(task);
  }
  return w;
}

// Six a second until noon and two after it, on four replicas.
ServicePlan zone_of(const design::Serve& serve) {
  ServicePlan p;
  p.job.serve = &serve;
  p.job.label = "chat";
  p.replicas = p.least = 4;
  p.slots = 2;
  for (std::size_t h = 0; h < 24; ++h) p.job.day[h] = h < 12 ? 6 : 2;
  p.capacity = 1.6;
  p.most = 1.8;
  p.windows.levels = {level_at(0.5, 1, 0.9, 2), level_at(1.5, 3, 0.5, 6)};
  p.windows.loss = level_at(1.5, 7, 0.25, 0);
  p.job.error = 0.3;
  return p;
}

// 400 requests at the lower level, 600 at the upper.
ServiceOutcome a_plain_day() {
  ServiceOutcome o;
  o.time_ns[{.hour = 0, .standing = 4}] = 100 * kTick;
  o.time_ns[{.hour = 13, .standing = 4}] = 200 * kTick;
  return o;
}

TEST(ToldWork, what_cannot_run_says_why) {
  ToldRun t;
  const design::Serve serve;
  const std::string train = t.scenario.trains[0].label;
  t.scenario.trains[0].infeasible = "no room";
  t.scenario.services.push_back(
      {.job = {.serve = &serve, .label = "chat", .infeasible = "no memory"}});
  t.scenario.batches.push_back({.job = {.label = "nightly", .infeasible = "no cores"}});
  t.scenario.streams.push_back({.job = {{.label = "jobs", .infeasible = "no trace"}}});
  t.scenario.slices.push_back({.job = {{.label = "slices", .infeasible = "no slices"}}});
  const twin::Run& run = t.told();
  EXPECT_EQ(run.infeasible,
            (std::vector<std::string>{train + " cannot run: no room", "chat cannot run: no memory",
                                      "nightly cannot run: no cores", "jobs cannot run: no trace",
                                      "slices cannot run: no slices"}));
  ASSERT_NE(t.section(Layer::training, train), nullptr);
  EXPECT_EQ(t.section(Layer::training, train)->summary, "no room");
  EXPECT_TRUE(t.section(Layer::training, train)->figures.empty());
  EXPECT_EQ(t.section(Layer::serving, "chat")->summary, "no memory");
  EXPECT_EQ(t.section(Layer::cluster, "nightly")->summary, "no cores");
  EXPECT_EQ(t.section(Layer::cluster, "jobs")->summary, "no trace");
  EXPECT_EQ(t.section(Layer::cluster, "slices")->summary, "no slices");
  EXPECT_TRUE(std::ranges::is_sorted(run.sections, {}, &figures::Section::layer));
  EXPECT_FALSE(run.passes());
}

TEST(ToldWork, a_service_is_summed_up) {
  ToldRun t;
  design::Serve serve;
  serve.model = "llama-3-8b";
  t.scenario.services.push_back(zone_of(serve));
  t.first().services.push_back(a_plain_day());
  ServicePlan& p = t.scenario.services[0];
  const auto summary = [&] {
    t.told();
    return t.section(Layer::serving, "chat")->summary;
  };
  const std::string cached = ", 40 % of their prompts in the prefix cache";
  EXPECT_EQ(summary(), "4 replicas of 2 accelerators, 2 to 6 requests a second" + cached);
  p.slots = 1;
  p.prefill = 2;
  EXPECT_EQ(summary(),
            "4 replicas of 1 accelerator, 2 for prefill, 2 to 6 requests a second" + cached);
  p.prefill = 0;
  p.beside = 3;
  EXPECT_EQ(summary(), "4 replicas on slices, 3 an accelerator, 2 to 6 requests a second" + cached);
  p.beside = 1;
  p.replicas = 1;
  serve.arrivals.turns = 2;
  EXPECT_EQ(summary(), "1 replica of 1 accelerator, 2 to 6 requests a second");
  serve.arrivals.turns = 1;
  p.windows.levels.back().found = 0;
  EXPECT_EQ(summary(), "1 replica of 1 accelerator, 2 to 6 requests a second");
  const auto formula = [&](const char* id) {
    return t.figure(Layer::serving, "chat", id)->formula;
  };
  EXPECT_EQ(formula("availability"), "each carries 1.6 a second within the objective");
  EXPECT_EQ(formula("ttft"), "windows of requests, weighted by load; +-0 % by sampling");
  p.stands_in = "by a closed form";
  t.told();
  EXPECT_EQ(formula("ttft"), "by a closed form");
  EXPECT_NE(std::ranges::find(t.run.notes, "chat: by a closed form"), t.run.notes.end());
  p.windows.levels.clear();
  t.told();
  EXPECT_EQ(t.figure(Layer::serving, "chat", "ttft"), nullptr);
  EXPECT_EQ(t.figure(Layer::serving, "chat", "requests_in_time"), nullptr);
  EXPECT_EQ(t.figure(Layer::serving, "chat", "loss_ttft_p99"), nullptr);
  EXPECT_NE(t.figure(Layer::serving, "chat", "availability"), nullptr);
}

TEST(ToldWork, whole_tasks_of_agents) {
  ToldRun t;
  design::Serve serve;
  serve.model = "llama-3-8b";
  serve.arrivals.agent = design::AgentLoop{.calls = 5};
  t.scenario.services.push_back(zone_of(serve));
  t.first().services.push_back(a_plain_day());
  t.told();
  const auto value = [&](const char* id) { return t.value(Layer::serving, "chat", id); };
  EXPECT_NEAR(value("task_time"), (400 * 2 + 600 * 6) / 1000.0, 1e-9);
  EXPECT_NEAR(value("task_p99"), 6, 1e-9);
  EXPECT_EQ(t.figure(Layer::serving, "chat", "tasks_in_time"), nullptr);
  serve.objective.task_p99 = seconds(3);
  t.told();
  EXPECT_NEAR(value("tasks_in_time"), 0.4, 1e-9);
}

// A quarter of the answers is made anew in 20 s.
TEST(ToldWork, an_answer_that_stays) {
  ToldRun t;
  design::Serve small;
  small.model = "llama-3-8b";
  small.escalate = design::Escalation{.service = "large", .share = 0.25};
  design::Serve large;
  large.model = "llama-3-70b";
  const design::Workload named{.terms = {.name = "large"}, .task = large};
  const design::Workload other{.terms = {.name = "other"}, .task = small};
  ServicePlan p = zone_of(small);
  p.job.workload = &other;
  p.job.error = 2;
  ServicePlan q = zone_of(large);
  q.job.workload = &named;
  q.job.label = "large";
  q.windows.levels = {level_at(0.5, 10, 1, 0), level_at(1.5, 10, 1, 0)};
  t.scenario.services = {p, q};
  t.first().services = {a_plain_day(), a_plain_day()};
  t.told();
  const figures::Figure* f = t.figure(Layer::serving, "chat", "answer_time");
  ASSERT_NE(f, nullptr);
  const double mean = (400 * 2 + 600 * 6) / 1000.0 + 0.25 * 20;
  EXPECT_NEAR(f->estimate.value, mean, 1e-9);
  EXPECT_NEAR(f->estimate.low, mean * 0.1, 1e-9);
  EXPECT_NEAR(f->estimate.high, mean * 3, 1e-9);
  EXPECT_EQ(f->formula, "25 % of them are made anew by 'large'");
  EXPECT_EQ(t.figure(Layer::serving, "large", "answer_time"), nullptr);
}

// Two zones take its users, three of whom go to the first for one to the second.
ServicePlan zone_with_others(const design::Serve& serve) {
  ServicePlan p = zone_of(serve);
  ZoneFailover f{.region = {.ways = {{.to = 1, .round_trip = 0.05}}, .after = 45}, .refused = 0.5};
  f.hosts.push_back(
      {.zone = 1,
       .rate = 3,
       .windows = GuestWindows{
           .guests = level_at(1, 2, 0.8, 0), .hosts = level_at(1, 4, 0.6, 0), .restarted = 5}});
  f.hosts.push_back(
      {.zone = 2,
       .rate = 1,
       .windows = GuestWindows{
           .guests = level_at(1, 6, 0.4, 0), .hosts = level_at(1, 8, 0.5, 0), .restarted = 2}});
  f.hosts.push_back({.zone = 3, .rate = 9, .windows = std::nullopt});
  p.failover = f;
  return p;
}

TEST(ToldWork, users_that_are_answered_elsewhere) {
  ToldRun t;
  design::Serve serve;
  serve.model = "llama-3-8b";
  t.scenario.services.push_back(zone_with_others(serve));
  ServiceOutcome o;
  o.time_ns[{.hour = 0, .standing = 4, .traffic = {.away = 1, .refused = 0.5}}] = 100 * kTick;
  o.time_ns[{.hour = 0, .standing = 0, .traffic = {.away = 4, .refused = 2}}] = 10 * kTick;
  o.time_ns[{.hour = 0, .standing = 4, .traffic = {.guests = 1}}] = 200 * kTick;
  o.time_ns[{.hour = 13, .standing = 0, .traffic = {.away = 2}}] = 50 * kTick;
  o.given_up = 3;
  t.first().services = {o};
  t.told();
  const auto value = [&](const char* id) { return t.value(Layer::serving, "chat", id); };
  EXPECT_NEAR(value("failover_ttft_p99"), 6, 1e-9);
  EXPECT_NEAR(value("failover_hosts_ttft_p99"), 8, 1e-9);
  EXPECT_NEAR(value("failover_in_time"), (3 * 0.8 + 1 * 0.4) / 4, 1e-9);
  EXPECT_NEAR(t.figure(Layer::serving, "chat", "failover_ttft_p99")->estimate.low, 6 * 0.7, 1e-9);
  EXPECT_EQ(t.figure(Layer::serving, "chat", "failover_ttft_p99")->formula,
            "at the busiest hour; 7 requests begin anew at once, after 45 s, and 0.5 a second find "
            "no room");
  EXPECT_NEAR(value("failed_over"), 100 + 40 + 100, 1e-9);
  EXPECT_NEAR(value("failover_answered"), 240 / (240.0 + 70), 1e-9);
  EXPECT_NEAR(value("unserved_time"), 0.5 / 6 * 100 + 2 / 6.0 * 10, 1e-9);
  EXPECT_EQ(value("sites_given_up"), 3);
  EXPECT_NEAR(value("availability"), 50 / 360.0, 1e-9) << "all of it elsewhere, and none refused";
  // At 1.75 each with guests they are carried, not within the objective.
  EXPECT_NEAR(value("requests_carried"), (550 + 40 + 1200 + 100) / 1960.0, 1e-9);
  t.scenario.services[0].failover->hosts.clear();
  t.told();
  EXPECT_EQ(t.figure(Layer::serving, "chat", "failover_in_time"), nullptr);
  EXPECT_NE(t.figure(Layer::serving, "chat", "failed_over"), nullptr);
  t.scenario.services[0].failover->region.ways.clear();
  t.told();
  EXPECT_EQ(t.figure(Layer::serving, "chat", "failed_over"), nullptr);
}

TEST(ToldWork, jobs_that_never_started_have_no_wait) {
  ToldRun t;
  design::Jobs jobs{.trace = "jobs.csv"};
  t.scenario.streams.push_back(
      {.job = {{.jobs = &jobs, .label = "jobs", .rate = PerSecond(0.1), .mean_run = hours(2)}}});
  t.scenario.slices.push_back(
      {.job = {{.label = "slices", .rate = PerSecond(0.05), .mean_run = hours(3)}}});
  TaskOutcome o;
  o.submitted = 9;
  o.waiting = 2;
  o.stops = 4;
  o.rejected = 5;
  o.held = 3;
  o.held_s = 600;
  o.drawn = {Joules(5)};
  o.drawn_else = {Joules(6)};
  o.why[cluster::WaitReason::resources] = {.jobs = 2, .first = "room."};
  t.first().streams = {o};
  t.first().slices.resize(1);
  t.told();
  const auto of = [&](const char* name, const char* id) {
    return t.value(Layer::cluster, name, id);
  };
  EXPECT_EQ(of("jobs", "mean_wait"), 0);
  EXPECT_EQ(of("jobs", "wait_p99"), 0);
  EXPECT_EQ(of("jobs", "slowdown"), 1);
  EXPECT_EQ(of("jobs", "stops"), 4);
  EXPECT_EQ(of("jobs", "rejected"), 5);
  EXPECT_EQ(t.figure(Layer::cluster, "jobs", "timed_out"), nullptr);
  EXPECT_EQ(of("jobs", "held"), 3);
  EXPECT_NEAR(of("jobs", "clean_hold"), 600 / 9.0, 1e-9);
  EXPECT_EQ(t.figure(Layer::cluster, "jobs", "carbon_saved"), nullptr) << "the site has no hours";
  EXPECT_EQ(t.section(Layer::cluster, "jobs")->limit,
            "2 wait at the end: resources. The first: room.");
  EXPECT_EQ(t.section(Layer::cluster, "jobs")->summary, "one job every 10 s on average, 2 h long");
  EXPECT_EQ(of("slices", "mean_wait"), 0);
  EXPECT_EQ(of("slices", "wait_p99"), 0);
  EXPECT_EQ(of("slices", "slices_used"), 0);
  EXPECT_EQ(of("slices", "slices_stranded"), 0);
  EXPECT_EQ(t.section(Layer::cluster, "slices")->summary,
            "one slice every 20 s on average, for 3 h; accelerators are cut as jobs come");
  t.scenario.slices[0].job.fixed.push_back({});
  t.scenario.streams[0].trace.resize(2);
  t.first().slices[0].never_fits = true;
  t.first().streams[0].drawn.clear();
  t.first().streams[0].why[cluster::WaitReason::not_yet] = {.jobs = 1, .first = "later."};
  t.told();
  EXPECT_EQ(t.section(Layer::cluster, "jobs")->summary, "2 jobs of jobs.csv");
  EXPECT_EQ(t.figure(Layer::cluster, "jobs", "held"), nullptr);
  EXPECT_TRUE(t.section(Layer::cluster, "slices")->summary.ends_with("as the fleet says"));
  EXPECT_EQ(t.run.infeasible,
            (std::vector<std::string>{"slices never starts: it may not have one accelerator"}));
}

TEST(ToldWork, a_batch_is_summed_up) {
  ToldRun t;
  t.scenario.batches.push_back(
      {.job = {.label = "nightly", .elements = 5000, .element_compute = hours(2)},
       .element = hours(2)});
  t.first().batches.resize(1);
  t.told();
  EXPECT_EQ(t.section(Layer::cluster, "nightly")->summary, "an array of 5,000 elements of 2 h");
  EXPECT_EQ(t.figure(Layer::cluster, "nightly", "batches_late"), nullptr);
  t.scenario.batches[0].element = hours(3);
  t.scenario.batches[0].job.bound = hours(4);
  t.first().batches[0].windows_missed = 2;
  t.told();
  EXPECT_EQ(t.section(Layer::cluster, "nightly")->summary,
            "an array of 5,000 elements of 3 h, bound by its data");
  EXPECT_EQ(t.value(Layer::cluster, "nightly", "batches_late"), 2);
  EXPECT_EQ(t.figure(Layer::cluster, "nightly", "batches_late")->note, "4 h");
}

}  // namespace
}  // namespace orrery::twin
