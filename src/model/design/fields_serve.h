// Fields of services.
#pragma once

#include "model/design/fields.h"
#include "model/design/workloads.h"

namespace orrery::design {

template <class V, Is<AgentLoop> S>
void visit_fields(V& v, S& s) {
  v("calls", s.calls,
    Field{.doc = "of one task: each brings all that was said before it and the answer of a tool",
          .range = Range::at_least_one,
          .required = true,
          .example = "6",
          .moves = "task_time rises"});
  v("tool_time", s.tool_time,
    Field{.doc = "mean, from an answer to the next call of the task",
          .unit = "s",
          .range = Range::positive,
          .required = true,
          .example = "2 s",
          .moves = "task_time rises"});
  v("tool_tokens", s.tool_tokens,
    Field{.doc = "that a tool's answer brings, mean",
          .absent = "as many as the first call's input",
          .range = Range::at_least_one,
          .moves = "ttft rises"});
}

template <class V, Is<Arrivals> S>
void visit_fields(V& v, S& s) {
  v("rate", s.rate,
    Field{.doc = "mean, of all zones; 0 where all that comes is escalated by others",
          .unit = "/s",
          .required = true,
          .example = "40 /s",
          .moves = "replicas_needed rises"});
  v("peak", s.peak,
    Field{.doc = "busiest hour over the mean",
          .range = Range::at_least_one,
          .moves = "replicas_needed rises"});
  v("trace", s.trace,
    Field{.doc = "lengths: chat, code, summary, or the path of a CSV; empty is what is given here",
          .moves = "ttft changes"});
  v("input_tokens", s.input_tokens,
    Field{.doc = "mean",
          .absent = "the trace's",
          .range = Range::at_least_one,
          .moves = "ttft rises"});
  v("output_tokens", s.output_tokens,
    Field{.doc = "mean",
          .absent = "the trace's",
          .range = Range::at_least_one,
          .moves = "tpot changes"});
  v("shared_prefix", s.shared_prefix,
    Field{.doc = "share of the input that requests have in common; of talks, of their first turn",
          .range = Range::fraction,
          .moves = "ttft falls"});
  v("turns", s.turns,
    Field{.doc = "of a talk: each turn brings all that was said before it, and the lengths are of "
                 "what is new in it; `rate` counts turns",
          .range = Range::at_least_one,
          .moves = "ttft rises"});
  v("think_time", s.think_time,
    Field{.doc = "mean, from an answer to the next turn of a talk",
          .unit = "s",
          .absent = "30 s",
          .range = Range::positive,
          .moves = "run cache_found falls"});
  v("cache_hits", s.cache_hits,
    Field{.doc =
              "share of the requests that a response cache answers before any replica; latencies "
              "and tokens are of the others",
          .range = Range::fraction,
          .moves = "replicas_needed falls"});
  v("agent", s.agent,
    Field{.doc = "requests are calls of an agent's tasks; `rate` counts calls, and the input is of "
                 "a task's first call",
          .absent = "whoever asks is a person"});
}

template <class V, Is<Objective> S>
void visit_fields(V& v, S& s) {
  v("ttft_p99", s.ttft_p99,
    Field{.doc = "time to first token, 99th percentile",
          .unit = "ms",
          .absent = "no demand",
          .range = Range::positive,
          .moves = "replicas_needed changes"});
  v("tpot_p99", s.tpot_p99,
    Field{.doc = "time per output token, 99th percentile",
          .unit = "ms",
          .absent = "no demand",
          .range = Range::positive,
          .moves = "replicas_needed changes"});
  v("latency_p99", s.latency_p99,
    Field{.doc = "of a whole request, 99th percentile",
          .unit = "ms",
          .absent = "no demand",
          .range = Range::positive,
          .moves = "replicas_needed falls"});
  v("task_p99", s.task_p99,
    Field{.doc = "of an agent's whole task, its tools included, 99th percentile",
          .unit = "s",
          .absent = "no demand",
          .range = Range::positive,
          .moves = "replicas_needed falls"});
}

template <class V, Is<Zone> S>
void visit_fields(V& v, S& s) {
  v("site", s.site,
    Field{.doc = "name of the site that answers",
          .required = true,
          .example = "zone-a",
          .moves = "rule policy.residency"});
  v("fleet", s.fleet,
    Field{.doc = "name of the fleet; empty is that site's first",
          .moves = "rule serving.capacity"});
  v("share", s.share,
    Field{.doc = "of the arrivals",
          .range = Range::fraction,
          .required = true,
          .example = "0.5",
          .moves = "replicas_needed changes"});
  v("replicas", s.replicas,
    Field{.doc = "copies of the model there",
          .absent = "the service's, by the zone's share",
          .range = Range::at_least_one,
          .moves = "accelerators rises"});
  v("residency", s.residency,
    Field{.doc = "region or country its data may not leave", .moves = "rule policy.residency"});
  v("failover", s.failover,
    Field{.doc = "sites of other zones that take its requests when its own is down or over its "
                 "capacity, the first before the second",
          .moves = "failover_served changes"});
  v("failover_after", s.failover_after,
    Field{.doc = "from the loss of its site until its users are sent elsewhere",
          .unit = "s",
          .absent = "1 min",
          .moves = "availability falls"});
}

template <class V, Is<Autoscale> S>
void visit_fields(V& v, S& s) {
  v("min", s.min,
    Field{.doc = "replicas that stand always",
          .range = Range::at_least_one,
          .moves = "replicas_mean rises"});
  v("max", s.max,
    Field{.doc = "replicas at the most",
          .range = Range::at_least_one,
          .required = true,
          .example = "12",
          .moves = "accelerators rises"});
  v("target", s.target,
    Field{.doc = "requests in flight that a replica is to have",
          .range = Range::at_least_one,
          .required = true,
          .example = "32",
          .moves = "replicas_mean falls"});
  v("period", s.period,
    Field{.doc = "between two looks",
          .unit = "s",
          .range = Range::positive,
          .moves = "run rise_ttft_p99 changes"});
  v("lag", s.lag,
    Field{.doc = "how old what it sees is", .unit = "s", .moves = "run rise_ttft_p99 changes"});
  v("hold", s.hold,
    Field{.doc = "for so long fewer must have been wanted before any leaves",
          .unit = "min",
          .moves = "run replicas_standing rises"});
  v("image", s.image,
    Field{.doc = "until a new replica's node has its container image; then come the process, the "
                 "weights out of `weights_tier` and the graphs",
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
    Field{.doc = "that one replica keeps",
          .unit = "GB",
          .range = Range::positive,
          .required = true,
          .example = "500 GB",
          .moves = "run kv_fetched rises"});
}

template <class V, Is<Adapters> S>
void visit_fields(V& v, S& s) {
  v("count", s.count,
    Field{.doc = "that there are; each request asks for one",
          .range = Range::at_least_one,
          .required = true,
          .example = "200",
          .moves = "adapter_loads rises"});
  v("rank", s.rank,
    Field{.doc = "at most 512", .range = Range::at_least_one, .moves = "adapter_memory rises"});
  v("slots", s.slots,
    Field{.doc = "held at a time", .range = Range::at_least_one, .moves = "adapter_memory rises"});
  v("targets", s.targets,
    Field{.doc = "which products have one: qkv, o, mlp", .moves = "adapter_memory changes"});
  v("skew", s.skew,
    Field{.doc = "use is as 1 / place^skew; 1: assumed", .moves = "adapter_loads falls"});
}

template <class V, Is<Retrieval> S>
void visit_fields(V& v, S& s) {
  v("tier", s.tier,
    Field{.doc = "storage tier that the index lies on",
          .required = true,
          .example = "hot",
          .moves = "retrieval changes"});
  v("index", s.index,
    Field{.doc = "of vectors, graph and text, as stored",
          .unit = "TB",
          .range = Range::positive,
          .required = true,
          .example = "2 TB",
          .moves = "used rises"});
  v("reads", s.reads,
    Field{.doc = "of one request, in all its hops",
          .range = Range::at_least_one,
          .required = true,
          .example = "40",
          .moves = "retrieval rises"});
  v("hops", s.hops,
    Field{.doc = "rounds of reads, each of which waits for the one before: 1 of lists that are "
                 "read at once, several of a graph that is walked",
          .range = Range::at_least_one,
          .moves = "retrieval rises"});
  v("read_size", s.read_size,
    Field{
        .doc = "of one read", .unit = "kB", .range = Range::positive, .moves = "retrieval rises"});
  v("read_p99", s.read_p99,
    Field{.doc = "of one read on an idle tier, 99th percentile",
          .unit = "ms",
          .absent = "four times the tier's latency",
          .range = Range::positive,
          .moves = "retrieval_p99 rises"});
  v("tokens", s.tokens,
    Field{.doc = "that what was found adds to the prompt", .moves = "ttft rises"});
}

template <class V, Is<Escalation> S>
void visit_fields(V& v, S& s) {
  v("service", s.service,
    Field{.doc = "name of the service with the larger model; requests have its lengths there",
          .required = true,
          .example = "large",
          .moves = "answer_time changes"});
  v("share", s.share,
    Field{.doc = "of the requests that are answered here, those that go on",
          .range = Range::positive_fraction,
          .required = true,
          .example = "0.2",
          .moves = "answer_time rises"});
}

// Of one replica: the model, its split and its formats.
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
    Field{.doc = "copies of the model",
          .absent = "as many as the objective needs",
          .range = Range::at_least_one,
          .automatic = true,
          .moves = "accelerators rises"});
  v("tp", s.tp,
    Field{.doc = "accelerators that share one layer",
          .absent = "the least that fits",
          .range = Range::at_least_one,
          .automatic = true,
          .moves = "accelerators rises"});
  v("pp", s.pp,
    Field{.doc = "pipeline stages of a replica",
          .range = Range::at_least_one,
          .moves = "accelerators rises"});
  v("precision", s.precision, Field{.doc = "of the weights", .moves = "load_time changes"});
  v("kv_precision", s.kv_precision, Field{.doc = "of the KV cache", .moves = "tpot changes"});
  v("max_batch", s.max_batch,
    Field{.doc = "requests of a replica at a time",
          .absent = "what memory holds",
          .range = Range::at_least_one,
          .moves = "replicas_needed falls"});
  v("max_tokens", s.max_tokens,
    Field{.doc = "longest context of a request",
          .absent = "input and output",
          .range = Range::at_least_one,
          .not_yet =
              "a context is as long as the mean request; longest ones need their distribution"});
}

template <class V, Is<Serve> S>
void visit_fields(V& v, S& s) {
  visit_replica(v, s);
  v("chunked_prefill", s.chunked_prefill,
    Field{.doc = "prompts enter in pieces", .moves = "tpot changes"});
  v("prefix_cache", s.prefix_cache,
    Field{.doc = "shared prefixes are computed once", .moves = "ttft falls"});
  v("disaggregated", s.disaggregated,
    Field{.doc = "prefill and decode on different replicas", .moves = "tpot_p99 falls"});
  v("prefill_replicas", s.prefill_replicas,
    Field{.doc = "of them for prefill",
          .absent = "computed",
          .range = Range::at_least_one,
          .moves = "accelerators changes"});
  v("draft_model", s.draft_model,
    Field{.doc = "for speculative decoding; empty is none",
          .part = Part::model,
          .moves = "tpot changes"});
  v("arrivals", s.arrivals, Field{.doc = "requests that come", .required = true});
  v("objective", s.objective, Field{.doc = "what users were promised"});
  v("zones", s.zones, Field{.doc = "parts of the traffic and where they are answered"});
  v("request_size", s.request_size,
    Field{.doc = "bytes that come with a request",
          .unit = "MB",
          .absent = "text only",
          .moves = "inbound rises"});
  v("weights_tier", s.weights_tier,
    Field{.doc = "tier replicas load from; empty is the hot one", .moves = "load_time changes"});
  v("router", s.router,
    Field{.doc = "which replica gets a request: in turn, the one with the fewest requests or "
                 "tokens, the home of the session, or the home of the prefix unless that has eight "
                 "requests more than another",
          .moves = "run cache_found changes"});
  v("autoscale", s.autoscale,
    Field{.doc = "replicas follow the load; instead of `replicas`",
          .absent = "all replicas stand all the time"});
  v("kv_tier", s.kv_tier,
    Field{.doc = "where the prefix cache's blocks go that the device has no room for; a prompt "
                 "fetches them where that is faster than to compute them again",
          .absent = "they are computed again"});
  v("adapters", s.adapters,
    Field{.doc = "of the model (LoRA), many on every replica", .absent = "the model as it is"});
  v("retrieval", s.retrieval,
    Field{.doc = "an index that is read before a prompt is whole (RAG)",
          .absent = "a prompt is whole as it comes"});
  v("escalate", s.escalate,
    Field{.doc = "answers that are not good enough are made anew by a larger model",
          .absent = "what is answered here stays"});
  v("quality", s.quality,
    Field{.doc = "share of this model's answers that are right, by a test that you name",
          .absent = "not known",
          .range = Range::positive_fraction,
          .moves = "quality rises"});
  v("quality_source", s.quality_source,
    Field{.doc = "which test, and whose figure", .moves = "rule serving.quality-source"});
}

}  // namespace orrery::design
