#include "output/report/view_run.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "model/jobs/build_machine.h"
#include "output/report/run_fixture.h"
#include "output/report/view_fixture.h"
#include "twin/run/simulation.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;

world::RunEvent run_event(double t, sim::TraceKind kind, const char* track, const char* name,
                          double value = -1) {
  return {.at = sim::SimTime::from(Seconds(t)),
          .kind = kind,
          .track = track,
          .name = name,
          .value = value};
}

run::Run run_with_log(std::vector<world::RunEvent> log) {
  run::Run run{.design = "d", .simulated = Seconds(100)};
  run.fleets = {{.name = "train", .hosts = 4, .spares = 1, .accelerators_per_host = 8}};
  run.jobs = {"job"};
  run.log = std::move(log);
  return run;
}

TEST(ViewRun, a_timeline_has_spans_with_cause_and_fault) {
  run::Run run = stopped_run();
  run.fleets = {{.name = "other", .hosts = 1, .spares = 0, .accelerators_per_host = 4},
                {.name = "train", .hosts = 4, .spares = 2, .accelerators_per_host = 8}};
  run.jobs = {"first", "words"};
  run.log.push_back(logged_event(3, sim::TraceKind::instant, "nowhere", "NIC", 6));
  run.log.push_back(logged_event(4, sim::TraceKind::begin, "words", "unknown", -1));
  run.host_log = {{.at = sim::SimTime::from(Seconds(7.5)),
                   .fleet = 1,
                   .host = 3,
                   .mark = world::HostMark::held,
                   .holder = 1}};
  run.series = {.bin = Seconds(300), .columns = {"main_it_w"}, .means = {{1.5}, {2.5}}};
  run.log_left_out = 9;
  Json view = Json::parse(run_timeline_json(run));
  const Json words = view["words"];
  view.erase("words");
  EXPECT_EQ(view, Json::parse(R"({
    "schema_version": 1, "kind": "timeline", "design": "hall", "simulated_s": 600, "seed": 17,
    "accelerators": 16, "tracks": ["first", "words"],
    "spans": {"track": [1, 1], "begin_s": [1.5, 4], "end_s": [2.5, 600], "word": [0, 20],
              "why": [-1, -1], "saves_every_s": [30, 0]},
    "point_names": [{"name": "NIC", "kind": "fault"}],
    "points": {"t_s": [2, 3], "fleet": [1, -1], "host": [3, 6], "name": [0, 0]},
    "fleets": [{"name": "other", "hosts": 1, "spares": 0, "accelerators_per_host": 4},
               {"name": "train", "hosts": 4, "spares": 2, "accelerators_per_host": 8}],
    "hosts": {"t_s": [7.5], "fleet": [1], "host": [3], "holder": [1]},
    "series": {"bin_s": 300, "columns": [{"name": "main_it_w", "label": "main", "kind": "power",
                                          "means": [1.5, 2.5]}]},
    "left_out": 9})"));
  ASSERT_EQ(words.size(), 21U);
  EXPECT_EQ(words[0]["name"], "productive");
  EXPECT_FALSE(words[0]["about"].empty());
}

TEST(ViewRun, a_detection_without_a_fault_has_no_reason) {
  run::Run run = stopped_run();
  run.log = {logged_event(5, sim::TraceKind::begin, "words", "detection", -1)};
  EXPECT_EQ(Json::parse(run_timeline_json(run))["spans"]["why"], Json::array({-1}));
}

// A detection without a fault at the same instant has no reason, and a reason ends with the outage.
TEST(ViewRun, a_reason_lasts_until_the_run_steps_again) {
  using enum sim::TraceKind;
  const Json v = Json::parse(run_timeline_json(run_with_log(
      {run_event(5, instant, "train", "NIC", 2), run_event(10, begin, "job", "detection"),
       run_event(20, end, "job", "detection"), run_event(20, begin, "job", "productive"),
       run_event(30, instant, "train", "faulty GPU", 1), run_event(30, end, "job", "productive"),
       run_event(30, begin, "job", "detection"), run_event(40, end, "job", "detection"),
       run_event(40, begin, "job", "productive"), run_event(50, end, "job", "productive"),
       run_event(50, begin, "job", "too few hosts")})));
  EXPECT_EQ(v["spans"]["why"], Json({-1, -1, 1, -1, -1}));
  EXPECT_EQ(v["spans"]["end_s"].back(), 100.0);
}

TEST(ViewRun, a_host_held_by_other_work_belongs_to_no_run) {
  run::Run run = run_with_log({});
  const auto at = [](double t) { return sim::SimTime::from(Seconds(t)); };
  run.host_log = {{.at = at(0), .host = 1, .mark = world::HostMark::held, .holder = 0},
                  {.at = at(1), .host = 1, .mark = world::HostMark::held, .holder = -1},
                  {.at = at(2), .host = 1, .mark = world::HostMark::free},
                  {.at = at(3), .host = 1, .mark = world::HostMark::reserve},
                  {.at = at(4), .host = 1, .mark = world::HostMark::repair}};
  EXPECT_EQ(Json::parse(run_timeline_json(run))["hosts"]["holder"], Json({0, -4, -1, -2, -3}));
}

world::RunEvent event(double t_s, sim::TraceKind kind, const char* track, const char* name,
                      double value = -1) {
  return {.at = sim::SimTime::from(Seconds(t_s)),
          .kind = kind,
          .track = track,
          .name = name,
          .value = value};
}

// Returns a run that is hit at 100 s by a fault of host 3, hit again while it starts, and steps
// from 150 s on.
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

TEST(ViewRun, an_outage_span_has_its_fault) {
  const Json view = Json::parse(run_timeline_json(struck_twice()));
  // Steps, detection, starting, detection, restoring, steps; spans without duration are removed.
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

TEST(ViewRun, causes_have_shares_and_hosts_have_holders) {
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

TEST(ViewRun, levels_have_names) {
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

// A real run: spans of a job do not overlap, hosts are where the record says, and the spans of a
// cause add up to the time of that cause.
TEST(ViewRun, all_booked_time_is_shown) {
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
    const bool is_detection = word == world::at(cluster::Cause::detect);
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
    EXPECT_NEAR(sum[world::at(c)], static_cast<double>(done->jobs[0].time_ns[world::at(c)]) / 1e9,
                1e-3);
  }
}

// At every change the run holds as many hosts as it requested, or fewer during an outage.
TEST(ViewRun, a_host_belongs_to_one_run_at_a_time) {
  const machine::Machine machine =
      jobs::build_machine(template_design("superpod-h100"), machine::known());
  const run::Simulation simulation(machine, {.horizon = days(20), .seed = 3, .replications = 1});
  const auto done = simulation.replicate(0);
  ASSERT_TRUE(done);
  std::map<std::uint32_t, int> holder;
  std::ptrdiff_t most = 0;
  for (const world::HostChange& c : done->host_log) {
    if (c.mark == world::HostMark::held) {
      EXPECT_EQ(holder.contains(c.host), false) << "host " << c.host;
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
