// The timeline of a run: every span has its reason, and what is told adds up to the run's own book.
#include "output/report/view_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "model/jobs/build_machine.h"
#include "output/report/view_fixture.h"
#include "twin/run/simulation.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;

world::RunEvent event(double t_s, sim::TraceKind kind, const char* track, const char* name,
                      double value = -1) {
  return {.at = sim::SimTime::from(Seconds(t_s)),
          .kind = kind,
          .track = track,
          .name = name,
          .value = value};
}

// A run that is struck at 100 s by host 3, struck again while it starts, and steps from 150 s on.
run::Run struck_twice() {
  using enum sim::TraceKind;
  run::Run run{.design = "d", .simulated = Seconds(200)};
  run.fleets = {{.name = "train", .hosts = 4, .spares = 1, .accelerators_per_host = 8}};
  run.jobs = {"pretrain"};
  run.log = {event(0, begin, "pretrain", "productive"),
             event(0, value, "pretrain", "saves every, s", 30),
             event(50, instant, "train", "host repaired", 1),
             event(100, instant, "train", "faulty GPU", 3),
             event(100, end, "pretrain", "productive"),
             event(100, begin, "pretrain", "detection"),
             event(110, end, "pretrain", "detection"),
             event(110, begin, "pretrain", "too few hosts"),
             event(110, end, "pretrain", "too few hosts"),
             event(110, begin, "pretrain", "starting"),
             event(120, instant, "train", "NIC", 2),
             event(120, end, "pretrain", "starting"),
             event(120, begin, "pretrain", "detection"),
             event(130, instant, "train", "lemon", 1),
             event(140, end, "pretrain", "detection"),
             event(140, begin, "pretrain", "restoring"),
             event(150, end, "pretrain", "restoring"),
             event(150, begin, "pretrain", "productive")};
  run.host_log = {
      {.at = sim::SimTime::from(Seconds(0)), .host = 3, .mark = world::HostMark::held, .holder = 0},
      {.at = sim::SimTime::from(Seconds(100)), .host = 3, .mark = world::HostMark::repair}};
  return run;
}

TEST(ViewRun, a_span_of_an_outage_has_the_fault_that_began_it) {
  const Json view = Json::parse(run_timeline_json(struck_twice()));
  // Steps, detection, starting, detection, restoring, steps; what took no time is gone.
  EXPECT_EQ(view["spans"]["begin_s"], Json({0.0, 100.0, 110.0, 120.0, 140.0, 150.0}));
  EXPECT_EQ(view["spans"]["end_s"], Json({100.0, 110.0, 120.0, 140.0, 150.0, 200.0}));
  EXPECT_EQ(view["spans"]["why"], Json({-1, 1, 1, 2, 2, -1}));
  EXPECT_EQ(view["spans"]["saves_every_s"], Json({30.0, 0.0, 0.0, 0.0, 0.0, 0.0}));
  const auto name = [&](int i) {
    return view["point_names"][view["points"]["name"][i].get<std::size_t>()];
  };
  EXPECT_EQ(name(1)["name"], "faulty GPU");
  EXPECT_EQ(name(2)["name"], "NIC");
  EXPECT_EQ(name(0)["kind"], "repaired");
  EXPECT_EQ(name(1)["kind"], "fault");
  EXPECT_EQ(name(3)["kind"], "lemon");
  EXPECT_EQ(view["points"]["host"], Json({1, 3, 2, 1}));
}

TEST(ViewRun, words_have_their_share_and_hosts_their_holder) {
  const Json view = Json::parse(run_timeline_json(struck_twice()));
  for (std::size_t i = 0; i < view["words"].size(); ++i) {
    EXPECT_FALSE(view["words"][i]["about"].get<std::string>().empty()) << i;
  }
  const auto word = [&](int span) {
    return view["words"][view["spans"]["word"][span].get<std::size_t>()];
  };
  EXPECT_EQ(word(1)["name"], "detection");
  EXPECT_EQ(word(1)["share"], "restart");
  EXPECT_EQ(word(4)["name"], "restoring");
  EXPECT_EQ(view["hosts"]["holder"], Json({0, -3}));
  EXPECT_EQ(view["fleets"][0]["spares"], 1);
}

TEST(ViewRun, levels_are_named_by_what_they_are) {
  run::Run run = struck_twice();
  run.series = {.bin = Seconds(100),
                .columns = {"productive_accelerators", "main_it_w", "waiting_jobs"},
                .means = {{8, 1000, 2}, {4, 500, 0}}};
  const Json columns = Json::parse(run_timeline_json(run))["series"]["columns"];
  ASSERT_EQ(columns.size(), 3U);
  EXPECT_EQ(columns[0]["label"], "productive");
  EXPECT_EQ(columns[0]["kind"], "share");
  EXPECT_EQ(columns[1]["kind"], "power");
  EXPECT_EQ(columns[1]["means"], Json({1000.0, 500.0}));
  EXPECT_EQ(columns[2]["kind"], "level");
}

// A real run: spans of a job do not overlap, hosts are where the ledger says, and the spans of a
// cause add up to what the run says the cause took.
TEST(ViewRun, tells_what_the_run_booked) {
  const machine::Machine machine =
      jobs::build_machine(template_design("superpod-h100"), machine::known());
  const run::Simulation simulation(machine, {.horizon = days(20), .seed = 3, .replications = 1});
  const auto done = simulation.replicate(0);
  ASSERT_TRUE(done);
  const run::Run run = simulation.run_of(std::span(&*done, 1));
  const Json view = Json::parse(run_timeline_json(run));
  const Json& spans = view["spans"];
  ASSERT_GT(spans["track"].size(), 10U);
  std::vector<double> last(view["tracks"].size(), 0);
  std::vector<double> sum(view["words"].size(), 0);
  std::size_t reasons = 0;
  for (std::size_t i = 0; i < spans["track"].size(); ++i) {
    double& before = last[spans["track"][i].get<std::size_t>()];
    const double begin = spans["begin_s"][i], end = spans["end_s"][i];
    EXPECT_GE(begin, before) << i;
    EXPECT_GT(end, begin) << i;
    before = end;
    const auto word = spans["word"][i].get<std::size_t>();
    sum[word] += end - begin;
    const int why = spans["why"][i];
    const bool is_detection = word == cluster::at(cluster::Cause::detect);
    EXPECT_TRUE(!is_detection || why >= 0) << "a detection without a fault, span " << i;
    if (is_detection) {
      EXPECT_EQ(view["points"]["t_s"][static_cast<std::size_t>(why)].get<double>(), begin);
      ++reasons;
    }
  }
  ASSERT_EQ(done->jobs.size(), 1U);
  EXPECT_EQ(reasons, done->jobs[0].interruptions);
  for (const cluster::Cause c :
       {cluster::Cause::detect, cluster::Cause::restore, cluster::Cause::start}) {
    EXPECT_NEAR(sum[cluster::at(c)],
                static_cast<double>(done->jobs[0].time_ns[cluster::at(c)]) / 1e9, 1e-3);
  }
}

// At every change the hosts that the run holds are as many as it asked for, or fewer in an outage.
TEST(ViewRun, a_host_is_one_runs_at_a_time) {
  const machine::Machine machine =
      jobs::build_machine(template_design("superpod-h100"), machine::known());
  const run::Simulation simulation(machine, {.horizon = days(20), .seed = 3, .replications = 1});
  const auto done = simulation.replicate(0);
  ASSERT_TRUE(done);
  std::map<std::uint32_t, int> holder;
  std::ptrdiff_t most = 0;
  for (const world::HostChange& c : done->host_log) {
    if (c.mark == world::HostMark::held) {
      EXPECT_EQ(holder.contains(c.host), false) << "host " << c.host << " is held twice";
      holder[c.host] = c.holder;
    } else {
      holder.erase(c.host);
    }
    most =
        std::max(most, std::ranges::count(holder, 0, &std::pair<const std::uint32_t, int>::second));
  }
  EXPECT_EQ(most, simulation.scenario().trains[0].hosts);
}

}  // namespace
}  // namespace orrery::report
