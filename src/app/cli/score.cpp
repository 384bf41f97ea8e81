// `orrery score KIND FILE.csv`: compares predictions with measured rows.
#include "study/score/score.h"

#include <algorithm>
#include <memory>

#include "app/cli/session.h"
#include "app/cli/verb.h"
#include "core/base/text.h"
#include "core/catalog/config_json.h"
#include "study/score/collectives_fit.h"
#include "study/score/serving_refit.h"
#include "study/score/training_explain.h"
#include "study/score/training_held_out.h"

namespace orrery::cli {
namespace {

struct ScoreOptions {
  std::string kind;
  std::string file;
  std::optional<std::string> models;
  std::optional<std::string> logs;
  std::optional<std::string> tests;
  bool predict = false;
  std::string leave_out;               // what each fold leaves out; empty: the shipped parameters
  std::optional<std::string> explain;  // id of a row
  Format format = Format::text;
};

// Returns the file of a model: "Qwen/Qwen3-8B" is DIR/Qwen--Qwen3-8B.json.
std::string model_path(const std::string& directory, std::string_view id) {
  std::string name;
  for (char c : id) {
    if (c == '/') {
      name += "--";
    } else {
      name += c;
    }
  }
  return directory + "/" + name + ".json";
}

constexpr std::string_view kEveryWay = "all";
constexpr std::string_view kBySystem = "system";

// Returns a progress line: one fit per fold takes a second.
score::FoldProgress fold_progress(Terminal& terminal) {
  return [&terminal](int done, int all) {
    if (!terminal.err_is_tty) return;
    terminal.err << "\rfold " << done + 1 << " of " << all << (done + 1 == all ? "\n" : "")
                 << std::flush;
  };
}

Result<score::Score> scored(const ScoreOptions& options, const CsvTable& table,
                            const score::ScoreInputs& inputs, Terminal& terminal) {
  if (options.kind == "serving" && options.leave_out == "model") {
    return score_serving_held_out(table, inputs);
  }
  if (const auto by = from_word<score::LeaveOut>(options.leave_out)) {
    return score_training_held_out(table, inputs, *by, fold_progress(terminal));
  }
  const auto kinds = score::score_kinds();
  return std::ranges::find(kinds, std::string_view(options.kind), &score::ScoreKind::name)
      ->score(table, inputs);
}

ExitCode say(const Result<std::string>& text, Terminal& terminal) {
  if (!text) return refuse(terminal, text.error());
  terminal.out << *text;
  return ExitCode::good;
}

ExitCode only_for_training(const ScoreOptions& options, Terminal& terminal) {
  return refuse(terminal,
                {{.code = "score.kind",
                  .what = "--leave-out or --explain does not apply to rows of " + options.kind,
                  .why = "--leave-out takes model, source, gpu, release or framework for training, "
                         "model for serving and system for collectives",
                  .fix = "write `orrery score training FILE` or --leave-out system"}});
}

ExitCode run_score(const ScoreOptions& options, Terminal& terminal) {
  const auto models = shipped_models();
  if (!models) return refuse(terminal, models.error());
  const auto text = terminal.read_file(options.file);
  if (!text) return refuse(terminal, text.error());
  const auto table = CsvTable::parse(*text, options.file);
  if (!table) return refuse(terminal, table.error());
  score::ScoreInputs inputs{*models, nullptr};
  if (options.models) {
    inputs.model = [&](std::string_view id) -> std::optional<catalog::ModelShape> {
      const auto config = terminal.read_file(model_path(*options.models, id));
      if (!config) return std::nullopt;
      auto shape = catalog::model_from_config_json(*config, std::string(id));
      if (!shape) {
        terminal.err << to_text(shape.error()) << '\n';
        return std::nullopt;
      }
      return *shape;
    };
  }
  if (options.logs) {
    inputs.log = [&](std::string_view name) -> std::optional<std::string> {
      const auto log = terminal.read_file(*options.logs + "/" + std::string(name));
      return log ? std::optional(*log) : std::nullopt;
    };
  }
  std::optional<CsvTable> tests;
  if (options.tests) {
    const auto settings = terminal.read_file(*options.tests);
    if (!settings) return refuse(terminal, settings.error());
    auto read = CsvTable::parse(*settings, *options.tests);
    if (!read) return refuse(terminal, read.error());
    tests = std::move(*read);
    inputs.tests = &*tests;
  }
  if (options.kind == "collectives" && options.leave_out == kBySystem) {
    return say(collectives_markdown(*table, inputs, fold_progress(terminal)), terminal);
  }
  const bool serving_folds = options.kind == "serving" && options.leave_out == "model";
  const bool of_training = (!options.leave_out.empty() && !serving_folds) || options.explain;
  if (of_training && (options.kind != "training" || options.leave_out == kBySystem)) {
    return only_for_training(options, terminal);
  }
  if (options.explain) {
    return say(score::explain_training_row(*table, inputs, *options.explain), terminal);
  }
  if (options.leave_out == kEveryWay) {
    return say(held_out_markdown(*table, inputs, fold_progress(terminal)), terminal);
  }
  const auto score = scored(options, *table, inputs, terminal);
  if (!score) return refuse(terminal, score.error());
  if (options.predict) {
    terminal.out << score_predictions_csv(*score);
  } else if (options.format == Format::json) {
    terminal.out << score_json(*score);
  } else if (options.format == Format::markdown) {
    terminal.out << score_markdown(*score);
  } else {
    terminal.out << score_text(*score);
  }
  return ExitCode::good;
}

}  // namespace

Verb score_verb() {
  return {
      .name = "score",
      .summary = "Score predictions against measured rows",
      .examples = {"orrery score training rows.csv --format json",
                   "orrery score training rows.csv --predict --models configs",
                   "orrery score training rows.csv --explain bridge_166",
                   "orrery score requests data/validation/request_logs.csv --logs logs",
                   "orrery score training data/validation/training.csv --leave-out all"},
      .prepare = [](Arguments& arguments) -> Run {
        auto options = std::make_shared<ScoreOptions>();
        std::vector<std::string> names;
        for (const score::ScoreKind& kind : score::score_kinds()) names.emplace_back(kind.name);
        arguments.positional_choice("KIND", options->kind, names, "kind of measurement");
        arguments.positional("FILE", options->file, "CSV file in the layout of data/validation");
        arguments.option("--models", options->models,
                         "folder of config.json files for models that the catalog lacks", "DIR");
        arguments.option("--logs", options->logs, "requests: folder of the logs that the rows name",
                         "DIR");
        arguments.option("--tests", options->tests,
                         "serving: settings of tests whose rows do not state them", "FILE");
        arguments.flag("--predict", options->predict,
                       "print the predictions as CSV; the measured columns may be blank");
        arguments.choice(
            "--leave-out", options->leave_out,
            {"model", "source", "gpu", "release", "framework", "all", "system"},
            "predict each row with parameters fitted without its group. training: all makes a "
            "table of the first four (a minute); collectives: system; serving: model (minutes)");
        arguments.option("--explain", options->explain,
                         "training: compare the parts of one row's step with its measurement",
                         "ID");
        arguments.format(options->format, {Format::text, Format::json, Format::markdown});
        return [options](Terminal& terminal) { return run_score(*options, terminal); };
      }};
}

}  // namespace orrery::cli
