// `orrery bench`: the named benchmarks of bench/, one JSON object per line.
#include <algorithm>
#include <memory>

#include "app/cli/verb.h"
#include "bench/figure.h"
#include "core/base/json_writer.h"
#include "core/base/text.h"

namespace orrery::cli {
namespace {

struct BenchOptions {
  std::vector<std::string> names;
  bool list = false;
};

Result<std::vector<SpeedFigure>> chosen(const std::vector<std::string>& wanted) {
  std::vector<SpeedFigure> all = all_figures();
  if (wanted.empty()) return all;
  std::vector<std::string> known;
  for (const SpeedFigure& figure : all) known.push_back(figure.name);
  std::vector<SpeedFigure> picked;
  Diagnostics unknown;
  for (const std::string& name : wanted) {
    const auto found = std::ranges::find(all, name, &SpeedFigure::name);
    if (found != all.end()) {
      picked.push_back(*found);
      continue;
    }
    const auto near = nearest(name, known);
    unknown.push_back({.code = "bench.unknown",
                       .place = {},
                       .what = "there is no benchmark named " + name,
                       .why = {},
                       .fix = near ? "try " + *near : "`orrery bench --list` shows the names"});
  }
  if (!unknown.empty()) return std::unexpected(unknown);
  return picked;
}

ExitCode measure_all(const std::vector<SpeedFigure>& figures, Terminal& terminal) {
  for (const SpeedFigure& figure : figures) {
    if (terminal.interrupted()) return ExitCode::interrupted;
    const Result<double> value = figure.measure();
    if (!value) return refuse(terminal, value.error());
    JsonWriter json(0);
    json.begin_object()
        .field("name", figure.name)
        .field("value", *value)
        .field("unit", figure.unit)
        .end_object();
    terminal.out << json.text() << '\n' << std::flush;
  }
  return ExitCode::good;
}

ExitCode run_bench(const BenchOptions& options, Terminal& terminal) {
  const Result<std::vector<SpeedFigure>> figures = chosen(options.names);
  if (!figures) return refuse(terminal, figures.error());
  if (!options.list) return measure_all(*figures, terminal);
  for (const SpeedFigure& figure : *figures) {
    terminal.out << figure.name << "  [" << figure.unit << "]  " << figure.what << '\n';
  }
  return ExitCode::good;
}

}  // namespace

Verb bench_verb() {
  return {.name = "bench",
          .summary = "Measure the speed of Orrery itself; print one JSON object per line",
          .examples = {"orrery bench", "orrery bench --list", "orrery bench random_uniform"},
          .prepare = [](Arguments& arguments) -> Run {
            auto options = std::make_shared<BenchOptions>();
            arguments.positionals("NAME", options->names,
                                  "benchmarks to run; all if none is named");
            arguments.flag("--list", options->list, "list the names instead of measuring");
            return [options](Terminal& terminal) { return run_bench(*options, terminal); };
          }};
}

}  // namespace orrery::cli
