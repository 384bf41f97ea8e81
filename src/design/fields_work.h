// Fields of workloads.
#pragma once

#include "design/fields.h"
#include "design/workloads.h"

namespace orrery::design {

template <class V, Is<Terms> S>
void visit_fields(V& v, S& s) {
  v("name", s.name, Field{.doc = "in reports; empty is the kind"});
  v("fleet", s.fleet, Field{.doc = "where it runs; empty is the first fleet"});
  v("nodes", s.nodes,
    Field{.doc = "how many of them",
          .absent = "training: the whole fleet; others: as needed",
          .range = Range::at_least_one});
  v("residency", s.residency,
    Field{.doc = "region or country that neither its compute nor its data may leave"});
  v("tenant", s.tenant, Field{.doc = "whose it is"});
  v("encrypt_at_rest", s.encrypt_at_rest, Field{.doc = "its data must be stored encrypted"});
  v("encrypt_in_transit", s.encrypt_in_transit, Field{.doc = "its traffic must be encrypted"});
  v("isolate_tenant", s.isolate_tenant, Field{.doc = "it must be kept apart from other tenants"});
  v("availability", s.availability,
    Field{.doc = "share of time it must be up", .absent = "no demand", .range = Range::fraction});
  v("priority", s.priority, Field{.doc = "higher goes first", .range = Range::any});
  v("external", s.external,
    Field{.doc = "services outside the site that it calls", .example = "[hugging-face-hub]"});
}

template <class V, Is<PlainNetwork> S>
void visit_fields(V& v, S& s) {
  v("params", s.params,
    Field{.doc = "parameters", .range = Range::positive, .required = true, .example = "300M"});
  v("forward", s.forward,
    Field{.doc = "work of one sample forward",
          .unit = "GFLOP",
          .range = Range::positive,
          .required = true,
          .example = "12 GFLOP"});
  v("activations", s.activations,
    Field{.doc = "kept for one sample in training", .unit = "MB", .absent = "estimated"});
}

template <class V, Is<Layout> S>
void visit_fields(V& v, S& s) {
  constexpr Range kOne = Range::at_least_one;
  v("tp", s.tp, Field{.doc = "tensor parallel", .range = kOne});
  v("pp", s.pp, Field{.doc = "pipeline parallel", .range = kOne});
  v("vp", s.vp, Field{.doc = "virtual stages of a pipeline rank", .range = kOne});
  v("dp", s.dp,
    Field{.doc = "data parallel", .absent = "what the accelerators leave", .range = kOne});
  v("cp", s.cp, Field{.doc = "context parallel", .range = kOne});
  v("ep", s.ep, Field{.doc = "expert parallel", .range = kOne});
  v("mbs", s.mbs, Field{.doc = "micro-batch size", .range = kOne});
  v("sharding", s.sharding, Field{.doc = "of optimizer, gradients and weights over dp"});
  v("recompute", s.recompute, Field{.doc = "of activations"});
}

template <class V, Is<Dataset> S>
void visit_fields(V& v, S& s) {
  v("kind", s.kind, Field{.doc = "what the samples are"});
  v("size", s.size, Field{.doc = "of all samples as stored", .unit = "TB", .absent = "computed"});
  v("samples", s.samples, Field{.doc = "how many", .absent = "computed"});
  v("sample_size", s.sample_size,
    Field{.doc = "of one as stored", .unit = "kB", .absent = "by kind", .range = Range::positive});
  v("format", s.format, Field{.doc = "many in a shard, or a file each"});
  v("shard_size", s.shard_size,
    Field{.doc = "of one shard",
          .unit = "MB",
          .absent = "256 MB, assumed",
          .range = Range::positive});
  v("decode", s.decode, Field{.doc = "core time of one sample", .unit = "ms", .absent = "by kind"});
  v("shuffle", s.shuffle, Field{.doc = "each epoch in a new order"});
  v("epochs", s.epochs, Field{.doc = "times it is read", .range = Range::positive});
  v("tier", s.tier, Field{.doc = "tier it is read from; empty is the nearest shared one"});
  v("loader_cores", s.loader_cores,
    Field{.doc = "cores that feed one accelerator",
          .absent = "the host's, shared",
          .range = Range::at_least_one});
  v("region", s.region,
    Field{.doc = "where it lies now; empty is the tier's", .part = Part::region});
}

template <class V, Is<Checkpoint> S>
void visit_fields(V& v, S& s) {
  v("every", s.every,
    Field{.doc = "interval",
          .unit = "min",
          .absent = "the best one is computed",
          .range = Range::positive,
          .automatic = true});
  v("mode", s.mode, Field{.doc = "whether training waits for the write"});
  v("to", s.to, Field{.doc = "tiers in the order of the copies"});
  v("keep", s.keep,
    Field{.doc = "for each tier the newest so many, or milestones",
          .example = "{ hot: 3, cold: milestones }"});
  v("bytes_per_param", s.bytes_per_param,
    Field{.doc = "saved for one parameter",
          .absent = "14: weight 2, master 4, moments 8",
          .range = Range::positive});
  v("files", s.files,
    Field{.doc = "in one save", .absent = "one a writing rank", .range = Range::at_least_one});
  v("replicas", s.replicas,
    Field{.doc = "copies of a node-local save on other nodes", .absent = "none"});
  v("milestone", s.milestone,
    Field{.doc = "how often one is kept for good",
          .unit = "d",
          .absent = "a week",
          .range = Range::positive});
}

template <class V, Is<Lora> S>
void visit_fields(V& v, S& s) {
  v("rank", s.rank, Field{.doc = "of the adapters", .range = Range::at_least_one});
  v("targets", s.targets, Field{.doc = "which products have one: qkv, o, mlp"});
  v("base_precision", s.base_precision,
    Field{.doc = "of the frozen weights", .absent = "the run's"});
}

template <class V, Is<Embeddings> S>
void visit_fields(V& v, S& s) {
  v("rows", s.rows,
    Field{.doc = "of all tables", .range = Range::positive, .required = true, .example = "2B"});
  v("width", s.width, Field{.doc = "numbers in a row", .range = Range::at_least_one});
  v("precision", s.precision, Field{.doc = "of one"});
  v("lookups", s.lookups, Field{.doc = "rows read for one sample"});
  v("placement", s.placement, Field{.doc = "where the tables live"});
}

template <class V, Is<FeatureStream> S>
void visit_fields(V& v, S& s) {
  v("rate", s.rate,
    Field{.doc = "events",
          .unit = "/s",
          .range = Range::positive,
          .required = true,
          .example = "200000 /s"});
  v("size", s.size,
    Field{.doc = "of one event",
          .unit = "kB",
          .range = Range::positive,
          .required = true,
          .example = "2 kB"});
  v("retention", s.retention,
    Field{.doc = "how long they are kept", .unit = "d", .absent = "for one retraining"});
  v("freshness", s.freshness,
    Field{.doc = "from event to model, at most", .unit = "h", .absent = "no demand"});
  v("tier", s.tier, Field{.doc = "where they are stored; empty is the dataset's"});
}

template <class V, Is<Recurrence> S>
void visit_fields(V& v, S& s) {
  v("every", s.every,
    Field{.doc = "period",
          .unit = "d",
          .range = Range::positive,
          .required = true,
          .example = "1 d"});
  v("window", s.window,
    Field{.doc = "it must end within",
          .unit = "h",
          .absent = "the period",
          .range = Range::positive});
}

template <class V, Is<Train> S>
void visit_fields(V& v, S& s) {
  v("model", s.model,
    Field{.doc = "catalog id or alias, or the path of a config.json",
          .part = Part::model,
          .example = "llama-3-70b"});
  v("network", s.network,
    Field{.doc = "instead of `model`: a network that is no transformer", .absent = "none"});
  v("tokens", s.tokens,
    Field{
        .doc = "of the run", .absent = "the dataset's", .range = Range::positive, .example = "2T"});
  v("samples", s.samples,
    Field{.doc = "of the run, for a network",
          .absent = "dataset times epochs",
          .range = Range::positive});
  v("sequence", s.sequence, Field{.doc = "tokens in one", .range = Range::at_least_one});
  v("batch", s.batch,
    Field{.doc = "sequences or samples in one step of the whole run",
          .range = Range::at_least_one,
          .required = true,
          .example = "1024"});
  v("precision", s.precision, Field{.doc = "of the matrix work"});
  v("layout", s.layout,
    Field{
        .doc = "how it is spread over the accelerators", .absent = "searched", .automatic = true});
  v("dataset", s.dataset, Field{.doc = "what it reads"});
  v("checkpoint", s.checkpoint, Field{.doc = "what it saves", .absent = "nothing is saved"});
  v("lora", s.lora, Field{.doc = "adapters instead of all weights", .absent = "all weights train"});
  v("embeddings", s.embeddings, Field{.doc = "tables of a recommender", .absent = "none"});
  v("features", s.features, Field{.doc = "events that arrive all the time", .absent = "none"});
  v("repeat", s.repeat, Field{.doc = "when it comes back", .absent = "it runs once"});
  v("deadline", s.deadline,
    Field{
        .doc = "the run must end within", .unit = "d", .absent = "none", .range = Range::positive});
  v("runs", s.runs, Field{.doc = "a year, where it does not repeat", .range = Range::at_least_one});
}

template <class V, Is<Arrivals> S>
void visit_fields(V& v, S& s) {
  v("rate", s.rate,
    Field{.doc = "mean, of all zones",
          .unit = "/s",
          .range = Range::positive,
          .required = true,
          .example = "40 /s"});
  v("peak", s.peak, Field{.doc = "busiest hour over the mean", .range = Range::at_least_one});
  v("trace", s.trace,
    Field{.doc =
              "lengths: chat, code, summary, or the path of a CSV; empty is what is given here"});
  v("input_tokens", s.input_tokens,
    Field{.doc = "mean", .absent = "the trace's", .range = Range::at_least_one});
  v("output_tokens", s.output_tokens,
    Field{.doc = "mean", .absent = "the trace's", .range = Range::at_least_one});
  v("shared_prefix", s.shared_prefix,
    Field{.doc = "share of the input that requests have in common", .range = Range::fraction});
}

template <class V, Is<Objective> S>
void visit_fields(V& v, S& s) {
  v("ttft_p99", s.ttft_p99,
    Field{.doc = "time to first token, 99th percentile",
          .unit = "ms",
          .absent = "no demand",
          .range = Range::positive});
  v("tpot_p99", s.tpot_p99,
    Field{.doc = "time per output token, 99th percentile",
          .unit = "ms",
          .absent = "no demand",
          .range = Range::positive});
  v("latency_p99", s.latency_p99,
    Field{.doc = "of a whole request, 99th percentile",
          .unit = "ms",
          .absent = "no demand",
          .range = Range::positive});
}

template <class V, Is<Zone> S>
void visit_fields(V& v, S& s) {
  v("site", s.site,
    Field{.doc = "name of the site that answers", .required = true, .example = "zone-a"});
  v("fleet", s.fleet, Field{.doc = "name of the fleet; empty is that site's first"});
  v("share", s.share,
    Field{.doc = "of the arrivals", .range = Range::fraction, .required = true, .example = "0.5"});
  v("residency", s.residency, Field{.doc = "region or country its data may not leave"});
}

template <class V, Is<Serve> S>
void visit_fields(V& v, S& s) {
  v("model", s.model,
    Field{.doc = "catalog id or alias, or the path of a config.json",
          .part = Part::model,
          .example = "llama-3-8b"});
  v("network", s.network,
    Field{.doc = "instead of `model`: one request is one sample", .absent = "none"});
  v("engine", s.engine,
    Field{.doc = "serving engine: vllm, sglang, tensorrt-llm, tgi, triton ..."});
  v("replicas", s.replicas,
    Field{.doc = "copies of the model",
          .absent = "as many as the objective needs",
          .range = Range::at_least_one,
          .automatic = true});
  v("tp", s.tp,
    Field{.doc = "accelerators that share one layer",
          .absent = "the least that fits",
          .range = Range::at_least_one,
          .automatic = true});
  v("pp", s.pp, Field{.doc = "pipeline stages of a replica", .range = Range::at_least_one});
  v("precision", s.precision, Field{.doc = "of the weights"});
  v("kv_precision", s.kv_precision, Field{.doc = "of the KV cache"});
  v("max_batch", s.max_batch,
    Field{.doc = "requests of a replica at a time",
          .absent = "what memory holds",
          .range = Range::at_least_one});
  v("max_tokens", s.max_tokens,
    Field{.doc = "longest context of a request",
          .absent = "input and output",
          .range = Range::at_least_one});
  v("chunked_prefill", s.chunked_prefill, Field{.doc = "prompts enter in pieces"});
  v("prefix_cache", s.prefix_cache, Field{.doc = "shared prefixes are computed once"});
  v("disaggregated", s.disaggregated, Field{.doc = "prefill and decode on different replicas"});
  v("prefill_replicas", s.prefill_replicas,
    Field{.doc = "of them for prefill", .absent = "computed", .range = Range::at_least_one});
  v("draft_model", s.draft_model,
    Field{.doc = "for speculative decoding; empty is none", .part = Part::model});
  v("arrivals", s.arrivals, Field{.doc = "requests that come", .required = true});
  v("objective", s.objective, Field{.doc = "what users were promised"});
  v("zones", s.zones, Field{.doc = "parts of the traffic and where they are answered"});
  v("request_size", s.request_size,
    Field{.doc = "bytes that come with a request", .unit = "MB", .absent = "text only"});
  v("weights_tier", s.weights_tier, Field{.doc = "tier replicas load from; empty is the hot one"});
}

template <class V, Is<Jobs> S>
void visit_fields(V& v, S& s) {
  v("trace", s.trace,
    Field{.doc = "path of a CSV with submit_s, duration_s, accelerators and perhaps tenant; empty "
                 "is made from the fields below"});
  v("rate", s.rate,
    Field{.doc = "jobs that come",
          .unit = "/h",
          .absent = "from the trace",
          .range = Range::positive});
  v("mean_duration", s.mean_duration,
    Field{.doc = "of a job", .unit = "h", .absent = "from the trace", .range = Range::positive});
  v("sizes", s.sizes, Field{.doc = "accelerators of a job", .range = Range::at_least_one});
  v("weights", s.weights, Field{.doc = "how common each size is; empty is as 1 / size"});
}

template <class V, Is<Batch> S>
void visit_fields(V& v, S& s) {
  v("core_hours", s.core_hours,
    Field{.doc = "CPU work of one run", .absent = "none", .range = Range::positive});
  v("accelerator_hours", s.accelerator_hours,
    Field{.doc = "accelerator work of one run", .absent = "none", .range = Range::positive});
  v("tasks", s.tasks, Field{.doc = "pieces that can run at a time", .range = Range::at_least_one});
  v("memory", s.memory, Field{.doc = "of one piece", .unit = "GB", .absent = "no demand"});
  v("dataset", s.dataset, Field{.doc = "what it reads"});
  v("output", s.output, Field{.doc = "what it writes", .unit = "GB", .absent = "none"});
  v("repeat", s.repeat, Field{.doc = "when it comes back", .absent = "it runs once"});
  v("deadline", s.deadline,
    Field{.doc = "it must end within", .unit = "h", .absent = "none", .range = Range::positive});
}

}  // namespace orrery::design
