// `orrery search layout`: finds the fastest layouts of a model on a fleet and accounts for every
// candidate.
#include <fmt/core.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <thread>

#include "app/cli/session.h"
#include "app/cli/verb.h"
#include "core/base/units.h"
#include "layers/training/trace.h"
#include "output/emit/megatron_arguments.h"
#include "output/report/layout_report.h"
#include "study/search/layout_search.h"

namespace orrery::cli {
namespace {

struct SearchOptions {
  search::LayoutQuestion question;
  std::int64_t keep = 10;
  bool pareto = false;
  bool megatron = false;
  std::optional<std::string> trace;
  int jobs = 1;
  Format format = Format::text;
};

Diagnostics unknown(const std::string& what, const std::string& fix) {
  return {{.severity = Severity::error,
           .code = "search.unknown",
           .place = {},
           .what = what,
           .why = "",
           .fix = fix}};
}

// Returns a query from a launch script (model, batch, precision, layout) and options (the machine).
Result<jobs::TrainingQuery> megatron_query(const search::LayoutQuestion& o,
                                           const catalog::Catalog& catalog, Terminal& terminal) {
  const auto text = terminal.read_file(o.model);
  if (!text) return std::unexpected(text.error());
  auto q = emit::query_from_megatron(*text, o.model);
  if (!q) return q;
  q->accelerator = catalog.accelerator(o.accelerator);
  const auto nic = parse_quantity<BytesPerSecond>(o.nic);
  if (q->accelerator == nullptr || !nic || o.gpus < 1) {
    return std::unexpected(unknown("the machine for " + o.model + " is not fully described",
                                   "give --accelerator ID --gpus N --nic '400 Gb/s'"));
  }
  q->gpus = static_cast<int>(o.gpus);
  q->nic = *nic;
  return q;
}

Result<jobs::TrainingQuery> query_for(const SearchOptions& o, const catalog::Catalog& catalog,
                                      Terminal& terminal) {
  if (o.keep < 1) return std::unexpected(unknown("--keep must be at least 1", "--keep 10"));
  return o.megatron ? megatron_query(o.question, catalog, terminal)
                    : query_of(o.question, catalog, terminal.read_file);
}

void show_progress(Terminal& terminal, std::int64_t done, std::int64_t all) {
  if (terminal.err_is_tty) {
    terminal.err << fmt::format("\r{:3.0f} % of {} candidates",
                                100.0 * static_cast<double>(done) / static_cast<double>(all), all)
                 << std::flush;
  }
}

// Searches all chunks. They run in any order but are joined in theirs, so the number of threads
// does not change the answer.
search::FoundLayouts search_all(const search::LayoutSearch& search, int jobs, Terminal& terminal) {
  const std::int64_t chunks = search.chunks();
  std::vector<training::SearchResult> parts(static_cast<std::size_t>(chunks));
  std::atomic<std::int64_t> next = 0;
  std::atomic<std::int64_t> done = 0;
  const auto work = [&](bool shows) {
    for (std::int64_t c = next++; c < chunks && !terminal.interrupted(); c = next++) {
      parts[static_cast<std::size_t>(c)] = search.search_chunk(c);
      ++done;
      if (shows)
        show_progress(terminal, done * search::LayoutSearch::kChunk,
                      chunks * search::LayoutSearch::kChunk);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 1; i < jobs; ++i) threads.emplace_back(work, false);
    work(true);
  }
  if (terminal.err_is_tty) terminal.err << "\r\033[K";
  return search.describe(search.join(parts), done == chunks);
}

bool has_layout(const machine::Models& models, const jobs::TrainingQuery& query) {
  const search::LayoutSearch search(models, query, 1);
  for (std::int64_t c = 0; c < search.chunks(); ++c) {
    if (!search.search_chunk(c).best.empty()) return true;
  }
  return false;
}

// Returns what is missing for a query without a layout that fits. Finds the memory by bisection,
// and the number of accelerators by doubling.
report::LayoutMisfit misfit_of(const machine::Models& models, jobs::TrainingQuery query,
                               const Terminal& terminal) {
  constexpr double kMostMemory = 64;  // times the accelerator's own
  constexpr int kMostGpus = 1 << 17;
  constexpr int kBisections = 8;
  const catalog::Accelerator& own = *query.accelerator;
  report::LayoutMisfit misfit{.usable = jobs::usable_memory(own), .needed = {}};
  catalog::Accelerator larger = own;
  query.accelerator = &larger;
  double low = 1, high = 2;
  const auto fits_with = [&](double times) {
    larger.memory = times * own.memory;
    return has_layout(models, query);
  };
  while (high < kMostMemory && !terminal.interrupted() && !fits_with(high)) low = high, high *= 2;
  for (int i = 0; i < kBisections && !terminal.interrupted(); ++i) {
    const double middle = (low + high) / 2;
    (fits_with(middle) ? high : low) = middle;
  }
  larger.memory = high * own.memory;
  misfit.needed = jobs::usable_memory(larger);
  query.accelerator = &own;
  while (query.gpus < kMostGpus && !terminal.interrupted() && misfit.gpus == 0) {
    query.gpus *= 2;
    if (has_layout(models, query)) misfit.gpus = query.gpus;
  }
  return misfit;
}

void show_found(const search::FoundLayouts& found, const machine::Models& models,
                jobs::TrainingQuery query, Terminal& terminal) {
  std::optional<report::LayoutMisfit> misfit;
  if (found.whole && found.described.empty() && found.found.counts.too_large > 0) {
    query.gpus = found.gpus;
    misfit = misfit_of(models, std::move(query), terminal);
  }
  terminal.out << to_text(report::document_of(found, misfit), terminal.style);
}

ExitCode run_search(const SearchOptions& o, Terminal& terminal) {
  const auto models = shipped_models();
  if (!models) return refuse(terminal, models.error());
  auto query = query_for(o, models->catalog(), terminal);
  if (!query) return refuse(terminal, query.error());
  std::vector<search::FoundLayouts> outcomes;
  for (int gpus : search::gpu_counts(query->gpus, o.pareto)) {
    query->gpus = gpus;
    const search::LayoutSearch search(*models, *query, static_cast<int>(o.keep));
    outcomes.push_back(search_all(search, o.jobs, terminal));
    if (!outcomes.back().whole || outcomes.back().described.empty()) break;
  }
  if (o.format == Format::json) {
    terminal.out << report::json_of(o.question.model, outcomes);
  } else {
    for (const search::FoundLayouts& outcome : outcomes) {
      show_found(outcome, *models, *query, terminal);
    }
  }
  if (o.trace && !outcomes.front().described.empty()) {
    const jobs::TrainingPrediction& best = outcomes.front().described.front();
    std::ofstream file(*o.trace, std::ios::binary);
    file << step_trace_json(best.step, o.question.model + " " + to_text(best.layout));
    if (!file) return refuse(terminal, unknown("cannot write " + *o.trace, ""));
  }
  if (!outcomes.back().whole) return ExitCode::interrupted;
  return outcomes.front().described.empty() ? ExitCode::nothing_feasible : ExitCode::good;
}

Verb layout_verb() {
  return {.name = "layout",
          .summary = "Find the fastest parallel layouts of a model on given accelerators",
          .examples = {"orrery search layout llama-3-70b --gpus 256 --batch 1024 --sequence 8192",
                       "orrery search layout gpt3-175b --accelerator a100-80-sxm --gpus 64 --batch "
                       "64 --sequence 2048 --jobs 2"},
          .prepare = [](Arguments& arguments) -> Run {
            auto o = std::make_shared<SearchOptions>();
            arguments.positional("MODEL", o->question.model,
                                 "catalog id, alias, or a config.json file");
            arguments.option("--accelerator", o->question.accelerator,
                             "catalog id of the accelerator", "ID");
            arguments.option("--gpus", o->question.gpus, "number of accelerators");
            arguments.option("--batch", o->question.batch, "sequences per step");
            arguments.option("--sequence", o->question.sequence, "tokens per sequence");
            arguments.option("--precision", o->question.precision, "bf16, fp8, mxfp8, nvfp4 ...",
                             "NAME");
            arguments.option("--framework", o->question.framework,
                             "framework whose fitted parameters are used", "NAME");
            arguments.option("--nic", o->question.nic, "network rate per accelerator", "RATE");
            arguments.option("--keep", o->keep, "number of layouts to show");
            arguments.option("--tp", o->question.tp, "fix the tensor-parallel degree");
            arguments.option("--pp", o->question.pp, "fix the number of pipeline stages");
            arguments.option("--vp", o->question.vp, "fix the number of model chunks per stage");
            arguments.option("--cp", o->question.cp, "fix the context-parallel degree");
            arguments.option("--ep", o->question.ep, "fix the expert-parallel degree");
            arguments.option("--microbatch", o->question.microbatch,
                             "fix the sequences per microbatch");
            arguments.flag("--megatron", o->megatron,
                           "MODEL is a file of Megatron-LM arguments: estimate its layout");
            arguments.option("--trace", o->trace,
                             "write one step of the best layout as a trace for Chrome or Perfetto",
                             "FILE");
            arguments.flag("--pareto", o->pareto,
                           "also search half the GPUs, a quarter, and so on");
            arguments.jobs(o->jobs);
            arguments.format(o->format);
            return [o](Terminal& terminal) { return run_search(*o, terminal); };
          }};
}

}  // namespace

Verb search_verb() {
  return {.name = "search",
          .summary = "Find the fastest parallel layout for a model",
          .examples = {"orrery search layout llama-3-70b --gpus 256 --batch 1024"},
          .prepare = nullptr,
          .verbs = {layout_verb()}};
}

}  // namespace orrery::cli
