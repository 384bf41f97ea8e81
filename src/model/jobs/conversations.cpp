#include "model/jobs/conversations.h"

#include <algorithm>

#include "model/jobs/request_shape.h"

namespace orrery::jobs {
namespace {

constexpr int kRounds = 4;  // rounds in which cache hits and replica load converge

traffic::TalkCase talk_of(const design::Serve& serve) {
  const ServeLengths l = lengths_of(serve);
  traffic::TalkCase talk{.turns = serve.arrivals.visits(),
                         .think = serve.arrivals.pause().base(),
                         .prompt = traffic::mean_length(l.prompt),
                         .output = traffic::mean_length(l.output),
                         .at_home = serve.router == catalog::ServeRouter::session ||
                                    serve.router == catalog::ServeRouter::prefix};
  if (l.later) talk.later = traffic::mean_length(*l.later);
  return talk;
}

}  // namespace

void add_history(serving::RequestShape& r, const design::Serve& serve) {
  if (serve.arrivals.visits() <= 1) return;
  const traffic::TalkCase talk = talk_of(serve);
  const double fresh = talk_fresh(talk);
  const double history = talk_history(talk);
  r.input = fresh + history;
  if (!serve.prefix_cache) {
    // The last turn of a conversation has the longest history.
    r.input_p99 = std::max(r.input_p99, fresh) + 2 * history;
    return;
  }
  const double system = serve.arrivals.shared_prefix * talk.prompt / talk.turns;
  r.cached_share = (system + history) / r.input;
  // Only new text has to be computed, so the spread of lengths is that of the new text.
  r.input_p99 *= r.input / fresh;
}

void settle_conversations(serving::RequestShape& r, const design::Serve& serve,
                          const serving::Replica& replica, const serving::ServingCosts& costs,
                          const ConversationAsk& ask) {
  if (serve.arrivals.visits() <= 1 || !serve.prefix_cache) return;
  traffic::TalkCase talk = talk_of(serve);
  talk.tokens = replica.memory.kv_tokens;
  const double history = talk_history(talk);
  const double system = serve.arrivals.shared_prefix * talk.prompt / talk.turns;
  for (int round = 0; round < kRounds; ++round) {
    const serving::ServingPoint most = capacity(replica, r, ask.target, costs);
    if (most.concurrency < 1) return;
    talk.replicas = ask.replicas.value_or(
        std::max(1.0, serving::replicas_needed(ask.peak, most.requests, ask.load)));
    talk.rate = std::min((ask.peak / talk.replicas).base(), most.requests.base());
    talk.stay = (most.ttft + most.tpot * (r.output - 1)).base();
    r.cached_share = (system + talk_found(talk) * history) / r.input;
  }
}

}  // namespace orrery::jobs
