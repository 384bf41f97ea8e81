// For tests: tables of a few rows by name and value, and the inputs of the shipped models.
#pragma once

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/csv.h"
#include "core/base/text.h"
#include "core/catalog/embedded_table.h"
#include "model/machine/known_fixture.h"
#include "study/score/score.h"
#include "study/score/serving_rows.h"

namespace orrery::score {

using RowFields = std::map<std::string, std::string>;

inline ScoreInputs known_inputs() { return {.models = machine::known(), .model = {}}; }

inline RowFields with_fields(RowFields fields, const RowFields& more) {
  for (const auto& [name, value] : more) fields[name] = value;
  return fields;
}

// A run on one host of H100, in the columns of data/validation/training.csv.
inline RowFields training_fields(const RowFields& more) {
  return with_fields({{"id", "a"},
                      {"gpu", "h100-sxm"},
                      {"model", "llama-3-8b"},
                      {"n_gpus", "8"},
                      {"seq", "4096"},
                      {"gbs", "16"},
                      {"mbs", "1"},
                      {"tp", "2"},
                      {"pp", "1"},
                      {"cp", "1"},
                      {"precision", "bf16"},
                      {"framework", "nemo"},
                      {"release", "25.04"},
                      {"certainty", "read"},
                      {"tokens_per_s_per_gpu", "9000"},
                      {"source", "one page"}},
                     more);
}

// Columns that a row does not have are blank; the last column keeps blank rows.
inline CsvTable table_of(const std::vector<RowFields>& rows) {
  RowFields columns;
  for (const RowFields& row : rows) columns.insert(row.begin(), row.end());
  std::string text;
  for (const auto& [name, value] : columns) text += name + ",";
  text += "end\n";
  for (const RowFields& row : rows) {
    for (const auto& [name, value] : columns) {
      text += (row.contains(name) ? csv_field(row.at(name)) : std::string()) + ",";
    }
    text += "x\n";
  }
  return CsvTable::parse(text, "rows.csv").value();
}

inline CsvTable one_row(const RowFields& fields) { return table_of({fields}); }

inline std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(text, '\n')) lines.emplace_back(line);
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

inline RowFields offline_fields() {
  return {{"id", "r"},       {"model", "Llama 3.3 70B"},
          {"gpu", "H200"},   {"precision", "FP8"},
          {"num_gpus", "2"}, {"isl", "128"},
          {"osl", "2048"},   {"metric", "output tokens/s total"}};
}

inline std::string training_csv(const std::string& rows) {
  return "id,gpu,n_gpus,model,seq,gbs,mbs,tp,pp,cp,precision,framework,release,certainty,"
         "tokens_per_s_per_gpu,peak_gib,watts,source\n" +
         rows;
}

inline const CsvTable& outside_rows() {
  static const CsvTable table = catalog::embedded_table("validation/training_outside.csv").value();
  return table;
}

inline ScoreSummary alone(const ScoredRow& row) {
  return summarise(std::vector<const ScoredRow*>{&row});
}

}  // namespace orrery::score
