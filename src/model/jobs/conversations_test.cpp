#include "model/jobs/conversations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "layers/traffic/load.h"
#include "model/jobs/predict_serving.h"
#include "model/jobs/request_shape.h"
#include "model/jobs/service_fixture.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/site_load.h"

namespace orrery::jobs {
namespace {

using testing::Contains;

// Three turns of 100 and 20 tokens: a mean turn resends one earlier turn of 120 tokens.
TEST(Conversations, mean_turn_resends_its_history) {
  const std::string talk = "arrivals: { rate: 1 /s, turns: 3, shared_prefix: 0.3, ";
  const machine::Machine given = plain_service(talk + "input_tokens: 100, output_tokens: 20 }");
  const serving::RequestShape r = request_of(given, asked_serve(given));
  EXPECT_NEAR(r.input, 220, 1e-9);
  EXPECT_NEAR(r.output, 20, 1e-9);
  EXPECT_NEAR(r.cached_share, (0.3 * 100 / 3 + 120) / 220, 1e-12)
      << "the shared prefix comes once per conversation";
  EXPECT_EQ(r.input_p99, 0);
  const machine::Machine whole =
      plain_service("prefix_cache: false, " + talk + "input_tokens: 100, output_tokens: 20 }");
  const serving::RequestShape uncached = request_of(whole, asked_serve(whole));
  EXPECT_EQ(uncached.cached_share, 0);
  EXPECT_NEAR(uncached.input_p99, 100 + 2 * 120, 1e-9) << "the last turn";
  const machine::Machine chat = plain_service(talk + "trace: chat, output_tokens: 20 }");
  const serving::RequestShape mixed = request_of(chat, asked_serve(chat));
  const double fresh = traffic::mean_length(lengths_of(asked_serve(chat)).prompt);
  EXPECT_NEAR(mixed.input, fresh + fresh + 20, 1e-9);
  EXPECT_NEAR(mixed.input_p99, 4142 * (2 * fresh + 20) / fresh, 1e-6);
  const machine::Machine long_chat =
      plain_service("prefix_cache: false, " + talk + "trace: chat, output_tokens: 20 }");
  EXPECT_NEAR(request_of(long_chat, asked_serve(long_chat)).input_p99, 4142 + 2 * (fresh + 20),
              1e-6);
  const machine::Machine once = plain_service("arrivals: { rate: 1 /s, input_tokens: 100 }");
  EXPECT_EQ(request_of(once, asked_serve(once)).input, 100);
}

// Three turns of 400 + 100 tokens: what a replica carries and what its cache holds, in rounds.
TEST(Conversations, cached_share_and_capacity_settle_in_rounds) {
  ServingQuery q = small_serving();
  design::Serve serve;
  serve.arrivals.turns = 3;
  serve.arrivals.think_time = seconds(20);
  serve.arrivals.input_tokens = 400;
  serve.arrivals.output_tokens = 100;
  serve.arrivals.shared_prefix = 0.25;
  serve.router = catalog::ServeRouter::session;
  q.request = {.input = 400 + 500, .output = 100, .cached_share = 0.5};
  const serving::Replica replica = replica_of(machine::known(), q).value();
  const machine::Costs device = serving_costs(machine::known(), q);
  const serving::ServingCosts costs = serving_source(device);
  for (const std::optional<double> given : {std::optional<double>(), std::optional<double>(7)}) {
    serve.router = given ? catalog::ServeRouter::prefix : catalog::ServeRouter::session;
    const jobs::ConversationAsk ask{
        .target = {.tpot_p99 = milliseconds(30)}, .peak = PerSecond(900), .replicas = given};
    traffic::TalkCase talk{.turns = 3, .think = 20, .prompt = 400, .output = 100, .at_home = true};
    talk.tokens = replica.memory.kv_tokens;
    serving::RequestShape own = q.request;
    std::vector<double> rounds;
    for (int round = 0; round < 20; ++round) {
      const serving::ServingPoint most = capacity(replica, own, ask.target, costs);
      talk.replicas = given.value_or(std::max(1.0, std::ceil(900 / (most.requests.base() * 0.8))));
      talk.rate = std::min(900 / talk.replicas, most.requests.base());
      talk.stay = (most.ttft + most.tpot * 99).base();
      own.cached_share = (0.25 * 400 / 3 + talk_found(talk) * 500) / 900;
      rounds.push_back(own.cached_share);
    }
    serving::RequestShape settled = q.request;
    settle_conversations(settled, serve, replica, costs, ask);
    EXPECT_THAT(rounds, Contains(settled.cached_share));
    EXPECT_NE(settled.cached_share, q.request.cached_share);
  }
  serving::RequestShape as_it_was = q.request;
  serve.prefix_cache = false;
  settle_conversations(as_it_was, serve, replica, costs, {.peak = PerSecond(9)});
  EXPECT_EQ(as_it_was.cached_share, 0.5);
  serve.prefix_cache = true;
  serve.arrivals.turns = 1;
  settle_conversations(as_it_was, serve, replica, costs, {.peak = PerSecond(9)});
  EXPECT_EQ(as_it_was.cached_share, 0.5);
}

}  // namespace
}  // namespace orrery::jobs
