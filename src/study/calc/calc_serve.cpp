// How many users a number of accelerators serves within its objectives, or how few accelerators a
// request rate needs: over engines, formats, splits, and prefill and decode together or separate.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/base/text.h"
#include "core/base/units.h"
#include "layers/cost/rental.h"
#include "model/design/workloads.h"
#include "model/jobs/serving_choices.h"
#include "study/calc/calc_values.h"
#include "study/calc/parameters.h"

namespace orrery::calc {
namespace {

constexpr const char* kServePage = "docs/models/serving.md";
constexpr std::size_t kShownChoices = 4;
constexpr double kServeHour = 3600;

struct ServeAsked {
  jobs::ServingAsk ask;
  int gpus = 8;
  PerSecond rate;             // 0: not asked for
  std::optional<double> usd;  // per accelerator and hour
};

std::string serve_layout(const jobs::ServingChoice& c,
                         const std::optional<machine::FleetSlice>& slice) {
  const std::string each = fmt::format("{} in {}, tp {}", c.engine, to_text(c.format), c.tp);
  if (!c.apart) {
    return fmt::format("{}, {} replicas{}", each, significant(c.replicas, 6),
                       slice ? " on slices of " + slice->profile->profile : "");
  }
  return fmt::format("{}, {} prefill and {} decode replicas", each, significant(c.prefill, 6),
                     significant(c.replicas - c.prefill, 6));
}

void add_served(Calculation& c, std::string id, std::string label, figures::Unit unit, double value,
                double width, std::string formula = {}) {
  c.figures.push_back({.id = std::move(id),
                       .label = std::move(label),
                       .unit = unit,
                       .estimate = within(value, width, width, Basis::fitted, kServePage),
                       .formula = std::move(formula)});
}

void add_best(Calculation& c, const ServeAsked& a, const jobs::ServingChoice& best) {
  using figures::Unit;
  const double output = a.ask.request.output;
  const double decoding = best.apart ? best.replicas - best.prefill : best.replicas;
  add_served(c, "users", "concurrent requests", Unit::count, best.users, best.error,
             fmt::format("{} replicas x {} requests", significant(decoding, 6),
                         significant(best.batch, 4)));
  const bool asked = a.rate <= PerSecond(0);
  add_served(c, "gpus", "accelerators", Unit::count, best.gpus, 0,
             asked ? "" : serve_layout(best, a.ask.slice));
  if (asked) c.figures.back().estimate.basis = Basis::given;
  add_served(c, "batch_limit", "largest batch to allow in the engine", Unit::count, best.batch,
             best.error);
  add_served(c, "requests", "requests per second", Unit::per_second, best.requests.base(),
             best.error);
  add_served(c, "output_tokens", "output tokens per second", Unit::tokens_per_s,
             best.requests.base() * output, best.error);
  add_served(c, "ttft", "mean time to first token at full load", Unit::seconds, best.ttft.base(),
             2 * best.error);
  add_served(c, "tpot", "mean time per output token at full load", Unit::seconds, best.tpot.base(),
             best.error);
  if (!a.usd) return;
  const double served = a.rate > PerSecond(0) ? a.rate.base() : best.requests.base();
  const double hour = *a.usd * best.gpus;
  add_served(c, "rent", "rent", Unit::usd_per_hour, hour, 0,
             fmt::format("{} accelerators x {} USD per hour", best.gpus, significant(*a.usd, 3)));
  c.figures.back().estimate.basis = Basis::vendor;
  add_served(c, "usd_per_mtoken", "cost per million output tokens", Unit::usd_per_mtoken,
             hour / (served * output * kServeHour) * 1e6, best.error);
}

std::string serve_answer(const ServeAsked& a, const jobs::ServingChoice& best) {
  if (a.rate > PerSecond(0)) {
    return fmt::format("{} requests per second need {} accelerators: {}.",
                       significant(a.rate.base(), 4), best.gpus, serve_layout(best, a.ask.slice));
  }
  return fmt::format("{} users at once on {} accelerators: {}.",
                     significant(std::floor(best.users), 6), best.gpus,
                     serve_layout(best, a.ask.slice));
}

Calculation tell_serve(const ServeAsked& a, const std::vector<jobs::ServingChoice>& choices) {
  const jobs::ServingAsk& ask = a.ask;
  Calculation c{
      .question = fmt::format("How many users can {} serve on {}, {} tokens in and {} out?",
                              ask.model.id, ask.accelerator->id, significant(ask.request.input, 6),
                              significant(ask.request.output, 6))};
  c.answer = serve_answer(a, choices.front());
  add_best(c, a, choices.front());
  const jobs::ServingChoice& best = choices.front();
  std::ranges::transform(adapter_figures(best.adapters, best.error), std::back_inserter(c.figures),
                         figures::number_of);
  for (std::size_t i = 1; i < choices.size() && i < kShownChoices; ++i) {
    const jobs::ServingChoice& other = choices[i];
    add_served(c, fmt::format("choice_{}", i + 1), "instead: " + serve_layout(other, ask.slice),
               figures::Unit::count, a.rate > PerSecond(0) ? other.gpus : other.users, other.error);
  }
  c.assumptions = {
      "objectives are 99th percentiles; requests arrive as a Poisson stream with equal lengths",
      "for a given rate, each replica carries at most 80 % of what it can",
      "separate prefill and decode: the KV cache moves over one 400 Gb/s port per accelerator"};
  return c;
}

void read_adapters(CalcValues& v, jobs::ServingAsk& ask) {
  if (!v.given("adapters")) {
    for (const std::string_view name : {"rank", "slots"}) {
      if (v.given(name)) v.complain(name, "no value without --adapters");
    }
    return;
  }
  ask.adapters =
      serving::AdapterSet{.count = v.whole("adapters"), .slots = design::Adapters{}.slots};
  if (v.given("slots")) ask.adapters->slots = v.whole("slots");
  if (v.given("rank")) ask.adapters->rank = v.whole("rank");
  if (v.word("roles") == "apart") {
    v.complain("roles",
               "any or joined with --adapters: adapters with separate roles are not modelled");
  }
}

// Returns why adapters of this model cannot be asked for; empty if they can.
std::string adapter_fault(const jobs::ServingAsk& ask) {
  return jobs::adapter_fault(
      {.model = ask.model, .accelerator = ask.accelerator, .adapters = ask.adapters});
}

Result<Calculation> ask_serve(CalcValues& v, const machine::Models& models) {
  ServeAsked a;
  const catalog::ModelShape* model = v.model("model");
  a.ask.accelerator = v.accelerator("accelerator");
  a.ask.request = {.input = v.count("input"), .output = v.count("output")};
  a.ask.target.ttft_p99 = v.quantity<Seconds>("ttft");
  a.ask.target.tpot_p99 = v.quantity<Seconds>("tpot");
  a.ask.request.cached_share = v.given("cached") ? v.share("cached") : 0;
  a.gpus = v.whole("gpus");
  if (v.given("tp")) a.ask.tp = v.whole("tp");
  if (const catalog::MigProfile* slice = v.slice("slice", a.ask.accelerator)) {
    a.ask.slice = {.profile = slice, .each = slice->max_instances};
    if (a.ask.tp > 1) v.complain("tp", "1 or nothing with --slice: no link joins slices");
    if (v.word("roles") == "apart") {
      v.complain("roles",
                 "any or joined with --slice, because a slice has no port for the KV cache");
    }
  }
  if (v.given("rate")) a.rate = PerSecond(v.count("rate"));
  read_adapters(v, a.ask);
  const std::string& way = v.word("roles");
  a.ask.joined = way != "apart";
  a.ask.apart = way != "joined" && !a.ask.slice && !a.ask.adapters;
  const auto chosen = from_word<catalog::Dtype>(v.word("dtype"));
  if (!v.faults().empty()) return Calculation{};
  a.ask.model = *model;
  // Adapters on experts are not modelled, so they are not asked for.
  if (a.ask.adapters && model->is_moe()) a.ask.adapters->targets.mlp = false;
  if (const std::string fault = adapter_fault(a.ask); !fault.empty()) {
    return fail({.code = "calc.serve", .what = fault, .fix = "leave --adapters out"});
  }
  a.ask.formats = {catalog::Dtype::bf16, catalog::Dtype::fp8, catalog::Dtype::fp4};
  if (chosen) a.ask.formats = {*chosen};
  a.ask.engines = {"vllm", "sglang", "tensorrt-llm"};
  if (v.word("engine") != "any") a.ask.engines = {v.word("engine")};
  if (const auto price =
          cost::market_price(models.catalog().cloud_prices, a.ask.accelerator->id, "", false)) {
    a.usd = price->median.base() * kServeHour;
  }
  const auto choices = a.rate > PerSecond(0) ? serving_for(models, a.ask, a.rate)
                                             : serving_within(models, a.ask, a.gpus);
  if (choices.empty()) {
    return fail(
        {.code = "calc.serve",
         .what = fmt::format("{} cannot be served within these bounds on {} accelerators of {}",
                             model->id, a.gpus, a.ask.accelerator->id),
         .why = "weights and one request must fit, and one request must meet both bounds",
         .fix = "allow more accelerators, a narrower format or wider bounds"});
  }
  return tell_serve(a, choices);
}

CalcParameter serve_tokens(std::string_view name, std::string_view label) {
  return {.name = name,
          .label = label,
          .kind = ParameterKind::count,
          .preset = "1024",
          .shown = "COUNT",
          .low = 16,
          .high = 131072,
          .log = true};
}

CalcParameter serve_bound(std::string_view name, std::string_view label, std::string_view preset) {
  return {.name = name,
          .label = label,
          .kind = ParameterKind::quantity,
          .preset = preset,
          .shown = "TIME",
          .unit = "ms",
          .low = 5,
          .high = 10000,
          .log = true};
}

CalcParameter serve_whole(std::string_view name, std::string_view label, double low, double high) {
  return {.name = name,
          .label = label,
          .kind = ParameterKind::count,
          .shown = "COUNT",
          .low = low,
          .high = high,
          .log = true};
}

CalcParameter serve_choice(std::string_view name, std::string_view label, std::string_view preset,
                           std::vector<std::string_view> choices) {
  return {.name = name,
          .label = label,
          .kind = ParameterKind::choice,
          .preset = preset,
          .choices = std::move(choices)};
}

}  // namespace

Calculator serve_calculator() {
  return {.name = "serve",
          .summary = "How many users fit, or how many accelerators a request rate needs",
          .example = "orrery calc serve --model llama-3-70b --accelerator h200-sxm --gpus 8",
          .parameters =
              {part_parameter("model", "models", "llama-3-70b", "catalog id of the model"),
               part_parameter("accelerator", "accelerators", "h100-sxm",
                              "catalog id of the accelerator"),
               {.name = "gpus",
                .label = "accelerators available",
                .kind = ParameterKind::integer,
                .preset = "8",
                .shown = "COUNT",
                .low = 1,
                .high = 512,
                .log = true},
               {.name = "rate",
                .label = "size for this many requests per second",
                .kind = ParameterKind::count,
                .shown = "COUNT",
                .low = 0.1,
                .high = 10000,
                .log = true},
               serve_tokens("input", "tokens per prompt"),
               serve_tokens("output", "tokens per answer"),
               serve_bound("ttft", "p99 time to first token", "2 s"),
               serve_bound("tpot", "p99 time per output token", "50 ms"),
               {.name = "cached",
                .label = "share of a prompt found in the prefix cache",
                .kind = ParameterKind::count,
                .shown = "SHARE",
                .low = 0,
                .high = 0.99},
               serve_choice("engine", "serving engine; any: the best of the three", "any",
                            {"any", "vllm", "sglang", "tensorrt-llm"}),
               serve_choice("dtype", "number format of weights and cache; any: the best", "any",
                            {"any", "bf16", "fp8", "fp4"}),
               {.name = "tp",
                .label = "accelerators per replica; default: the best power of two",
                .kind = ParameterKind::count,
                .shown = "COUNT",
                .low = 1,
                .high = 8},
               serve_whole("adapters", "number of LoRA adapters; each request uses one", 1, 10000),
               serve_whole("rank", "rank of the adapters; default: 16", 1, design::kHighestRank),
               serve_whole("slots", "adapters in memory per replica; default: 8", 1, 256),
               part_parameter("slice", "mig_profiles", "",
                              "MIG slice per replica, such as 3g.40gb; "
                              "accelerators are cut into as many as fit"),
               serve_choice(
                   "roles",
                   "prefill and decode on the same replicas or on separate ones; any: the best",
                   "any", {"any", "joined", "apart"})},
          .ask = ask_serve};
}

}  // namespace orrery::calc
