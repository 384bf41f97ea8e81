// `orrery plan FILE`: reviews a design.
#include <memory>

#include "app/cli/session.h"
#include "app/cli/verb.h"
#include "output/report/verdict_report.h"
#include "plan/verdict/verdict.h"

namespace orrery::cli {
namespace {

struct PlanOptions {
  std::string design;
  Format format = Format::text;
  bool explain = false;
  bool brief = false;
  std::vector<std::string> calibrations;
};

std::string rendered(const verdict::Verdict& v, const PlanOptions& options,
                     const Terminal& terminal) {
  const report::Document document =
      report::document_of(v, {.explain = options.explain,
                              .brief = options.brief,
                              .sources = options.format != Format::text});
  switch (options.format) {
    case Format::text:
      return to_text(document, terminal.style);
    case Format::markdown:
      return to_markdown(document);
    case Format::html:
      return to_html(document);
    case Format::json:
      return report::json_of(v);
    case Format::csv:
      return report::csv_of(v);
  }
  return {};
}

ExitCode run_plan(const PlanOptions& options, Terminal& terminal) {
  const auto models = calibrated_models(options.calibrations, terminal);
  if (!models) return refuse(terminal, models.error());
  const auto design = load_design(options.design, models->catalog(), terminal);
  if (!design) return refuse(terminal, design.error());
  warn_of_unknown_tiers(*models, *design, options.calibrations, terminal);
  const verdict::Verdict verdict = verdict::verdict_of(*design, *models);
  terminal.out << rendered(verdict, options, terminal);
  return verdict.passes() ? ExitCode::good : ExitCode::fails_rule;
}

}  // namespace

Verb plan_verb() {
  return {
      .name = "plan",
      .summary = "Review a design: figures, limits, broken rules, goals and the next best spend",
      .examples = {"orrery plan my.yaml", "orrery plan my.yaml --brief",
                   "orrery plan my.yaml --explain",
                   "orrery plan my.yaml --format html > review.html"},
      .prepare = [](Arguments& arguments) -> Run {
        auto options = std::make_shared<PlanOptions>();
        arguments.positional("FILE", options->design, "design file");
        arguments.flag("--brief", options->brief,
                       "print only the verdict, the goals and what is broken");
        arguments.flag(
            "--explain", options->explain,
            "print formula, inputs and source of every figure, and sections that are all zero");
        arguments.option("--calibration", options->calibrations,
                         "file from `orrery calibrate` with parameters of your own machine or "
                         "storage; repeatable",
                         "FILE");
        arguments.format(options->format,
                         {Format::text, Format::json, Format::markdown, Format::html, Format::csv});
        return [options](Terminal& terminal) { return run_plan(*options, terminal); };
      }};
}

}  // namespace orrery::cli
