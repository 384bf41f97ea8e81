#include "app/cli/session.h"

#include <filesystem>

#include "core/catalog/embedded.h"
#include "model/design_text/read_design.h"
#include "study/score/calibrate.h"

namespace orrery::cli {
Result<catalog::Knowledge> shipped_knowledge() { return load_knowledge(catalog::embedded_files()); }

Result<machine::Models> shipped_models() { return machine::load_models(catalog::embedded_files()); }

Result<machine::Models> calibrated_models(const std::vector<std::string>& calibrations,
                                          Terminal& terminal) {
  auto all = shipped_models();
  if (!all) return all;
  Diagnostics faults;
  for (const std::string& file : calibrations) {
    const auto text = terminal.read_file(file);
    const auto laid = text ? score::lay_calibration_over(*text, file, *all)
                           : Result<void>(std::unexpected(text.error()));
    if (!laid) faults.insert(faults.end(), laid.error().begin(), laid.error().end());
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return all;
}

void warn_of_unknown_tiers(const machine::Models& models, const design::Design& design,
                           const std::vector<std::string>& files, Terminal& terminal) {
  for (const machine::TierMeasurement& m : models.tiers) {
    if (m.tier == "node-nvme" || design::find_tier(design, m.tier)) continue;
    terminal.err << to_text(
        Diagnostic{.severity = Severity::warning,
                   .code = "calibration.tier",
                   .place = {.file = files.back()},
                   .what = "the design has no tier \"" + m.tier + '"',
                   .why = "its measurements are not used",
                   .fix = "give `orrery calibrate --tier` a tier name of the design"});
  }
}

catalog::ReadFile files_beside(const std::string& design, const Terminal& terminal) {
  return [folder = std::filesystem::path(design).parent_path(),
          read = terminal.read_file](std::string_view path) { return read(folder / path); };
}

Result<design::Design> load_design(const std::string& path, const catalog::Catalog& catalog,
                                   Terminal& terminal) {
  const auto text = terminal.read_file(path);
  if (!text) return std::unexpected(text.error());
  Diagnostics warnings;
  auto design = design_text::read_design(
      *text, catalog, {.file = path, .read_file = files_beside(path, terminal)}, &warnings);
  terminal.err << to_text(warnings);
  return design;
}

}  // namespace orrery::cli
