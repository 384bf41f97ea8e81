// The questions: parameters with their presets and sliders, and the function that answers each.
#include "study/calc/calc.h"
#include "study/calc/calc_values.h"
#include "study/calc/calculators.h"
#include "study/calc/parameters.h"

namespace orrery::calc {
namespace {

using enum ParameterKind;

// The empty answer to a question with an input that could not be read; calculate() reports why.
Result<Calculation> unread() { return Calculation{}; }

ModelQuestion model_of(CalcValues& v) {
  if (v.given("params")) return {.parameters = v.count("params")};
  return {.shape = v.model("model")};
}

Result<Calculation> ask_checkpoint(CalcValues& v, const machine::Models&) {
  CheckpointQuestion q{.model = model_of(v), .bytes_per_param = v.count("bytes-per-param")};
  q.write = v.quantity<BytesPerSecond>("write");
  q.stall = v.quantity_if_given<Seconds>("stall");
  q.interval = v.quantity<Seconds>("every");
  if (!v.faults().empty()) return unread();
  return calc_checkpoint(q);
}

Result<Calculation> ask_memory(CalcValues& v, const machine::Models& models) {
  MemoryQuestion q{.model = v.model("model"), .accelerator = v.accelerator("accelerator")};
  q.gpus = v.whole("gpus");
  q.tp = v.whole("tp");
  q.pp = v.whole("pp");
  q.microbatch = v.whole("mbs");
  q.sequence = v.count("sequence");
  q.sharding = v.word("sharding");
  q.recompute = v.word("recompute");
  if (!v.faults().empty()) return unread();
  return calc_memory(q, models);
}

Result<Calculation> ask_train_time(CalcValues& v, const machine::Models&) {
  TrainTimeQuestion q{.model = model_of(v), .tokens = v.count("tokens")};
  q.accelerator = v.accelerator("accelerator");
  q.gpus = v.whole("gpus");
  q.mfu = v.count("mfu");
  q.goodput = v.count("goodput");
  q.sequence = v.count("sequence");
  if (!v.faults().empty()) return unread();
  return calc_train_time(q);
}

Result<Calculation> ask_kv_cache(CalcValues& v, const machine::Models&) {
  KvCacheQuestion q{.model = v.model("model"), .context = v.count("context")};
  q.requests = v.count("requests");
  q.dtype = from_word<catalog::Dtype>(v.word("dtype")).value_or(catalog::Dtype::bf16);
  if (!v.faults().empty()) return unread();
  return calc_kv_cache(q);
}

Result<Calculation> ask_goodput(CalcValues& v, const machine::Models&) {
  GoodputQuestion q{.mtbf = v.quantity<Seconds>("mtbf")};
  q.stall = v.quantity<Seconds>("stall");
  q.restart = v.quantity<Seconds>("restart");
  q.interval = v.quantity_if_given<Seconds>("every");
  if (!v.faults().empty()) return unread();
  return calc_goodput(q);
}

Result<Calculation> ask_spares(CalcValues& v, const machine::Models&) {
  SparesQuestion q{.nodes = v.count("nodes")};
  q.node_mtbf = v.quantity<Seconds>("node-mtbf");
  q.repair = v.quantity<Seconds>("repair");
  q.shortfall = v.count("shortfall");
  if (!v.faults().empty()) return unread();
  return calc_spares(q);
}

Result<Calculation> ask_power(CalcValues& v, const machine::Models&) {
  PowerQuestion q{.node = v.node("node"), .cooling = v.cooling("cooling")};
  q.count = v.whole("count");
  q.matrix = v.share("matrix");
  q.communication = v.share("communication");
  q.pue = v.count("pue");
  if (!v.faults().empty()) return unread();
  q.accelerator = v.catalog().accelerator(q.node->accelerator_id);
  return calc_power(q);
}

Result<Calculation> ask_tco(CalcValues& v, const machine::Models&) {
  TcoQuestion q{.node = v.node("node")};
  q.count = v.whole("count");
  q.pue = v.count("pue");
  q.electricity = v.quantity<UsdPerJoule>("power-price");
  q.goodput = v.count("goodput");
  q.utilisation = v.count("utilisation");
  if (!v.faults().empty()) return unread();
  return calc_tco(q, v.catalog());
}

Result<Calculation> ask_collective(CalcValues& v, const machine::Models& models) {
  CollectiveQuestion q{.bytes = v.quantity<Bytes>("size"), .node = v.node("node")};
  q.ranks = v.whole("ranks");
  q.roce = v.flag("roce");
  if (!v.faults().empty()) return unread();
  q.kind = from_word<workload::Collective>(v.word("kind")).value_or(q.kind);
  q.accelerator = v.catalog().accelerator(q.node->accelerator_id);
  if (q.accelerator == nullptr) {
    return fail({.code = "calc.collective", .what = v.word("node") + " has no accelerators"});
  }
  return calc_collective(q, models);
}

CalcParameter part(std::string_view name, std::string_view table, std::string_view preset,
                   std::string_view label = "catalog id") {
  return part_parameter(name, table, preset, label);
}

CalcParameter one_of(std::string_view name, std::span<const std::string_view> choices,
                     std::string_view preset, std::string_view label) {
  return {.name = name,
          .label = label,
          .kind = choice,
          .preset = preset,
          .choices = {choices.begin(), choices.end()}};
}

// Formats that engines keep a KV cache in.
constexpr std::string_view kCacheFormats[] = {
    word_of(catalog::Dtype::bf16), word_of(catalog::Dtype::fp16), word_of(catalog::Dtype::fp8),
    word_of(catalog::Dtype::int8), word_of(catalog::Dtype::fp4)};

const CalcParameter kModel = part("model", "models", "llama-3-70b", "catalog id of the model");
const CalcParameter kParams = {.name = "params",
                               .label = "number of parameters, instead of a model",
                               .kind = count,
                               .shown = "COUNT",
                               .low = 1e8,
                               .high = 2e12,
                               .log = true};
const CalcParameter kPue = {.name = "pue",
                            .label = "site power over IT power",
                            .kind = number,
                            .preset = "1.25",
                            .shown = "X",
                            .low = 1,
                            .high = 2};

const CalcParameter kNode = part("node", "nodes", "dgx-h100", "catalog id of the node");

Calculator checkpoint_calculator() {
  return {.name = "checkpoint",
          .summary = "Size of a checkpoint, time to write it, bandwidth it needs",
          .example = "orrery calc checkpoint --params 70B --stall \"30 s\"",
          .parameters = {kModel,
                         kParams,
                         {.name = "bytes-per-param",
                          .label = "bytes saved per parameter",
                          .kind = number,
                          .preset = "14",
                          .shown = "X",
                          .low = 2,
                          .high = 20},
                         {.name = "write",
                          .label = "write rate of the storage",
                          .kind = quantity,
                          .preset = "40 GB/s",
                          .shown = "RATE",
                          .unit = "GB/s",
                          .low = 1,
                          .high = 2000,
                          .log = true},
                         {.name = "stall",
                          .label = "time that a write may take; the answer is the rate needed",
                          .kind = quantity,
                          .shown = "TIME",
                          .unit = "s",
                          .low = 1,
                          .high = 600,
                          .log = true},
                         {.name = "every",
                          .label = "time between saves",
                          .kind = quantity,
                          .preset = "1 h",
                          .shown = "TIME",
                          .unit = "min",
                          .low = 1,
                          .high = 480,
                          .log = true}},
          .ask = ask_checkpoint};
}

Calculator memory_calculator() {
  return {.name = "memory",
          .summary = "Memory of the fullest accelerator in training",
          .example = "orrery calc memory --model llama-3-8b --gpus 8 --tp 2 --mbs 1",
          .parameters = {part("model", "models", "llama-3-8b", "catalog id of the model"),
                         part("accelerator", "accelerators", "h100-sxm",
                              "catalog id of the accelerator"),
                         {.name = "gpus",
                          .label = "number of accelerators",
                          .kind = integer,
                          .preset = "8",
                          .shown = "N",
                          .low = 1,
                          .high = 16384,
                          .log = true},
                         {.name = "tp",
                          .label = "tensor parallel",
                          .kind = integer,
                          .preset = "1",
                          .shown = "N",
                          .low = 1,
                          .high = 64,
                          .log = true},
                         {.name = "pp",
                          .label = "pipeline parallel",
                          .kind = integer,
                          .preset = "1",
                          .shown = "N",
                          .low = 1,
                          .high = 64,
                          .log = true},
                         {.name = "mbs",
                          .label = "sequences per microbatch",
                          .kind = integer,
                          .preset = "1",
                          .shown = "N",
                          .low = 1,
                          .high = 64,
                          .log = true},
                         {.name = "sequence",
                          .label = "tokens per sequence",
                          .kind = count,
                          .preset = "4096",
                          .shown = "COUNT",
                          .low = 512,
                          .high = 262144,
                          .log = true},
                         one_of("sharding", word_list<catalog::Sharding>(), "zero1",
                                "what is sharded over the data-parallel replicas"),
                         one_of("recompute", word_list<catalog::Recompute>(), "none",
                                "activations that are recomputed")},
          .ask = ask_memory};
}

Calculator train_time_calculator() {
  return {.name = "train-time",
          .summary = "Time of a training run from FLOPs",
          .example = "orrery calc train-time --params 70B --tokens 2T --gpus 1016",
          .parameters = {kModel,
                         kParams,
                         {.name = "tokens",
                          .label = "training tokens",
                          .kind = count,
                          .preset = "2T",
                          .shown = "COUNT",
                          .low = 1e9,
                          .high = 5e13,
                          .log = true},
                         part("accelerator", "accelerators", "h100-sxm",
                              "catalog id of the accelerator"),
                         {.name = "gpus",
                          .label = "number of accelerators",
                          .kind = integer,
                          .preset = "1024",
                          .shown = "N",
                          .low = 8,
                          .high = 131072,
                          .log = true},
                         {.name = "mfu",
                          .label = "model FLOP/s utilisation",
                          .kind = number,
                          .preset = "0.4",
                          .shown = "X",
                          .low = 0.05,
                          .high = 0.8},
                         {.name = "goodput",
                          .label = "share of time that is useful training",
                          .kind = number,
                          .preset = "0.95",
                          .shown = "X",
                          .low = 0.5,
                          .high = 1},
                         {.name = "sequence",
                          .label = "tokens per sequence",
                          .kind = count,
                          .preset = "8192",
                          .shown = "COUNT",
                          .low = 512,
                          .high = 262144,
                          .log = true}},
          .ask = ask_train_time};
}

Calculator kv_cache_calculator() {
  return {.name = "kv-cache",
          .summary = "Size of the KV cache",
          .example = "orrery calc kv-cache --model llama-3-70b --context 128K --requests 32",
          .parameters = {kModel,
                         {.name = "context",
                          .label = "tokens per request",
                          .kind = count,
                          .preset = "8192",
                          .shown = "COUNT",
                          .low = 256,
                          .high = 1048576,
                          .log = true},
                         {.name = "requests",
                          .label = "concurrent requests",
                          .kind = count,
                          .preset = "1",
                          .shown = "COUNT",
                          .low = 1,
                          .high = 4096,
                          .log = true},
                         one_of("dtype", kCacheFormats, "bf16", "number format of the cache")},
          .ask = ask_kv_cache};
}

Calculator collective_calculator() {
  return {.name = "collective",
          .summary = "Time and bus bandwidth of a collective",
          .example = "orrery calc collective --kind all_reduce --size \"1 GiB\" --ranks 64",
          .parameters = {one_of("kind", word_list<workload::Collective>(), "all_reduce",
                                "collective operation"),
                         {.name = "size",
                          .label = "message size as nccl-tests counts it",
                          .kind = quantity,
                          .preset = "1 GiB",
                          .shown = "SIZE",
                          .unit = "MiB",
                          .low = 0.001,
                          .high = 16384,
                          .log = true},
                         part("node", "nodes", "dgx-h100", "catalog id of the nodes"),
                         {.name = "ranks",
                          .label = "accelerators in the collective",
                          .kind = integer,
                          .preset = "64",
                          .shown = "N",
                          .low = 2,
                          .high = 16384,
                          .log = true},
                         {.name = "roce",
                          .label = "RoCE instead of InfiniBand",
                          .kind = flag,
                          .preset = "false"}},
          .ask = ask_collective};
}

Calculator goodput_calculator() {
  return {.name = "goodput",
          .summary = "Share of time left after failures and saves",
          .example = "orrery calc goodput --mtbf \"2.78 h\" --stall \"3 s\" --restart \"10 min\"",
          .parameters = {{.name = "mtbf",
                          .label = "mean time between failures of the job",
                          .kind = quantity,
                          .preset = "3 h",
                          .shown = "TIME",
                          .unit = "h",
                          .low = 0.1,
                          .high = 1000,
                          .log = true},
                         {.name = "stall",
                          .label = "time that one save stops the job",
                          .kind = quantity,
                          .preset = "30 s",
                          .shown = "TIME",
                          .unit = "s",
                          .low = 0.1,
                          .high = 600,
                          .log = true},
                         {.name = "restart",
                          .label = "time from a fault to useful work",
                          .kind = quantity,
                          .preset = "10 min",
                          .shown = "TIME",
                          .unit = "min",
                          .low = 0.5,
                          .high = 120,
                          .log = true},
                         {.name = "every",
                          .label = "time between saves; default: the optimum",
                          .kind = quantity,
                          .shown = "TIME",
                          .unit = "min",
                          .low = 1,
                          .high = 480,
                          .log = true}},
          .ask = ask_goodput};
}

Calculator spares_calculator() {
  return {.name = "spares",
          .summary = "Number of spare nodes that cover repairs",
          .example = "orrery calc spares --nodes 127 --node-mtbf \"264 d\" --repair \"1 d\"",
          .parameters = {{.name = "nodes",
                          .label = "nodes that must work",
                          .kind = count,
                          .preset = "127",
                          .shown = "COUNT",
                          .low = 1,
                          .high = 20000,
                          .log = true},
                         {.name = "node-mtbf",
                          .label = "mean time between failures of one node",
                          .kind = quantity,
                          .preset = "264 d",
                          .shown = "TIME",
                          .unit = "d",
                          .low = 5,
                          .high = 2000,
                          .log = true},
                         {.name = "repair",
                          .label = "mean time from a failure until the node is back",
                          .kind = quantity,
                          .preset = "1 d",
                          .shown = "TIME",
                          .unit = "h",
                          .low = 1,
                          .high = 720,
                          .log = true},
                         {.name = "shortfall",
                          .label = "share of time in which nodes may be missing",
                          .kind = number,
                          .preset = "0.01",
                          .shown = "X",
                          .low = 0.0001,
                          .high = 0.2,
                          .log = true}},
          .ask = ask_spares};
}

Calculator power_calculator() {
  return {.name = "power",
          .summary = "Power of nodes, and how many fit in a rack",
          .example = "orrery calc power --node dgx-h100 --count 127 --cooling direct-to-chip-1p",
          .parameters = {kNode,
                         {.name = "count",
                          .label = "number of nodes",
                          .kind = integer,
                          .preset = "1",
                          .shown = "N",
                          .low = 1,
                          .high = 5000,
                          .log = true},
                         {.name = "matrix",
                          .label = "share of time in matrix products",
                          .kind = number,
                          .preset = "0.75",
                          .shown = "X",
                          .low = 0,
                          .high = 1},
                         {.name = "communication",
                          .label = "share of time in exposed communication",
                          .kind = number,
                          .preset = "0.15",
                          .shown = "X",
                          .low = 0,
                          .high = 1},
                         kPue,
                         part("cooling", "cooling_methods", "air-contained",
                              "cooling method of the rack")},
          .ask = ask_power};
}

Calculator tco_calculator() {
  return {.name = "tco",
          .summary = "Cost of owning nodes, per year and per useful hour",
          .example = "orrery calc tco --node dgx-h100 --count 127",
          .parameters = {kNode,
                         {.name = "count",
                          .label = "number of nodes",
                          .kind = integer,
                          .preset = "127",
                          .shown = "N",
                          .low = 1,
                          .high = 5000,
                          .log = true},
                         kPue,
                         {.name = "power-price",
                          .label = "price of electricity",
                          .kind = quantity,
                          .preset = "0.08 USD/kWh",
                          .shown = "PRICE",
                          .unit = "USD/kWh",
                          .low = 0.02,
                          .high = 0.4},
                         {.name = "goodput",
                          .label = "share of used hours that is useful work",
                          .kind = number,
                          .preset = "1",
                          .shown = "X",
                          .low = 0.5,
                          .high = 1},
                         {.name = "utilisation",
                          .label = "share of hours used",
                          .kind = number,
                          .preset = "0.9",
                          .shown = "X",
                          .low = 0.1,
                          .high = 1}},
          .ask = ask_tco};
}

}  // namespace

std::vector<Calculator> every_calculator() {
  return {checkpoint_calculator(), memory_calculator(),     train_time_calculator(),
          kv_cache_calculator(),   collective_calculator(), goodput_calculator(),
          spares_calculator(),     power_calculator(),      tco_calculator(),
          durability_calculator(), tier_calculator(),       tier_size_calculator(),
          serve_calculator(),      kv_tier_calculator()};
}

}  // namespace orrery::calc
