// Fields of services.
#pragma once

#include "model/design/fields.h"
#include "model/design/workloads.h"

namespace orrery::design {

template <class V, Is<AgentLoop> S>
void visit_fields(V& v, S& s) {
  v("calls", s.calls,
    Field{.doc = "model calls per task; each resends the task's history and adds a tool's answer",
          .range = Range::at_least_one,
          .required = true,
          .example = "6",
          .moves = "task_time rises"});
  v("tool_time", s.tool_time,
    Field{.doc = "mean time from an answer to the next call of the task",
          .unit = "s",
          .range = Range::positive,
          .required = true,
          .example = "2 s",
          .moves = "task_time rises"});
  v("tool_tokens", s.tool_tokens,
    Field{.doc = "mean number of tokens in a tool's answer",
          .absent = "as many as the first call's input",
          .range = Range::at_least_one,
          .moves = "ttft rises"});
}

template <class V, Is<Arrivals> S>
void visit_fields(V& v, S& s) {
  v("rate", s.rate,
    Field{.doc = "mean request rate over all zones; 0 if every request is escalated from another "
                 "service",
          .unit = "/s",
          .required = true,
          .example = "40 /s",
          .moves = "replicas_needed rises"});
  v("peak", s.peak,
    Field{.doc = "rate in the busiest hour over the mean rate",
          .range = Range::at_least_one,
          .moves = "replicas_needed rises"});
  v("trace", s.trace,
    Field{.doc = "distribution of lengths: chat, code, summary, or the path of a CSV; empty uses "
                 "the lengths given here",
          .moves = "ttft changes"});
  v("input_tokens", s.input_tokens,
    Field{.doc = "input tokens per request, mean",
          .absent = "the trace's",
          .range = Range::at_least_one,
          .moves = "ttft rises"});
  v("output_tokens", s.output_tokens,
    Field{.doc = "output tokens per request, mean",
          .absent = "the trace's",
          .range = Range::at_least_one,
          .moves = "tpot changes"});
  v("shared_prefix", s.shared_prefix,
    Field{.doc = "share of the input that requests have in common; in conversations, the share of "
                 "the first turn's input",
          .range = Range::fraction,
          .moves = "ttft falls"});
  v("turns", s.turns,
    Field{.doc = "turns per conversation; each turn resends the history, and token counts are for "
                 "new text only; `rate` counts turns",
          .range = Range::at_least_one,
          .moves = "ttft rises"});
  v("think_time", s.think_time,
    Field{.doc = "mean time from an answer to the next turn of the conversation",
          .unit = "s",
          .absent = "30 s",
          .range = Range::positive,
          .moves = "run cache_found falls"});
  v("cache_hits", s.cache_hits,
    Field{.doc = "share of requests that a response cache answers before any replica; latencies "
                 "and token counts are for the others",
          .range = Range::fraction,
          .moves = "replicas_needed falls"});
  v("agent", s.agent,
    Field{.doc = "requests are calls of an agent's tasks; `rate` counts calls, and the input "
                 "tokens are those of a task's first call",
          .absent = "requests come from people"});
}

template <class V, Is<Objective> S>
void visit_fields(V& v, S& s) {
  v("ttft_p99", s.ttft_p99,
    Field{.doc = "time to first token, 99th percentile",
          .unit = "ms",
          .absent = "no objective",
          .range = Range::positive,
          .moves = "replicas_needed changes"});
  v("tpot_p99", s.tpot_p99,
    Field{.doc = "time per output token, 99th percentile",
          .unit = "ms",
          .absent = "no objective",
          .range = Range::positive,
          .moves = "replicas_needed changes"});
  v("latency_p99", s.latency_p99,
    Field{.doc = "time of a whole request, 99th percentile",
          .unit = "ms",
          .absent = "no objective",
          .range = Range::positive,
          .moves = "replicas_needed falls"});
  v("task_p99", s.task_p99,
    Field{.doc = "time of an agent's whole task, including its tools, 99th percentile",
          .unit = "s",
          .absent = "no objective",
          .range = Range::positive,
          .moves = "replicas_needed falls"});
}

template <class V, Is<Zone> S>
void visit_fields(V& v, S& s) {
  v("site", s.site,
    Field{.doc = "name of the site that answers the zone's requests",
          .required = true,
          .example = "zone-a",
          .moves = "rule policy.residency"});
  v("fleet", s.fleet,
    Field{.doc = "name of the fleet; empty is the first fleet of that site",
          .moves = "rule serving.capacity"});
  v("share", s.share,
    Field{.doc = "share of the arrivals",
          .range = Range::fraction,
          .required = true,
          .example = "0.5",
          .moves = "replicas_needed changes"});
  v("replicas", s.replicas,
    Field{.doc = "copies of the model in this zone",
          .absent = "the zone's share of the service's replicas",
          .range = Range::at_least_one,
          .moves = "accelerators rises"});
  v("residency", s.residency,
    Field{.doc = "region or country that its data may not leave",
          .moves = "rule policy.residency"});
  v("failover", s.failover,
    Field{.doc = "sites of other zones, in order of preference, that take its requests when its "
                 "own site is down or over capacity",
          .moves = "failover_served changes"});
  v("failover_after", s.failover_after,
    Field{.doc = "time from the loss of its site until its users are sent elsewhere",
          .unit = "s",
          .absent = "1 min",
          .moves = "availability falls"});
}

template <class V, Is<Autoscale> S>
void visit_fields(V& v, S& s) {
  v("min", s.min,
    Field{.doc = "fewest replicas that run at any time",
          .range = Range::at_least_one,
          .moves = "replicas_mean rises"});
  v("max", s.max,
    Field{.doc = "most replicas that run at any time",
          .range = Range::at_least_one,
          .required = true,
          .example = "12",
          .moves = "accelerators rises"});
  v("target", s.target,
    Field{.doc = "requests in flight per replica that the autoscaler aims for",
          .range = Range::at_least_one,
          .required = true,
          .example = "32",
          .moves = "replicas_mean falls"});
  v("period", s.period,
    Field{.doc = "time between two decisions",
          .unit = "s",
          .range = Range::positive,
          .moves = "run rise_ttft_p99 changes"});
  v("lag", s.lag,
    Field{.doc = "age of the load figures that it decides on",
          .unit = "s",
          .moves = "run rise_ttft_p99 changes"});
  v("hold", s.hold,
    Field{.doc = "how long fewer replicas must have sufficed before any is removed",
          .unit = "min",
          .moves = "run replicas_standing rises"});
  v("image", s.image,
    Field{.doc = "time to pull the container image onto a new replica's node; after that the "
                 "process starts, reads the weights from `weights_tier` and captures its graphs",
          .unit = "s",
          .moves = "run replicas_standing falls"});
}

template <class V, Is<KvTier> S>
void visit_fields(V& v, S& s) {
  v("tier", s.tier,
    Field{.doc = "a storage tier, or `host`: the memory of the replica's hosts",
          .required = true,
          .example = "host",
          .moves = "kv_tier_rate changes"});
  v("capacity", s.capacity,
    Field{.doc = "capacity per replica",
          .unit = "GB",
          .range = Range::positive,
          .required = true,
          .example = "500 GB",
          .moves = "run kv_fetched rises"});
}

template <class V, Is<Adapters> S>
void visit_fields(V& v, S& s) {
  v("count", s.count,
    Field{.doc = "number of adapters; each request uses one",
          .range = Range::at_least_one,
          .required = true,
          .example = "200",
          .moves = "adapter_loads rises"});
  v("rank", s.rank,
    Field{.doc = "rank of the adapters, at most 512",
          .range = Range::at_least_one,
          .moves = "adapter_memory rises"});
  v("slots", s.slots,
    Field{.doc = "adapters that a replica holds in memory at a time",
          .range = Range::at_least_one,
          .moves = "adapter_memory rises"});
  v("targets", s.targets,
    Field{.doc = "matrix products that get an adapter: qkv, o, mlp",
          .moves = "adapter_memory changes"});
  v("skew", s.skew,
    Field{.doc = "the n-th most popular adapter is used in proportion to 1 / n^skew; 1 is assumed",
          .moves = "adapter_loads falls"});
}

template <class V, Is<Retrieval> S>
void visit_fields(V& v, S& s) {
  v("tier", s.tier,
    Field{.doc = "storage tier that holds the index",
          .required = true,
          .example = "hot",
          .moves = "retrieval changes"});
  v("index", s.index,
    Field{.doc = "stored size of the index: vectors, graph and text",
          .unit = "TB",
          .range = Range::positive,
          .required = true,
          .example = "2 TB",
          .moves = "used rises"});
  v("reads", s.reads,
    Field{.doc = "reads per request, over all its hops",
          .range = Range::at_least_one,
          .required = true,
          .example = "40",
          .moves = "retrieval rises"});
  v("hops", s.hops,
    Field{.doc = "rounds of reads, each of which waits for the one before: 1 for lists that are "
                 "read at once, several for a graph that is walked",
          .range = Range::at_least_one,
          .moves = "retrieval rises"});
  v("read_size", s.read_size,
    Field{.doc = "size of one read",
          .unit = "kB",
          .range = Range::positive,
          .moves = "retrieval rises"});
  v("read_p99", s.read_p99,
    Field{.doc = "time of one read on an idle tier, 99th percentile",
          .unit = "ms",
          .absent = "four times the tier's latency",
          .range = Range::positive,
          .moves = "retrieval_p99 rises"});
  v("tokens", s.tokens,
    Field{.doc = "tokens that the retrieved text adds to the prompt", .moves = "ttft rises"});
}

template <class V, Is<Escalation> S>
void visit_fields(V& v, S& s) {
  v("service", s.service,
    Field{.doc = "name of the service with the larger model; requests that it takes over have its "
                 "token counts",
          .required = true,
          .example = "large",
          .moves = "answer_time changes"});
  v("share", s.share,
    Field{.doc = "share of the requests answered here that are passed on to the larger model",
          .range = Range::positive_fraction,
          .required = true,
          .example = "0.2",
          .moves = "answer_time rises"});
}

// Fields of one replica: the model, its split and its formats.
template <class V, Is<Serve> S>
void visit_replica(V& v, S& s) {
  v("model", s.model,
    Field{.doc = "catalog id or alias, or the path of a config.json",
          .part = Part::model,
          .example = "llama-3-8b",
          .moves = "load_time changes"});
  v("network", s.network,
    Field{.doc = "instead of `model`: one request is one sample", .absent = "none"});
  v("engine", s.engine,
    Field{.doc = "serving engine: vllm, sglang, tensorrt-llm, tgi, triton ...",
          .moves = "rule serving.engine-retired"});
  v("replicas", s.replicas,
    Field{.doc = "number of copies of the model",
          .absent = "as many as the objective needs",
          .range = Range::at_least_one,
          .automatic = true,
          .moves = "accelerators rises"});
  v("tp", s.tp,
    Field{.doc = "tensor-parallel degree: accelerators that share each layer",
          .absent = "the fewest that the model fits on",
          .range = Range::at_least_one,
          .automatic = true,
          .moves = "accelerators rises"});
  v("pp", s.pp,
    Field{.doc = "pipeline stages per replica",
          .range = Range::at_least_one,
          .moves = "accelerators rises"});
  v("precision", s.precision,
    Field{.doc = "number format of the weights", .moves = "load_time changes"});
  v("kv_precision", s.kv_precision,
    Field{.doc = "number format of the KV cache", .moves = "tpot changes"});
  v("max_batch", s.max_batch,
    Field{.doc = "most requests that a replica works on at a time",
          .absent = "as many as its memory holds",
          .range = Range::at_least_one,
          .moves = "replicas_needed falls"});
  v("max_tokens", s.max_tokens,
    Field{
        .doc = "longest context of a request",
        .absent = "input plus output",
        .range = Range::at_least_one,
        .not_yet =
            "every context has the mean length; the longest ones need a distribution of lengths"});
}

template <class V, Is<Serve> S>
void visit_fields(V& v, S& s) {
  visit_replica(v, s);
  v("chunked_prefill", s.chunked_prefill,
    Field{.doc = "prompts are computed in chunks", .moves = "tpot changes"});
  v("prefix_cache", s.prefix_cache,
    Field{.doc = "prefixes that requests share are computed once", .moves = "ttft falls"});
  v("disaggregated", s.disaggregated,
    Field{.doc = "prefill and decode run on different replicas", .moves = "tpot_p99 falls"});
  v("prefill_replicas", s.prefill_replicas,
    Field{.doc = "how many of the replicas do prefill",
          .absent = "computed",
          .range = Range::at_least_one,
          .moves = "accelerators changes"});
  v("draft_model", s.draft_model,
    Field{.doc = "small model for speculative decoding; empty is none",
          .part = Part::model,
          .moves = "tpot changes"});
  v("arrivals", s.arrivals, Field{.doc = "the requests that arrive", .required = true});
  v("objective", s.objective, Field{.doc = "latencies that users were promised"});
  v("zones", s.zones, Field{.doc = "parts of the traffic, and the site that answers each"});
  v("request_size", s.request_size,
    Field{.doc = "bytes that arrive with a request",
          .unit = "MB",
          .absent = "text only",
          .moves = "inbound rises"});
  v("weights_tier", s.weights_tier,
    Field{.doc = "tier that replicas load weights from; empty is the hot one",
          .moves = "load_time changes"});
  v("router", s.router,
    Field{.doc = "how a replica is chosen for a request: in turn, the fewest requests, the fewest "
                 "tokens, the session's home, or the prefix's home unless that has eight requests "
                 "more than another",
          .moves = "run cache_found changes"});
  v("autoscale", s.autoscale,
    Field{.doc = "the number of replicas follows the load; instead of `replicas`",
          .absent = "all replicas run all the time"});
  v("kv_tier", s.kv_tier,
    Field{.doc = "where blocks of the prefix cache go when the device has no room for them; a "
                 "prompt fetches them if that is faster than computing them again",
          .absent = "blocks without room are computed again"});
  v("adapters", s.adapters,
    Field{.doc = "LoRA adapters of the model, many on every replica",
          .absent = "the model without adapters"});
  v("retrieval", s.retrieval,
    Field{.doc = "index that is read before a prompt is complete (RAG)", .absent = "no retrieval"});
  v("escalate", s.escalate,
    Field{.doc = "answers that are not good enough are generated again by a larger model",
          .absent = "every answer given here is final"});
  v("quality", s.quality,
    Field{.doc = "share of this model's answers that are right, in a test that you name",
          .absent = "unknown",
          .range = Range::positive_fraction,
          .moves = "quality rises"});
  v("quality_source", s.quality_source,
    Field{.doc = "the test behind `quality`, and its publisher",
          .moves = "rule serving.quality-source"});
}

}  // namespace orrery::design
