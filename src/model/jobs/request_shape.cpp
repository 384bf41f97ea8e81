#include "model/jobs/request_shape.h"

#include <algorithm>

#include "model/figures/assumptions.h"
#include "model/jobs/conversations.h"
#include "model/jobs/speculation.h"

namespace orrery::jobs {
namespace {

struct Mix {
  std::string_view name;
  double input;
  double output;
  double input_p99;
  double output_p99;
};
constexpr Mix kMixes[] = {{"chat", 1020, 129, 4142, 601},
                          {"code", 1469, 13, 7436, 251},
                          {"summary", 4096, 256, 16384, 1024}};

using figures::assumptions::kTextBytesPerToken;
constexpr Seconds kLeastTime = microseconds(1);

const Mix* mix_of(const design::Serve& serve) {
  for (const Mix& m : kMixes) {
    if (serve.arrivals.trace == m.name) return &m;
  }
  return nullptr;
}

}  // namespace

ServeLengths lengths_of(const design::Serve& serve) {
  ServeLengths l;
  if (const Mix* m = mix_of(serve)) {
    l.prompt = {.length = m->input, .p99 = m->input_p99};
    l.output = {.length = m->output, .p99 = m->output_p99};
  }
  if (serve.arrivals.input_tokens) l.prompt = {.length = *serve.arrivals.input_tokens};
  if (serve.arrivals.output_tokens) l.output = {.length = *serve.arrivals.output_tokens};
  if (serve.retrieval) l.prompt.added = serve.retrieval->tokens;
  if (serve.arrivals.agent && serve.arrivals.agent->tool_tokens) {
    l.later = traffic::LengthLaw{.length = *serve.arrivals.agent->tool_tokens};
  }
  return l;
}

serving::RequestShape request_of(const machine::Machine& m, const design::Serve& serve) {
  const ServeLengths l = lengths_of(serve);
  serving::RequestShape r;
  r.input = traffic::mean_length(l.prompt);
  r.output = traffic::mean_length(l.output);
  r.input_p99 = l.prompt.p99 > 0 ? l.prompt.p99 + l.prompt.added : 0;
  r.output_p99 = l.output.p99;
  // Retrieved text is not shared between requests.
  const double own = 1 - l.prompt.added / r.input;
  r.cached_share = serve.prefix_cache ? serve.arrivals.shared_prefix * own : 0;
  add_history(r, serve);
  add_speculation(r, m, serve);
  return r;
}

serving::ServingTarget target_of(const design::Serve& serve, double output_tokens) {
  const design::Objective& o = serve.objective;
  serving::ServingTarget t;
  t.ttft_p99 = o.ttft_p99.value_or(Seconds(0));
  t.tpot_p99 = o.tpot_p99.value_or(Seconds(0));
  const auto bound = [&](Seconds all, double tokens) {
    const Seconds each = max(all, kLeastTime) / std::max(1.0, tokens);
    t.tpot_p99 = t.tpot_p99 > Seconds(0) ? min(t.tpot_p99, each) : each;
  };
  if (o.latency_p99) bound(*o.latency_p99, output_tokens);
  if (o.task_p99) {
    const int calls = serve.arrivals.visits();
    bound(*o.task_p99 - serve.arrivals.pause() * (calls - 1), output_tokens * calls);
  }
  return t;
}

traffic::TaskCase task_of(const design::Serve& serve, const serving::RequestShape& request,
                          const serving::ServingPoint& p) {
  return {.calls = serve.arrivals.visits(),
          .call = p.ttft + p.tpot * (request.output - 1),
          .call_p99 = p.whole_p99,
          .tool = serve.arrivals.pause()};
}

Bytes request_bytes(const design::Serve& serve, const serving::RequestShape& request) {
  return serve.request_size.value_or(kTextBytesPerToken * request.input);
}

}  // namespace orrery::jobs
