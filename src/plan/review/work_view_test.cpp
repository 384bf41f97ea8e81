// Queues and batches by hand.
#include "plan/review/work_view.h"

#include <gtest/gtest.h>

#include <cmath>

#include "layers/facility/clean_hours.h"
#include "layers/facility/rack.h"
#include "model/design_text/read_design.h"
#include "model/machine/known_fixture.h"
#include "plan/review/lab_fixture.h"

namespace orrery::review {
namespace {

// Eight nodes of eight accelerators and 96 cores.
Review small_pod(const std::string& workloads, const std::string& fleet = "") {
  const std::string text =
      "orrery: 1\nname: a\nsite: { region: usa, pue: 1.2 }\nfleet: [{ name: f, node: dgx-h100, "
      "count: 8" +
      fleet +
      ", custom: { cores: 96, memory: 1 TB } }]\nstorage: [{ name: fast, tier: hot, kind: "
      "parallel-fs, servers: 4, device: tlc-gen4, devices_per_server: 8, read: 40 GB/s, write: 20 "
      "GB/s, capacity: 200 TB }]\nworkloads: [" +
      workloads + "]\n";
  const auto d = design_text::read_design(text, machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  return run_stages(d ? *d : design::Design{}, machine::known());
}

// Sizes weighted by 1 / size: (1 + 1 + 1) / (1 + 1/2 + 1/4) = 12/7.
TEST(WorkView, sizes_and_load_of_a_queue) {
  const Review r =
      small_pod("{ jobs: { name: j, rate: 6 /h, mean_duration: 2 h, sizes: [1, 2, 4] } }");
  const JobsView& j = r.jobs.at(0);
  EXPECT_EQ(j.label, "j");
  EXPECT_FALSE(j.from_trace);
  EXPECT_NEAR(j.mean_size, 12 / 7.0, 1e-12);
  EXPECT_EQ(j.largest, 4);
  EXPECT_NEAR(j.work_units, 6 * 2 * 12 / 7.0, 1e-9);
  EXPECT_NEAR(j.queue.load, 6 * 2 * 12 / 7.0 / 64, 1e-9);
  EXPECT_FALSE(j.clean);
  const Review weighted = small_pod(
      "{ jobs: { name: j, rate: 6 /h, mean_duration: 2 h, sizes: [1, 4], weights: [3, 1] } }");
  EXPECT_NEAR(weighted.jobs[0].mean_size, 7 / 4.0, 1e-12);
  const Review few =
      small_pod("{ jobs: { name: j, nodes: 2, rate: 6 /h, mean_duration: 1 h, sizes: [8] } }");
  EXPECT_NEAR(few.jobs[0].queue.load, 6 * 8 / 16.0, 1e-9);
}

// 2,000 core-hours in 96 tasks on two nodes of 96 cores: 96 slots, one node of 8.
TEST(WorkView, tasks_slots_and_nodes_of_a_batch) {
  const Review r = small_pod("{ batch: { name: b, core_hours: 960, tasks: 96 } }");
  const BatchView& b = r.batches.at(0);
  EXPECT_TRUE(b.on_cores);
  EXPECT_EQ(b.at_once, 96);
  EXPECT_NEAR(b.nodes, 1, 1e-12);
  EXPECT_NEAR(b.compute / hours(1), 10, 1e-9);
  EXPECT_EQ(b.duration, b.compute);
  EXPECT_FALSE(b.bound);
  const Review many = small_pod("{ batch: { name: b, nodes: 2, core_hours: 960, tasks: 480 } }");
  EXPECT_EQ(many.batches[0].at_once, 192);
  EXPECT_NEAR(many.batches[0].nodes, 2, 1e-12);
  EXPECT_NEAR(many.batches[0].compute / hours(1), 2 * 2.5, 1e-9) << "two and a half rounds";
  const Review memory =
      small_pod("{ batch: { name: b, core_hours: 960, tasks: 480, memory: 200 GB } }");
  EXPECT_EQ(memory.batches[0].at_once, 40) << "five of 200 GB on each of eight";
  const Review accelerators =
      small_pod("{ batch: { name: b, accelerator_hours: 640, tasks: 640 } }");
  EXPECT_FALSE(accelerators.batches[0].on_cores);
  EXPECT_EQ(accelerators.batches[0].at_once, 64);
  EXPECT_NEAR(accelerators.batches[0].compute / hours(1), 10, 1e-9);
  EXPECT_NEAR(accelerators.batches[0].nodes, 8, 1e-12);
}

// Reading 144 TB at 40 GB/s takes an hour; writing 144 TB at 20 GB/s takes two.
TEST(WorkView, reads_writes_and_bounds_of_a_batch) {
  const std::string data = "dataset: { kind: tabular, size: 144 TB, tier: fast }";
  const Review read = small_pod("{ batch: { name: b, core_hours: 48, tasks: 96, " + data + " } }");
  EXPECT_NEAR(read.batches[0].read / hours(1), 1, 1e-9);
  EXPECT_EQ(read.batches[0].duration, read.batches[0].read);
  EXPECT_EQ(read.batches[0].tier, &read.tiers()[design::TierIndex(0)]);
  const Review write = small_pod("{ batch: { name: b, core_hours: 48, tasks: 96, " + data +
                                 ", output: 144 TB, repeat: { every: 1 d, window: 5 h }, deadline: "
                                 "3 h } }");
  EXPECT_NEAR(write.batches[0].write / hours(1), 2, 1e-9);
  EXPECT_EQ(write.batches[0].duration, write.batches[0].write);
  EXPECT_EQ(write.batches[0].bound, hours(3));
  const Review window = small_pod(
      "{ batch: { name: b, core_hours: 48, tasks: 96, repeat: { every: 1 d, window: 5 h } } }");
  EXPECT_EQ(window.batches[0].bound, hours(5));
  const Review every =
      small_pod("{ batch: { name: b, core_hours: 48, tasks: 96, repeat: { every: 1 d } } }");
  EXPECT_EQ(every.batches[0].bound, days(1));
  const Review deadline =
      small_pod("{ batch: { name: b, core_hours: 48, tasks: 96, deadline: 7 h } }");
  EXPECT_EQ(deadline.batches[0].bound, hours(7));
}

Review queued(const std::string& jobs, const std::string& fleet = "node: dgx-h100, count: 8",
              const std::string& rest = "") {
  return hand_review("site: { region: usa }\nfleet: [{ name: f, " + fleet + " }]\n" + rest +
                     "workloads:\n  - jobs: { name: j, rate: 6 /h, mean_duration: 2 h, " + jobs +
                     " }\n");
}

// Two slices of three sevenths fit on an accelerator: four of them take two, so a job takes half of
// one.
TEST(WorkView, jobs_on_slices_take_their_share_of_an_accelerator) {
  const JobsView j = queued("mig: { 3g.40gb: 4 }").jobs.at(0);
  EXPECT_NEAR(j.mean_size, 0.5, 1e-12);
  EXPECT_EQ(j.largest, 1);
  EXPECT_NEAR(j.work_units, 6 * 2 * 0.5, 1e-9);
  EXPECT_NEAR(j.queue.load, 6 * 2 * 0.5 / 64, 1e-9);
  EXPECT_EQ(j.largest_fits, cluster::GangVerdict::fits);
  // Seven of one and one of seven are two accelerators for eight jobs.
  const JobsView mixed = queued("mig: { 1g.10gb: 7, 7g.80gb: 1 }").jobs.at(0);
  EXPECT_NEAR(mixed.mean_size, 0.25, 1e-12);
}

TEST(WorkView, queue_is_mgc_with_a_variation_of_three) {
  const Review r = queued("nodes: 1, sizes: [1]");
  const JobsView& j = r.jobs.at(0);
  const cluster::QueueWait w = cluster::estimate_wait(
      {.servers = 8, .arrivals = 6 / hours(1), .service = hours(2), .service_variation = 3});
  EXPECT_NEAR(j.queue.load, 1.5, 1e-9);
  EXPECT_FALSE(j.queue.stable);
  const JobsView two = queued("nodes: 2, sizes: [1]").jobs.at(0);
  const cluster::QueueWait wide = cluster::estimate_wait(
      {.servers = 16, .arrivals = 6 / hours(1), .service = hours(2), .service_variation = 3});
  EXPECT_FALSE(w.stable);
  EXPECT_TRUE(two.queue.stable);
  EXPECT_NEAR(two.queue.mean_wait.base(), wide.mean_wait.base(), 1e-6 * wide.mean_wait.base());
  EXPECT_GT(wide.mean_wait, Seconds(0));
}

// Racks of 18 hosts with four accelerators: one rack is given, or three, or as many as a service
// leaves.
TEST(WorkView, queue_load_on_nodes_of_many_hosts) {
  const auto load = [](const std::string& jobs, const std::string& more = "") {
    const Review r = hand_review(
        "site: { region: usa }\nfleet: [{ name: f, node: gb200-nvl72, count: 3 }]\nworkloads:\n  - "
        "jobs: { name: j, rate: 36 /h, mean_duration: 1 h, sizes: [1]" +
        jobs + " }\n" + more);
    return r.jobs.at(0).queue.load;
  };
  EXPECT_NEAR(load(", nodes: 1"), 36.0 / 72, 1e-9);
  EXPECT_NEAR(load(", nodes: 3"), 36.0 / 216, 1e-9);
  EXPECT_NEAR(load(""), 36.0 / 216, 1e-9);
  EXPECT_NEAR(load("", "  - batch: { name: b, nodes: 2, accelerator_hours: 9, tasks: 9 }\n"),
              36.0 / 72, 1e-9)
      << "one rack is left";
  EXPECT_NEAR(load("", "  - batch: { name: b, nodes: 3, accelerator_hours: 9, tasks: 9 }\n"),
              36.0 / 216, 1e-9)
      << "none is left: all of them, and a rule says so";
}

// Half of eight nodes are kept for six hours of a day: two of eight on average.
TEST(WorkView, reservations_for_others_reduce_the_nodes) {
  const auto load = [](const std::string& windows, const std::string& jobs = "") {
    const Review r = queued("sizes: [1]" + jobs, "node: dgx-h100, count: 8",
                            "scheduler: { kind: slurm, quotas: [{ tenant: us, share: 0.5 }, { "
                            "tenant: them, share: 0.5 }], reservations: [" +
                                windows + "] }\n");
    return 12 / r.jobs.at(0).queue.load / 8;  // nodes that are left
  };
  const std::string half = "{ name: w, nodes: 4, start: 1 h, duration: 6 h, repeat: ";
  EXPECT_NEAR(load(half + "daily }"), 6 + 1, 1e-9) << "four for a quarter of the time";
  EXPECT_NEAR(load(half + "weekly }"), 8 - 4 * 6.0 / 168, 1e-9);
  EXPECT_NEAR(load(half + "once }"), 8, 1e-9) << "what comes once weighs nothing";
  EXPECT_NEAR(load("{ name: w, start: 1 h, duration: 6 h, repeat: daily }"), 6, 1e-9)
      << "all of the fleet";
  EXPECT_NEAR(load(half + "daily, tenants: [us] }", ", tenant: us"), 8, 1e-9) << "its own";
  EXPECT_NEAR(load(half + "daily, tenants: [them] }", ", tenant: us"), 7, 1e-9);
  EXPECT_NEAR(load(half + "daily }", ", nodes: 5"), 5, 1e-9) << "seven are there for its five";
  EXPECT_NEAR(load(half + "daily }, { name: v, nodes: 4, start: 9 h, duration: 12 h, repeat: "
                          "daily }"),
              5, 1e-9);
}

TEST(WorkView, reservations_apply_to_their_fleet_only) {
  const Review r = hand_review(
      "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 8 }, { name: g, node: "
      "dgx-h100, count: 4 }]\nscheduler: { kind: slurm, reservations: [{ name: w, fleet: g, nodes: "
      "4, start: 1 h, duration: 12 h, repeat: daily }] }\nworkloads:\n  - jobs: { name: j, fleet: "
      "f, rate: 6 /h, mean_duration: 2 h, sizes: [1] }\n  - jobs: { name: k, fleet: g, rate: 6 /h, "
      "mean_duration: 2 h, sizes: [1] }\n");
  EXPECT_NEAR(r.jobs.at(0).queue.load, 12.0 / 64, 1e-9);
  EXPECT_NEAR(r.jobs.at(1).queue.load, 12.0 / 16, 1e-9);
}

TEST(WorkView, queue_without_a_rate_has_no_load) {
  design::Design d = lab_design("superpod-h100");
  std::get<design::Jobs>(d.workloads[2].task).rate.reset();
  const Review r = run_stages(std::move(d), machine::known());
  EXPECT_EQ(r.jobs.at(0).work_units, 0);
  EXPECT_EQ(r.jobs[0].queue.load, 0);
  EXPECT_EQ(r.jobs[0].largest, 8);
}

// A grid of 12 clean hours and 12 dirty ones.
design::Design clean_site(const std::string& work, Seconds wait) {
  catalog::SiteHours day;
  for (int h = 0; h < 24; ++h) day.carbon.push_back(GramsPerJoule(h < 12 ? 1e-4 : 3e-4));
  const auto d = design_text::read_design(
      "orrery: 1\nname: a\nsite: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 8 "
      "}]\nworkloads:\n  - " +
          work,
      machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  design::Design with = d ? *d : design::Design{};
  with.sites.at(0).hours = "day.csv";
  with.local_hours = {{.path = "day.csv", .hours = day}};
  design::Task& task = with.workloads.at(0).task;
  const design::CleanHours rule{.below = {}, .wait = wait};
  if (auto* jobs = std::get_if<design::Jobs>(&task)) jobs->clean_hours = rule;
  if (auto* batch = std::get_if<design::Batch>(&task)) batch->clean_hours = rule;
  return with;
}

// Job times are log-normal with a variation of three: s2 = ln 10. Each time is weighted by its
// frequency and, for carbon, by its work; users ask for twice the time.
TEST(WorkView, clean_hours_hold_jobs_by_their_length) {
  const Review r = run_stages(
      clean_site("jobs: { name: j, rate: 6 /h, mean_duration: 2 h, sizes: [1] }\n", hours(10)),
      machine::known());
  ASSERT_TRUE(r.jobs.at(0).clean);
  std::vector<GramsPerJoule> carbon;
  for (int h = 0; h < 24; ++h) carbon.push_back(GramsPerJoule(h < 12 ? 1e-4 : 3e-4));
  const facility::HourCurve grid(carbon);
  double shares = 0;
  double held = 0;
  double with = 0;
  double without = 0;
  for (int i = -6; i <= 10; ++i) {
    const double z = i / 2.0;
    const double share = std::exp(-z * z / 2);
    const double times = std::exp(std::sqrt(std::log(10.0)) * z - std::log(10.0) / 2);
    const facility::CleanEffect e =
        effect_of(grid, {.below = {}, .wait = hours(10)}, minutes(10),
                  {.said = hours(4 * times), .takes = hours(2 * times)});
    shares += share;
    held += share * e.held.base();
    with += share * times * e.with.base();
    without += share * times * e.without.base();
  }
  EXPECT_NEAR(r.jobs[0].clean->held.base(), held / shares, 1e-6 * held / shares);
  EXPECT_NEAR(r.jobs[0].clean->ratio, with / without, 1e-9);
  EXPECT_GT(held, 0);
  EXPECT_LT(with, without);
}

// A batch of one hour that arrives at midnight and at noon: at noon it waits until midnight.
TEST(WorkView, clean_hours_hold_a_batch_when_it_comes) {
  const auto clean = [](const std::string& more) {
    const Review r = run_stages(
        clean_site("batch: { name: b, accelerator_hours: 64, tasks: 64" + more + " }\n", hours(12)),
        machine::known());
    return r.batches.at(0).clean;
  };
  const auto twice = clean(", repeat: { every: 12 h }");
  ASSERT_TRUE(twice);
  EXPECT_NEAR(twice->held / hours(1), 6, 1e-6) << "none and twelve";
  EXPECT_NEAR(twice->ratio, 0.5, 1e-9) << "1 and 1 in place of 1 and 3";
  const auto once = clean("");
  ASSERT_TRUE(once);
  EXPECT_EQ(once->held, Seconds(0)) << "the first hour is clean";
  EXPECT_EQ(once->ratio, 1);
}

Review batched(const std::string& batch, const std::string& fleet) {
  return hand_review("site: { region: usa }\nfleet: [{ name: f, " + fleet +
                     " }]\nworkloads: [{ batch: { name: b, " + batch + " } }]\n");
}

TEST(WorkView, cores_and_memory_limit_tasks_per_host) {
  const std::string bare = "node: dgx-h100, count: 2";
  const auto slots = [&](const std::string& batch, const std::string& custom) {
    return batched("core_hours: 10, tasks: 9999" + batch, bare + custom).batches.at(0).at_once;
  };
  const double cores = batched("core_hours: 10, tasks: 9999", bare)
                           .fleets()[design::FleetIndex(0)]
                           .node.cores.value_or(64);
  EXPECT_EQ(slots("", ""), 2 * cores);
  EXPECT_EQ(slots("", ", custom: { cores: 10 }"), 20);
  EXPECT_EQ(slots(", memory: 100 GB", ", custom: { cores: 10, memory: 350 GB }"), 6)
      << "three each: 350 GB hold no half of a task";
  EXPECT_EQ(slots(", memory: 30 GB", ", custom: { cores: 10, memory: 350 GB }"), 20);
  EXPECT_EQ(slots(", memory: 900 GB", ", custom: { cores: 10, memory: 350 GB }"), 2)
      << "one at the least";
}

// Two racks of 18 hosts with four accelerators: 36 tasks use a quarter of them, half a rack.
TEST(WorkView, batch_on_nodes_of_many_hosts) {
  const BatchView b =
      batched("accelerator_hours: 36, tasks: 36", "node: gb200-nvl72, count: 2").batches.at(0);
  EXPECT_EQ(b.at_once, 36);
  EXPECT_NEAR(b.nodes, 0.5, 1e-12);
  EXPECT_NEAR(b.compute / hours(1), 1, 1e-9);
  const BatchView half =
      batched("nodes: 1, accelerator_hours: 144, tasks: 144", "node: gb200-nvl72, count: 2")
          .batches.at(0);
  EXPECT_EQ(half.at_once, 72);
  EXPECT_NEAR(half.nodes, 1, 1e-12);
  EXPECT_NEAR(half.compute / hours(1), 2, 1e-9);
}

// Pieces of inference on a lost host start again: (e^x - 1) / x of the time.
TEST(WorkView, lost_pieces_of_inference_start_again) {
  const std::string requests =
      "tasks: 4, inference: { model: llama-3-8b, tp: 2, requests: 4M, input_tokens: 500, "
      "output_tokens: 100 }";
  const Review r = batched(requests, "node: dgx-h100, count: 2, failures: { node_mtbf: 10 d }");
  const BatchView& b = r.batches.at(0);
  ASSERT_TRUE(b.work.infeasible.empty()) << b.work.infeasible;
  EXPECT_FALSE(b.on_cores);
  EXPECT_EQ(b.work.tasks, 8);
  EXPECT_EQ(b.at_once, 8);
  const double piece = b.work.accelerator_hours / 8;
  const double x = (hours(piece) * r.machine->failures_of(*b.fleet).rate);
  ASSERT_GT(x, 1e-3);
  EXPECT_NEAR(b.again, std::expm1(x) / x, 1e-9);
  EXPECT_NEAR(b.compute / hours(1), piece * b.again, 1e-9 * piece);
  const BatchView hours_given = batched("accelerator_hours: 640, tasks: 8",
                                        "node: dgx-h100, count: 2, failures: { node_mtbf: 10 d }")
                                    .batches.at(0);
  EXPECT_EQ(hours_given.again, 1) << "of other work nothing is said";
}

TEST(WorkView, slices_must_fit_one_accelerator) {
  const auto fits = [](const std::string& mig) {
    const Review r = hand_review(
        "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: "
        "1, mig: " +
        mig + " }]\n");
    EXPECT_EQ(r.mig.size(), 1U);
    return r.mig.at(0).fits;
  };
  EXPECT_TRUE(fits("{ 3g.40gb: 2 }"));
  EXPECT_FALSE(fits("{ 3g.40gb: 3 }"));
  EXPECT_TRUE(fits("{ 1g.10gb: 7 }"));
  EXPECT_TRUE(hand_review("site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 1 }]\n")
                  .mig.empty());
}

// Twelve accelerators need two nodes of eight.
TEST(WorkView, gang_takes_whole_nodes) {
  Pod pod;
  pod.workloads = "jobs: { name: j, rate: 1 /h, mean_duration: 1 h, sizes: [8, 12] }";
  for (const int nodes : {1, 2}) {
    pod.fleet = "name: f, node: dgx-h100, count: " + std::to_string(nodes);
    const Review r = pod.review();
    ASSERT_EQ(r.jobs.size(), 1U);
    EXPECT_EQ(r.jobs[0].largest, 12);
    EXPECT_EQ(r.jobs[0].largest_fits == cluster::GangVerdict::fits, nodes == 2) << nodes;
  }
}

}  // namespace
}  // namespace orrery::review
