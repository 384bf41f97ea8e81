// For tests of training fits: models with one fitted parameter, and rows for them.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>

#include "core/catalog/embedded.h"
#include "study/score/rows_fixture.h"
#include "study/score/training_refit.h"

namespace orrery::score {

inline const catalog::Accelerator& h200() {
  return *machine::known().catalog().accelerator("h200-sxm");
}

inline RowFields step_row(const std::string& id, const RowFields& more) {
  return training_fields(with_fields({{"id", id}, {"source", "x"}}, more));
}

inline RowFields family_fields(const std::string& accelerator, double tokens) {
  return training_fields(
      {{"gpu", accelerator}, {"tokens_per_s_per_gpu", fmt::format("{}", tokens)}});
}

inline double family_rate(const machine::Models& models, const TrainingRow& row) {
  return predict_training(models, row.query)->tokens_per_s_per_gpu.value;
}

// The shipped models, where only the H100's products are fitted, or with another origin.
inline machine::Models models_fitting(const std::string& origin) {
  static std::deque<std::string> texts;
  static std::deque<std::vector<catalog::EmbeddedFile>> all;
  auto& files =
      all.emplace_back(catalog::embedded_files().begin(), catalog::embedded_files().end());
  for (catalog::EmbeddedFile& file : files) {
    if (!file.path.starts_with("calibration/training_")) continue;
    std::string text;
    for (std::string line : split_lines(file.text)) {
      const std::size_t at = line.find(",fitted,");
      const bool kept = line.starts_with("h100-sxm,matrix,");
      if (at != std::string::npos) line.replace(at, 8, kept ? "," + origin + "," : ",known,");
      text += line + "\n";
    }
    file.text = texts.emplace_back(std::move(text));
  }
  return machine::load_models(files).value();
}

inline const machine::Models& one_fitted() {
  static const machine::Models* const kModels = new machine::Models(models_fitting("fitted"));
  return *kModels;
}

struct WrittenValue {
  std::string value, source;
};

inline WrittenValue written(const CalibrationFile& file, std::string_view id,
                            std::string_view parameter) {
  const CsvTable table = CsvTable::parse(file.text, file.path).value();
  for (const CsvRow& row : table.rows()) {
    if (row.fields.at(0) == id && table.text(row, "parameter") == parameter) {
      return {std::string(table.text(row, "value")), std::string(table.text(row, "source"))};
    }
  }
  ADD_FAILURE() << id << " " << parameter;
  return {};
}

}  // namespace orrery::score
