#include "machine/serve_job.h"

#include "workload/transformer.h"

namespace orrery::machine {
namespace {

struct Mix {
  std::string_view name;
  double input;
  double output;
  double input_p99;
  double output_p99;
};
constexpr Mix kMixes[] = {
    {"chat", 1020, 129, 4142, 601}, {"code", 1469, 13, 7436, 251}, {"summary", 4096, 256, 0, 0}};

const Mix* mix_of(const design::Serve& serve) {
  for (const Mix& m : kMixes) {
    if (serve.arrivals.trace == m.name) return &m;
  }
  return nullptr;
}

}  // namespace

serving::RequestShape request_of(const design::Serve& serve) {
  serving::RequestShape r;
  if (const Mix* m = mix_of(serve)) r.input = m->input, r.output = m->output;
  r.input = serve.arrivals.input_tokens.value_or(r.input);
  r.output = serve.arrivals.output_tokens.value_or(r.output);
  r.cached_share = serve.prefix_cache ? serve.arrivals.shared_prefix : 0;
  return r;
}

ServeLengths lengths_of(const design::Serve& serve) {
  const serving::RequestShape r = request_of(serve);
  ServeLengths l{.prompt = {.length = r.input}, .output = {.length = r.output}};
  const Mix* m = mix_of(serve);
  if (m != nullptr && !serve.arrivals.input_tokens) l.prompt.p99 = m->input_p99;
  if (m != nullptr && !serve.arrivals.output_tokens) l.output.p99 = m->output_p99;
  return l;
}

ServingQuery serving_query(const design::Serve& serve, const catalog::ModelShape& model,
                           const catalog::Accelerator& accelerator,
                           const serving::RequestShape& request) {
  ServingQuery q{.model = model, .accelerator = &accelerator, .engine = serve.engine};
  q.precision.products = workload::product_dtype(serve.precision);
  q.precision.experts = q.precision.products;
  q.precision.kv = workload::product_dtype(serve.kv_precision);
  q.request = request;
  q.split.pp = serve.pp;
  return q;
}

}  // namespace orrery::machine
