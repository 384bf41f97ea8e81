#include "study/search/layout_search.h"

#include <algorithm>

#include "core/base/units.h"
#include "core/catalog/config_json.h"

namespace orrery::search {
namespace {

Diagnostics unknown(std::string what, std::string fix) {
  return {{.code = "search.unknown", .what = std::move(what), .fix = std::move(fix)}};
}

Result<catalog::ModelShape> shape_of(const std::string& model, const catalog::Catalog& catalog,
                                     const ReadModelFile& read) {
  if (const catalog::ModelShape* known = catalog.model(model)) return *known;
  const std::string nothing = "there is no model " + model;
  if (!read) return std::unexpected(unknown(nothing, "`orrery catalog models` lists them"));
  const auto text = read(model);
  if (!text) {
    return std::unexpected(
        unknown(nothing, "give an id of the catalog or the path of a config.json"));
  }
  return catalog::model_from_config_json(*text, model);
}

// Largest values: larger ones overflow the products of dimensions, and no machine or batch has
// them.
constexpr std::int64_t kGpusMost = 1'000'000;
constexpr std::int64_t kBatchMost = 1'000'000'000;
constexpr std::int64_t kSequenceMost = 100'000'000;
constexpr std::int64_t kFixedMost = 1024;  // chunks per stage, sequences per microbatch

std::optional<Diagnostic> out_of_range(const LayoutQuestion& q) {
  const auto is = [](std::int64_t v, std::int64_t most) { return v >= 1 && v <= most; };
  const auto range = [](std::string what) {
    return Diagnostic{.code = "search.range", .what = std::move(what)};
  };
  if (!is(q.gpus, kGpusMost)) return range("the number of GPUs must be 1 to 1,000,000");
  if (!is(q.batch, kBatchMost)) return range("the batch must be 1 to 1,000,000,000 sequences");
  if (!is(q.sequence, kSequenceMost)) return range("a sequence must have 1 to 100,000,000 tokens");
  std::int64_t shards = 1;
  for (const auto& fixed : {q.tp, q.pp, q.cp}) {
    shards *= is(fixed.value_or(1), q.gpus) ? fixed.value_or(1) : q.gpus + 1;
    if (shards > q.gpus)
      return range("the product of the fixed tp, pp and cp must be 1 to the number of GPUs");
  }
  if (!is(q.ep.value_or(1), q.gpus)) return range("ep must be 1 to the number of GPUs");
  if (!is(q.vp.value_or(1), kFixedMost)) return range("vp must be 1 to 1,024");
  if (!is(q.microbatch.value_or(1), kFixedMost)) return range("a microbatch must be 1 to 1,024");
  return std::nullopt;
}

}  // namespace

jobs::LayoutWish fixed_by(const LayoutQuestion& q) {
  const auto fixed = [](const std::optional<std::int64_t>& v) {
    return v ? std::optional<int>(static_cast<int>(*v)) : std::nullopt;
  };
  return {.tp = fixed(q.tp),
          .pp = fixed(q.pp),
          .vp = fixed(q.vp),
          .cp = fixed(q.cp),
          .ep = fixed(q.ep),
          .microbatch = fixed(q.microbatch)};
}

Result<jobs::TrainingQuery> query_of(const LayoutQuestion& o, const catalog::Catalog& catalog,
                                     const ReadModelFile& read) {
  jobs::TrainingQuery q;
  auto shape = shape_of(o.model, catalog, read);
  if (!shape) return std::unexpected(shape.error());
  q.model = std::move(*shape);
  q.accelerator = catalog.accelerator(o.accelerator);
  if (q.accelerator == nullptr) {
    return std::unexpected(unknown("there is no accelerator " + o.accelerator,
                                   "`orrery catalog accelerators` lists them"));
  }
  const auto precision = workload::precision_from(o.precision);
  if (!precision) {
    return std::unexpected(
        unknown("there is no precision " + o.precision, "use bf16, fp8, mxfp8, nvfp4 ..."));
  }
  const auto nic = parse_quantity<BytesPerSecond>(o.nic);
  if (!nic)
    return std::unexpected(
        unknown("\"" + o.nic + "\" is not a rate", "write for example 400 Gb/s"));
  if (auto fault = out_of_range(o)) return fail(std::move(*fault));
  q.precision = *precision;
  q.nic = *nic;
  q.gpus = static_cast<int>(o.gpus);
  q.batch = static_cast<int>(o.batch);
  q.sequence = static_cast<double>(o.sequence);
  q.framework = o.framework;
  q.layout = fixed_by(o);
  return q;
}

// Members are built in this order, because `search` points to those before it.
struct LayoutSearch::Parts {
  const machine::Models& models;
  jobs::TrainingQuery query;
  training::TrainingJob job;
  machine::Costs costs;
  training::CostSource source;
  training::FrameworkModel framework;
  training::LayoutSpace space;
  training::SearchQuery search;

  Parts(const machine::Models& m, jobs::TrainingQuery q, int keep)
      : models(m),
        query(std::move(q)),
        job(job_of(query)),
        costs(training_costs(models, query)),
        source(training_source(costs)),
        framework(framework_of(models, query)),
        space(narrowed(whole_space(job), query.layout)),
        search{.job = job,
               .space = space,
               .framework = framework,
               .source = source,
               .memory_limit = jobs::usable_memory(*query.accelerator),
               .peak_flops = query.accelerator->peak(workload::product_dtype(query.precision))
                                 .value_or(FlopsPerSecond(0))
                                 .base(),
               .keep = keep} {}
};

LayoutSearch::LayoutSearch(const machine::Models& models, jobs::TrainingQuery query, int keep)
    : parts_(std::make_unique<Parts>(models, std::move(query), keep)) {}
LayoutSearch::~LayoutSearch() = default;

std::int64_t LayoutSearch::candidates() const { return parts_->space.size(); }
std::int64_t LayoutSearch::chunks() const { return (candidates() + kChunk - 1) / kChunk; }
int LayoutSearch::keep() const { return parts_->search.keep; }

training::SearchResult LayoutSearch::search_chunk(std::int64_t chunk) const {
  return search_layouts(parts_->search, chunk * kChunk,
                        std::min(candidates(), (chunk + 1) * kChunk));
}

training::SearchResult LayoutSearch::join(const std::vector<training::SearchResult>& parts) const {
  return merge(parts, keep());
}

LayoutProgress LayoutSearch::progress_of(const training::SearchResult& result,
                                         std::int64_t chunks) {
  LayoutProgress progress{.chunks = chunks, .counts = result.counts};
  for (const training::RankedLayout& r : result.best) progress.best.push_back(r.index);
  return progress;
}

training::SearchResult LayoutSearch::result_of(const LayoutProgress& progress) const {
  training::SearchResult result;
  for (const std::int64_t index : progress.best) {
    if (index < 0 || index >= candidates()) continue;
    training::SearchResult one = search_layouts(parts_->search, index, index + 1);
    std::ranges::move(one.best, std::back_inserter(result.best));
  }
  result.counts = progress.counts;
  return result;
}

FoundLayouts LayoutSearch::describe(training::SearchResult result, bool whole) const {
  FoundLayouts found{.gpus = parts_->query.gpus, .found = std::move(result), .whole = whole};
  for (const training::RankedLayout& r : found.found.best) {
    found.described.push_back(
        jobs::describe(parts_->models, parts_->query, parts_->job, parts_->costs, r.layout));
  }
  return found;
}

std::vector<int> gpu_counts(int gpus, bool halving) {
  std::vector<int> counts;
  for (int n = gpus; n >= 1; n /= 2) {
    counts.push_back(n);
    if (!halving || n % 2 != 0) break;
  }
  return counts;
}

}  // namespace orrery::search
