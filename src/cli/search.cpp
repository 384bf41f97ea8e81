// `orrery search layout`: the fastest layouts of a model on a fleet, every candidate accounted for.
#include <fmt/core.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <thread>

#include "base/json_writer.h"
#include "base/units.h"
#include "catalog/config_json.h"
#include "cli/verb.h"
#include "plan/megatron_arguments.h"
#include "plan/predict_training.h"
#include "training/trace.h"

namespace orrery {
namespace {

// A share of the candidates small enough to stop at, large enough to prune in.
constexpr std::int64_t kChunk = 4096;

struct SearchOptions {
  std::string model;
  std::string accelerator = "h100-sxm";
  std::int64_t gpus = 64;
  std::int64_t batch = 512;
  std::int64_t sequence = 4096;
  std::string precision = "bf16";
  std::string framework = "default";
  std::string nic = "400 Gb/s";
  std::int64_t keep = 10;
  std::optional<std::int64_t> tp, pp, vp, cp, ep, microbatch;
  bool pareto = false;
  bool megatron = false;
  std::optional<std::string> trace;
  int jobs = 1;
  Format format = Format::text;
};

struct SearchOutcome {
  int gpus = 0;
  SearchResult found;
  std::vector<TrainingPrediction> described;  // of found.best
  bool whole = true;                          // false: interrupted
};

Diagnostics unknown(const std::string& what, const std::string& fix) {
  return {{.severity = Severity::error,
           .code = "search.unknown",
           .place = {},
           .what = what,
           .why = "",
           .fix = fix}};
}

// A launch script gives model, batch, precision and layout; flags give the machine.
Result<TrainingQuery> megatron_query(const SearchOptions& o, const Catalog& catalog,
                                     Terminal& terminal) {
  const auto text = terminal.read_file(o.model);
  if (!text) return std::unexpected(text.error());
  auto q = query_from_megatron(*text, o.model);
  if (!q) return q;
  q->accelerator = catalog.accelerator(o.accelerator);
  const auto nic = parse_quantity<BytesPerSecond>(o.nic);
  if (q->accelerator == nullptr || !nic || o.gpus < 1) {
    return std::unexpected(unknown("the machine of " + o.model + " is not clear",
                                   "--accelerator ID --gpus N --nic '400 Gb/s'"));
  }
  q->gpus = static_cast<int>(o.gpus);
  q->nic = *nic;
  return q;
}

Result<TrainingQuery> query_of(const SearchOptions& o, const Catalog& catalog, Terminal& terminal) {
  if (o.megatron) return megatron_query(o, catalog, terminal);
  TrainingQuery q;
  if (const ModelShape* known = catalog.model(o.model)) {
    q.model = *known;
  } else {
    const auto text = terminal.read_file(o.model);
    if (!text)
      return std::unexpected(
          unknown("no model " + o.model, "an id of the catalog or the path of a config.json"));
    auto shape = model_from_config_json(*text, o.model);
    if (!shape) return std::unexpected(shape.error());
    q.model = *shape;
  }
  q.accelerator = catalog.accelerator(o.accelerator);
  if (q.accelerator == nullptr) {
    return std::unexpected(
        unknown("no accelerator " + o.accelerator, "`orrery catalog accelerators` lists them"));
  }
  const auto precision = precision_from(o.precision);
  if (!precision)
    return std::unexpected(unknown("no precision " + o.precision, "bf16, fp8, mxfp8, nvfp4 ..."));
  const auto nic = parse_quantity<BytesPerSecond>(o.nic);
  if (!nic) return std::unexpected(unknown("\"" + o.nic + "\" is no rate", "400 Gb/s"));
  if (o.gpus < 1 || o.batch < 1 || o.sequence < 1 || o.keep < 1) {
    return std::unexpected(unknown("GPUs, batch, sequence and keep are at least 1", ""));
  }
  q.precision = *precision;
  q.nic = *nic;
  q.gpus = static_cast<int>(o.gpus);
  q.batch = static_cast<int>(o.batch);
  q.sequence = static_cast<double>(o.sequence);
  q.framework = o.framework;
  const auto fixed = [](const std::optional<std::int64_t>& v) {
    return v ? std::optional<int>(static_cast<int>(*v)) : std::nullopt;
  };
  q.layout = {.tp = fixed(o.tp),
              .pp = fixed(o.pp),
              .vp = fixed(o.vp),
              .cp = fixed(o.cp),
              .ep = fixed(o.ep),
              .microbatch = fixed(o.microbatch)};
  return q;
}

void show_progress(Terminal& terminal, std::int64_t done, std::int64_t all) {
  if (terminal.err_is_tty) {
    terminal.err << fmt::format("\r{:3.0f} % of {} candidates",
                                100.0 * static_cast<double>(done) / static_cast<double>(all), all)
                 << std::flush;
  }
}

// Chunks are searched in any order and merged in theirs, so threads do not change the answer.
SearchOutcome search_count(const TrainingModels& models, const TrainingQuery& q, int jobs, int keep,
                           Terminal& terminal) {
  const TrainingJob job = job_of(q);
  const TrainingMachine machine(models, q);
  const CostSource source = machine.source();
  const FrameworkModel framework = models.training.framework(q.framework, q.release);
  const LayoutSpace space = narrowed(whole_space(job), q.layout);
  const SearchQuery search{
      .job = job,
      .space = space,
      .framework = framework,
      .source = source,
      .memory_limit = usable_memory(*q.accelerator),
      .peak_flops =
          q.accelerator->peak(product_dtype(q.precision)).value_or(FlopsPerSecond(0)).base(),
      .keep = keep};
  const std::int64_t size = space.size();
  const std::int64_t chunks = (size + kChunk - 1) / kChunk;
  std::vector<SearchResult> parts(static_cast<std::size_t>(chunks));
  std::atomic<std::int64_t> next = 0;
  std::atomic<std::int64_t> done = 0;
  const auto work = [&](bool shows) {
    for (std::int64_t c = next++; c < chunks && !terminal.interrupted(); c = next++) {
      parts[static_cast<std::size_t>(c)] =
          search_layouts(search, c * kChunk, std::min(size, (c + 1) * kChunk));
      ++done;
      if (shows) show_progress(terminal, done * kChunk, chunks * kChunk);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 1; i < jobs; ++i) threads.emplace_back(work, false);
    work(true);
  }
  if (terminal.err_is_tty) terminal.err << "\r\033[K";
  SearchOutcome outcome{
      .gpus = q.gpus, .found = merge(std::move(parts), keep), .whole = done == chunks};
  for (const RankedLayout& r : outcome.found.best) {
    outcome.described.push_back(describe(models, q, job, machine, r.layout));
  }
  return outcome;
}

std::string text_of(const SearchOutcome& o) {
  const SearchCounts& c = o.found.counts;
  std::string out = fmt::format(
      "{} GPUs: {} candidates; {} do not divide, {} do not fit, {} bounded away, {} evaluated{}\n",
      o.gpus, c.candidates, c.refused, c.too_large, c.bounded, c.evaluated,
      o.whole ? "" : " (interrupted: the best so far)");
  if (o.described.empty()) return out + "nothing fits\n";
  out += fmt::format("{:>4} {:<64} {:>9} {:>12} {:>6} {:>9}\n", "", "layout", "step",
                     "tokens/s/GPU", "MFU", "memory");
  for (std::size_t i = 0; i < o.described.size(); ++i) {
    const TrainingPrediction& p = o.described[i];
    out += fmt::format("{:>4} {:<64} {:>8.3f}s {:>12.1f} {:>5.1f}% {:>6.1f}GiB", i + 1,
                       to_text(p.layout), p.step.seconds, p.tokens_per_s_per_gpu.value, 100 * p.mfu,
                       p.memory.peak / gib(1));
    out += i == 0 ? "\n" : "  " + why_slower(o.found.best[0], o.found.best[i]) + "\n";
  }
  return out;
}

void write_outcome(JsonWriter& w, const SearchOutcome& o) {
  const SearchCounts& c = o.found.counts;
  w.begin_object()
      .field("gpus", o.gpus)
      .field("complete", o.whole)
      .field("candidates", c.candidates)
      .field("refused", c.refused)
      .field("too_large", c.too_large)
      .field("bounded", c.bounded)
      .field("evaluated", c.evaluated);
  w.key("layouts").begin_array();
  for (std::size_t i = 0; i < o.described.size(); ++i) {
    const TrainingPrediction& p = o.described[i];
    w.begin_object()
        .field("layout", to_text(p.layout))
        .field("step_time_s", p.step.seconds)
        .field("step_time_low_s", p.step_time_s.low)
        .field("step_time_high_s", p.step_time_s.high)
        .field("tokens_per_s_per_gpu", p.tokens_per_s_per_gpu.value)
        .field("mfu", p.mfu)
        .field("memory_gib", p.memory.peak / gib(1))
        .field("watts", p.step.watts);
    w.key("parts_s").begin_object();
    for (int part = 0; part < kStepPhaseCount; ++part) {
      const auto phase = static_cast<StepPhase>(part);
      w.field(to_text(phase), p.step.part(phase));
    }
    w.end_object();
    if (i > 0) w.field("why_slower", why_slower(o.found.best[0], o.found.best[i]));
    w.end_object();
  }
  w.end_array().end_object();
}

// Halving counts: each is on the front of time against GPUs unless a smaller one is as fast.
std::vector<int> counts_of(const SearchOptions& o) {
  std::vector<int> counts;
  for (auto n = static_cast<int>(o.gpus); n >= 1; n /= 2) {
    counts.push_back(n);
    if (!o.pareto || n % 2 != 0) break;
  }
  return counts;
}

ExitCode run_search(const SearchOptions& o, Terminal& terminal) {
  const auto catalog = load_embedded_catalog();
  if (!catalog) return refuse(terminal, catalog.error());
  const auto models = load_training_models(*catalog);
  if (!models) return refuse(terminal, models.error());
  auto query = query_of(o, *catalog, terminal);
  if (!query) return refuse(terminal, query.error());
  std::vector<SearchOutcome> outcomes;
  for (int gpus : counts_of(o)) {
    query->gpus = gpus;
    outcomes.push_back(search_count(*models, *query, o.jobs, static_cast<int>(o.keep), terminal));
    if (!outcomes.back().whole || outcomes.back().described.empty()) break;
  }
  if (o.format == Format::json) {
    JsonWriter w;
    w.begin_object()
        .field("schema_version", 1)
        .field("model", o.model)
        .key("searches")
        .begin_array();
    for (const SearchOutcome& outcome : outcomes) write_outcome(w, outcome);
    w.end_array().end_object();
    terminal.out << w.text() << '\n';
  } else {
    for (const SearchOutcome& outcome : outcomes) terminal.out << text_of(outcome);
  }
  if (o.trace && !outcomes.front().described.empty()) {
    const TrainingPrediction& best = outcomes.front().described.front();
    std::ofstream file(*o.trace, std::ios::binary);
    file << step_trace_json(best.step, o.model + " " + to_text(best.layout));
    if (!file) return refuse(terminal, unknown("cannot write " + *o.trace, ""));
  }
  if (!outcomes.back().whole) return ExitCode::interrupted;
  return outcomes.front().described.empty() ? ExitCode::nothing_feasible : ExitCode::good;
}

Verb layout_verb() {
  return {.name = "layout",
          .summary = "Find the fastest parallel layouts of a model on a fleet",
          .examples = {"orrery search layout llama-3-70b --gpus 256 --batch 1024 --sequence 8192",
                       "orrery search layout gpt3-175b --accelerator a100-80-sxm --gpus 64 --batch "
                       "64 --sequence 2048 --jobs 2"},
          .prepare = [](Arguments& arguments) -> Run {
            auto o = std::make_shared<SearchOptions>();
            arguments.positional("MODEL", o->model, "catalog id, alias, or a config.json");
            arguments.option("--accelerator", o->accelerator, "accelerator of the catalog", "ID");
            arguments.option("--gpus", o->gpus, "accelerators");
            arguments.option("--batch", o->batch, "sequences a step");
            arguments.option("--sequence", o->sequence, "tokens a sequence");
            arguments.option("--precision", o->precision, "bf16, fp8, mxfp8, nvfp4 ...", "NAME");
            arguments.option("--framework", o->framework, "family whose parameters are used",
                             "NAME");
            arguments.option("--nic", o->nic, "network rate of one accelerator", "RATE");
            arguments.option("--keep", o->keep, "layouts to show");
            arguments.option("--tp", o->tp, "fix tensor parallelism");
            arguments.option("--pp", o->pp, "fix pipeline stages");
            arguments.option("--vp", o->vp, "fix chunks a stage");
            arguments.option("--cp", o->cp, "fix context parallelism");
            arguments.option("--ep", o->ep, "fix expert parallelism");
            arguments.option("--microbatch", o->microbatch, "fix sequences a microbatch");
            arguments.flag("--megatron", o->megatron,
                           "MODEL is a file with Megatron-LM arguments: its layout is estimated");
            arguments.option("--trace", o->trace,
                             "write the best layout's step for Chrome or Perfetto", "FILE");
            arguments.flag("--pareto", o->pareto, "also half the GPUs, a quarter ...");
            arguments.jobs(o->jobs);
            arguments.format(o->format);
            return [o](Terminal& terminal) { return run_search(*o, terminal); };
          }};
}

}  // namespace

Verb search_verb() {
  return {.name = "search",
          .summary = "Search for a better layout or design",
          .examples = {"orrery search layout llama-3-70b --gpus 256 --batch 1024"},
          .prepare = nullptr,
          .verbs = {layout_verb()}};
}

}  // namespace orrery
