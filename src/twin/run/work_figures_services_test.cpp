// What a run reports on its services: latencies, replicas, tasks, users answered elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "core/base/units.h"
#include "layers/facility/power_cap.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/pipeline.h"
#include "model/machine/site_load.h"
#include "twin/processes/service_process.h"
#include "twin/run/hand_made_fixture.h"
#include "twin/run/over_replications.h"
#include "twin/run/run_figures.h"
#include "twin/run/run_fixture.h"
#include "twin/world/host_lives.h"

namespace orrery::run {

using cluster::at;

namespace {

using figures::Layer;

processes::LoadWindow level_at(double rate, double ttft, double good, double task) {
  processes::LoadWindow w{.rate = rate, .found = 0.4};
  for (processes::WindowPart& part : w.parts) {
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

// Six per second until noon and two after it, on four replicas.
processes::ServicePlan zone_of(const design::Serve& serve) {
  processes::ServicePlan p;
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
processes::ServiceOutcome a_plain_day() {
  processes::ServiceOutcome o;
  o.time_ns[{.hour = 0, .standing = 4}] = 100 * kSecondNs;
  o.time_ns[{.hour = 13, .standing = 4}] = 200 * kSecondNs;
  return o;
}

TEST(WorkFiguresServices, a_service_has_a_summary) {
  HandMadeRun t;
  design::Serve serve;
  serve.model = "llama-3-8b";
  t.scenario.services.push_back(zone_of(serve));
  t.first().services.push_back(a_plain_day());
  processes::ServicePlan& p = t.scenario.services[0];
  const auto summary = [&] {
    t.tell_all();
    return t.section(Layer::serving, "chat")->summary;
  };
  const std::string cached = ", 40 % of their prompts in the prefix cache";
  EXPECT_EQ(summary(), "4 replicas of 2 accelerators, 2 to 6 requests per second" + cached);
  p.slots = 1;
  p.prefill = 2;
  EXPECT_EQ(summary(),
            "4 replicas of 1 accelerator, 2 for prefill, 2 to 6 requests per second" + cached);
  p.prefill = 0;
  p.beside = 3;
  EXPECT_EQ(summary(),
            "4 replicas on slices, 3 per accelerator, 2 to 6 requests per second" + cached);
  p.beside = 1;
  p.replicas = 1;
  serve.arrivals.turns = 2;
  EXPECT_EQ(summary(), "1 replica of 1 accelerator, 2 to 6 requests per second");
  serve.arrivals.turns = 1;
  p.windows.levels.back().found = 0;
  EXPECT_EQ(summary(), "1 replica of 1 accelerator, 2 to 6 requests per second");
  const auto formula = [&](const char* id) {
    return t.figure(Layer::serving, "chat", id)->formula;
  };
  EXPECT_THAT(formula("availability"), testing::HasSubstr("1.6"));
  EXPECT_THAT(formula("ttft"), testing::HasSubstr("0 %"));
  p.stands_in = "by a closed form";
  t.tell_all();
  EXPECT_THAT(formula("ttft"), testing::Not(testing::HasSubstr("%")));
  EXPECT_NE(std::ranges::find(t.run.notes, "chat: by a closed form"), t.run.notes.end());
  p.windows.levels.clear();
  t.tell_all();
  EXPECT_EQ(t.figure(Layer::serving, "chat", "ttft"), nullptr);
  EXPECT_EQ(t.figure(Layer::serving, "chat", "requests_in_time"), nullptr);
  EXPECT_EQ(t.figure(Layer::serving, "chat", "loss_ttft_p99"), nullptr);
  EXPECT_NE(t.figure(Layer::serving, "chat", "availability"), nullptr);
}

TEST(WorkFiguresServices, agent_tasks_have_times_and_a_share_in_time) {
  HandMadeRun t;
  design::Serve serve;
  serve.model = "llama-3-8b";
  serve.arrivals.agent = design::AgentLoop{.calls = 5};
  t.scenario.services.push_back(zone_of(serve));
  t.first().services.push_back(a_plain_day());
  t.tell_all();
  const auto value = [&](const char* id) { return t.value(Layer::serving, "chat", id); };
  EXPECT_NEAR(value("task_time"), (400 * 2 + 600 * 6) / 1000.0, 1e-9);
  EXPECT_NEAR(value("task_p99"), 6, 1e-9);
  EXPECT_EQ(t.figure(Layer::serving, "chat", "tasks_in_time"), nullptr);
  serve.objective.task_p99 = seconds(3);
  t.tell_all();
  EXPECT_NEAR(value("tasks_in_time"), 0.4, 1e-9);
}

// A quarter of the answers is generated again in 20 s.
TEST(WorkFiguresServices, regenerated_answers_take_longer) {
  HandMadeRun t;
  design::Serve small;
  small.model = "llama-3-8b";
  small.escalate = design::Escalation{.service = "large", .share = 0.25};
  design::Serve large;
  large.model = "llama-3-70b";
  const design::Workload named{.terms = {.name = "large"}, .task = large};
  const design::Workload other{.terms = {.name = "other"}, .task = small};
  processes::ServicePlan p = zone_of(small);
  p.job.workload = &other;
  p.job.error = 2;
  processes::ServicePlan q = zone_of(large);
  q.job.workload = &named;
  q.job.label = "large";
  q.windows.levels = {level_at(0.5, 10, 1, 0), level_at(1.5, 10, 1, 0)};
  t.scenario.services = {p, q};
  t.first().services = {a_plain_day(), a_plain_day()};
  t.tell_all();
  const figures::Figure* f = t.figure(Layer::serving, "chat", "answer_time");
  ASSERT_NE(f, nullptr);
  const double mean = (400 * 2 + 600 * 6) / 1000.0 + 0.25 * 20;
  EXPECT_NEAR(f->estimate.value, mean, 1e-9);
  EXPECT_NEAR(f->estimate.low, mean * 0.1, 1e-9);
  EXPECT_NEAR(f->estimate.high, mean * 3, 1e-9);
  EXPECT_EQ(f->formula, "25 % of the answers are generated again by 'large'");
  EXPECT_EQ(t.figure(Layer::serving, "large", "answer_time"), nullptr);
}

// Two zones take its users: three go to the first for each one to the second.
processes::ServicePlan zone_with_others(const design::Serve& serve) {
  processes::ServicePlan p = zone_of(serve);
  processes::ZoneFailover f{.region = {.ways = {{.to = 1, .round_trip = 0.05}}, .after = 45},
                            .refused = 0.5};
  f.hosts.push_back(
      {.zone = 1,
       .rate = 3,
       .windows = processes::GuestWindows{
           .guests = level_at(1, 2, 0.8, 0), .hosts = level_at(1, 4, 0.6, 0), .restarted = 5}});
  f.hosts.push_back(
      {.zone = 2,
       .rate = 1,
       .windows = processes::GuestWindows{
           .guests = level_at(1, 6, 0.4, 0), .hosts = level_at(1, 8, 0.5, 0), .restarted = 2}});
  f.hosts.push_back({.zone = 3, .rate = 9, .windows = std::nullopt});
  p.failover = f;
  return p;
}

TEST(WorkFiguresServices, users_answered_by_another_zone) {
  HandMadeRun t;
  design::Serve serve;
  serve.model = "llama-3-8b";
  t.scenario.services.push_back(zone_with_others(serve));
  processes::ServiceOutcome o;
  o.time_ns[{.hour = 0, .standing = 4, .traffic = {.away = 1, .refused = 0.5}}] = 100 * kSecondNs;
  o.time_ns[{.hour = 0, .standing = 0, .traffic = {.away = 4, .refused = 2}}] = 10 * kSecondNs;
  o.time_ns[{.hour = 0, .standing = 4, .traffic = {.guests = 1}}] = 200 * kSecondNs;
  o.time_ns[{.hour = 13, .standing = 0, .traffic = {.away = 2}}] = 50 * kSecondNs;
  o.given_up = 3;
  t.first().services = {o};
  t.tell_all();
  const auto value = [&](const char* id) { return t.value(Layer::serving, "chat", id); };
  EXPECT_NEAR(value("failover_ttft_p99"), 6, 1e-9);
  EXPECT_NEAR(value("failover_hosts_ttft_p99"), 8, 1e-9);
  EXPECT_NEAR(value("failover_in_time"), (3 * 0.8 + 1 * 0.4) / 4, 1e-9);
  EXPECT_NEAR(t.figure(Layer::serving, "chat", "failover_ttft_p99")->estimate.low, 6 * 0.7, 1e-9);
  EXPECT_EQ(
      t.figure(Layer::serving, "chat", "failover_ttft_p99")->formula,
      "in the busiest hour; 7 requests start over at once, after 45 s, and 0.5 per second find "
      "no room");
  EXPECT_NEAR(value("failed_over"), 100 + 40 + 100, 1e-9);
  EXPECT_NEAR(value("failover_answered"), 240 / (240.0 + 70), 1e-9);
  EXPECT_NEAR(value("unserved_time"), 0.5 / 6 * 100 + 2 / 6.0 * 10, 1e-9);
  EXPECT_EQ(value("sites_given_up"), 3);
  EXPECT_NEAR(value("availability"), 50 / 360.0, 1e-9) << "all of it elsewhere, and none refused";
  // At 1.75 each with guests they are carried, but not within the objective.
  EXPECT_NEAR(value("requests_carried"), (550 + 40 + 1200 + 100) / 1960.0, 1e-9);
  t.scenario.services[0].failover->hosts.clear();
  t.tell_all();
  EXPECT_EQ(t.figure(Layer::serving, "chat", "failover_in_time"), nullptr);
  EXPECT_NE(t.figure(Layer::serving, "chat", "failed_over"), nullptr);
  t.scenario.services[0].failover->region.ways.clear();
  t.tell_all();
  EXPECT_EQ(t.figure(Layer::serving, "chat", "failed_over"), nullptr);
}

processes::LoadWindow window_at(double rate, double ttft, double good, double found) {
  processes::LoadWindow w{.rate = rate, .found = found, .fetched = found / 2};
  for (processes::WindowPart& part : w.parts) {
    part.requests = 10;
    part.good = good;
    part.ttft.fill(ttft);
    part.tpot.fill(ttft / 100);
    part.whole.fill(ttft * 2);
  }
  return w;
}

// Six per second until noon and two after it, on four replicas.
processes::ServicePlan four_replicas(const design::Serve& serve) {
  processes::ServicePlan p;
  p.job.serve = &serve;
  p.job.label = "assistant";
  p.replicas = p.least = 4;
  p.slots = 2;
  for (std::size_t h = 0; h < 24; ++h) p.job.day[h] = h < 12 ? 6 : 2;
  p.capacity = 1.6;
  p.most = 1.8;
  p.windows.levels = {window_at(0.5, 1, 0.9, 0.2), window_at(1.5, 3, 0.5, 0.4)};
  p.windows.loss = window_at(1.5, 7, 0.25, 0);
  p.job.error = 0.3;
  return p;
}

processes::ServiceOutcome a_bad_day() {
  processes::ServiceOutcome o;
  o.time_ns[{.hour = 0, .standing = 4}] = 100 * kSecondNs;   // 1.5 each, 600 requests
  o.time_ns[{.hour = 0, .standing = 3}] = 50 * kSecondNs;    // 2, too much: 300
  o.time_ns[{.hour = 13, .standing = 4}] = 200 * kSecondNs;  // 0.5: 400
  o.time_ns[{.hour = 13, .standing = 0}] = 10 * kSecondNs;   // none running: 20
  o.down_ns = 90 * kSecondNs;
  o.lost_replicas = 5;
  return o;
}

TEST(WorkFiguresServices, figures_of_a_service_by_hand) {
  HandMadeRun m;
  design::Serve serve;
  serve.model = "llama-3-8b";
  serve.arrivals.turns = 2;
  m.scenario.services.push_back(four_replicas(serve));
  m.done[0].services.push_back(a_bad_day());
  m.tell_all();
  const auto value = [&](const char* id) { return m.value(Layer::serving, "assistant", id); };
  // 400 requests at the lower level, 600, 300 and 20 at the upper.
  EXPECT_NEAR(value("ttft"), (400 * 1 + 920 * 3) / 1320.0, 1e-9);
  EXPECT_NEAR(value("tpot"), (400 * 1 + 920 * 3) / 1320.0 / 100, 1e-9);
  EXPECT_DOUBLE_EQ(value("ttft_p99"), 3);
  EXPECT_DOUBLE_EQ(value("tpot_p99"), 0.03);
  EXPECT_DOUBLE_EQ(value("latency_p99"), 6);
  EXPECT_NEAR(m.find(Layer::serving, "assistant", "ttft_p99")->low, 3 * 0.7, 1e-9);
  EXPECT_NEAR(m.find(Layer::serving, "assistant", "ttft_p99")->high, 3 * 1.3, 1e-9);
  EXPECT_NEAR(value("requests_in_time"), (400 * 0.9 + 920 * 0.5) / 1320 * (1000 / 1320.0), 1e-9);
  EXPECT_NEAR(value("cache_found"), (400 * 0.2 + 920 * 0.4) / 1320, 1e-9);
  EXPECT_EQ(m.find(Layer::serving, "assistant", "kv_fetched"), nullptr);
  EXPECT_DOUBLE_EQ(value("loss_ttft_p99"), 7);
  EXPECT_NEAR(m.find(Layer::serving, "assistant", "loss_ttft_p99")->high, 9.1, 1e-9);
  EXPECT_NEAR(value("loss_in_time"), 0.25, 1e-12);
  EXPECT_DOUBLE_EQ(value("availability"), 300 / 360.0);
  EXPECT_DOUBLE_EQ(value("requests_carried"), 1000 / 1320.0);
  EXPECT_DOUBLE_EQ(value("replicas_standing"), 4 - 90 / 3600.0);
  EXPECT_DOUBLE_EQ(value("replicas_lost"), 5);
  EXPECT_EQ(m.section(Layer::serving, "assistant")->limit, "") << "15/16 of what they carry";
  m.scenario.services[0].capacity = 1.2;
  m.tell_all();
  EXPECT_NE(m.section(Layer::serving, "assistant")->limit.find("125 %"), std::string::npos);
}

TEST(WorkFiguresServices, figures_of_an_autoscaled_service_by_hand) {
  HandMadeRun m;
  design::Serve serve;
  serve.model = "llama-3-8b";
  serve.autoscale = design::Autoscale{.min = 1, .max = 4, .target = 8};
  serve.kv_tier.emplace();
  processes::ServicePlan p = four_replicas(serve);
  p.windows.rise = window_at(1, 5, 0.5, 0);
  p.ask.rise = processes::ServiceRise{.before = 1, .after = 2, .replicas = 1};
  p.job.error = 2;
  m.scenario.services.push_back(p);
  m.done[0].services.push_back(a_bad_day());
  m.done[0].services[0].standing_ns = 9000 * kSecondNs;
  m.done[0].services[0].called = 6;
  m.tell_all();
  const auto value = [&](const char* id) { return m.value(Layer::serving, "assistant", id); };
  EXPECT_DOUBLE_EQ(value("replicas_standing"), 2.5);
  EXPECT_DOUBLE_EQ(value("replicas_called"), 6);
  EXPECT_DOUBLE_EQ(value("rise_ttft_p99"), 5);
  EXPECT_NEAR(m.find(Layer::serving, "assistant", "rise_ttft_p99")->low, 0.5, 1e-9)
      << "a tenth at the least";
  EXPECT_NEAR(m.find(Layer::serving, "assistant", "ttft")->low, value("ttft") * 0.1, 1e-9);
  EXPECT_NEAR(value("kv_fetched"), (400 * 0.1 + 920 * 0.2) / 1320, 1e-9);
  EXPECT_NEAR(value("cache_found"), (400 * 0.2 + 920 * 0.4) / 1320, 1e-9);
}

// Latencies from 0 to 49 that four in two hundred have each, and one of 50.
processes::LoadWindow rising_level(double rate, double times) {
  processes::LoadWindow w{.rate = rate};
  for (processes::WindowPart& part : w.parts) {
    part.requests = 25;
    part.good = 0.5;
    for (std::size_t i = 0; i < processes::kLatencyPoints; ++i) {
      const double value = times * static_cast<double>((i + 1) / 4);
      part.ttft[i] = value;
      part.tpot[i] = value / 1000;
      part.whole[i] = 2 * value;
    }
  }
  return w;
}

processes::ServicePlan listed_service(const design::Serve& serve) {
  processes::ServicePlan p;
  p.job.serve = &serve;
  p.job.label = "chat";
  p.replicas = 4;
  p.least = 2;
  p.slots = 2;
  p.job.day.fill(2.3456);
  p.job.day[3] = 6.7891;
  p.capacity = 1.6;
  p.most = 1.8;
  p.job.start = seconds(90);
  p.windows.levels = {rising_level(1, 1)};
  p.windows.loss = rising_level(1, 3);
  p.windows.restarted = 7;
  return p;
}

TEST(WorkFiguresServices, every_figure_of_a_service) {
  HandMadeRun t;
  design::Serve serve;
  serve.model = "llama-3-8b";
  t.scenario.services.push_back(listed_service(serve));
  processes::ServiceOutcome o;
  o.time_ns[{.hour = 0, .standing = 4}] = 3000 * kSecondNs;
  o.time_ns[{.hour = 0, .standing = 1}] = 600 * kSecondNs;
  o.down_ns = 3 * 600 * kSecondNs;
  o.lost_replicas = 3;
  t.first().services = {o};
  t.tell_all();
  // One of four carries 1.8 of 2.3456 per second: that time does not count as carried.
  const double kept = 3000.0 / 3600;
  expect_list(t, Layer::serving, "chat",
              {{"ttft", 24.75},
               {"ttft_p99", 49},
               {"tpot", 0.02475},
               {"tpot_p99", 0.049},
               {"latency_p99", 98},
               {"requests_in_time", 0.5 * kept},
               {"loss_ttft_p99", 147},
               {"loss_in_time", 0.5},
               {"availability", kept},
               {"requests_carried", kept},
               {"replicas", 4},
               {"replicas_standing", 4 * (1 - 1800 / 14400.0)},
               {"replicas_lost", 3}});
  EXPECT_THAT(t.section(Layer::serving, "chat")->summary, testing::HasSubstr("2.35 to 6.79"));
  // 6.7891 / 4 / 1.6 of what each carries.
  EXPECT_THAT(t.section(Layer::serving, "chat")->limit, testing::HasSubstr("106 %"));
  const std::string& loss = t.figure(Layer::serving, "chat", "loss_ttft_p99")->formula;
  EXPECT_THAT(loss, testing::HasSubstr("7 requests"));
  EXPECT_THAT(loss, testing::HasSubstr("1.5 min"));
}

TEST(WorkFiguresServices, every_figure_of_an_autoscaled_service) {
  HandMadeRun t;
  design::Serve serve;
  serve.autoscale = design::Autoscale{.min = 2, .max = 4, .target = 12.345};
  t.scenario.services.push_back(listed_service(serve));
  processes::ServicePlan& p = t.scenario.services[0];
  p.ask.rise = processes::ServiceRise{.before = 2.3456, .after = 4.5678, .replicas = 3};
  p.windows.rise = rising_level(1, 10);
  processes::ServiceOutcome o;
  o.time_ns[{.hour = 0, .standing = 4}] = 3600 * kSecondNs;
  o.standing_ns = 9000 * kSecondNs;
  o.called = 11;
  t.first().services = {o};
  t.tell_all();
  Listed wanted = {{"latency_p99", 98},     {"requests_in_time", 0.5}, {"availability", 1},
                   {"requests_carried", 1}, {"replicas", 4},           {"replicas_standing", 2.5},
                   {"replicas_called", 11}, {"rise_ttft_p99", 490},    {"replicas_lost", 0}};
  expect_list(t, Layer::serving, "chat", wanted);
  EXPECT_EQ(t.figure(Layer::serving, "chat", "replicas_called")->formula,
            "from 2 to 4 replicas, 12.3 requests in flight each; a new one answers after 1.5 min");
  EXPECT_EQ(t.figure(Layer::serving, "chat", "rise_ttft_p99")->formula,
            "from 2.35 to 4.57 requests per second at once, 3 replicas before");
  p.windows.rise.reset();
  wanted.erase(wanted.begin() + 7);
  t.tell_all();
  expect_list(t, Layer::serving, "chat", wanted);
}

// A zone without simulated windows has no guest figures, whatever it held before.
TEST(WorkFiguresServices, zones_without_windows_have_no_guest_figures) {
  HandMadeRun t;
  design::Serve serve;
  serve.model = "llama-3-8b";
  processes::ServicePlan p = listed_service(serve);
  processes::ZoneFailover f{.region = {.ways = {{.to = 1, .round_trip = 0.05}}, .after = 45}};
  processes::GuestWindows seen{
      .guests = rising_level(1, 2), .hosts = rising_level(1, 4), .restarted = 5};
  f.hosts.push_back({.zone = 1, .rate = 3, .windows = seen});
  seen.guests = rising_level(1, 100);
  seen.restarted = 50;
  f.hosts.push_back({.zone = 2, .rate = 3, .windows = seen});
  f.hosts.back().windows.reset();
  p.failover = f;
  t.scenario.services = {p};
  processes::ServiceOutcome o;
  o.time_ns[{.hour = 0, .standing = 4}] = 3600 * kSecondNs;
  t.first().services = {o};
  t.tell_all();
  EXPECT_NEAR(t.value(Layer::serving, "chat", "failover_ttft_p99"), 98, 1e-9);
  EXPECT_NEAR(t.value(Layer::serving, "chat", "failover_hosts_ttft_p99"), 196, 1e-9);
  EXPECT_EQ(
      t.figure(Layer::serving, "chat", "failover_ttft_p99")->formula,
      "in the busiest hour; 5 requests start over at once, after 45 s, and 0 per second find no "
      "room");
  EXPECT_EQ(processes::ZoneFailover{}.refused, 0);
  EXPECT_EQ(processes::FailoverHost{}.rate, 0);
}

}  // namespace
}  // namespace orrery::run
