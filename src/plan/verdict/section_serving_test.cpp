#include <gtest/gtest.h>

#include <memory>

#include "core/base/text.h"
#include "core/base/units.h"
#include "model/design_text/read_design.h"
#include "model/machine/known_fixture.h"
#include "plan/review/cascade_view.h"
#include "plan/review/lab_fixture.h"
#include "plan/rules/findings_fixture.h"
#include "plan/rules/rules.h"
#include "plan/verdict/hand_fixture.h"
#include "plan/verdict/section_fixture.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

review::Review spoken_service(const std::string& rest, const std::string& node = "dgx-h100",
                              const std::string& more = "") {
  return review::hand_review(
      "site: { region: usa }\nfleet: [{ name: f, node: " + node +
      ", count: 8 }]\nstorage: [{ name: fast, tier: hot, kind: parallel-fs, servers: 4, device: "
      "tlc-gen4, devices_per_server: 8, read: 40 GB/s, capacity: 200 TB }]\nworkloads:\n  - serve: "
      "{ name: s, model: llama-3-8b, " +
      rest + " }\n" + more);
}

const std::string kSpoken = "rate: 8 /s, input_tokens: 800, output_tokens: 100";

TEST(SectionServing, agents_show_their_tasks) {
  review::Review r = spoken_service("tp: 1, replicas: 4, arrivals: { " + kSpoken +
                                    ", agent: { calls: 4, tool_time: 5 s } }");
  review::ServeView& v = r.serves.at(0);
  v.error = 0.2;
  v.task = seconds(30);
  v.task_p99 = seconds(60);
  v.request.input = 1234.56;
  v.request.cached_share = 0.5;
  const auto sections = serving_sections(r);
  expect_ends(hand_figure(sections, "task_time"), 0.24, 0.24);
  expect_ends(hand_figure(sections, "task_p99"), 0.3, 0.3);
  EXPECT_EQ(hand_figure(sections, "task_p99").estimate.value, 60);
  expect_ends(hand_figure(sections, "cache_found"), 0.25, 0.1);
  const auto alone =
      serving_sections(spoken_service("tp: 1, replicas: 4, arrivals: { " + kSpoken + " }"));
  for (const char* id : {"task_time", "task_p99", "cache_found", "retrieval", "kv_tier_rate",
                         "inbound", "answer_time", "quality", "failover_served", "replicas_mean"}) {
    EXPECT_EQ(hand_figure(alone, id).id, "") << id;
  }
}

TEST(SectionServing, retrieval_shows_reads_and_delay) {
  review::Review r =
      spoken_service("tp: 1, replicas: 4, arrivals: { " + kSpoken +
                     " }, retrieval: { tier: fast, index: 2 TB, reads: 37.125, hops: 3 }");
  review::ServeView& v = r.serves.at(0);
  v.request.before = milliseconds(12);
  v.request.before_p99 = milliseconds(34);
  const auto sections = serving_sections(r);
  expect_ends(hand_figure(sections, "retrieval"), 0.4, 0.6);
  expect_ends(hand_figure(sections, "retrieval_p99"), 0.4, 0.6);
  EXPECT_EQ(hand_figure(sections, "retrieval").estimate.value, 0.012);
  EXPECT_EQ(hand_figure(sections, "retrieval_p99").estimate.value, 0.034);
  // 37.125 reads in three hops are 12.375 each, to three digits.
  const figures::Number reads = hand_figure(sections, "retrieval_reads");
  EXPECT_NEAR(reads.estimate.value, v.peak.base() * 37.125, 1e-6);
  EXPECT_EQ(reads.estimate.low, reads.estimate.high);
}

// A replica on half of a node reads its share of a tier that four replicas read: 10 GB/s.
TEST(SectionServing, kv_tier_rate_per_replica) {
  const auto rate = [](const std::string& split, int replicas) {
    const review::Review r =
        spoken_service(split + ", replicas: " + std::to_string(replicas) + ", arrivals: { " +
                       kSpoken + " }, kv_tier: { tier: fast, capacity: 1 TB }");
    EXPECT_TRUE(r.serves.at(0).feasible()) << r.serves[0].infeasible;
    return hand_figure(serving_sections(r), "kv_tier_rate");
  };
  const figures::Number f = rate("tp: 4", 8);
  EXPECT_NEAR(f.estimate.value, 40e9 / 8, 1);
  expect_ends(f, 0.3, 0.3);
  const review::Review plain = review::hand_review(
      "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 8 }]\nworkloads: [{ serve: "
      "{ name: s, network: { forward: 50 GFLOP, params: 25M }, replicas: 2, request_size: 1 MB, "
      "arrivals: { rate: 5 /s, peak: 2 } } }]\n");
  const auto sections = serving_sections(plain);
  EXPECT_EQ(hand_figure(sections, "kv_tier_rate").id, "");
  EXPECT_EQ(hand_figure(sections, "ttft").id, "") << "no tokens";
  EXPECT_EQ(hand_figure(sections, "load_time").id, "") << "nor weights to load";
  EXPECT_NE(sections.at(0).limit, "");
  EXPECT_NEAR(hand_figure(sections, "inbound").estimate.value, 10e6, 1e-3);
}

// Host memory is read by as many links as the replica has, in stages and splits alike.
TEST(SectionServing, kv_tier_in_host_memory_scales_with_accelerators) {
  const auto rate = [](const std::string& split) {
    const review::Review r = spoken_service(split + ", replicas: 2, arrivals: { " + kSpoken +
                                            " }, kv_tier: { tier: host, capacity: 100 GB }");
    EXPECT_TRUE(r.serves.at(0).feasible()) << r.serves[0].infeasible;
    return hand_figure(serving_sections(r), "kv_tier_rate").estimate.value;
  };
  const double one = rate("tp: 1");
  EXPECT_GT(one, 0);
  EXPECT_NEAR(rate("tp: 2") / one, 2, 1e-9);
  EXPECT_NEAR(rate("tp: 2, pp: 2") / one, 4, 1e-9) << "four accelerators in two stages";
}

// 0.12345 of the answers go on: all numbers to three digits, replicas to four.
TEST(SectionServing, cascade_combines_quality_time_and_cost) {
  review::Review r = spoken_service(
      "tp: 1, replicas: 4, quality: 0.71234, quality_source: ours, arrivals: { " + kSpoken +
          " }, escalate: { service: big, share: 0.12345 }",
      "dgx-h100",
      "  - serve: { name: big, model: llama-3-8b, tp: 1, replicas: 4, quality: 0.91234, arrivals: "
      "{ rate: 0 /s, input_tokens: 800, output_tokens: 100 } }\n");
  review::ServeView& v = r.serves.at(0);
  review::ServeView& large = r.serves.at(1);
  v.answer = seconds(1.5);
  large.answer = seconds(4);
  v.error = 0.2;
  // A cent per second for each accelerator: 1.2345 and 12.345 cents per answer here and there.
  r.cost.annual = usd(0.01 * 31536000);
  r.cost.accelerators = 1;
  v.devices = 1.2345;
  v.rate = PerSecond(1);
  large.devices = 12.345;
  large.rate = PerSecond(1);
  v.peak = PerSecond(9876.5 * 0.8);
  large.capacity_per_replica = PerSecond(0.5);
  large.devices_per_replica = 1;
  const auto sections = serving_sections(r);
  const Estimate quality = hand_figure(sections, "quality").estimate;
  EXPECT_NEAR(quality.value, 0.87655 * 0.71234 + 0.12345 * 0.91234, 1e-12);
  EXPECT_NEAR(quality.high, 0.71234 + 0.12345 * 0.91234, 1e-12);
  EXPECT_EQ(quality.low, quality.value);
  EXPECT_EQ(quality.reference, "ours");
  EXPECT_EQ(quality.basis, Basis::given);
  expect_ends(hand_figure(sections, "answer_time"), 0.24, 0.24);
  EXPECT_NEAR(hand_figure(sections, "answer_time").estimate.value, 1.5 + 0.12345 * 4, 1e-12);
  EXPECT_NEAR(hand_figure(sections, "usd_per_kanswer").estimate.value, 12.345 + 0.12345 * 123.45,
              1e-9);
  expect_ends(hand_figure(sections, "usd_per_kanswer"), 0.35, 0.45);
  const figures::Number alone = hand_figure(sections, "usd_per_kanswer_alone");
  // 7,901.2 per second, of which a replica carries 0.4: 19,753.
  EXPECT_NEAR(alone.estimate.value, 19753 * 10.0, 1e-6);
  expect_ends(alone, 0.35, 0.45);
}

TEST(SectionServing, quality_is_given_or_assumed) {
  const auto quality = [](const std::string& said) {
    const review::Review r =
        spoken_service("tp: 1, replicas: 4, " + said + "arrivals: { " + kSpoken + " }");
    return hand_figure(serving_sections(r), "quality");
  };
  const figures::Number got = quality("quality: 0.7, quality_source: a test, ");
  EXPECT_EQ(got.estimate.value, 0.7);
  EXPECT_EQ(got.estimate.low, 0.7);
  EXPECT_EQ(got.estimate.high, 0.7);
  EXPECT_EQ(got.estimate.reference, "a test");
  EXPECT_EQ(got.estimate.basis, Basis::given);
  const figures::Number bare = quality("quality: 0.7, ");
  EXPECT_EQ(bare.estimate.reference, "the design, without a source");
  EXPECT_EQ(bare.estimate.basis, Basis::assumed);
}

// Two zones take the users; each is named, to three and four digits, and their bytes add up.
TEST(SectionServing, failover_to_two_zones) {
  review::Review r = review::lab_review("chatbot-zones");
  review::ServeView& v = r.serves[0];
  v.error = 0.2;
  review::FailoverTo to = v.failover->to.at(0);
  to.zone = 1;
  to.rate = PerSecond(12.3456);
  to.replicas_needed = 9.87654;
  to.replicas = 11.23456;
  to.line = gbytes_per_s(1);
  to.load = 0.5;
  to.ttft_p99 = milliseconds(300);
  to.latency_p99 = seconds(3);
  review::FailoverTo other = to;
  other.zone = 2;
  other.rate = PerSecond(7);
  other.line = gbytes_per_s(2);
  other.load = 0.75;
  other.ttft_p99 = milliseconds(400);
  v.failover->to = {to, other};
  const auto sections = serving_sections(r);
  EXPECT_NEAR(hand_figure(sections, "failover_bytes").estimate.value, 3e9, 1);
  expect_ends(hand_figure(sections, "failover_bytes"), 0.3, 0.3);
  EXPECT_EQ(hand_figure(sections, "failover_load").estimate.value, 0.75);
  expect_ends(hand_figure(sections, "failover_load"), 0.2, 0.2);
  EXPECT_EQ(hand_figure(sections, "failover_ttft_p99").estimate.value, 0.4);
}

// Weights that load slowly: 16 GB at 1 GB/s, a fifth less or twice as long.
TEST(SectionServing, load_time_of_the_weights) {
  const review::Review kept =
      spoken_service("tp: 1, replicas: 4, weights_tier: fast, arrivals: { " + kSpoken + " }");
  const figures::Number f = hand_figure(serving_sections(kept), "load_time");
  expect_ends(f, 0.2, 1);
  review::Review r = kept;
  auto m = std::make_shared<machine::Machine>(*r.machine);
  m->tiers[design::TierIndex(0)].read = BytesPerSecond();
  r.machine = m;
  EXPECT_EQ(hand_figure(serving_sections(r), "load_time").id, "") << "nothing is read";
}

TEST(SectionServing, token_price_needs_a_cost) {
  review::Review r = spoken_service("tp: 1, replicas: 4, arrivals: { " + kSpoken + " }");
  r.cost.accelerators = 0;
  EXPECT_EQ(hand_figure(serving_sections(r), "usd_per_mtoken").id, "");
  r.cost.accelerators = 1;
  EXPECT_EQ(hand_figure(serving_sections(r), "usd_per_mtoken").id, "usd_per_mtoken");
}

TEST(SectionServing, latencies_replicas_and_token_price) {
  review::Review r = review::lab_review("inference-pod");
  review::ServeView& v = r.serves[0];
  v.error = 0.2;
  v.ttft = milliseconds(100);
  v.ttft_p99 = milliseconds(400);
  v.tpot = milliseconds(20);
  v.tpot_p99 = milliseconds(30);
  v.latency_p99 = seconds(6);
  v.capacity_per_replica = PerSecond(12.3456);
  v.request.input = 812.34;
  v.request.output = 98.765;
  v.bound = serving::ServingBound::none;
  v.peak = PerSecond(150.12);
  v.replicas_needed = 15.2;
  v.replicas = 16;
  v.devices = 64;
  v.devices_there = 64;
  v.availability = 0.99;
  v.output_tokens_per_s = 5000;
  r.cost.annual = usd(876000);
  r.cost.accelerators = 100;
  figures::Section s = section_named(serving_sections(r), figures::Layer::serving, "chat");
  expect_figure(s, "ttft", 0.1, 0.07, 0.13);
  expect_figure(s, "ttft_p99", 0.4, 0.24, 0.56);
  expect_figure(s, "tpot", 0.02, 0.016, 0.024);
  expect_figure(s, "tpot_p99", 0.03, 0.03 * 0.74, 0.03 * 1.26);
  expect_figure(s, "latency_p99", 6, 4.2, 7.8);
  expect_figure(s, "replica_capacity", 12.3456, 12.3456 * 0.8, 12.3456 * 1.2);
  expect_figure(s, "replicas_needed", 15.2, 13, 19);
  expect_figure(s, "accelerators", 64, 64, 64);
  expect_figure(s, "availability", 0.99, 0.99 * 0.999, 0.99);
  // One dollar per hour for each of 64, 18 million tokens per hour.
  expect_figure(s, "usd_per_mtoken", 64 / 18.0, 64 / 18.0 * 0.65, 64 / 18.0 * 1.45);
  EXPECT_NE(s.limit, "");
  v.dark = 0.001;
  v.devices_per_replica = 1;
  v.output_tokens_per_s = 0;
  s = section_named(serving_sections(r), figures::Layer::serving, "chat");
  EXPECT_FALSE(has_figure(s, "usd_per_mtoken"));
  v.error = 0.7;
  s = section_named(serving_sections(r), figures::Layer::serving, "chat");
  EXPECT_NEAR(figure_of_section(s, "ttft").estimate.low, 0.01, 1e-12) << "nine tenths at the most";
  v.infeasible = "too large";
  s = section_named(serving_sections(r), figures::Layer::serving, "chat");
  ASSERT_EQ(s.figures.size(), 1U);
  EXPECT_DOUBLE_EQ(figure_of_section(s, "replicas").estimate.value, 0);
}

TEST(SectionServing, failover_when_a_site_is_lost) {
  review::Review r = review::lab_review("chatbot-zones");
  review::ServeView& v = r.serves[0];
  v.error = 0.2;
  v.peak = PerSecond(80);
  v.availability_alone = 0.98;
  review::FailoverTo& to = v.failover->to.at(0);
  v.failover->to.resize(1);
  to.rate = PerSecond(60);
  to.replicas_needed = 9.5;
  to.replicas = 11;
  to.load = 0.9;
  to.line = gbytes_per_s(1);
  to.ttft_p99 = milliseconds(700);
  to.latency_p99 = seconds(9);
  v.failover->refused = PerSecond(20);
  const figures::Section s = section_named(serving_sections(r), figures::Layer::serving, v.label);
  expect_figure(s, "failover_served", 0.75, 0.6, 0.75);
  expect_figure(s, "availability_alone", 0.98, 0.98 * 0.999, 0.98);
  expect_figure(s, "failover_load", 0.9, 0.72, 1.08);
  const std::string way = "with up to " + brief(to.way.away()) + " on the way";
  expect_figure(s, "failover_ttft_p99", 0.7, 0.42, 0.98);
  expect_figure(s, "failover_latency_p99", 9, 6.3, 11.7);
  expect_figure(s, "failover_bytes", 1e9, 0.7e9, 1.3e9);
  v.failover->to.clear();
  const figures::Section alone =
      section_named(serving_sections(r), figures::Layer::serving, v.label);
  EXPECT_FALSE(has_figure(alone, "failover_load"));
}

// A quarter of the answers of 'small' go on to 'large'. An accelerator costs a tenth of a cent per
// second.
struct Pair {
  review::Review r;
  design::Serve small, large;

  Pair() {
    const auto d = design_text::read_design(
        "orrery: 1\nname: a\nsite: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 8 "
        "}]\nworkloads:\n"
        "  - serve: { name: small, model: llama-3-8b, tp: 1, replicas: 4, quality: 0.7, "
        "quality_source: our test, arrivals: { rate: 20 /s, input_tokens: 800, output_tokens: 100 "
        "}, escalate: { service: large, share: 0.25 } }\n"
        "  - serve: { name: large, model: llama-3-8b, tp: 1, replicas: 4, quality: 0.9, arrivals: "
        "{ rate: 0 /s, input_tokens: 800, output_tokens: 100 } }\n",
        machine::known().catalog());
    EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
    r = review::run_stages(*d, machine::known());
    small = *r.serves[0].serve;
    large = *r.serves[1].serve;
    r.serves[0].serve = &small;
    r.serves[1].serve = &large;
    r.cost.annual = usd(3153600);
    r.cost.accelerators = 100;
    fill(r.serves[0], 6, 20, 1.5);
    fill(r.serves[1], 12, 5, 4);
    r.serves[0].peak = PerSecond(33);
    r.serves[1].capacity_per_replica = PerSecond(4);
    r.serves[1].devices_per_replica = 4;
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  static void fill(review::ServeView& v, double devices, double rate, double answer) {
    v.infeasible.clear();
    v.devices = devices;
    v.rate = PerSecond(rate);
    v.answer = seconds(answer);
    v.error = 0.2;
  }
  std::optional<review::CascadeView> view() const { return review::view_cascade(r, r.serves[0]); }
  figures::Section section() const { return serving_sections(r).at(0); }
};

const figures::Figure* cascade_figure(const figures::Section& s, std::string_view id) {
  for (const figures::Figure& f : s.figures) {
    if (f.id() == id) return &f;
  }
  return nullptr;
}

void expect_told(const figures::Section& s, std::string_view id, double value, double low,
                 double high) {
  const figures::Figure* f = cascade_figure(s, id);
  ASSERT_NE(f, nullptr) << id;
  EXPECT_NEAR(f->estimate.value, value, 1e-9 * value) << id;
  EXPECT_NEAR(f->estimate.low, low, 1e-9 * value) << id;
  EXPECT_NEAR(f->estimate.high, high, 1e-9 * value) << id;
}

TEST(SectionServing, cascade_figures_and_intervals) {
  const Pair p;
  const figures::Section s = p.section();
  expect_told(s, "quality", 0.75, 0.75, 0.925);
  EXPECT_EQ(cascade_figure(s, "quality")->estimate.basis, Basis::given);
  EXPECT_EQ(cascade_figure(s, "quality")->estimate.reference, "our test");
  // 0.2 times 1.2 either way.
  expect_told(s, "answer_time", 2.5, 2.5 * 0.76, 2.5 * 1.24);
  expect_told(s, "usd_per_kanswer", 0.9, 0.9 * 0.65, 0.9 * 1.45);
  expect_told(s, "usd_per_kanswer_alone", 2.2, 2.2 * 0.65, 2.2 * 1.45);
}

TEST(SectionServing, cascade_without_cost_has_no_price) {
  const auto without = [](void (*change)(review::Review&)) {
    Pair p;
    change(p.r);
    const auto c = p.view();
    EXPECT_TRUE(c);
    EXPECT_EQ(c->usd_here + c->usd_large + c->usd + c->usd_alone + c->replicas_alone, 0);
    EXPECT_NEAR(c->answer.base(), 2.5, 1e-12);
    const figures::Section s = p.section();
    EXPECT_NE(cascade_figure(s, "answer_time"), nullptr);
    EXPECT_EQ(cascade_figure(s, "usd_per_kanswer"), nullptr);
    EXPECT_EQ(cascade_figure(s, "usd_per_kanswer_alone"), nullptr);
  };
  without([](review::Review& r) { r.cost.accelerators = 0; });
  without([](review::Review& r) { r.serves[0].rate = PerSecond(0); });
  without([](review::Review& r) { r.serves[1].rate = PerSecond(0); });
  Pair idle;
  idle.r.serves[0].peak = PerSecond(0);
  EXPECT_EQ(idle.view()->replicas_alone, 1) << "at least one replica";
}

TEST(SectionServing, cascade_needs_both_services) {
  Pair p;
  EXPECT_FALSE(review::view_cascade(p.r, p.r.serves[1])) << "it does not escalate";
  p.r.serves[1].infeasible = "too large";
  EXPECT_FALSE(p.view());
  // Then only its own quality is shown.
  expect_told(p.section(), "quality", 0.7, 0.7, 0.7);
  p.small.quality_source.clear();
  expect_told(p.section(), "quality", 0.7, 0.7, 0.7);
  EXPECT_EQ(cascade_figure(p.section(), "quality")->estimate.basis, Basis::assumed);
  EXPECT_EQ(cascade_figure(p.section(), "quality")->estimate.reference,
            "the design, without a source");
  p.small.quality.reset();
  EXPECT_EQ(cascade_figure(p.section(), "quality"), nullptr);
  p.r.serves[1].infeasible.clear();
  EXPECT_TRUE(p.view());
  p.r.serves[0].infeasible = "too large";
  EXPECT_FALSE(p.view());
  p.r.serves[0].infeasible.clear();
  p.r.serves.pop_back();
  EXPECT_FALSE(p.view()) << "the larger service is missing";
}

// Seven in ten are right and half go on: at best none of the half that stays is wrong.
TEST(SectionServing, cascade_quality_needs_both_qualities) {
  Pair p;
  p.small.escalate->share = 0.5;
  EXPECT_NEAR(*p.view()->quality, 0.35 + 0.45, 1e-12);
  EXPECT_NEAR(*p.view()->quality_best, 0.5 + 0.45, 1e-12);
  p.large.quality.reset();
  EXPECT_FALSE(p.view()->quality);
  EXPECT_FALSE(p.view()->quality_best);
  EXPECT_EQ(cascade_figure(p.section(), "quality"), nullptr);
  p.large.quality = 0.9;
  p.small.quality.reset();
  EXPECT_FALSE(p.view()->quality);
}

// Requests that a response cache answers came over the line as well: 10 per second, three times
// that at the peak, of 1 MB.
TEST(SectionServing, inbound_bytes_include_cache_hits) {
  review::Pod pod;
  for (const char* hits : {"0", "0.4", "0.9"}) {
    pod.workloads =
        "serve: { name: s, model: llama-3-8b, tp: 1, replicas: 4, request_size: 1 MB, arrivals: { "
        "rate: 10 /s, peak: 3, input_tokens: 800, output_tokens: 100, cache_hits: " +
        std::string(hits) + " } }";
    EXPECT_NEAR(figure_of(pod.review(), figures::Layer::serving, "inbound").value, 30e6, 1) << hits;
  }
}

// 8.03e9 weights of two bytes by one process of 5.9 GB/s.
TEST(SectionServing, one_process_loads_5_9_gb_per_s) {
  EXPECT_NEAR(figure_of(review::Pod{}.review(), figures::Layer::serving, "load_time").value,
              16.06 / 5.9, 0.01);
}

}  // namespace
}  // namespace orrery::verdict
