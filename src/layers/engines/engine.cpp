#include "layers/engines/engine.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace orrery::engines {
namespace {

// The numbers of one row; a value that is missing or out of range is reported once per column.
class EngineRow {
 public:
  EngineRow(const CsvTable& table, const CsvRow& row, Diagnostics& faults)
      : table_(table), row_(row), faults_(faults) {}

  std::string word(std::string_view column) const { return std::string(table_.text(row_, column)); }

  double number(std::string_view column, double least,
                double most = std::numeric_limits<double>::max()) {
    const auto value = table_.number(row_, column);
    if (value && *value >= least && *value <= most) return *value;
    refuse(word("id") + ": '" + word(column) + "' is not a valid " + std::string(column));
    return least;
  }

  void refuse(std::string what) {
    faults_.push_back({.severity = Severity::error,
                       .code = "serving.engine-row",
                       .place = {table_.file(), row_.line, 0},
                       .what = std::move(what),
                       .why = "every engine needs the same values",
                       .fix = "give the value, in the unit that the column's name ends in"});
  }

 private:
  const CsvTable& table_;
  const CsvRow& row_;
  Diagnostics& faults_;
};

Engine engine_of(EngineRow row) {
  const auto kind = from_word<EngineKind>(row.word("policy"));
  if (!kind) row.refuse(row.word("id") + ": '" + row.word("policy") + "' is not a policy");
  return {.id = row.word("id"),
          .also = row.word("also"),
          .kind = kind.value_or(EngineKind::vllm),
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
      EngineRow(table, row, faults).refuse("an engine needs a unique id");
    }
    engines.push_back(std::move(engine));
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return engines;
}

Result<std::vector<TuningRow>> read_tunings(const CsvTable& table) {
  std::vector<TuningRow> rows;
  Diagnostics faults;
  for (const CsvRow& line : table.rows()) {
    EngineRow row(table, line, faults);
    rows.push_back({.accelerator = row.word("accelerator"),
                    .engine = row.word("engine"),
                    .tuning = {.products = row.number("products", 0.01),
                               .experts = row.number("experts", 0.01),
                               .decoding = row.number("decoding", 0.01),
                               .latent = row.number("latent", 0.01),
                               .prefill = row.number("prefill", 0.01),
                               .messages = row.number("messages", 0.01),
                               .layer = microseconds(row.number("layer_us", 0)),
                               .expert_layer = microseconds(row.number("expert_layer_us", 0)),
                               .state_layer = microseconds(row.number("state_layer_us", 0)),
                               .step = microseconds(row.number("step_us", 0)),
                               .sequence = microseconds(row.number("sequence_us", 0)),
                               .expert_first = microseconds(row.number("expert_first_us", 0)),
                               .first_token = milliseconds(row.number("first_token_ms", 0)),
                               .poll_steps = row.number("poll_steps", 0),
                               .prompt_wait = row.number("prompt_wait", 0.1)}});
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return rows;
}

ServingTuning find_tuning(const std::vector<TuningRow>& rows, std::string_view accelerator,
                          std::string_view measured, std::string_view engine) {
  for (const std::string_view device : {accelerator, measured, std::string_view("*")}) {
    const auto at = std::ranges::find_if(
        rows, [&](const TuningRow& r) { return r.accelerator == device && r.engine == engine; });
    if (at != rows.end()) return at->tuning;
  }
  return {};
}

const Engine* find_engine(const std::vector<Engine>& engines, std::string_view id) {
  const auto at = std::ranges::find_if(
      engines, [id](const Engine& e) { return e.id == id || (!e.also.empty() && e.also == id); });
  return at == engines.end() ? nullptr : &*at;
}

EngineLimits default_limits(const Engine& engine, Bytes device_memory) {
  EngineLimits limits = default_limits(device_memory);
  if (engine.kind == EngineKind::tensorrt_llm) {
    limits = {.token_budget = 8192, .max_sequences = 2048};
  } else if (engine.kind == EngineKind::sglang) {
    limits.max_sequences = 2048;
    if (device_memory < gib(70)) limits.token_budget = device_memory < gib(35) ? 2048 : 4096;
  }
  return limits;
}

EngineLimits default_limits(Bytes device_memory) {
  if (device_memory >= gib(160)) return {.token_budget = 16384, .max_sequences = 1024};
  if (device_memory >= gib(70)) return {.token_budget = 8192, .max_sequences = 1024};
  return {.token_budget = 2048, .max_sequences = 256};
}

}  // namespace orrery::engines
