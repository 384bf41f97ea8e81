#include "calc/calculators.h"

#include <algorithm>
#include <cmath>

#include "calc/calc.h"
#include "calc/calc_values.h"

namespace orrery {
namespace {

using enum ParameterKind;

// An answer that is not asked for, because an input could not be read; calculate() tells why.
Result<Calculation> unread() { return Calculation{}; }

ModelQuestion model_of(CalcValues& v) {
  if (v.given("params")) return {.parameters = v.count("params")};
  return {.shape = v.model("model")};
}

Result<Calculation> ask_checkpoint(CalcValues& v, const Models&) {
  CheckpointQuestion q{.model = model_of(v), .bytes_per_param = v.count("bytes-per-param")};
  q.write = v.quantity<BytesPerSecond>("write");
  q.stall = v.quantity_if_given<Seconds>("stall");
  q.interval = v.quantity<Seconds>("every");
  if (!v.faults().empty()) return unread();
  return calc_checkpoint(q);
}

Result<Calculation> ask_memory(CalcValues& v, const Models& models) {
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

Result<Calculation> ask_train_time(CalcValues& v, const Models&) {
  TrainTimeQuestion q{.model = model_of(v), .tokens = v.count("tokens")};
  q.accelerator = v.accelerator("accelerator");
  q.gpus = v.whole("gpus");
  q.mfu = v.count("mfu");
  q.goodput = v.count("goodput");
  q.sequence = v.count("sequence");
  if (!v.faults().empty()) return unread();
  return calc_train_time(q);
}

Result<Calculation> ask_kv_cache(CalcValues& v, const Models&) {
  KvCacheQuestion q{.model = v.model("model"), .context = v.count("context")};
  q.requests = v.count("requests");
  q.dtype = from_word<Dtype>(v.word("dtype")).value_or(Dtype::bf16);
  if (!v.faults().empty()) return unread();
  return calc_kv_cache(q);
}

Result<Calculation> ask_goodput(CalcValues& v, const Models&) {
  GoodputQuestion q{.mtbf = v.quantity<Seconds>("mtbf")};
  q.stall = v.quantity<Seconds>("stall");
  q.restart = v.quantity<Seconds>("restart");
  q.interval = v.quantity_if_given<Seconds>("every");
  if (!v.faults().empty()) return unread();
  return calc_goodput(q);
}

Result<Calculation> ask_spares(CalcValues& v, const Models&) {
  SparesQuestion q{.nodes = v.count("nodes")};
  q.node_mtbf = v.quantity<Seconds>("node-mtbf");
  q.repair = v.quantity<Seconds>("repair");
  q.shortfall = v.count("shortfall");
  if (!v.faults().empty()) return unread();
  return calc_spares(q);
}

Result<Calculation> ask_power(CalcValues& v, const Models&) {
  PowerQuestion q{.node = v.node("node"), .cooling = v.cooling("cooling")};
  q.count = v.whole("count");
  q.matrix = v.share("matrix");
  q.communication = v.share("communication");
  q.pue = v.count("pue");
  if (!v.faults().empty()) return unread();
  q.accelerator = v.catalog().accelerator(q.node->accelerator_id);
  return calc_power(q);
}

Result<Calculation> ask_tco(CalcValues& v, const Models&) {
  TcoQuestion q{.node = v.node("node")};
  q.count = v.whole("count");
  q.pue = v.count("pue");
  q.electricity = v.quantity<UsdPerJoule>("power-price");
  q.goodput = v.count("goodput");
  q.utilisation = v.count("utilisation");
  if (!v.faults().empty()) return unread();
  return calc_tco(q, v.catalog());
}

Result<Calculation> ask_collective(CalcValues& v, const Models& models) {
  CollectiveQuestion q{.bytes = v.quantity<Bytes>("size"), .node = v.node("node")};
  q.ranks = v.whole("ranks");
  q.roce = v.flag("roce");
  if (!v.faults().empty()) return unread();
  q.kind = from_word<Collective>(v.word("kind")).value_or(q.kind);
  q.accelerator = v.catalog().accelerator(q.node->accelerator_id);
  if (q.accelerator == nullptr) {
    return fail({.code = "calc.collective", .what = v.word("node") + " has no accelerators"});
  }
  return calc_collective(q, models);
}

CalcParameter part(std::string_view name, std::string_view table, std::string_view preset,
                   std::string_view label = "catalog id") {
  return {name, label, id, preset, "ID", {}, 0, 0, false, {}, table};
}

CalcParameter one_of(std::string_view name, std::span<const std::string_view> choices,
                     std::string_view preset, std::string_view label) {
  return {name, label, choice, preset, {}, {}, 0, 0, false, {choices.begin(), choices.end()}};
}

// Formats that engines keep a KV cache in.
constexpr std::string_view kCacheFormats[] = {word_of(Dtype::bf16), word_of(Dtype::fp16),
                                              word_of(Dtype::fp8), word_of(Dtype::int8),
                                              word_of(Dtype::fp4)};

const CalcParameter kModel = part("model", "models", "llama-3-70b", "catalog id of the model");
const CalcParameter kParams = {
    "params", "parameters instead of a model", count, "", "COUNT", "", 1e8, 2e12, true};
const CalcParameter kPue = {"pue", "site power over IT power", number, "1.25", "X", "", 1, 2};

std::vector<Calculator> training_calculators() {
  return {
      {"checkpoint",
       "Size of a checkpoint, time to write it, bandwidth it needs",
       "orrery calc checkpoint --params 70B --stall \"30 s\"",
       {kModel,
        kParams,
        {"bytes-per-param", "bytes saved for each parameter", number, "14", "X", "", 2, 20},
        {"write", "write rate of the storage", quantity, "40 GB/s", "RATE", "GB/s", 1, 2000, true},
        {"stall", "ask for the rate that ends a write within this", quantity, "", "TIME", "s", 1,
         600, true},
        {"every", "time between saves", quantity, "1 h", "TIME", "min", 1, 480, true}},
       ask_checkpoint},
      {"memory",
       "Memory of the fullest accelerator in training",
       "orrery calc memory --model llama-3-8b --gpus 8 --tp 2 --mbs 1",
       {part("model", "models", "llama-3-8b", "catalog id of the model"),
        part("accelerator", "accelerators", "h100-sxm"),
        {"gpus", "accelerators", integer, "8", "N", "", 1, 16384, true},
        {"tp", "tensor parallel", integer, "1", "N", "", 1, 64, true},
        {"pp", "pipeline parallel", integer, "1", "N", "", 1, 64, true},
        {"mbs", "sequences of a microbatch", integer, "1", "N", "", 1, 64, true},
        {"sequence", "tokens of a sequence", count, "4096", "COUNT", "", 512, 262144, true},
        one_of("sharding", word_list<Sharding>(), "zero1", "what replicas share out"),
        one_of("recompute", word_list<Recompute>(), "none", "activations computed again")},
       ask_memory},
      {"train-time",
       "Time of a training run from FLOPs",
       "orrery calc train-time --params 70B --tokens 2T --gpus 1016",
       {kModel,
        kParams,
        {"tokens", "tokens of the run", count, "2T", "COUNT", "", 1e9, 5e13, true},
        part("accelerator", "accelerators", "h100-sxm"),
        {"gpus", "accelerators", integer, "1024", "N", "", 8, 131072, true},
        {"mfu", "share of the peak that becomes model FLOPs", number, "0.4", "X", "", 0.05, 0.8},
        {"goodput", "share of the time that trains", number, "0.95", "X", "", 0.5, 1},
        {"sequence", "tokens of a sequence", count, "8192", "COUNT", "", 512, 262144, true}},
       ask_train_time},
  };
}

std::vector<Calculator> machine_calculators() {
  return {
      {"kv-cache",
       "Size of the KV cache",
       "orrery calc kv-cache --model llama-3-70b --context 128K --requests 32",
       {kModel,
        {"context", "tokens of a request", count, "8192", "COUNT", "", 256, 1048576, true},
        {"requests", "requests at once", count, "1", "COUNT", "", 1, 4096, true},
        one_of("dtype", kCacheFormats, "bf16", "number format of the cache")},
       ask_kv_cache},
      {"collective",
       "Time and bus bandwidth of a collective",
       "orrery calc collective --kind all_reduce --size \"1 GiB\" --ranks 64",
       {one_of("kind", word_list<Collective>(), "all_reduce", "which collective"),
        {"size", "bytes, as nccl-tests counts them", quantity, "1 GiB", "SIZE", "MiB", 0.001, 16384,
         true},
        part("node", "nodes", "dgx-h100", "catalog id of the nodes"),
        {"ranks", "accelerators that take part", integer, "64", "N", "", 2, 16384, true},
        {"roce", "RoCE instead of InfiniBand", flag, "false", ""}},
       ask_collective},
      {"goodput",
       "What failures and saves leave of the time",
       "orrery calc goodput --mtbf \"2.78 h\" --stall \"3 s\" --restart \"10 min\"",
       {{"mtbf", "mean time between failures of the job", quantity, "3 h", "TIME", "h", 0.1, 1000,
         true},
        {"stall", "stall of one save", quantity, "30 s", "TIME", "s", 0.1, 600, true},
        {"restart", "from fault to useful work", quantity, "10 min", "TIME", "min", 0.5, 120, true},
        {"every", "time between saves; the best one where not given", quantity, "", "TIME", "min",
         1, 480, true}},
       ask_goodput},
      {"spares",
       "Spare nodes that repairs need",
       "orrery calc spares --nodes 127 --node-mtbf \"264 d\" --repair \"1 d\"",
       {{"nodes", "nodes that must work", count, "127", "COUNT", "", 1, 20000, true},
        {"node-mtbf", "mean time between failures of one node", quantity, "264 d", "TIME", "d", 5,
         2000, true},
        {"repair", "mean time from failure until the node is back", quantity, "1 d", "TIME", "h", 1,
         720, true},
        {"shortfall", "share of the time in which too few may be left", number, "0.01", "X", "",
         0.0001, 0.2, true}},
       ask_spares},
  };
}

std::vector<Calculator> site_calculators() {
  const CalcParameter node = part("node", "nodes", "dgx-h100");
  return {
      {"power",
       "What nodes draw, and how many a rack takes",
       "orrery calc power --node dgx-h100 --count 127 --cooling direct-to-chip-1p",
       {node,
        {"count", "nodes", integer, "1", "N", "", 1, 5000, true},
        {"matrix", "share of the time in matrix work", number, "0.75", "X", "", 0, 1},
        {"communication", "share of the time in exposed communication", number, "0.15", "X", "", 0,
         1},
        kPue,
        part("cooling", "cooling_methods", "air-contained", "cooling method of the rack")},
       ask_power},
      {"tco",
       "What owning costs, per year and per useful hour",
       "orrery calc tco --node dgx-h100 --count 127",
       {node,
        {"count", "nodes", integer, "127", "N", "", 1, 5000, true},
        kPue,
        {"power-price", "of electricity", quantity, "0.08 USD/kWh", "PRICE", "USD/kWh", 0.02, 0.4},
        {"goodput", "share of used hours that count", number, "1", "X", "", 0.5, 1},
        {"utilisation", "share of hours used", number, "0.9", "X", "", 0.1, 1}},
       ask_tco},
  };
}

std::vector<Calculator> every_calculator() {
  std::vector<Calculator> all = training_calculators();
  for (auto& more : {machine_calculators(), site_calculators()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

Diagnostics unknown_names(const Calculator& c, const CalcTexts& given) {
  std::vector<std::string> known;
  for (const CalcParameter& p : c.parameters) known.emplace_back(p.name);
  Diagnostics faults;
  for (const auto& [name, text] : given) {
    if (find_parameter(c, name)) continue;
    const auto close = nearest(name, known);
    faults.push_back({.code = "calc.parameter",
                      .what = std::string(c.name) + " has no parameter '" + name + "'",
                      .fix = close ? "did you mean '" + *close + "'?" : ""});
  }
  return faults;
}

CalcTexts with_presets(const Calculator& c, const CalcTexts& given) {
  CalcTexts texts;
  for (const CalcParameter& p : c.parameters) {
    const auto own = given.find(p.name);
    const std::string text(own == given.end() || own->second.empty() ? p.preset : own->second);
    if (!text.empty()) texts.emplace(p.name, text);
  }
  return texts;
}

}  // namespace

std::string_view to_text(ParameterKind kind) {
  static constexpr std::string_view kWords[] = {"number", "integer", "count", "quantity",
                                                "choice", "id",      "flag"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::span<const Calculator> calculators() {
  static const std::vector<Calculator> kAll = every_calculator();
  return kAll;
}

const Calculator* find_calculator(std::string_view name) {
  const auto all = calculators();
  const auto found = std::ranges::find(all, name, &Calculator::name);
  return found == all.end() ? nullptr : &*found;
}

const CalcParameter* find_parameter(const Calculator& c, std::string_view name) {
  const auto found = std::ranges::find(c.parameters, name, &CalcParameter::name);
  return found == c.parameters.end() ? nullptr : &*found;
}

Result<Calculation> calculate(const Calculator& c, const CalcTexts& given, const Models& models) {
  if (Diagnostics faults = unknown_names(c, given); !faults.empty()) {
    return std::unexpected(std::move(faults));
  }
  const CalcTexts texts = with_presets(c, given);
  CalcValues values(texts, models.catalog());
  for (const CalcParameter& p : c.parameters) {
    if (p.kind == choice) values.check_choice(p);
  }
  Result<Calculation> answer = c.ask(values, models);
  if (!values.faults().empty()) return std::unexpected(values.faults());
  if (!answer) return answer;
  for (const Figure& f : answer->figures) {
    if (std::isfinite(f.estimate.value)) continue;
    return fail({.code = "calc.range",
                 .what = f.label + " is beyond any number here",
                 .fix = "give values that a machine could have"});
  }
  answer->command = command_of(c, given);
  return answer;
}

std::string command_of(const Calculator& c, const CalcTexts& given) {
  std::string line = "orrery calc " + std::string(c.name);
  for (const CalcParameter& p : c.parameters) {
    const auto own = given.find(p.name);
    if (own == given.end() || own->second.empty() || own->second == p.preset) continue;
    line += " --" + std::string(p.name);
    if (p.kind == flag) continue;
    const bool plain = own->second.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-") ==
                       std::string::npos;
    line += plain ? " " + own->second : " \"" + own->second + "\"";
  }
  return line;
}

}  // namespace orrery
