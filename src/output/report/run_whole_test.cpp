// What programs read of a run and of two runs, whole: nothing is left out and nothing is added.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "output/report/run_diff.h"
#include "output/report/run_report.h"
#include "output/report/view_run.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;

figures::Figure whole_figure(figures::FigureId kind, double value, double low, double high) {
  return {.kind = kind,
          .estimate = {.value = value, .low = low, .high = high},
          .formula = {},
          .inputs = {}};
}

world::RunEvent whole_event(double t_s, sim::TraceKind kind, const char* track, const char* name,
                            double value) {
  return {.at = sim::SimTime::from(Seconds(t_s)),
          .kind = kind,
          .track = track,
          .name = name,
          .value = value};
}

run::Run whole_run() {
  using enum sim::TraceKind;
  run::Run run{.design = "hall",
               .version = "3",
               .digest = "abc",
               .simulated = Seconds(600),
               .seed = 17,
               .events = 12345,
               .replications = 5,
               .is_whole = false,
               .accelerators = 16,
               .summary = "Ran."};
  run.goals = {{.text = "g1",
                .metric = "m1",
                .unit = figures::Unit::ratio,
                .actual = {0.9, 0.8, 0.95},
                .bound = 0.85,
                .met = true,
                .likely = true}};
  run.goals_left_to_plan = {"cost"};
  run.sections = {{.layer = figures::Layer::failure,
                   .name = "words",
                   .summary = "8 hosts",
                   .figures = {whole_figure(figures::FigureId::restart, 7, 5, 8)},
                   .limit = "repairs"},
                  {.layer = figures::Layer::cost, .name = "", .figures = {}}};
  run.gpu_seconds = {6000, 1000, 500, 400, 300, 1400};
  run.energy_j = 77;
  run.waterfalls = {{.job = "words",
                     .steps = {{cluster::Cause::productive, 0.75}, {cluster::Cause::lost, 0.25}}}};
  run.racks = {{"train", 2, 4, Watts(11), Watts(13), Watts(17)}};
  run.pdus = {{"train", 1, 8, Watts(19), Watts(23), Watts(29)}};
  run.infeasible = {"x cannot be"};
  run.diagnosis = "Idle.";
  run.notes = {"no rain"};
  run.log = {whole_event(1.5, begin, "words", "productive", -1),
             whole_event(2, instant, "train", "NIC", 3),
             whole_event(2.25, value, "words", "saves every, s", 30),
             whole_event(2.5, end, "words", "productive", -1)};
  return run;
}

TEST(run_whole, json_of_a_run) {
  EXPECT_EQ(Json::parse(console_json_of(whole_run())), Json::parse(R"({
    "schema_version": 1, "kind": "run", "design": "hall", "version": "3", "digest": "abc",
    "seed": 17, "simulated_s": 600, "events": 12345, "replications": 5, "is_whole": false,
    "passes": false, "summary": "Ran.",
    "goals": [{"text": "g1", "metric": "m1", "met": true, "met_over_interval": true,
               "bound": 0.85, "value": 0.9, "low": 0.8, "high": 0.95, "unit": "ratio"}],
    "goals_left_to_plan": ["cost"],
    "figures": [{"layer": "failure", "section": "words", "id": "restart", "label": "from a fault to useful work, mean",
                 "value": 7, "low": 5, "high": 8, "unit": "s"}],
    "limits": [{"layer": "failure", "section": "words", "limit": "repairs"}],
    "accelerators": 16,
    "gpu_seconds": {"productive": 6000, "stall": 1000, "checkpoint": 500, "lost": 400,
                    "restart": 300, "idle": 1400},
    "energy_j": 77,
    "waterfalls": [{"job": "words", "steps": [{"cause": "productive", "share": 0.75},
                                              {"cause": "work done again", "share": 0.25}]}],
    "racks": [{"fleet": "train", "number": 2, "hosts": 4, "mean_w": 11, "highest_w": 13,
               "limit_w": 17}],
    "pdus": [{"fleet": "train", "number": 1, "hosts": 8, "mean_w": 19, "highest_w": 23,
              "limit_w": 29}],
    "infeasible": ["x cannot be"], "diagnosis": "Idle.", "notes": ["no rain"]})"));
}

TEST(run_whole, passes_where_all_can_run_and_every_goal_is_met) {
  run::Run run = whole_run();
  const auto passes = [&run] { return Json::parse(console_json_of(run))["passes"].get<bool>(); };
  EXPECT_FALSE(passes());
  run.infeasible.clear();
  EXPECT_TRUE(passes());
  run.goals[0].met = false;
  EXPECT_FALSE(passes());
}

TEST(run_whole, trace_of_a_run) {
  EXPECT_EQ(Json::parse(trace_json(whole_run())), Json::parse(R"({
    "displayTimeUnit": "ms", "traceEvents": [
      {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "train"}},
      {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "words"}},
      {"ph": "B", "name": "productive", "pid": 1, "tid": 1, "ts": 1500000},
      {"ph": "i", "name": "NIC", "pid": 1, "tid": 2, "ts": 2000000, "s": "t"},
      {"ph": "C", "name": "saves every, s", "pid": 1, "tid": 1, "ts": 2250000,
       "args": {"value": 30}},
      {"ph": "E", "name": "productive", "pid": 1, "tid": 1, "ts": 2500000}]})"));
}

TEST(run_whole, events_of_a_run) {
  EXPECT_EQ(events_jsonl(whole_run()),
            "{\"t_s\":1.5,\"kind\":\"begin\",\"track\":\"words\",\"name\":\"productive\"}\n"
            "{\"t_s\":2,\"kind\":\"instant\",\"track\":\"train\",\"name\":\"NIC\",\"host\":3}\n"
            "{\"t_s\":2.25,\"kind\":\"value\",\"track\":\"words\",\"name\":\"saves every, s\","
            "\"value\":30}\n"
            "{\"t_s\":2.5,\"kind\":\"end\",\"track\":\"words\",\"name\":\"productive\"}\n");
}

TEST(run_whole, json_of_two_runs) {
  run::Run after = whole_run();
  after.design = "hall 2";
  after.simulated = Seconds(700);
  after.seed = 18;
  after.sections[0].figures = {whole_figure(figures::FigureId::restart, 9, 6, 11)};
  after.waterfalls[0].steps = {{cluster::Cause::productive, 0.5},
                               {cluster::Cause::lost, 0.125},
                               {cluster::Cause::save, 0.375}};
  run::Run before = whole_run();
  before.waterfalls.push_back({.job = "gone", .steps = {}});
  EXPECT_EQ(Json::parse(json_of(before, after)), Json::parse(R"({
    "schema_version": 1, "kind": "run_diff", "before": "hall", "after": "hall 2",
    "simulated_s": 700, "seed": 18,
    "jobs": [{"job": "words", "goodput_before_ratio": 0.75, "goodput_after_ratio": 0.5,
              "causes": [
                {"cause": "saving", "before_ratio": 0, "after_ratio": 0.375},
                {"cause": "work done again", "before_ratio": 0.25, "after_ratio": 0.125}]}],
    "figures": [{"layer": "failure", "section": "words", "id": "restart", "unit": "s",
                 "before": 7, "after": 9, "within_intervals": false}]})"));
}

// At its bounds a value is within.
TEST(run_whole, a_change_is_within_both_intervals_up_to_their_ends) {
  const auto within = [](double value, double low, double high) {
    run::Run after = whole_run();
    after.sections[0].figures = {whole_figure(figures::FigureId::restart, value, low, high)};
    return Json::parse(json_of(whole_run(), after))["figures"][0]["within_intervals"].get<bool>();
  };
  EXPECT_TRUE(within(8, 7, 9));  // 7 in 5 .. 8
  EXPECT_TRUE(within(5, 4, 7));
  EXPECT_FALSE(within(8.01, 7, 9));
  EXPECT_FALSE(within(4.99, 4, 7));
  EXPECT_FALSE(within(8, 7.01, 9));
  EXPECT_FALSE(within(5, 4, 6.99));
}

TEST(run_whole, a_timeline) {
  run::Run run = whole_run();
  run.fleets = {{.name = "other", .hosts = 1, .spares = 0, .accelerators_per_host = 4},
                {.name = "train", .hosts = 4, .spares = 2, .accelerators_per_host = 8}};
  run.jobs = {"first", "words"};
  run.log.push_back(whole_event(3, sim::TraceKind::instant, "nowhere", "NIC", 6));
  run.log.push_back(whole_event(4, sim::TraceKind::begin, "words", "unknown", -1));
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
  EXPECT_EQ(
      words[0],
      Json({{"name", "productive"}, {"share", "productive"}, {"about", "it steps and saves"}}));
}

TEST(run_whole, a_detection_that_nothing_came_before_has_no_reason) {
  run::Run run = whole_run();
  run.log = {whole_event(5, sim::TraceKind::begin, "words", "detection", -1)};
  EXPECT_EQ(Json::parse(run_timeline_json(run))["spans"]["why"], Json::array({-1}));
}

constexpr std::pair<const char*, const char*> kAbout[] = {
    {"productive", "it steps and saves"},
    {"waiting for samples", "it waits for samples"},
    {"storage on the compute wires", "storage traffic is on the compute wires"},
    {"slow hosts", "the slowest host sets the pace"},
    {"fewer replicas", "hosts are missing: it goes on with fewer replicas"},
    {"power cap", "it is slowed to stay under the site's power"},
    {"network paused", "a NIC pauses the network"},
    {"throttled by heat", "it is slowed: the cooling does not keep up"},
    {"saving", "it stands while it saves"},
    {"work done again", "work is done again"},
    {"detection", "a fault is there and nobody has seen it yet"},
    {"requeue", "the scheduler ends the run and readies another"},
    {"too few hosts", "too few hosts are left; it waits for one"},
    {"starting", "processes start, groups form, kernels compile"},
    {"restoring", "the checkpoint is read"},
    {"in repair", "the host is mended"},
    {"without power", "the site has no power for it"},
    {"in reserve", "the host stands by"},
    {"waiting for requests", "a replica stands and waits for requests"},
    {"free while jobs wait", "jobs wait, but it is not where or not as many as they need"},
    {"free", "nobody asks for it"}};

TEST(run_whole, every_cause_is_said_in_words) {
  const Json words = Json::parse(run_timeline_json(whole_run()))["words"];
  ASSERT_EQ(words.size(), std::size(kAbout));
  for (std::size_t i = 0; i < words.size(); ++i) {
    EXPECT_EQ(words[i]["name"], kAbout[i].first);
    EXPECT_EQ(words[i]["about"], kAbout[i].second);
  }
}

}  // namespace
}  // namespace orrery::report
