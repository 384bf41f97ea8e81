// Step estimates per second, and the whole layout search of GPT-3 175B.
#include <algorithm>
#include <memory>
#include <thread>

#include "bench/figure.h"
#include "core/catalog/embedded.h"
#include "model/jobs/predict_training.h"

namespace orrery {
namespace {

constexpr std::size_t kBlock = 2000;

struct Bench {
  machine::Models models;
  jobs::TrainingQuery query;
};

Result<std::unique_ptr<Bench>> gpt3_on_a100() {
  auto bench = std::make_unique<Bench>();
  auto models = machine::load_models(catalog::embedded_files());
  if (!models) return std::unexpected(models.error());
  bench->models = std::move(*models);
  jobs::TrainingQuery& q = bench->query;
  q.model = *bench->models.catalog().model("gpt3-175b");
  q.accelerator = bench->models.catalog().accelerator("a100-80-sxm");
  q.gpus = 64;
  q.nic = gbits_per_s(200);
  q.sequence = 2048;
  q.batch = 64;
  q.precision = catalog::Precision::fp16;
  q.framework = "megatron-lm";
  return bench;
}

// Different layouts of one job, each estimated once.
Result<double> estimates_per_s() {
  const auto bench = gpt3_on_a100();
  if (!bench) return std::unexpected(bench.error());
  const jobs::TrainingQuery& q = (*bench)->query;
  const training::TrainingJob job = job_of(q);
  const training::LayoutSpace space = whole_space(job);
  std::vector<training::Layout> layouts;
  for (std::int64_t i = 0; i < space.size(); ++i) {
    const training::Layout l = space.at(i, job.gpus);
    if (l.dp > 0 && layout_fault(job, l) == training::LayoutFault::none) layouts.push_back(l);
  }
  const training::FrameworkModel framework =
      (*bench)->models.training.framework(q.framework, q.release);
  const machine::Costs costs = training_costs((*bench)->models, q);
  const training::CostSource source = training_source(costs);
  training::StepScratch scratch;
  double sum = 0;
  double best = 0;
  // The best of several blocks of a few milliseconds: the speed of a core that nothing else uses.
  for (std::size_t at = 0; at + kBlock <= layouts.size(); at += kBlock) {
    const double seconds = seconds_of([&] {
      for (std::size_t i = at; i < at + kBlock; ++i) {
        sum += estimate_step(job, layouts[i], framework, source, scratch).seconds;
      }
    });
    best = std::max(best, static_cast<double>(kBlock) / seconds);
  }
  if (!(sum > 0)) return fail({.code = "bench.training", .what = "no step took any time"});
  return best;
}

// Every candidate of the space, memory and time, on two threads, from loading to the ranked list.
Result<double> search_175b() {
  Diagnostics faults;
  const double seconds = seconds_of([&faults] {
    const auto bench = gpt3_on_a100();
    if (!bench) return void(faults = bench.error());
    const jobs::TrainingQuery& q = (*bench)->query;
    const training::TrainingJob job = job_of(q);
    const training::LayoutSpace space = whole_space(job);
    const training::FrameworkModel framework =
        (*bench)->models.training.framework(q.framework, q.release);
    const machine::Costs costs = training_costs((*bench)->models, q);
    const training::CostSource source = training_source(costs);
    const training::SearchQuery search{.job = job,
                                       .space = space,
                                       .framework = framework,
                                       .source = source,
                                       .memory_limit = jobs::usable_memory(*q.accelerator)};
    std::vector<training::SearchResult> parts(2);
    const std::int64_t half = space.size() / 2;
    {
      const std::jthread other([&] { parts[1] = search_layouts(search, half, space.size()); });
      parts[0] = search_layouts(search, 0, half);
    }
    if (merge(parts, 10).best.empty()) {
      faults.push_back({.code = "bench.training", .what = "no layout fits"});
    }
  });
  if (!faults.empty()) return std::unexpected(faults);
  return seconds;
}

}  // namespace

std::vector<SpeedFigure> training_figures() {
  return {{.name = "train_estimates_per_s",
           .unit = "1/s",
           .what = "step estimates of GPT-3 175B on 64 A100s, one core, all layouts different",
           .measure = estimates_per_s},
          {.name = "train_search_175b_64",
           .unit = "s",
           .what = "the whole layout search of GPT-3 175B on 64 A100s, batch 64, two threads",
           .measure = search_175b}};
}

}  // namespace orrery
