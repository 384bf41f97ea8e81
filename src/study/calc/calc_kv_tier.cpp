// What a KV tier gives users in conversations: how much of the history is still on the device, how
// much the tier brings back, and the time to first token with and without it.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/base/units.h"
#include "model/jobs/predict_sessions.h"
#include "study/calc/calc_values.h"
#include "study/calc/parameters.h"

namespace orrery::calc {
namespace {

constexpr const char* kKvTierPage = "docs/models/serving.md";
// Requests that are simulated per user; the first third fills the cache.
constexpr int kTurnsOfUser = 18;
constexpr int kMostTurns = 12000;

struct KvTierAsked {
  jobs::SessionsAsk ask;
  // the memory pool behind the tier, if it is an emerging part
  const catalog::EmergingPart* pool = nullptr;
  jobs::SessionsPrediction with;
  jobs::SessionsPrediction without;
};

std::string kv_tier_answer(const KvTierAsked& a) {
  const double part = a.with.fetched;
  if (part < 0.005 && a.with.on_device > 0.995)
    return "The device holds the whole history: a tier brings nothing back.";
  if (a.with.fetch_of_token >= a.with.compute_of_token) {
    return "The tier is slower than computing again: nothing is fetched.";
  }
  return fmt::format(
      "The tier returns {} of the conversations' history; the first token takes {} instead of {}.",
      figures::show(part, figures::Unit::ratio), brief(Seconds(a.with.latency.ttft_mean)),
      brief(Seconds(a.without.latency.ttft_mean)));
}

Calculation tell_kv_tier(const KvTierAsked& a) {
  using figures::Unit;
  Calculation c{.question = fmt::format(
                    "What does a KV tier of {} save for {} conversations with {} of {} turns?",
                    brief(a.ask.kv.room), a.ask.load.users, a.ask.query.model.id,
                    a.ask.load.turns)};
  c.answer = kv_tier_answer(a);
  const auto add = [&](std::string id, std::string label, Unit unit, double value, double width,
                       std::string formula = {}) {
    c.figures.push_back({.id = std::move(id),
                         .label = std::move(label),
                         .unit = unit,
                         .estimate = within(value, width, width, Basis::fitted, kKvTierPage),
                         .formula = std::move(formula)});
  };
  const double error = a.with.error;
  add("on_device", "share of the history found on the device", Unit::ratio, a.with.on_device, 0);
  add("fetched", "share of the history read from the tier", Unit::ratio, a.with.fetched, 0);
  add("computed", "share of the history that is recomputed", Unit::ratio,
      std::max(0.0, 1 - a.with.on_device - a.with.fetched), 0);
  add("ttft", "mean time to first token", Unit::seconds, a.with.latency.ttft_mean, 2 * error);
  add("ttft_p99", "p99 time to first token", Unit::seconds, a.with.latency.ttft_p99, 2 * error);
  add("ttft_without", "mean time to first token without the tier", Unit::seconds,
      a.without.latency.ttft_mean, 2 * error);
  add("ttft_p99_without", "p99 time to first token without the tier", Unit::seconds,
      a.without.latency.ttft_p99, 2 * error);
  add("tpot", "mean time per output token", Unit::seconds, a.with.latency.tpot_mean, error);
  add("requests", "turns per second", Unit::per_second, a.with.latency.requests_per_s, error);
  add("requests_without", "turns per second without the tier", Unit::per_second,
      a.without.latency.requests_per_s, error);
  add("device_tokens", "tokens that the device holds", Unit::count, a.with.device_tokens, 0);
  add("tier_tokens", "tokens that the tier holds", Unit::count, a.with.tier_tokens, 0);
  add("fetch_token", "time to fetch a token", Unit::seconds, a.with.fetch_of_token.base(), 0,
      "bytes of its KV cache / rate of the tier");
  add("compute_token", "time to compute a prompt token", Unit::seconds,
      a.with.compute_of_token.base(), error);
  c.assumptions = {"one replica, simulated; only the last two thirds of the turns count",
                   "evicted blocks go to the tier, and its least recently used blocks are dropped",
                   "a fetch takes its time in the step that admits the request; writing blocks to "
                   "the tier takes none"};
  if (a.pool) {
    c.assumptions.push_back(fmt::format("{}: {}; {} ({} confidence)", a.pool->name, a.pool->status,
                                        a.pool->note, to_text(a.pool->provenance.confidence)));
  }
  return c;
}

// A pool is read over its own links or over the replica's ports to its hosts, whichever is slower.
void read_tier(CalcValues& v, KvTierAsked& a) {
  const auto rate = v.quantity_if_given<BytesPerSecond>("rate");
  const int links = v.whole("pool-links");
  a.pool = v.memory_pool("pool");
  a.ask.kv.first_byte = v.quantity<Seconds>("latency");
  if (a.pool && rate) v.complain("rate", "no value together with --pool, whose links set the rate");
  if (!v.faults().empty()) return;
  const BytesPerSecond ports = host_memory_rate(a.ask.query);
  a.ask.kv.rate =
      rate.value_or(a.pool ? min(ports, *a.pool->rate * static_cast<double>(links)) : ports);
  if (a.pool) a.ask.kv.first_byte = a.ask.kv.first_byte + *a.pool->latency;
}

Result<Calculation> ask_kv_tier(CalcValues& v, const machine::Models& models) {
  KvTierAsked a;
  jobs::ServingQuery& q = a.ask.query;
  const catalog::ModelShape* model = v.model("model");
  q.accelerator = v.accelerator("accelerator");
  q.engine = v.word("engine");
  q.split.tp = v.whole("tp");
  const auto format = from_word<catalog::Dtype>(v.word("dtype")).value_or(catalog::Dtype::bf16);
  q.precision = {.products = format, .experts = format, .kv = format};
  traffic::SessionLoad& load = a.ask.load;
  load.users = v.whole("users");
  load.turns = v.whole("turns");
  load.think = v.quantity<Seconds>("think").base();
  load.prompt = {.length = v.count("input")};
  load.output = {.length = v.count("output")};
  load.requests = std::min(kMostTurns, kTurnsOfUser * load.users);
  a.ask.kv.room = v.quantity<Bytes>("room");
  read_tier(v, a);
  if (!v.faults().empty()) return Calculation{};
  q.model = *model;
  q.request = {.input = load.prompt.length, .output = load.output.length};
  auto with = predict_sessions(models, a.ask);
  if (!with) return std::unexpected(with.error());
  jobs::SessionsAsk bare = a.ask;
  bare.kv.room = Bytes(0);
  auto without = predict_sessions(models, bare);
  if (!without) return std::unexpected(without.error());
  a.with = *with;
  a.without = *without;
  return tell_kv_tier(a);
}

}  // namespace

Calculator kv_tier_calculator() {
  const auto choice = [](std::string_view name, std::string_view label, std::string_view preset,
                         std::vector<std::string_view> choices) {
    return CalcParameter{.name = name,
                         .label = label,
                         .kind = ParameterKind::choice,
                         .preset = preset,
                         .choices = std::move(choices)};
  };
  return {
      .name = "kv-tier",
      .summary = "What a KV tier saves for multi-turn conversations",
      .example = "orrery calc kv-tier --model llama-3-70b --users 200 --room 1TB",
      .parameters =
          {part_parameter("model", "models", "llama-3-70b", "catalog id of the model"),
           part_parameter("accelerator", "accelerators", "h100-sxm",
                          "catalog id of the accelerator"),
           whole_parameter("tp", "accelerators per replica", "2", 8),
           choice("engine", "serving engine", "vllm", {"vllm", "sglang", "tensorrt-llm"}),
           choice("dtype", "number format of weights and cache", "fp8", {"bf16", "fp8"}),
           whole_parameter("users", "concurrent conversations per replica", "150", 2000),
           whole_parameter("turns", "turns per conversation", "8", 64),
           amount_parameter("think", "mean time from an answer to the user's next turn", "120 s",
                            "s", 1, 3600),
           {.name = "input",
            .label = "new tokens per turn",
            .kind = ParameterKind::count,
            .preset = "500",
            .shown = "COUNT",
            .low = 16,
            .high = 32768,
            .log = true},
           {.name = "output",
            .label = "tokens per answer",
            .kind = ParameterKind::count,
            .preset = "250",
            .shown = "COUNT",
            .low = 16,
            .high = 8192,
            .log = true},
           amount_parameter("room", "capacity of the tier for this replica", "500 GB", "GB", 1,
                            1e5),
           amount_parameter(
               "rate", "read rate from the tier; default: the rate of the ports to host memory", "",
               "GB/s", 0.1, 1000),
           amount_parameter("latency", "latency of one fetch", "50 us", "us", 1, 1e5),
           part_parameter("pool", "emerging", "",
                          "catalog id of a memory pool used as the tier, such as cxl-2-x16"),
           whole_parameter("pool-links", "links from the replica's hosts to the pool", "1", 16)},
      .ask = ask_kv_tier};
}

}  // namespace orrery::calc
