// `orrery calibrate FILE`: fits parameters to measurements: an accelerator's kernels from a GPU
// probe's CSV, a tier's rates from a storage probe's JSON or DLIO's summary.json, the training
// parameters from rows of training runs, the serving parameters from rows of serving tests.
#include "study/score/calibrate.h"

#include <memory>
#include <vector>

#include "app/cli/session.h"
#include "app/cli/verb.h"
#include "core/base/text.h"
#include "study/score/collectives_fit.h"
#include "study/score/dlio_summary.h"
#include "study/score/serving_refit.h"
#include "study/score/storage_probe.h"
#include "study/score/training_held_out.h"

namespace orrery::cli {
namespace {

struct CalibrateOptions {
  std::string file;
  std::optional<std::string> accelerator;
  std::optional<std::string> tier;
  std::optional<std::string> part;
  bool whole_tier = false;
  bool adjust = false;
};

// Returns the accelerator that a device name belongs to: "NVIDIA H200" is h200-sxm. Prefers the SXM
// board; returns nullptr if none fits.
const catalog::Accelerator* accelerator_named(const catalog::Catalog& catalog,
                                              std::string_view gpu) {
  std::string name = lowered(gpu);
  if (name.starts_with("nvidia ")) name.erase(0, 7);
  const std::string word = name.substr(0, name.find_first_of(" -"));
  if (word.empty()) return nullptr;
  if (const catalog::Accelerator* sxm = catalog.accelerator(word + "-sxm")) return sxm;
  for (const catalog::Accelerator& a : catalog.accelerators) {
    if (a.id == word || a.id.starts_with(word + "-")) return &a;
  }
  return nullptr;
}

Result<const catalog::Accelerator*> chosen(const catalog::Catalog& catalog,
                                           const CalibrateOptions& options, const CsvTable& probe) {
  const catalog::Accelerator* found = nullptr;
  if (options.accelerator) {
    found = catalog.accelerator(*options.accelerator);
  } else if (!probe.rows().empty()) {
    found = accelerator_named(catalog, probe.text(probe.rows().front(), "gpu"));
  }
  if (found) return found;
  return fail({.severity = Severity::error,
               .code = "calibrate.accelerator",
               .place = {.file = options.file, .line = 0, .column = 0},
               .what = "the measured device matches no accelerator in the catalog",
               .why = "its peak rates and memory bandwidth come from the catalog",
               .fix = "give --accelerator ID; `orrery catalog accelerators` lists them"});
}

ExitCode no_tier_named(const CalibrateOptions& options, Terminal& terminal) {
  return refuse(terminal, {{.code = "calibrate.tier",
                            .place = {.file = options.file},
                            .what = "the tier that was measured is not named",
                            .why = "a path alone does not say which tier of the design it is",
                            .fix = "add --tier NAME with the name of a tier in the design"}});
}

ExitCode calibrate_dlio(const CalibrateOptions& options, const std::string& text,
                        Terminal& terminal) {
  if (!options.tier) return no_tier_named(options, terminal);
  const auto found = score::calibrate_from_dlio(text, options.file, *options.tier);
  if (!found) return refuse(terminal, found.error());
  terminal.err << score::tier_calibration_text(found->tier);
  for (const std::string& why : found->left_out) terminal.err << "  left out: " << why << '\n';
  terminal.out << score::tier_calibration_csv(found->tier);
  return ExitCode::good;
}

ExitCode calibrate_tier(const CalibrateOptions& options, const std::string& text,
                        Terminal& terminal) {
  const auto probe = score::read_storage_probe(text, options.file);
  if (!probe) return refuse(terminal, probe.error());
  if (!options.tier) return no_tier_named(options, terminal);
  const auto tier = tier_measurement(*probe, {*options.tier, options.whole_tier});
  if (!tier) return refuse(terminal, tier.error());
  terminal.err << score::tier_calibration_text(*tier);
  terminal.out << score::tier_calibration_csv(*tier);
  return ExitCode::good;
}

// Prints the files of data/calibration that fit these rows, one after the other, or only --part.
ExitCode calibrate_training(const CalibrateOptions& options, const CsvTable& rows,
                            const machine::Models& models, Terminal& terminal) {
  if (options.part == "intervals") {
    const auto file = score::fitted_intervals(rows, {models, nullptr});
    if (!file) return refuse(terminal, file.error());
    terminal.out << file->text;
    return ExitCode::good;
  }
  const auto files =
      score::refitted_files(rows, {models, nullptr}, options.file,
                            options.adjust ? score::FitFrom::shipped : score::FitFrom::priors);
  if (!files) return refuse(terminal, files.error());
  std::string parts;
  for (const score::CalibrationFile& file : *files) {
    const std::string part = file.path.substr(file.path.find('_') + 1);
    if (options.part && part == *options.part + ".csv") {
      terminal.out << file.text;
      return ExitCode::good;
    }
    if (!options.part) terminal.out << "# data/" << file.path << '\n' << file.text;
    parts += (parts.empty() ? "" : ", ") + part.substr(0, part.find('.'));
  }
  if (!options.part) return ExitCode::good;
  return refuse(terminal, {{.code = "calibrate.part",
                            .what = "there is no part named '" + *options.part + "'",
                            .fix = "one of " + parts + ", intervals"}});
}

ExitCode run_calibrate(const CalibrateOptions& options, Terminal& terminal) {
  const auto text = terminal.read_file(options.file);
  if (!text) return refuse(terminal, text.error());
  if (score::looks_like_dlio_summary(*text)) return calibrate_dlio(options, *text, terminal);
  if (score::looks_like_storage_probe(*text)) return calibrate_tier(options, *text, terminal);
  const auto shipped = shipped_models();
  if (!shipped) return refuse(terminal, shipped.error());
  const auto probe = CsvTable::parse(*text, options.file);
  if (!probe) return refuse(terminal, probe.error());
  if (probe->column("tokens_per_s_per_gpu")) {
    return calibrate_training(options, *probe, *shipped, terminal);
  }
  if (probe->column("silicon_tpot_ms") || probe->column("metric")) {
    terminal.out << score::refitted_tuning_csv(*probe, {*shipped, nullptr});
    return ExitCode::good;
  }
  if (probe->column("busbw_GBps_oop")) {
    const auto file = score::fitted_collectives(*probe, {*shipped, nullptr});
    if (!file) return refuse(terminal, file.error());
    terminal.out << *file;
    return ExitCode::good;
  }
  const auto accelerator = chosen(shipped->catalog(), options, *probe);
  if (!accelerator) return refuse(terminal, accelerator.error());
  const auto report = score::calibrate(*probe, **accelerator, shipped->kernels);
  if (!report) return refuse(terminal, report.error());
  terminal.err << calibration_text(*report);
  terminal.out << calibration_csv(*report);
  return ExitCode::good;
}

}  // namespace

Verb calibrate_verb() {
  return {
      .name = "calibrate",
      .summary = "Fit parameters of an accelerator, a storage tier or training to measurements",
      .examples = {"orrery calibrate probe.csv > mine.csv",
                   "orrery calibrate storage.json --tier hot > hot.csv",
                   "orrery calibrate results/summary.json --tier hot > hot.csv",
                   "orrery plan my.yaml --calibration mine.csv --calibration hot.csv",
                   "orrery calibrate data/validation/training.csv --part frameworks"},
      .prepare = [](Arguments& arguments) -> Run {
        auto options = std::make_shared<CalibrateOptions>();
        arguments.positional("FILE", options->file,
                             "output of `orrery probe gpu` or `orrery probe storage --format "
                             "json`, DLIO's summary.json, or rows of training runs or collectives "
                             "in the layout of data/validation");
        arguments.option("--accelerator", options->accelerator,
                         "catalog id of the accelerator, if the name in FILE does not identify it",
                         "ID");
        arguments.option("--tier", options->tier, "tier of the design that was measured", "NAME");
        arguments.flag("--whole-tier", options->whole_tier,
                       "the probe had the shared tier to itself: fit its throughput too");
        arguments.flag("--adjust", options->adjust,
                       "training rows: start from the shipped parameters and change only those "
                       "that these rows determine");
        arguments.option(
            "--part", options->part,
            "training rows: print only this part of the fit: frameworks, accelerators, releases, "
            "seen or intervals (takes a minute: it refits with one group left out at a time)",
            "NAME");
        return [options](Terminal& terminal) { return run_calibrate(*options, terminal); };
      }};
}

}  // namespace orrery::cli
