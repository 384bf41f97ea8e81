// `orrery rank`: compares accelerators for serving a model.
#include "study/search/rank.h"

#include <fmt/core.h>

#include <memory>

#include "app/cli/session.h"
#include "app/cli/verb.h"
#include "core/base/units.h"
#include "output/report/rank_report.h"

namespace orrery::cli {
namespace {

struct RankOptions {
  std::string model = "llama-3-70b";
  std::vector<std::string> accelerators;
  double input = 1024;
  double output = 1024;
  std::string precision = "fp8";
  std::string engine = "vllm";
  std::string rack = "40 kW";
  std::optional<std::string> ttft;
  std::optional<std::string> tpot;
  Format format = Format::text;
};

Diagnostic wrong(const std::string& option, const std::string& value, const std::string& wanted) {
  return {.code = "usage.value", .what = fmt::format("{} {}: {}", option, value, wanted)};
}

Result<search::RankQuery> query_of(const RankOptions& o, const catalog::Catalog& catalog) {
  search::RankQuery q;
  const catalog::ModelShape* model = catalog.model(o.model);
  if (model == nullptr) {
    return fail(
        wrong("--model", o.model, "not in the catalog; `orrery catalog models` lists them"));
  }
  q.model = *model;
  if (!(o.input >= 1) || !(o.output >= 1)) {
    return fail(wrong("--input, --output", "",
                      "a request needs at least one prompt token and one output token"));
  }
  q.request = {.input = o.input, .output = o.output};
  const auto format = from_word<catalog::Dtype>(o.precision);
  if (!format) return fail(wrong("--precision", o.precision, "one of fp4, fp8, bf16, fp16"));
  q.format = *format;
  q.engine = o.engine;
  q.accelerators = o.accelerators;
  const auto rack = parse_quantity<Watts>(o.rack);
  if (!rack || *rack <= Watts(0)) return fail(wrong("--rack", o.rack, "a power such as 40 kW"));
  q.rack = *rack;
  const auto bound = [](const std::optional<std::string>& text, Seconds& into) {
    if (!text) return true;
    const auto s = parse_quantity<Seconds>(*text);
    if (!s || *s <= Seconds(0)) return false;
    into = *s;
    return true;
  };
  if (!bound(o.ttft, q.target.ttft_p99)) return fail(wrong("--ttft", *o.ttft, "a time: 500 ms"));
  if (!bound(o.tpot, q.target.tpot_p99)) return fail(wrong("--tpot", *o.tpot, "a time: 40 ms"));
  return q;
}

ExitCode run_rank(const RankOptions& o, Terminal& terminal) {
  const auto models = shipped_models();
  if (!models) return refuse(terminal, models.error());
  const auto query = query_of(o, models->catalog());
  if (!query) return refuse(terminal, query.error());
  const auto ranking = rank_accelerators(*models, *query);
  if (!ranking) return refuse(terminal, ranking.error());
  if (o.format == Format::json) {
    terminal.out << report::json_of(*ranking);
    return ExitCode::good;
  }
  const report::Document d = report::document_of(
      *ranking, fmt::format("{}, {} tokens in and {} out", query->model.id, o.input, o.output));
  terminal.out << (o.format == Format::markdown ? to_markdown(d) : to_text(d, terminal.style));
  return ExitCode::good;
}

}  // namespace

Verb rank_verb() {
  return {
      .name = "rank",
      .summary = "Rank accelerators for a model by tokens/s, and per watt, rack and dollar",
      .examples = {"orrery rank --model llama-3-70b --input 1024 --output 1024",
                   "orrery rank --model llama-3.1-405b --precision fp4 --accelerator h200-sxm "
                   "--accelerator b200-sxm"},
      .prepare = [](Arguments& arguments) -> Run {
        auto o = std::make_shared<RankOptions>();
        arguments.option("--model", o->model, "catalog id of the model", "ID");
        arguments.option(
            "--accelerator", o->accelerators,
            "accelerator to compare; repeatable; default: all that nodes in the catalog contain",
            "ID");
        arguments.option("--input", o->input, "tokens per prompt");
        arguments.option("--output", o->output, "tokens per answer");
        arguments.option(
            "--precision", o->precision,
            "narrowest number format; an accelerator without it uses the next wider one", "WORD");
        arguments.option("--engine", o->engine, "serving engine", "ID");
        arguments.option("--ttft", o->ttft, "upper bound of the p99 time to first token", "TIME");
        arguments.option("--tpot", o->tpot, "upper bound of the p99 time per output token", "TIME");
        arguments.option("--rack", o->rack, "power per rack", "POWER");
        arguments.format(o->format, {Format::text, Format::json, Format::markdown});
        return [o](Terminal& terminal) { return run_rank(*o, terminal); };
      }};
}

}  // namespace orrery::cli
