#include "app/cli/session.h"

#include <filesystem>

#include "core/base/csv.h"
#include "core/catalog/embedded.h"
#include "model/design_text/read_design.h"
#include "study/score/storage_probe.h"

namespace orrery::cli {
namespace {

// One file that `orrery calibrate` wrote; its columns say of what.
Diagnostics lay_over(const std::string& file, Terminal& terminal, machine::Models& models) {
  const auto text = terminal.read_file(file);
  if (!text) return text.error();
  const auto table = CsvTable::parse(*text, file);
  if (!table) return table.error();
  if (score::is_tier_calibration(*table)) {
    const auto tiers = score::read_tier_calibration(*table);
    if (!tiers) return tiers.error();
    models.tiers.insert(models.tiers.end(), tiers->begin(), tiers->end());
    return {};
  }
  const auto values = machine::read_kernel_values(*table);
  if (!values) return values.error();
  for (const compute::CalibrationValue& v : *values) models.kernels.set(v);
  return {};
}

}  // namespace

Result<catalog::Knowledge> shipped_knowledge() { return load_knowledge(catalog::embedded_files()); }

Result<machine::Models> shipped_models() { return machine::load_models(catalog::embedded_files()); }

Result<machine::Models> calibrated_models(const std::vector<std::string>& calibrations,
                                          Terminal& terminal) {
  auto all = shipped_models();
  if (!all) return all;
  Diagnostics faults;
  for (const std::string& file : calibrations) {
    const Diagnostics of_file = lay_over(file, terminal, *all);
    faults.insert(faults.end(), of_file.begin(), of_file.end());
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return all;
}

void warn_of_unknown_tiers(const machine::Models& models, const design::Design& design,
                           const std::vector<std::string>& files, Terminal& terminal) {
  for (const machine::TierMeasurement& m : models.tiers) {
    if (m.tier == "node-nvme" || design::find_tier(design, m.tier)) continue;
    terminal.err << to_text(Diagnostic{.severity = Severity::warning,
                                       .code = "calibration.tier",
                                       .place = {.file = files.back()},
                                       .what = "the design has no tier \"" + m.tier + '"',
                                       .why = "what was measured of it is not used",
                                       .fix = "give `calibrate --tier` a name of the design"});
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
