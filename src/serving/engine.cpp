#include "serving/engine.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace orrery::serving {
namespace {

// The numbers of one row; what is missing or out of range is told once a column.
class EngineRow {
 public:
  EngineRow(const CsvTable& table, const CsvRow& row, Diagnostics& faults)
      : table_(table), row_(row), faults_(faults) {}

  std::string word(std::string_view column) const { return std::string(table_.text(row_, column)); }

  double number(std::string_view column, double least,
                double most = std::numeric_limits<double>::max()) {
    const auto value = table_.number(row_, column);
    if (value && *value >= least && *value <= most) return *value;
    refuse(word("id") + ": '" + word(column) + "' is no " + std::string(column));
    return least;
  }

  void refuse(std::string what) {
    faults_.push_back({.severity = Severity::error,
                       .code = "serving.engine-row",
                       .place = {table_.file(), row_.line, 0},
                       .what = std::move(what),
                       .why = "every engine is asked for the same values",
                       .fix = "give the value, in the unit that the column's name ends in"});
  }

 private:
  const CsvTable& table_;
  const CsvRow& row_;
  Diagnostics& faults_;
};

Engine engine_of(EngineRow row) {
  return {.id = row.word("id"),
          .also = row.word("also"),
          .memory_share = row.number("memory_share", 0.01, 1),
          .block_tokens = row.number("block_tokens", 1),
          .reserve = gib(row.number("reserve_gib", 0)),
          .host_step = microseconds(row.number("host_step_us", 0)),
          .eager_layer = microseconds(row.number("eager_layer_us", 0)),
          .first_token = milliseconds(row.number("first_token_ms", 0)),
          .kernels_hidden = row.number("kernels_hidden", 0, 1),
          .keeps_all_output = row.number("keeps_all_output", 0, 1) > 0};
}

}  // namespace

Result<std::vector<Engine>> read_engines(const CsvTable& table) {
  std::vector<Engine> engines;
  Diagnostics faults;
  for (const CsvRow& row : table.rows()) {
    Engine engine = engine_of({table, row, faults});
    if (engine.id.empty() || find_engine(engines, engine.id) != nullptr) {
      EngineRow(table, row, faults).refuse("an engine needs an id of its own");
    }
    engines.push_back(std::move(engine));
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return engines;
}

const Engine* find_engine(const std::vector<Engine>& engines, std::string_view id) {
  const auto at = std::ranges::find_if(
      engines, [id](const Engine& e) { return e.id == id || (!e.also.empty() && e.also == id); });
  return at == engines.end() ? nullptr : &*at;
}

EngineLimits default_limits(Bytes device_memory) {
  if (device_memory >= gib(160)) return {.token_budget = 16384, .max_sequences = 1024};
  if (device_memory >= gib(70)) return {.token_budget = 8192, .max_sequences = 1024};
  return {.token_budget = 2048, .max_sequences = 256};
}

}  // namespace orrery::serving
