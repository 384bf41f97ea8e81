// `orrery score KIND FILE.csv`: predictions against measured rows.
#include "score/score.h"

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "catalog/config_json.h"
#include "cli/session.h"
#include "cli/verb.h"
#include "score/training_refit.h"

namespace orrery::cli {
namespace {

struct ScoreOptions {
  std::string kind;
  std::string file;
  std::optional<std::string> models;
  bool predict = false;
  std::string leave_out;  // column whose values are the folds; empty: the shipped parameters
  Format format = Format::text;
};

// "Qwen/Qwen3-8B" is read from DIR/Qwen--Qwen3-8B.json.
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

// One fit a fold takes seconds: a person waiting sees them pass.
Result<score::Score> scored(const ScoreOptions& options, const CsvTable& table,
                            const score::ScoreInputs& inputs, Terminal& terminal) {
  if (options.leave_out.empty()) {
    const auto kinds = score::score_kinds();
    return std::ranges::find(kinds, std::string_view(options.kind), &score::ScoreKind::name)
        ->score(table, inputs);
  }
  const auto progress = [&](int done, int all) {
    if (terminal.err_is_tty) terminal.err << "\rfold " << done + 1 << " of " << all << std::flush;
  };
  auto score = score_training_held_out(table, inputs, options.leave_out, progress);
  if (terminal.err_is_tty) terminal.err << '\n';
  return score;
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
  return {.name = "score",
          .summary = "Score predictions against measured rows",
          .examples = {"orrery score training rows.csv --format json",
                       "orrery score training rows.csv --predict --models configs"},
          .prepare = [](Arguments& arguments) -> Run {
            auto options = std::make_shared<ScoreOptions>();
            std::vector<std::string> names;
            for (const score::ScoreKind& kind : score::score_kinds()) names.emplace_back(kind.name);
            arguments.positional_choice("KIND", options->kind, names, "what the rows measure");
            arguments.positional("FILE", options->file, "rows in the layout of data/validation");
            arguments.option("--models", options->models,
                             "folder of config.json files for models the catalog lacks", "DIR");
            arguments.flag("--predict", options->predict,
                           "print the predictions as CSV; measured columns may be blank");
            arguments.choice("--leave-out", options->leave_out, {"model", "gpu", "framework"},
                             "training: predict each with parameters fitted without it");
            arguments.format(options->format, {Format::text, Format::json, Format::markdown});
            return [options](Terminal& terminal) { return run_score(*options, terminal); };
          }};
}

}  // namespace orrery::cli
