// For tests of the reports of runs: a run in which every number differs.
#pragma once

#include <nlohmann/json.hpp>

#include "core/base/csv.h"

namespace orrery::report {

inline world::RunEvent logged_event(double t_s, sim::TraceKind kind, const char* track,
                                    const char* name, double value) {
  return {.at = sim::SimTime::from(Seconds(t_s)),
          .kind = kind,
          .track = track,
          .name = name,
          .value = value};
}

inline figures::Figure run_figure(figures::FigureId kind, double value, double low, double high) {
  return {.kind = kind,
          .estimate = {.value = value, .low = low, .high = high},
          .formula = {},
          .inputs = {}};
}

inline run::Run example_run() {
  using enum sim::TraceKind;
  run::Run run{.design = "hall",
               .version = "3",
               .digest = "abc",
               .simulated = Seconds(600),
               .seed = 17,
               .events = 12345,
               .replications = 1,
               .accelerators = 16,
               .summary = "Ran."};
  run.goals = {{.text = "g1",
                .metric = "m1",
                .unit = figures::Unit::ratio,
                .actual = {0.9, 0.8, 0.95},
                .bound = 0.85,
                .met = true,
                .likely = false},
               {.text = "g2",
                .metric = "m2",
                .unit = figures::Unit::ratio,
                .actual = {0.5, 0.4, 0.6},
                .bound = 0.7}};
  run.goals_left_to_plan = {"cost <= 1 MUSD/y"};
  run.sections = {{.layer = figures::Layer::failure,
                   .name = "pretrain",
                   .summary = "8 hosts",
                   .figures = {run_figure(figures::FigureId::goodput, 0.9, 0.85, 0.92)},
                   .limit = "repairs"}};
  run.gpu_seconds = {6000, 1000, 500, 400, 300, 1400};  // 9,600 in all
  run.energy_j = 77;
  run.waterfalls = {{.job = "pretrain",
                     .steps = {{cluster::Cause::productive, 0.7},
                               {cluster::Cause::lost, 0.2},
                               {cluster::Cause::save, 0.1}}}};
  run.series = {.bin = Seconds(300), .columns = {"a, b", "c"}, .means = {{1, 2}, {3, 4}}};
  run.log = {logged_event(1.5, begin, "pretrain", "productive", -1),
             logged_event(2, instant, "train", "NIC", 5),
             logged_event(2, value, "pretrain", "saves every, s", 30),
             logged_event(2.5, end, "pretrain", "productive", -1)};
  return run;
}

inline run::Run stopped_run() {
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
                   .figures = {run_figure(figures::FigureId::restart, 7, 5, 8)},
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
  run.log = {logged_event(1.5, begin, "words", "productive", -1),
             logged_event(2, instant, "train", "NIC", 3),
             logged_event(2.25, value, "words", "saves every, s", 30),
             logged_event(2.5, end, "words", "productive", -1)};
  return run;
}

inline run::Run run_with(std::vector<figures::Figure> figures, double productive) {
  run::Run run{.design = "hall", .digest = "d", .simulated = Seconds(60), .seed = 3};
  run.sections = {{.layer = figures::Layer::failure, .name = "job", .figures = std::move(figures)}};
  run.waterfalls = {{.job = "job",
                     .steps = {{cluster::Cause::productive, productive},
                               {cluster::Cause::lost, 1 - productive}}}};
  return run;
}

}  // namespace orrery::report
