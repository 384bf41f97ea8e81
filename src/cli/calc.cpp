// `orrery calc QUESTION`: one question, flags in, the arithmetic shown with its assumptions.
#include "plan/calc.h"

#include <functional>
#include <memory>

#include "cli/session.h"
#include "cli/values.h"
#include "cli/verb.h"
#include "report/calculation_report.h"

namespace orrery {
namespace {

using Answer = std::function<Result<Calculation>(ValueReader&, const Knowledge&)>;

ExitCode answer(Terminal& terminal, Format format, const Answer& ask) {
  const auto knowledge = load_knowledge();
  if (!knowledge) return refuse(terminal, knowledge.error());
  ValueReader values((*knowledge)->catalog);
  const Result<Calculation> c = ask(values, **knowledge);
  if (!values.faults().empty()) return refuse(terminal, values.faults());
  if (!c) return refuse(terminal, c.error());
  switch (format) {
    case Format::json:
      terminal.out << json_of(*c);
      break;
    case Format::markdown:
      terminal.out << to_markdown(document_of(*c));
      break;
    case Format::html:
      terminal.out << to_html(document_of(*c));
      break;
    default:
      terminal.out << to_text(document_of(*c));
  }
  return ExitCode::good;
}

// Binds the options of one question: `bind` gets a fresh Options and the arguments, `ask` the
// filled one. A value that cannot be read is reported before `ask` may use what stands in for it.
template <class Options>
Verb question(std::string name, std::string summary, std::vector<std::string> examples,
              void (*bind)(Options&, Arguments&),
              Result<Calculation> (*ask)(const Options&, ValueReader&, const Knowledge&)) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .examples = std::move(examples),
          .prepare = [=](Arguments& arguments) -> Run {
            auto options = std::make_shared<Options>();
            auto format = std::make_shared<Format>(Format::text);
            bind(*options, arguments);
            arguments.format(*format, {Format::text, Format::json, Format::markdown, Format::html});
            return [=](Terminal& terminal) {
              return answer(terminal, *format, [&](ValueReader& v, const Knowledge& k) {
                return ask(*options, v, k);
              });
            };
          }};
}

// An answer that is not asked for, because an input could not be read; answer() tells those faults.
Result<Calculation> unread() { return Calculation{}; }

struct ModelOptions {
  std::string model = "llama-3-70b";
  std::optional<std::string> params;
};

void bind_model(ModelOptions& o, Arguments& a) {
  a.option("--model", o.model, "catalog id of the model", "ID");
  a.option("--params", o.params, "parameters instead of a model", "COUNT");
}

ModelQuestion model_of(const ModelOptions& o, ValueReader& v) {
  if (o.params) return {.parameters = v.count("--params", *o.params)};
  return {.shape = v.model("--model", o.model)};
}

struct CheckpointOptions {
  ModelOptions model;
  double bytes = 14;
  std::string write = "40 GB/s";
  std::optional<std::string> stall;
  std::string interval = "1 h";
};

void bind_checkpoint(CheckpointOptions& o, Arguments& a) {
  bind_model(o.model, a);
  a.option("--bytes-per-param", o.bytes, "bytes saved for each parameter");
  a.option("--write", o.write, "write rate of the storage", "RATE");
  a.option("--stall", o.stall, "ask for the rate that ends a write within this", "TIME");
  a.option("--every", o.interval, "time between saves", "TIME");
}

Result<Calculation> ask_checkpoint(const CheckpointOptions& o, ValueReader& v, const Knowledge&) {
  CheckpointQuestion q{.model = model_of(o.model, v), .bytes_per_param = o.bytes};
  q.write = v.quantity<BytesPerSecond>("--write", o.write);
  if (o.stall) q.stall = v.quantity<Seconds>("--stall", *o.stall);
  q.interval = v.quantity<Seconds>("--every", o.interval);
  if (!v.faults().empty()) return unread();
  return calc_checkpoint(q);
}

struct MemoryOptions {
  std::string model = "llama-3-8b";
  std::string accelerator = "h100-sxm";
  std::int64_t gpus = 8;
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  std::int64_t microbatch = 1;
  std::string sequence = "4096";
  std::string sharding = "zero1";
  std::string recompute = "none";
};

void bind_memory(MemoryOptions& o, Arguments& a) {
  a.option("--model", o.model, "catalog id of the model", "ID");
  a.option("--accelerator", o.accelerator, "catalog id", "ID");
  a.option("--gpus", o.gpus, "accelerators");
  a.option("--tp", o.tp, "tensor parallel");
  a.option("--pp", o.pp, "pipeline parallel");
  a.option("--mbs", o.microbatch, "sequences of a microbatch");
  a.option("--sequence", o.sequence, "tokens of a sequence", "COUNT");
  a.choice("--sharding", o.sharding, {"none", "zero1", "zero2", "zero3"},
           "what replicas share out");
  a.choice("--recompute", o.recompute, {"none", "selective", "full"}, "activations computed again");
}

Result<Calculation> ask_memory(const MemoryOptions& o, ValueReader& v, const Knowledge& k) {
  MemoryQuestion q{.model = v.model("--model", o.model),
                   .accelerator = v.accelerator("--accelerator", o.accelerator)};
  q.gpus = static_cast<int>(v.count("--gpus", std::to_string(o.gpus)));
  q.tp = static_cast<int>(v.count("--tp", std::to_string(o.tp)));
  q.pp = static_cast<int>(v.count("--pp", std::to_string(o.pp)));
  q.microbatch = static_cast<int>(v.count("--mbs", std::to_string(o.microbatch)));
  q.sequence = v.count("--sequence", o.sequence);
  q.sharding = o.sharding;
  q.recompute = o.recompute;
  if (!v.faults().empty()) return unread();
  return calc_memory(q, k.models);
}

struct TrainTimeOptions {
  ModelOptions model;
  std::string tokens = "2T";
  std::string accelerator = "h100-sxm";
  std::int64_t gpus = 1024;
  double mfu = 0.4;
  double goodput = 0.95;
  std::string sequence = "8192";
};

void bind_train_time(TrainTimeOptions& o, Arguments& a) {
  bind_model(o.model, a);
  a.option("--tokens", o.tokens, "tokens of the run", "COUNT");
  a.option("--accelerator", o.accelerator, "catalog id", "ID");
  a.option("--gpus", o.gpus, "accelerators");
  a.option("--mfu", o.mfu, "share of the peak that becomes model FLOPs");
  a.option("--goodput", o.goodput, "share of the time that trains");
  a.option("--sequence", o.sequence, "tokens of a sequence", "COUNT");
}

Result<Calculation> ask_train_time(const TrainTimeOptions& o, ValueReader& v, const Knowledge&) {
  TrainTimeQuestion q{.model = model_of(o.model, v), .tokens = v.count("--tokens", o.tokens)};
  q.accelerator = v.accelerator("--accelerator", o.accelerator);
  q.gpus = static_cast<int>(v.count("--gpus", std::to_string(o.gpus)));
  q.mfu = v.count("--mfu", shortest(o.mfu));
  q.goodput = v.count("--goodput", shortest(o.goodput));
  q.sequence = v.count("--sequence", o.sequence);
  if (!v.faults().empty()) return unread();
  return calc_train_time(q);
}

struct KvCacheOptions {
  std::string model = "llama-3-70b";
  std::string context = "8192";
  std::string requests = "1";
  std::string dtype = "bf16";
};

void bind_kv_cache(KvCacheOptions& o, Arguments& a) {
  a.option("--model", o.model, "catalog id of the model", "ID");
  a.option("--context", o.context, "tokens of a request", "COUNT");
  a.option("--requests", o.requests, "requests at once", "COUNT");
  a.choice("--dtype", o.dtype, {"bf16", "fp16", "fp8", "int8", "fp4"},
           "number format of the cache");
}

Result<Calculation> ask_kv_cache(const KvCacheOptions& o, ValueReader& v, const Knowledge&) {
  KvCacheQuestion q{.model = v.model("--model", o.model),
                    .context = v.count("--context", o.context)};
  q.requests = v.count("--requests", o.requests);
  q.dtype = dtype_from(o.dtype).value_or(Dtype::bf16);
  if (!v.faults().empty()) return unread();
  return calc_kv_cache(q);
}

struct GoodputOptions {
  std::string mtbf = "3 h";
  std::string stall = "30 s";
  std::string restart = "10 min";
  std::optional<std::string> interval;
};

void bind_goodput(GoodputOptions& o, Arguments& a) {
  a.option("--mtbf", o.mtbf, "mean time between failures of the job", "TIME");
  a.option("--stall", o.stall, "stall of one save", "TIME");
  a.option("--restart", o.restart, "from fault to useful work", "TIME");
  a.option("--every", o.interval, "time between saves; the best one where not given", "TIME");
}

Result<Calculation> ask_goodput(const GoodputOptions& o, ValueReader& v, const Knowledge&) {
  GoodputQuestion q{.mtbf = v.quantity<Seconds>("--mtbf", o.mtbf)};
  q.stall = v.quantity<Seconds>("--stall", o.stall);
  q.restart = v.quantity<Seconds>("--restart", o.restart);
  if (o.interval) q.interval = v.quantity<Seconds>("--every", *o.interval);
  if (!v.faults().empty()) return unread();
  return calc_goodput(q);
}

struct SparesOptions {
  std::string nodes = "127";
  std::string mtbf = "264 d";
  std::string repair = "1 d";
  double shortfall = 0.01;
};

void bind_spares(SparesOptions& o, Arguments& a) {
  a.option("--nodes", o.nodes, "nodes that must work", "COUNT");
  a.option("--node-mtbf", o.mtbf, "mean time between failures of one node", "TIME");
  a.option("--repair", o.repair, "mean time from failure until the node is back", "TIME");
  a.option("--shortfall", o.shortfall, "share of the time in which too few may be left");
}

Result<Calculation> ask_spares(const SparesOptions& o, ValueReader& v, const Knowledge&) {
  SparesQuestion q{.nodes = v.count("--nodes", o.nodes)};
  q.node_mtbf = v.quantity<Seconds>("--node-mtbf", o.mtbf);
  q.repair = v.quantity<Seconds>("--repair", o.repair);
  q.shortfall = v.count("--shortfall", shortest(o.shortfall));
  if (!v.faults().empty()) return unread();
  return calc_spares(q);
}

struct PowerOptions {
  std::string node = "dgx-h100";
  std::int64_t count = 1;
  double matrix = 0.75;
  double communication = 0.15;
  double pue = 1.25;
  std::string cooling = "air-contained";
};

void bind_power(PowerOptions& o, Arguments& a) {
  a.option("--node", o.node, "catalog id", "ID");
  a.option("--count", o.count, "nodes");
  a.option("--matrix", o.matrix, "share of the time in matrix work");
  a.option("--communication", o.communication, "share of the time in exposed communication");
  a.option("--pue", o.pue, "site power over IT power");
  a.option("--cooling", o.cooling, "cooling method of the rack", "ID");
}

Result<Calculation> ask_power(const PowerOptions& o, ValueReader& v, const Knowledge& k) {
  PowerQuestion q{.node = v.node("--node", o.node), .cooling = v.cooling("--cooling", o.cooling)};
  q.count = static_cast<int>(v.count("--count", std::to_string(o.count)));
  q.matrix = o.matrix;
  q.communication = o.communication;
  q.pue = v.count("--pue", shortest(o.pue));
  if (!v.faults().empty()) return unread();
  q.accelerator = k.catalog.accelerator(q.node->accelerator_id);
  return calc_power(q);
}

struct TcoOptions {
  std::string node = "dgx-h100";
  std::int64_t count = 127;
  double pue = 1.25;
  std::string price = "0.08 USD/kWh";
  double goodput = 1;
  double utilisation = 0.9;
};

void bind_tco(TcoOptions& o, Arguments& a) {
  a.option("--node", o.node, "catalog id", "ID");
  a.option("--count", o.count, "nodes");
  a.option("--pue", o.pue, "site power over IT power");
  a.option("--power-price", o.price, "of electricity", "PRICE");
  a.option("--goodput", o.goodput, "share of used hours that count");
  a.option("--utilisation", o.utilisation, "share of hours used");
}

Result<Calculation> ask_tco(const TcoOptions& o, ValueReader& v, const Knowledge& k) {
  TcoQuestion q{.node = v.node("--node", o.node)};
  q.count = static_cast<int>(v.count("--count", std::to_string(o.count)));
  q.pue = v.count("--pue", shortest(o.pue));
  q.electricity = v.quantity<UsdPerJoule>("--power-price", o.price);
  q.goodput = v.count("--goodput", shortest(o.goodput));
  q.utilisation = v.count("--utilisation", shortest(o.utilisation));
  if (!v.faults().empty()) return unread();
  return calc_tco(q, k.catalog);
}

struct CollectiveOptions {
  std::string kind = "all_reduce";
  std::string size = "1 GiB";
  std::string node = "dgx-h100";
  std::int64_t ranks = 64;
  bool roce = false;
};

void bind_collective(CollectiveOptions& o, Arguments& a) {
  a.choice("--kind", o.kind,
           {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv"},
           "which collective");
  a.option("--size", o.size, "bytes, as nccl-tests counts them", "SIZE");
  a.option("--node", o.node, "catalog id of the nodes", "ID");
  a.option("--ranks", o.ranks, "accelerators that take part");
  a.flag("--roce", o.roce, "RoCE instead of InfiniBand");
}

Result<Calculation> ask_collective(const CollectiveOptions& o, ValueReader& v, const Knowledge& k) {
  CollectiveQuestion q{.bytes = v.quantity<Bytes>("--size", o.size),
                       .node = v.node("--node", o.node)};
  q.ranks = static_cast<int>(v.count("--ranks", std::to_string(o.ranks)));
  q.roce = o.roce;
  if (!v.faults().empty()) return unread();
  for (int i = 0; i <= static_cast<int>(Collective::send_recv); ++i) {
    if (o.kind == to_text(static_cast<Collective>(i))) q.kind = static_cast<Collective>(i);
  }
  q.accelerator = k.catalog.accelerator(q.node->accelerator_id);
  if (q.accelerator == nullptr) {
    return fail({.code = "calc.collective", .what = o.node + " has no accelerators"});
  }
  return calc_collective(q, k.models);
}

}  // namespace

Verb calc_verb() {
  return {
      .name = "calc",
      .summary = "Answer one question with the arithmetic shown",
      .examples = {"orrery calc checkpoint --model llama-3-70b --write \"40 GB/s\"",
                   "orrery calc goodput --mtbf \"3 h\" --restart \"10 min\""},
      .verbs = {
          question<CheckpointOptions>("checkpoint",
                                      "Size of a checkpoint, time to write it, bandwidth it needs",
                                      {"orrery calc checkpoint --params 70B --stall \"30 s\""},
                                      bind_checkpoint, ask_checkpoint),
          question<MemoryOptions>("memory", "Memory of the fullest accelerator in training",
                                  {"orrery calc memory --model llama-3-8b --gpus 8 --tp 2 --mbs 1"},
                                  bind_memory, ask_memory),
          question<TrainTimeOptions>(
              "train-time", "Time of a training run from FLOPs",
              {"orrery calc train-time --params 70B --tokens 2T --gpus 1016"}, bind_train_time,
              ask_train_time),
          question<KvCacheOptions>(
              "kv-cache", "Size of the KV cache",
              {"orrery calc kv-cache --model llama-3-70b --context 128K --requests 32"},
              bind_kv_cache, ask_kv_cache),
          question<CollectiveOptions>(
              "collective", "Time and bus bandwidth of a collective",
              {"orrery calc collective --kind all_reduce --size \"1 GiB\" --ranks 64"},
              bind_collective, ask_collective),
          question<GoodputOptions>(
              "goodput", "What failures and saves leave of the time",
              {"orrery calc goodput --mtbf \"2.78 h\" --stall \"3 s\" --restart \"10 min\""},
              bind_goodput, ask_goodput),
          question<SparesOptions>(
              "spares", "Spare nodes that repairs need",
              {"orrery calc spares --nodes 127 --node-mtbf \"264 d\" --repair \"1 d\""},
              bind_spares, ask_spares),
          question<PowerOptions>(
              "power", "What nodes draw, and how many a rack takes",
              {"orrery calc power --node dgx-h100 --count 127 --cooling direct-to-chip-1p"},
              bind_power, ask_power),
          question<TcoOptions>("tco", "What owning costs, per year and per useful hour",
                               {"orrery calc tco --node dgx-h100 --count 127"}, bind_tco, ask_tco),
      }};
}

}  // namespace orrery
