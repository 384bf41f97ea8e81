#include "study/score/storage_score.h"

#include <fmt/format.h>

#include <cctype>
#include <map>

#include "core/base/text.h"
#include "core/workload/model_math.h"
#include "layers/storage/checkpoint.h"
#include "layers/storage/loader.h"
#include "layers/storage/scale_out.h"

namespace orrery::score {
namespace {

// Measured rate over (ideal x pass mark) of the 132 MLPerf Storage v1.0 rows: p10, median, p90.
constexpr double kOverMarkLow = 0.986;
constexpr double kOverMark = 1.017;
constexpr double kOverMarkHigh = 1.078;
// Checkpoint write rates of one system vary by 6 to 12 % from run to run (the published standard
// deviations); an 80 % interval of a single mean over few runs.
constexpr double kCheckpointSpread = 0.10;
// Rates of reads vary by 40 to 88 %: an 80 % interval of a mean over ten runs.
constexpr double kReadSpread = 0.25;

constexpr std::string_view kWorkloadsFile = "calibration/mlperf_storage_workloads.csv";
constexpr std::string_view kCheckpointsFile = "validation/checkpoint_truth.csv";
constexpr std::string_view kDocs = "docs/models/loader.md";

struct Workload {
  BytesPerSecond ideal;
  double mark = 0;
};
using Workloads = std::map<std::string, Workload>;  // by "unet3d/h100"

Result<Workloads> read_workloads(const catalog::Knowledge& knowledge) {
  const auto table = knowledge.table(kWorkloadsFile);
  if (!table) return std::unexpected(table.error());
  Workloads all;
  for (const CsvRow& row : table->rows()) {
    const auto batch = table->number(row, "batch");
    const auto record = table->number(row, "record_bytes");
    const auto compute = table->number(row, "compute_s_per_step");
    const auto mark = table->number(row, "AU_threshold");
    if (!batch || !record || !compute || !mark) continue;  // a checkpoint workload
    const std::string_view accelerator = table->text(row, "accelerator");
    const std::string key = fmt::format("{}/{}", table->text(row, "workload"),
                                        accelerator.substr(0, accelerator.find(' ')));
    all[key] = {.ideal = storage::ideal_read_rate(*batch, bytes(*record), seconds(*compute)),
                .mark = *mark};
  }
  return all;
}

void score_training_row(const CsvTable& table, const CsvRow& row, const Workloads& workloads,
                        Score& score) {
  const std::string model(table.text(row, "model"));
  const std::string accelerator(table.text(row, "accelerator"));
  const std::string id =
      fmt::format("{}/{}", table.text(row, "submitter"), table.text(row, "system_path"));
  const auto workload = workloads.find(model + "/" + accelerator);
  const auto accelerators = table.number(row, "num_accelerators");
  if (workload == workloads.end() || !accelerators) {
    score.skipped.push_back({id, workload == workloads.end()
                                     ? "no workload " + model + " for " + accelerator
                                     : "no number of accelerators"});
    return;
  }
  const double at_mark =
      workload->second.ideal.base() / mib(1).base() * *accelerators * workload->second.mark;
  score.series[0].rows.push_back({.id = id,
                                  .predicted = {.value = at_mark * kOverMark,
                                                .low = at_mark * kOverMarkLow,
                                                .high = at_mark * kOverMarkHigh,
                                                .basis = Basis::fitted,
                                                .reference = std::string(kDocs)},
                                  .measured = table.number(row, "MiB_per_s"),
                                  .counts = true,
                                  .groups = {"workload=" + model, "accelerator=" + accelerator},
                                  .note = {}});
}

struct CheckpointRow {
  std::string id;
  std::string system;
  std::string config;
  std::string model;
  std::optional<double> servers;
  std::optional<double> size_gib;
  std::optional<double> write_s;
  std::optional<double> write_gib_s;
  std::optional<double> clients;
  std::optional<double> read_s;
};

// "10 data nodes + 30 ..." gives 10.
std::optional<double> data_nodes(std::string_view config) {
  const std::size_t end = config.find(" data nodes");
  if (end == std::string_view::npos) return std::nullopt;
  std::size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(config[begin - 1])) != 0) --begin;
  return parse_number(config.substr(begin, end - begin));
}

CheckpointRow read_checkpoint_row(const CsvTable& table, const CsvRow& row) {
  CheckpointRow r{.id = {},
                  .system = std::string(table.text(row, "system")),
                  .config = std::string(table.text(row, "config")),
                  .model = std::string(table.text(row, "model")),
                  .servers = {},
                  .size_gib = table.number(row, "checkpoint_GiB"),
                  .write_s = table.number(row, "write_s"),
                  .write_gib_s = table.number(row, "write_GiB_s"),
                  .clients = table.number(row, "clients"),
                  .read_s = table.number(row, "read_s")};
  r.id = fmt::format("{}/{}/{}", r.system, r.model, r.config);
  r.servers = data_nodes(r.config);
  return r;
}

// "llama3-70b" is the benchmark's own shape if the catalog has one, else the real model.
const catalog::ModelShape* shape_of(const catalog::Catalog& catalog, std::string_view model) {
  constexpr std::string_view kFamily = "llama3-";
  if (!model.starts_with(kFamily)) return catalog.model(model);
  const std::string size(model.substr(kFamily.size()));
  const catalog::ModelShape* benchmark = catalog.model("llama-" + size + "-dlio");
  return benchmark != nullptr ? benchmark : catalog.model("llama-3-" + size);
}

// Returns other rows of the same system, with the time of one column.
std::vector<storage::ScaleOutRow> other_rows(const CheckpointRow& row,
                                             const std::vector<CheckpointRow>& published,
                                             std::optional<double> CheckpointRow::* time) {
  std::vector<storage::ScaleOutRow> rows;
  for (const CheckpointRow& p : published) {
    if (p.system != row.system || p.id == row.id) continue;
    if (!p.servers || !p.size_gib || !(p.*time)) continue;
    rows.push_back({.size = gib(*p.size_gib),
                    .servers = *p.servers,
                    .time = seconds(*(p.*time)),
                    .clients = p.clients.value_or(1)});
  }
  return rows;
}

// Two parameters are fitted, so at least three rows are needed, one of them with another number of
// servers.
void score_read_row(const CheckpointRow& row, const std::vector<CheckpointRow>& published,
                    Bytes size, std::vector<std::string> groups, Score& score) {
  const auto others = other_rows(row, published, &CheckpointRow::read_s);
  if (!row.servers || !row.clients || others.size() < 3) return;
  const storage::ClientBoundFit fit = storage::fit_client_bound(others);
  const storage::ScaleOutRate rate = storage::scale_out(size, {.servers = *row.servers,
                                                               .per_server = fit.per_server,
                                                               .clients = *row.clients,
                                                               .per_client = fit.per_client,
                                                               .fixed = {}});
  std::optional<double> measured;
  if (row.size_gib && row.read_s) measured = *row.size_gib / *row.read_s;
  score.series[2].rows.push_back(
      {.id = row.id,
       .predicted = within(rate.rate.base() / gib(1).base(), kReadSpread, kReadSpread,
                           Basis::fitted, "docs/models/checkpoint.md"),
       .measured = measured,
       .counts = true,
       .groups = std::move(groups),
       .note = fmt::format("limited by {}, from {} other rows of the system", to_text(rate.limit),
                           others.size())});
}

void score_checkpoint_row(const CheckpointRow& row, const std::vector<CheckpointRow>& published,
                          const catalog::Catalog& catalog, Score& score) {
  const catalog::ModelShape* shape = shape_of(catalog, row.model);
  if (shape == nullptr) {
    score.skipped.push_back({row.id, "the catalog has no model " + row.model});
    return;
  }
  const Bytes size =
      checkpoint_size(workload::count_parameters(*shape).total, storage::SavedState::adam_mixed);
  const std::vector<std::string> groups = {"workload=" + row.model, "system=" + row.system};
  if (row.size_gib) {
    score.series[1].rows.push_back(
        {.id = row.id,
         .predicted =
             within(size / gib(1), 0.0005, 0.0005, Basis::derived, "docs/models/checkpoint.md"),
         .measured = row.size_gib,
         .counts = true,
         .groups = groups,
         .note = {}});
  }
  score_read_row(row, published, size, groups, score);
  const auto others = other_rows(row, published, &CheckpointRow::write_s);
  if (!row.servers || others.size() < 2) {
    score.skipped.push_back({row.id,
                             "fewer than two other published rows of this system with this number "
                             "of servers: its rate cannot be predicted"});
    return;
  }
  const storage::ScaleOutFit fit = fit_scale_out(others);
  const storage::ScaleOutRate rate = storage::scale_out(
      size, {.servers = *row.servers, .per_server = fit.per_server, .fixed = fit.fixed});
  score.series[0].rows.push_back(
      {.id = row.id,
       .predicted = within(rate.rate.base() / gib(1).base(), kCheckpointSpread, kCheckpointSpread,
                           Basis::fitted, "docs/models/checkpoint.md"),
       .measured = row.write_gib_s,
       .counts = true,
       .groups = groups,
       .note = fmt::format("from {} other rows of the system", others.size())});
}

Result<Score> score_checkpoints(const CsvTable& table, const ScoreInputs& inputs, Score score) {
  const auto reference = inputs.models.knowledge->table(kCheckpointsFile);
  if (!reference) return std::unexpected(reference.error());
  std::vector<CheckpointRow> published;
  for (const CsvRow& row : reference->rows()) {
    published.push_back(read_checkpoint_row(*reference, row));
  }
  score.series = {{"write rate", "write_GiB_s", {}},
                  {"size", "checkpoint_GiB", {}},
                  {"read rate", "checkpoint_GiB / read_s", {}}};
  for (const CsvRow& row : table.rows()) {
    score_checkpoint_row(read_checkpoint_row(table, row), published, inputs.catalog(), score);
  }
  return score;
}

}  // namespace

Result<Score> score_storage(const CsvTable& table, const ScoreInputs& inputs) {
  Score score{.kind = "storage",
              .rows = static_cast<int>(table.rows().size()),
              .series = {{"throughput", "MiB_per_s", {}}},
              .skipped = {}};
  if (table.column("checkpoint_GiB")) return score_checkpoints(table, inputs, std::move(score));
  if (!table.column("num_accelerators")) {
    return fail({.severity = Severity::error,
                 .code = "score.columns",
                 .place = {table.file(), 1, 0},
                 .what = "neither num_accelerators nor checkpoint_GiB is a column",
                 .why = "storage rows are training reports or checkpoint runs",
                 .fix = "use the layout of data/validation/mlperf_storage_v1.0_training.csv or "
                        "data/validation/checkpoint_truth.csv"});
  }
  const auto workloads = read_workloads(*inputs.models.knowledge);
  if (!workloads) return std::unexpected(workloads.error());
  for (const CsvRow& row : table.rows()) score_training_row(table, row, *workloads, score);
  return score;
}

}  // namespace orrery::score
