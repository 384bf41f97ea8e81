// `orrery diff A B`: two designs with attributed differences, fit for a pull request.
#include "plan/diff.h"

#include <memory>

#include "cli/session.h"
#include "cli/verb.h"
#include "report/diff_report.h"

namespace orrery::cli {
namespace {

struct DiffOptions {
  std::string before;
  std::string after;
  Format format = Format::text;
};

ExitCode run_diff(const DiffOptions& options, Terminal& terminal) {
  const auto models = shipped_models();
  if (!models) return refuse(terminal, models.error());
  const auto before = load_design(options.before, models->catalog(), terminal);
  const auto after = load_design(options.after, models->catalog(), terminal);
  Diagnostics faults;
  if (!before) faults.insert(faults.end(), before.error().begin(), before.error().end());
  if (!after) faults.insert(faults.end(), after.error().begin(), after.error().end());
  if (!faults.empty()) return refuse(terminal, faults);
  const plan::DesignDiff d = plan::compare(*before, *after, *models);
  switch (options.format) {
    case Format::json:
      terminal.out << report::json_of(d);
      break;
    case Format::markdown:
      terminal.out << to_markdown(report::document_of(d));
      break;
    case Format::html:
      terminal.out << to_html(report::document_of(d));
      break;
    default:
      terminal.out << to_text(report::document_of(d), terminal.style);
  }
  return d.passes_after ? ExitCode::good : ExitCode::fails_rule;
}

}  // namespace

Verb diff_verb() {
  return {.name = "diff",
          .summary = "Compare two designs: what differs, what it costs, which part did it",
          .examples = {"orrery diff before.yaml after.yaml",
                       "orrery diff before.yaml after.yaml --format markdown"},
          .prepare = [](Arguments& arguments) -> Run {
            auto options = std::make_shared<DiffOptions>();
            arguments.positional("BEFORE", options->before, "the design as it was");
            arguments.positional("AFTER", options->after, "the design as it would be");
            arguments.format(options->format,
                             {Format::text, Format::json, Format::markdown, Format::html});
            return [options](Terminal& terminal) { return run_diff(*options, terminal); };
          }};
}

}  // namespace orrery::cli
