// Every reason for a refusal has its own case here, next to one that just passes. A check that is
// dropped or shifted by one is noticed by its code.
#include <gtest/gtest.h>

#include <string>

#include "layers/fabric/what_if.h"
#include "model/design/design.h"
#include "model/design_text/read_design.h"
#include "model/jobs/predict_serving.h"
#include "model/machine/known_fixture.h"

namespace orrery {
namespace {

template <class T>
std::string code_of(const Result<T>& result) {
  return result ? "" : result.error().front().code;
}

std::string code_of_design(const std::string& lines, const std::string& site = "{ region: usa }") {
  return code_of(design_text::read_design("orrery: 1\nname: a\nsite: " + site +
                                              "\nfleet: [{ name: f, node: dgx-h100, count: 2 }]\n" +
                                              lines,
                                          machine::known().catalog()));
}

TEST(codes, qualities_of_service) {
  const auto code = [](const std::string& scheduler, const std::string& work) {
    return code_of_design("scheduler: { " + scheduler + " }\nworkloads:\n  - " + work);
  };
  const std::string qos = "qos: [{ name: high, priority: 9 }, { name: low, time_limit: 4 h }]";
  const std::string jobs = "jobs: { rate: 1 /h, mean_duration: 1 h, qos: ";
  EXPECT_EQ(code(qos, jobs + "low }"), "");
  EXPECT_EQ(code(qos, jobs + "lower }"), "design.unknown-name");
  EXPECT_EQ(code("kind: slurm", jobs + "low }"), "design.unknown-name");
  EXPECT_EQ(code("kind: kubernetes, " + qos, jobs + "low }"), "design.qos");
  const std::string serve = "serve: { model: llama-3-8b, arrivals: { rate: 1 /s }, qos: ";
  EXPECT_EQ(code(qos, serve + "high }"), "");
  EXPECT_EQ(code(qos, serve + "low }"), "design.qos");
  const std::string taking = "qos: [{ name: high, preempts: [low] }, { name: low }]";
  EXPECT_EQ(code("preemption: requeue, " + taking, jobs + "low }"), "");
  EXPECT_EQ(code(taking, jobs + "low }"), "design.qos");
  EXPECT_EQ(code("preemption: requeue, qos: [{ name: high, preempts: [low] }]", jobs + "high }"),
            "design.unknown-name");
  EXPECT_EQ(code("qos: [{ name: high }, { name: high }]", jobs + "high }"),
            "design.duplicate-name");
}

// Conversations and routers need transformers whose requests run one by one.
TEST(codes, conversations_and_routers) {
  const auto code = [](const std::string& serve) {
    return code_of_design("workloads:\n  - serve: { " + serve + " }\n");
  };
  const std::string model = "model: llama-3-8b, ";
  const std::string plain = "network: { params: 1M, forward: 1 GFLOP }, ";
  EXPECT_EQ(code(model + "arrivals: { rate: 1 /s, turns: 4, think_time: 20 s }"), "");
  EXPECT_EQ(code(model + "arrivals: { rate: 1 /s, turns: 64 }"), "");
  EXPECT_EQ(code(model + "arrivals: { rate: 1 /s, turns: 65 }"), "design.talks");
  EXPECT_EQ(code(model + "arrivals: { rate: 1 /s, think_time: 20 s }"), "design.talks");
  EXPECT_EQ(code(plain + "arrivals: { rate: 1 /s, turns: 2 }"), "design.talks");
  EXPECT_EQ(code(model + "disaggregated: true, arrivals: { rate: 1 /s, turns: 2 }"),
            "design.talks");
  EXPECT_EQ(code(model + "draft_model: llama-3-8b, arrivals: { rate: 1 /s, turns: 2 }"),
            "design.talks");
  EXPECT_EQ(code(model + "arrivals: { rate: 1 /s, cache_hits: 0.99 }"), "");
  EXPECT_EQ(code(model + "arrivals: { rate: 1 /s, cache_hits: 1 }"), "design.range");
  EXPECT_EQ(code(model + "arrivals: { rate: 1 /s, cache_hits: 0.5, turns: 2 }"), "design.talks");
  EXPECT_EQ(code(model + "router: prefix, arrivals: { rate: 1 /s }"), "");
  EXPECT_EQ(code(model + "router: nearest, arrivals: { rate: 1 /s }"), "design.unknown-word");
  EXPECT_EQ(code(plain + "router: prefix, arrivals: { rate: 1 /s }"), "design.talks");
}

// Agent tasks are conversations, so what is not modelled for conversations is refused for them too.
TEST(codes, agents_and_retrieval) {
  const auto code = [](const std::string& serve) {
    return code_of_design(
        "storage: [{ tier: hot, kind: object, read: 1 GB/s, capacity: 1 TB }]\n"
        "workloads:\n  - serve: { " +
        serve + " }\n");
  };
  const std::string model = "model: llama-3-8b, ";
  const std::string plain = "network: { params: 1M, forward: 1 GFLOP }, ";
  const auto agent = [](const std::string& more) {
    return "arrivals: { rate: 1 /s, agent: { calls: 4, tool_time: 2 s }" + more + " }";
  };
  EXPECT_EQ(code(model + agent("")), "");
  EXPECT_EQ(code(model + agent(", turns: 2")), "design.talks");
  EXPECT_EQ(code(model + agent(", cache_hits: 0.5")), "design.talks");
  EXPECT_EQ(code(plain + agent("")), "design.talks");
  EXPECT_EQ(code(model + "disaggregated: true, " + agent("")), "design.talks");
  EXPECT_EQ(code(model + "arrivals: { rate: 1 /s, agent: { calls: 65, tool_time: 2 s } }"),
            "design.talks");
  EXPECT_EQ(code(model + "objective: { task_p99: 9 s }, " + agent("")), "");
  EXPECT_EQ(code(model + "objective: { task_p99: 9 s }, arrivals: { rate: 1 /s }"), "design.talks");

  const std::string one = "arrivals: { rate: 1 /s }, ";
  const std::string looks = "retrieval: { tier: hot, index: 1 TB, reads: 4";
  EXPECT_EQ(code(model + one + looks + " }"), "");
  EXPECT_EQ(code(model + one + looks + ", hops: 4 }"), "");
  EXPECT_EQ(code(model + one + looks + ", hops: 5 }"), "design.retrieval");
  EXPECT_EQ(code(plain + one + looks + " }"), "design.retrieval");
  EXPECT_EQ(code(model + agent("") + ", " + looks + " }"), "design.retrieval");
  EXPECT_EQ(code(model + one + "retrieval: { tier: lukewarm, index: 1 TB, reads: 4 }"),
            "design.unknown-name");
  EXPECT_EQ(code(plain + one + "max_batch: 4"), "design.retrieval");
  EXPECT_EQ(code(model + one + "max_batch: 4"), "");
}

TEST(codes, batch_inference) {
  const auto code = [](const std::string& batch) {
    return code_of_design("workloads:\n  - batch: { " + batch + " }\n");
  };
  const std::string all = "requests: 1M, input_tokens: 100, output_tokens: 10 }";
  EXPECT_EQ(code("inference: { model: llama-3-8b, " + all), "");
  EXPECT_EQ(code("inference: { model: no-such-model, " + all), "design.unknown-part");
  EXPECT_EQ(code("accelerator_hours: 4, inference: { model: llama-3-8b, " + all),
            "design.inference");
}

TEST(codes, cascades) {
  const auto code = [](const std::string& small, const std::string& large) {
    return code_of_design("workloads:\n  - serve: { name: small, " + small +
                          " }\n  - serve: { name: large, " + large + " }\n");
  };
  const std::string model = "model: llama-3-8b, ";
  const std::string one = model + "arrivals: { rate: 1 /s }";
  const std::string on = ", escalate: { service: large, share: 0.2 }";
  EXPECT_EQ(code(one + on, one), "");
  EXPECT_EQ(code(one + on, model + "arrivals: { rate: 0 /s }"), "");
  EXPECT_EQ(code(one, model + "arrivals: { rate: 0 /s }"), "design.range");
  EXPECT_EQ(code(one + ", escalate: { service: huge, share: 0.2 }", one), "design.unknown-name");
  EXPECT_EQ(code(one + ", escalate: { service: small, share: 0.2 }", one), "design.cascade");
  EXPECT_EQ(code(one + on, one + ", escalate: { service: small, share: 0.2 }"), "design.cascade");
  EXPECT_EQ(code(one + on, model + "arrivals: { rate: 1 /s, turns: 3 }"), "design.cascade");
  EXPECT_EQ(code(one + on, "network: { params: 1M, forward: 1 GFLOP }, arrivals: { rate: 1 /s }"),
            "design.cascade");
}

TEST(codes, autoscaling_and_kv_tiers) {
  const auto code = [](const std::string& serve) {
    return code_of_design(
        "storage: [{ tier: hot, kind: object, read: 1 GB/s, capacity: 1 TB }]\n"
        "workloads:\n  - serve: { arrivals: { rate: 1 /s }, " +
        serve + " }\n");
  };
  const std::string model = "model: llama-3-8b, ";
  const std::string plain = "network: { params: 1M, forward: 1 GFLOP }, ";
  EXPECT_EQ(code(model + "autoscale: { min: 2, max: 4, target: 16 }"), "");
  EXPECT_EQ(code(plain + "autoscale: { max: 4, target: 2 }"), "");
  EXPECT_EQ(code(model + "autoscale: { min: 5, max: 4, target: 16 }"), "design.autoscale");
  EXPECT_EQ(code(model + "autoscale: { max: 4 }"), "design.missing");
  EXPECT_EQ(code(model + "replicas: 3, autoscale: { max: 4, target: 16 }"), "design.autoscale");
  EXPECT_EQ(code(model + "disaggregated: true, autoscale: { max: 4, target: 16 }"),
            "design.autoscale");
  EXPECT_EQ(code(model + "kv_tier: { tier: host, capacity: 100 GB }"), "");
  EXPECT_EQ(code(model + "kv_tier: { tier: hot, capacity: 100 GB }"), "");
  EXPECT_EQ(code(model + "kv_tier: { tier: lukewarm, capacity: 100 GB }"), "design.unknown-name");
  EXPECT_EQ(code(model + "prefix_cache: false, kv_tier: { tier: hot, capacity: 1 GB }"),
            "design.kv-tier");
  EXPECT_EQ(code(plain + "kv_tier: { tier: host, capacity: 1 GB }"), "design.kv-tier");
}

TEST(codes, adapters) {
  const auto code = [](const std::string& serve) {
    return code_of_design("workloads:\n  - serve: { arrivals: { rate: 1 /s }, " + serve + " }\n");
  };
  const std::string model = "model: llama-3-8b, ";
  const std::string plain = "network: { params: 1M, forward: 1 GFLOP }, ";
  EXPECT_EQ(code(model + "adapters: { count: 20 }"), "");
  EXPECT_EQ(code(model + "adapters: { count: 20, rank: 64, slots: 4, targets: [qkv], skew: 0 }"),
            "");
  EXPECT_EQ(code(model + "adapters: { rank: 8 }"), "design.missing");
  EXPECT_EQ(code(model + "adapters: { count: 0 }"), "design.range");
  EXPECT_EQ(code(model + "adapters: { count: 1, slots: 0 }"), "design.range");
  EXPECT_EQ(code(model + "adapters: { count: 1, skew: -1 }"), "design.range");
  EXPECT_EQ(code(model + "adapters: { count: 1, rank: 512 }"), "");
  EXPECT_EQ(code(model + "adapters: { count: 1, rank: 513 }"), "design.adapters");
  EXPECT_EQ(code(model + "adapters: { count: 100000 }"), "");
  EXPECT_EQ(code(model + "adapters: { count: 100001 }"), "design.adapters");
  EXPECT_EQ(code(model + "adapters: { count: 1, targets: [] }"), "design.adapters");
  EXPECT_EQ(code(model + "adapters: { count: 1, targets: [embedding] }"), "design.adapters");
  EXPECT_EQ(code(model + "disaggregated: true, adapters: { count: 1 }"), "design.adapters");
  EXPECT_EQ(code(plain + "adapters: { count: 1 }"), "design.adapters");
}

TEST(codes, failover) {
  const auto code = [](const std::string& first, const std::string& more = "") {
    return code_of(design_text::read_design(
        "orrery: 1\nname: x\nsites: [{ name: a, region: usa }, { name: b, region: usa }, "
        "{ name: c, region: usa }]\nfleet: [{ name: f, site: a, node: dgx-h100, count: 1 }, "
        "{ name: g, site: b, node: dgx-h100, count: 1 }]\nworkloads:\n  - serve: { model: "
        "llama-3-8b, arrivals: { rate: 1 /s }" +
            more + ", zones: [{ site: a, share: 0.5, " + first + " }, { site: b, share: 0.5 }] }\n",
        machine::known().catalog()));
  };
  EXPECT_EQ(code("failover: [b]"), "");
  EXPECT_EQ(code("failover: [b], failover_after: 10 s"), "");
  EXPECT_EQ(code("failover_after: 10 s"), "design.failover") << "no target is given";
  EXPECT_EQ(code("failover: [a]"), "design.failover") << "its own site";
  EXPECT_EQ(code("failover: [b, b]"), "design.failover") << "twice";
  EXPECT_EQ(code("failover: [c]"), "design.failover") << "there is no zone at that site";
  EXPECT_EQ(code("failover: [d]"), "design.unknown-name");
  EXPECT_EQ(code("replicas: 3"), "");
  EXPECT_EQ(code("replicas: 3", ", autoscale: { max: 4, target: 16 }"), "design.autoscale");
}

// Where a tier of the store may be.
TEST(codes, places_of_store_tiers) {
  const auto code = [](const std::string& tiers) {
    return code_of_design("storage: [" + tiers + "]\n");
  };
  EXPECT_EQ(code("{ tier: hot, kind: object, place: 'rados:hot/a?user=b' }"), "");
  EXPECT_EQ(code("{ tier: cold, kind: object, place: 's3+http://host/bucket' }"), "");
  EXPECT_EQ(code("{ tier: hot, kind: object, place: 's3+https://host/bucket' }"), "design.place");
  EXPECT_EQ(code("{ tier: warm, kind: object, place: /mnt/a }"), "design.place");
  EXPECT_EQ(code("{ tier: warm, kind: object, place: 'rados:a/b,rados:a/c' }"), "design.place");
  EXPECT_EQ(code("{ tier: gpu-direct, kind: object, place: 'rados:a/b' }"), "design.place");
  EXPECT_EQ(code("{ tier: node-nvme, kind: local-nvme, place: 'rados:a/b' }"), "design.place");
  const std::string one = "{ tier: warm, kind: object, place: 'rados:a/b' }";
  EXPECT_EQ(code(one + ", { tier: cold, kind: object, place: 'rados:a/b' }"), "design.place");
  EXPECT_EQ(code(one + ", { tier: cold, kind: object, place: 'rados:a/c' }"), "");
}

// Erasure codes and cores belong to drives in servers that the design builds; the capacity used for
// parity is not usable.
TEST(codes, protection_of_storage) {
  const auto code = [](const std::string& tier) {
    return code_of_design("storage: [{ tier: hot, kind: parallel-fs, " + tier + " }]\n");
  };
  const std::string coded = "protection: { data: 8, parity: 2 }";
  EXPECT_EQ(code("device: tlc-gen4, server_cores: 8, " + coded), "");
  EXPECT_EQ(code("device: obj-hdd-node, " + coded), "");
  EXPECT_EQ(code(coded), "design.protection");
  EXPECT_EQ(code("server_cores: 8"), "design.protection");
  EXPECT_EQ(code("device: pfs-ddn-ai400x2, " + coded), "design.protection");
  EXPECT_EQ(code("device: tlc-gen4, provider: aws, " + coded), "design.protection");
  EXPECT_EQ(code_of_design("storage: [{ tier: node-nvme, kind: local-nvme, device: tlc-gen4, " +
                           coded + " }]\n"),
            "design.protection");
  EXPECT_EQ(code("device: tlc-gen4, usable: 0.8, " + coded), "");
  EXPECT_EQ(code("device: tlc-gen4, usable: 0.81, " + coded), "design.range");
  EXPECT_EQ(code("device: tlc-gen4, protection: { data: 235, parity: 20 }"), "");
  EXPECT_EQ(code("device: tlc-gen4, protection: { data: 236, parity: 20 }"), "design.range");
  EXPECT_EQ(code("profile: kv-cache"), "");
  EXPECT_EQ(code("profile: kv-cash"), "design.unknown-part");
}

TEST(codes, scale_up_links) {
  const auto code = [](const std::string& node, const std::string& custom) {
    return code_of(
        design_text::read_design("orrery: 1\nname: a\nsite: { region: usa }\nfleet: [{ name: f, "
                                 "count: 2, node: " +
                                     node + ", custom: { " + custom + " } }]\n",
                                 machine::known().catalog()));
  };
  EXPECT_EQ(code("mi300x-platform", "scale_up: ualink-200"), "");
  EXPECT_EQ(code("mi300x-platform", "scale_up: ualink-200, scale_up_links: 4"), "");
  EXPECT_EQ(code("mi300x-platform", "scale_up: ualink-200, scale_up_links: 0"), "design.range");
  EXPECT_EQ(code("mi300x-platform", "scale_up_links: 4"), "design.missing");
  EXPECT_EQ(code("mi300x-platform", "scale_up: cxl-2-x16"), "design.unknown-part");
  EXPECT_EQ(code("cpu-2s-server", "scale_up: ualink-200"), "design.range");
}

TEST(codes, ecn_marks_and_watchdogs) {
  const auto code = [](const std::string& roce) {
    return code_of_design("fabric: { compute: { topology: fat-tree, switch: sn5600, roce: { " +
                          roce + " } } }\n");
  };
  EXPECT_EQ(code("ecn_kmin: 100 kB, ecn_kmax: 400 kB"), "");
  EXPECT_EQ(code("ecn_kmin: 400 kB, ecn_kmax: 400 kB"), "design.range");
  EXPECT_EQ(code("ecn_pmax: 0"), "design.range");
  EXPECT_EQ(code("pfc_watchdog: true, watchdog_time: 100 ms"), "");
  EXPECT_EQ(code("watchdog_time: 100 ms"), "design.watchdog");
}

TEST(codes, slices) {
  const auto code = [](const std::string& more, const std::string& node) {
    return code_of(design_text::read_design(
        "orrery: 1\nname: a\nsite: { region: usa }\nfleet: [{ name: f, node: " + node +
            ", count: 2 }]\nworkloads: [{ jobs: { rate: 1 /h, mean_duration: 1 h, " + more +
            " } }]\n",
        machine::known().catalog()));
  };
  EXPECT_EQ(code("mig: { 1g.18gb: 3, 3g.71gb: 1 }", "dgx-h200"), "");
  EXPECT_EQ(code("mig: { 1g.5gb: 3 }", "dgx-h200"), "design.unknown-part");
  EXPECT_EQ(code("mig: { 1g.18gb: 3 }, sizes: [1, 2]", "dgx-h200"), "design.mig");
  EXPECT_EQ(code("mig: { 1g.18gb: 3 }", "cpu-2s-server"), "design.mig");
}

TEST(codes, outages_and_cooling_plants) {
  const auto code = [](const std::string& site) {
    return code_of_design("", "{ region: usa, " + site + " }");
  };
  EXPECT_EQ(code("outage_mtbf: 1 y, outage: 30 min, battery: 5 min, generator: 15 s"), "");
  EXPECT_EQ(code("battery: 5 min"), "design.outage");
  EXPECT_EQ(code("generator: 15 s"), "design.outage");
  EXPECT_EQ(code("outage: 1 h"), "design.outage");
  EXPECT_EQ(code("cooling_unit: 500 kW, cooling_spares: 2, cooling_unit_mtbf: 4 y"), "");
  EXPECT_EQ(code("cooling_design: 35 C"), "design.weather");
  EXPECT_EQ(code("cooling_design: 60 C"), "design.range");
}

TEST(codes, hours_and_fair_shares) {
  const auto code = [](const std::string& scheduler) {
    return code_of_design("scheduler: { " + scheduler + " }\n");
  };
  EXPECT_EQ(code("fair_share: true, fair_share_by: classic"), "");
  EXPECT_EQ(code("fair_share_by: classic"), "design.fair-share");
  EXPECT_EQ(code("fair_share: true, fair_share_by: fairest"), "design.unknown-word");
  EXPECT_EQ(code_of_design("", "{ region: usa, hours: h.csv }"), "design.no-files");
  const std::string jobs = "workloads: [{ jobs: { rate: 1 /h, mean_duration: 1 h";
  EXPECT_EQ(code_of_design(jobs + " } }]\n"), "");
  EXPECT_EQ(code_of_design(jobs + ", clean_hours: { wait: 1 h } } }]\n"), "design.clean-hours");
  EXPECT_EQ(code_of_design(jobs + ", clean_hours: {} } }]\n"), "design.missing");
}

TEST(codes, pipelines) {
  const std::string machine =
      "storage:\n"
      "  - { name: hot, tier: hot, kind: parallel-fs, read: 9 GB/s, write: 9 GB/s }\n"
      "  - { name: cold, tier: cold, kind: object, read: 1 GB/s, write: 1 GB/s }\n"
      "workloads:\n"
      "  - batch: { name: clean, accelerator_hours: 4, tasks: 4 }\n"
      "  - train: { name: pre, model: llama-3-8b, tokens: 1B, batch: 64 }\n"
      "  - train: { name: own, model: llama-3-8b, tokens: 1B, batch: 64, repeat: { every: 9 h } }\n"
      "  - serve: { name: chat, model: llama-3-8b, arrivals: { rate: 1 /s } }\n";
  const auto code = [&](const std::string& stages, const std::string& every = "every: 1 d, ") {
    return code_of_design(machine + "pipeline: { " + every + "stages: [" + stages + "] }\n");
  };
  const std::string in = "{ stage: ingest, to: hot, size: 1 TB, rate: 9 Gb/s }";
  EXPECT_EQ(code(in), "");
  EXPECT_EQ(code(in, ""), "");
  EXPECT_EQ(code(""), "design.pipeline");
  EXPECT_EQ(code("{ stage: ingest, to: hot, size: 1 TB }"), "design.missing");
  EXPECT_EQ(code("{ stage: ingest, to: hot, rate: 9 Gb/s }"), "design.missing");
  EXPECT_EQ(code("{ stage: ingest, size: 1 TB, rate: 9 Gb/s }"), "design.missing");
  EXPECT_EQ(code("{ stage: ingest, from: cold, to: hot, size: 1 TB, rate: 9 Gb/s }"),
            "design.pipeline");
  EXPECT_EQ(code("{ stage: ingest, to: hat, size: 1 TB, rate: 9 Gb/s }"), "design.unknown-name");
  EXPECT_EQ(code("{ stage: ingest, to: node-nvme, size: 1 TB, rate: 9 Gb/s }"), "design.pipeline");
  EXPECT_EQ(code(in + ", " + in), "design.duplicate-name");
  EXPECT_EQ(code("{ stage: ingest, name: begin, to: hot, size: 1 TB, rate: 9 Gb/s }"),
            "design.pipeline");
  EXPECT_EQ(code("{ stage: archive, from: hot, to: cold, size: 1 TB }"), "");
  EXPECT_EQ(code("{ stage: archive, from: hot, to: hot, size: 1 TB }"), "design.pipeline");
  EXPECT_EQ(code("{ stage: archive, from: hot, to: cold }"), "design.missing");
  EXPECT_EQ(code("{ stage: archive, to: cold, size: 1 TB }"), "design.missing");
  EXPECT_EQ(code("{ stage: archive, from: hot, to: cold, size: 1 TB, workload: clean }"),
            "design.pipeline");
  const std::string model = "{ stage: register, from: hot, to: cold }";
  EXPECT_EQ(code(model), "design.missing");
  EXPECT_EQ(code("{ stage: train, workload: pre }, " + model), "");
  EXPECT_EQ(code(model + ", { stage: train, workload: pre }"), "design.missing");
  EXPECT_EQ(code("{ stage: train }"), "design.missing");
  EXPECT_EQ(code("{ stage: train, workload: per }"), "design.unknown-name");
  EXPECT_EQ(code("{ stage: train, workload: clean }"), "design.pipeline");
  EXPECT_EQ(code("{ stage: train, workload: pre, size: 1 TB }"), "design.pipeline");
  EXPECT_EQ(code("{ stage: validate, workload: clean }"), "");
  EXPECT_EQ(code("{ stage: validate, workload: chat }"), "design.pipeline");
  EXPECT_EQ(code("{ stage: serve, workload: chat }"), "");
  EXPECT_EQ(code("{ stage: serve, workload: pre }"), "design.pipeline");
  EXPECT_EQ(code("{ stage: train, workload: pre }, { stage: prepare, workload: pre }"),
            "design.pipeline");
  EXPECT_EQ(code("{ stage: train, workload: own }"), "design.pipeline");
  EXPECT_EQ(code("{ stage: train, workload: own }", "every: 9 h, "), "");
  EXPECT_EQ(code("{ stage: train, workload: own }", ""), "design.pipeline");
  const std::string after = "{ stage: archive, from: hot, to: cold, size: 1 TB, after: [";
  EXPECT_EQ(code(in + ", " + after + "ingest] }"), "");
  EXPECT_EQ(code(after + "begin] }"), "");
  EXPECT_EQ(code(in + ", " + after + "ingset] }"), "design.unknown-name");
  EXPECT_EQ(code(after + "ingest] }, " + in), "design.pipeline");
  EXPECT_EQ(code(in + ", " + after + "archive] }"), "design.pipeline");
}

TEST(codes, reservations) {
  const auto code = [](const std::string& reservation, const std::string& scheduler = "") {
    return code_of_design("scheduler: { " + scheduler +
                          "quotas: [{ tenant: lab, share: 0.5 }], reservations: [" + reservation +
                          "] }\nworkloads:\n  - jobs: { rate: 1 /h, mean_duration: 1 h }\n");
  };
  const auto one = [&](const std::string& rest) {
    return code("{ name: w, start: 1 d, duration: 4 h" + rest + " }");
  };
  EXPECT_EQ(one(""), "");
  EXPECT_EQ(one(", nodes: 2, fleet: f, repeat: daily, tenants: [lab]"), "");
  EXPECT_EQ(one(", nodes: 3"), "design.reservation");
  EXPECT_EQ(one(", fleet: g"), "design.unknown-name");
  EXPECT_EQ(one(", tenants: [lap]"), "design.unknown-name");
  EXPECT_EQ(one(", repeat: hourly"), "design.reservation");
  EXPECT_EQ(code("{ name: w, start: 1 d, duration: 59 min, repeat: hourly }"), "");
  EXPECT_EQ(code("{ name: w, start: 1 d }"), "design.missing");
  EXPECT_EQ(code("{ name: w, start: 1 d, duration: 4 h }, { name: w, start: 2 d, duration: 4 h }"),
            "design.duplicate-name");
  EXPECT_EQ(code("{ name: w, start: 1 d, duration: 4 h }", "kind: kubernetes, "),
            "design.reservation");
  std::string many;
  for (int i = 0; i <= 64; ++i) {
    many += "{ name: w" + std::to_string(i) + ", start: 1 d, duration: 4 h }, ";
  }
  EXPECT_EQ(code(many), "design.reservation");
}

TEST(codes, random_access) {
  const auto code = [](const std::string& dataset) {
    return code_of_design(
        "storage: [{ tier: hot, kind: nfs, capacity: 1 PB }]\nworkloads:\n  - train: { model: "
        "llama-3-8b, tokens: 1B, batch: 64, dataset: { tier: hot, " +
        dataset + " } }\n");
  };
  EXPECT_EQ(code("random_access: 0.5"), "");
  EXPECT_EQ(code("random_access: 0, format: files"), "");
  EXPECT_EQ(code("random_access: 0.5, format: files"), "design.range");
  EXPECT_EQ(code("random_access: 1.5"), "design.range");
  const std::string batch = "workloads:\n  - batch: { accelerator_hours: 4, tasks: 4, dataset: { ";
  EXPECT_EQ(code_of_design(batch + "random_access: 0 } }\n"), "");
  EXPECT_EQ(code_of_design(batch + "random_access: 0.5 } }\n"), "design.range");
}

// With two nodes: two partitions with one node each, or one with both; none in a Kubernetes fleet.
TEST(codes, partitions) {
  const auto code = [](const std::string& scheduler, const std::string& partition = "") {
    const std::string jobs = "jobs: { rate: 1 /h, mean_duration: 1 h";
    return code_of_design("scheduler: { " + scheduler + " }\nworkloads:\n  - " + jobs +
                          (partition.empty() ? "" : ", partition: " + partition) + " }");
  };
  const auto two = [](int first, int second) {
    return "partitions: [{ name: day, nodes: " + std::to_string(first) +
           " }, { name: night, fleet: f, nodes: " + std::to_string(second) + " }]";
  };
  EXPECT_EQ(code(two(1, 1), "night"), "");
  EXPECT_EQ(code(two(1, 2), "night"), "design.partition");
  EXPECT_EQ(code(two(1, 1), "nigth"), "design.unknown-name");
  EXPECT_EQ(code("kind: kubernetes, " + two(1, 1)), "design.partition");
  EXPECT_EQ(code("partitions: [{ name: day }, { name: day }]"), "design.duplicate-name");
  EXPECT_EQ(code("partitions: [{ name: day, fleet: g }]"), "design.unknown-name");
  EXPECT_EQ(code("partitions: [{ name: f, nodes: 1 }]"), "");
  const auto of_two_fleets = [](const std::string& partitions, const std::string& work) {
    return code_of(design_text::read_design(
        "orrery: 1\nname: a\nsite: { region: usa }\nfleet:\n"
        "  - { name: f, node: dgx-h100, count: 2 }\n"
        "  - { name: g, node: dgx-h100, count: 4, partition: kubernetes }\n"
        "  - { name: h, node: dgx-h100, count: 4 }\n"
        "scheduler: { kind: both, partitions: [" +
            partitions + "] }\nworkloads: [{ jobs: { rate: 1 /h, mean_duration: 1 h, " + work +
            " } }]\n",
        machine::known().catalog()));
  };
  EXPECT_EQ(of_two_fleets("{ name: day, fleet: h, nodes: 4 }", "fleet: h, partition: day"), "");
  EXPECT_EQ(of_two_fleets("{ name: day, fleet: h, nodes: 4 }", "partition: day"),
            "design.partition");
  EXPECT_EQ(of_two_fleets("{ name: day, fleet: g }", "fleet: f"), "design.partition");
  EXPECT_EQ(of_two_fleets("{ name: h, fleet: f }", "fleet: f"), "design.partition");
}

TEST(codes, words_units_and_names) {
  EXPECT_EQ(code_of_design(""), "");
  EXPECT_EQ(code_of_design("scheduler: { kind: slurm }"), "");
  EXPECT_EQ(code_of_design("scheduler: { kind: slurmm }"), "design.unknown-word");
  EXPECT_EQ(code_of_design("", "{ region: usa, power: 2 MW }"), "");
  EXPECT_EQ(code_of_design("", "{ region: usa, power: 2 GB }"), "design.unit-wrong");
  EXPECT_EQ(code_of_design("", "{ region: usa, power: 2 }"), "design.unit-missing");
  EXPECT_EQ(code_of_design("", "{ region: usa, power: 2 Mw }"), "design.unit-unknown");
  EXPECT_EQ(code_of_design("", "{ region: usa, pue: 1 }"), "");
  EXPECT_EQ(code_of_design("", "{ region: usa, pue: 0.99 }"), "design.range");
  EXPECT_EQ(code_of_design("storage: [{ tier: hot, kind: nfs }, { tier: cold, kind: nfs }]"), "");
  EXPECT_EQ(code_of_design("storage: [{ tier: hot, kind: nfs }, { tier: hot, kind: nfs }]"),
            "design.duplicate-name");
  EXPECT_EQ(code_of_design("sites: [{ name: b, region: usa }]"), "design.conflict");
}

fabric::FabricSpec small() { return {.nodes = 64, .rails = 8, .radix = 64}; }

template <class Change>
std::string code_of_fabric(Change change) {
  fabric::FabricSpec spec = small();
  change(spec);
  return code_of(fabric::make_topology(spec));
}

TEST(codes, networks_that_cannot_be_built) {
  using Spec = fabric::FabricSpec;
  EXPECT_EQ(code_of_fabric([](Spec&) {}), "");
  EXPECT_EQ(code_of_fabric([](Spec& s) { s.nodes = 0; }), "fabric.size");
  EXPECT_EQ(code_of_fabric([](Spec& s) { s.rails = 0; }), "fabric.size");
  EXPECT_EQ(code_of_fabric([](Spec& s) { s.planes = 8; }), "");
  EXPECT_EQ(code_of_fabric([](Spec& s) { s.planes = 9; }), "fabric.planes");
  EXPECT_EQ(code_of_fabric([](Spec& s) { s.planes = 0; }), "fabric.planes");
  EXPECT_EQ(code_of_fabric([](Spec& s) { s.radix = 63; }), "fabric.radix");
  EXPECT_EQ(code_of_fabric([](Spec& s) { s.radix = 2; }), "fabric.radix");
  EXPECT_EQ(code_of_fabric([](Spec& s) { s.oversubscription = 1; }), "");
  EXPECT_EQ(code_of_fabric([](Spec& s) { s.oversubscription = 0.99; }), "fabric.oversubscription");
  const auto torus = [](std::vector<int> sizes) {
    return code_of_fabric([&](Spec& s) {
      s.kind = catalog::TopologyKind::torus;
      s.torus.assign(sizes.begin(), sizes.end());
    });
  };
  EXPECT_EQ(torus({16, 32}), "");
  EXPECT_EQ(torus({16, 31}), "fabric.torus");
}

TEST(codes, losses_that_cannot_be_studied) {
  const fabric::Topology t = *fabric::make_topology(small());
  EXPECT_EQ(code_of(study_loss(t, {.loss = fabric::Loss::nic, .number = 511})), "");
  EXPECT_EQ(code_of(study_loss(t, {.loss = fabric::Loss::nic, .number = 512})),
            "fabric.no-such-part");
  fabric::FabricSpec ring = small();
  ring.kind = catalog::TopologyKind::torus;
  ring.torus = {16, 32};
  EXPECT_EQ(code_of(study_loss(*fabric::make_topology(ring), {})), "fabric.kind");
  fabric::FabricSpec wide = small();
  wide.nodes = 5001;
  wide.radix = 512;
  EXPECT_EQ(code_of(study_loss(*fabric::make_topology(wide), {})), "fabric.too-large");
}

TEST(codes, services_that_do_not_run) {
  const catalog::Catalog& catalog = machine::known().catalog();
  jobs::ServingQuery good{.model = *catalog.model("llama-3-8b"),
                          .accelerator = catalog.accelerator("h100-sxm")};
  const auto code = [&](auto change) {
    jobs::ServingQuery q = good;
    change(q);
    return code_of(replica_of(machine::known(), q));
  };
  using Query = jobs::ServingQuery;
  EXPECT_EQ(code([](Query&) {}), "");
  EXPECT_EQ(code([](Query& q) { q.engine = "none"; }), "serving.engine");
  EXPECT_EQ(code([](Query& q) { q.split.tp = 8; }), "");
  EXPECT_EQ(code([](Query& q) { q.split.tp = 3; }), "serving.split");
  EXPECT_EQ(code([](Query& q) { q.precision.products = catalog::Dtype::fp4; }), "serving.format");
  EXPECT_EQ(code([&](Query& q) { q.model = *catalog.model("llama-3.1-405b"); }), "serving.memory");
  EXPECT_EQ(code([](Query& q) {
              q.model.state_space_layers = 8;
              q.model.gated_mlp = false;
            }),
            "serving.state-space");
}

}  // namespace
}  // namespace orrery
