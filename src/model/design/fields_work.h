// Fields of workloads.
#pragma once

#include "model/design/fields.h"
#include "model/design/fields_serve.h"
#include "model/design/workloads.h"

namespace orrery::design {

template <class V, Is<Terms> S>
void visit_fields(V& v, S& s) {
  v("name", s.name, Field{.doc = "in reports; empty is the kind", .moves = "label"});
  v("fleet", s.fleet,
    Field{.doc = "where it runs; empty is the first fleet", .moves = "use changes"});
  v("nodes", s.nodes,
    Field{.doc = "how many of them",
          .absent = "training: the whole fleet; others: as needed",
          .range = Range::at_least_one,
          .moves = "rule cluster.nodes"});
  v("residency", s.residency,
    Field{.doc = "region or country that neither its compute nor its data may leave",
          .moves = "rule policy.residency"});
  v("tenant", s.tenant, Field{.doc = "whose it is", .moves = "emit "});
  v("encrypt_at_rest", s.encrypt_at_rest,
    Field{.doc = "its data must be stored encrypted", .moves = "rule policy.encryption-at-rest"});
  v("encrypt_in_transit", s.encrypt_in_transit,
    Field{.doc = "its traffic must be encrypted", .moves = "rule policy.encryption-in-transit"});
  v("isolate_tenant", s.isolate_tenant,
    Field{.doc = "it must be kept apart from other tenants",
          .moves = "rule policy.tenant-isolation"});
  v("availability", s.availability,
    Field{.doc = "share of time it must be up",
          .absent = "no demand",
          .range = Range::fraction,
          .moves = "rule serving.availability"});
  v("priority", s.priority,
    Field{.doc = "higher goes first", .range = Range::any, .moves = "emit "});
  v("partition", s.partition,
    Field{.doc = "of its fleet, one of `scheduler.partitions`; empty: the fleet's first",
          .moves = "emit slurm"});
  v("qos", s.qos,
    Field{.doc = "quality of service of its jobs, one of `scheduler.qos`; empty: none",
          .moves = "emit slurm"});
  v("external", s.external,
    Field{.doc = "services outside the site that it calls",
          .example = "[hugging-face-hub]",
          .moves = "rule policy.air-gap"});
}

template <class V, Is<PlainNetwork> S>
void visit_fields(V& v, S& s) {
  v("params", s.params,
    Field{.doc = "parameters",
          .range = Range::positive,
          .required = true,
          .example = "300M",
          .moves = "checkpoint_size rises"});
  v("forward", s.forward,
    Field{.doc = "work of one sample forward",
          .unit = "GFLOP",
          .range = Range::positive,
          .required = true,
          .example = "12 GFLOP",
          .moves = "step_time rises"});
  v("activations", s.activations,
    Field{.doc = "kept for one sample in training",
          .unit = "MB",
          .absent = "estimated",
          .moves = "memory rises"});
}

template <class V, Is<Layout> S>
void visit_fields(V& v, S& s) {
  constexpr Range kOne = Range::at_least_one;
  v("tp", s.tp, Field{.doc = "tensor parallel", .range = kOne, .moves = "step_time changes"});
  v("pp", s.pp, Field{.doc = "pipeline parallel", .range = kOne, .moves = "step_time changes"});
  v("vp", s.vp,
    Field{.doc = "virtual stages of a pipeline rank", .range = kOne, .moves = "step_time changes"});
  v("dp", s.dp,
    Field{.doc = "data parallel",
          .absent = "what the accelerators leave",
          .range = kOne,
          .moves = "step_time changes"});
  v("cp", s.cp, Field{.doc = "context parallel", .range = kOne, .moves = "step_time changes"});
  v("ep", s.ep, Field{.doc = "expert parallel", .range = kOne, .moves = "step_time changes"});
  v("mbs", s.mbs, Field{.doc = "micro-batch size", .range = kOne, .moves = "memory rises"});
  v("sharding", s.sharding,
    Field{.doc = "of optimizer, gradients and weights over dp", .moves = "memory changes"});
  v("recompute", s.recompute, Field{.doc = "of activations", .moves = "step_time changes"});
}

template <class V, Is<Dataset> S>
void visit_fields(V& v, S& s) {
  v("kind", s.kind, Field{.doc = "what the samples are", .moves = "read_rate changes"});
  v("size", s.size,
    Field{.doc = "of all samples as stored",
          .unit = "TB",
          .absent = "computed",
          .moves = "used rises"});
  v("samples", s.samples, Field{.doc = "how many", .absent = "computed", .moves = "used rises"});
  v("sample_size", s.sample_size,
    Field{.doc = "of one as stored",
          .unit = "kB",
          .absent = "by kind",
          .range = Range::positive,
          .moves = "read_rate rises"});
  v("format", s.format,
    Field{.doc = "many in a shard, or a file each", .moves = "accelerator_utilisation changes"});
  v("shard_size", s.shard_size,
    Field{.doc = "of one shard",
          .unit = "MB",
          .absent = "256 MB, assumed",
          .range = Range::positive,
          .moves = "accelerator_utilisation rises"});
  v("random_access", s.random_access,
    Field{.doc = "share of the samples that are read out of their shards one by one",
          .range = Range::fraction,
          .moves = "accelerator_utilisation falls"});
  v("decode", s.decode,
    Field{.doc = "core time of one sample",
          .unit = "ms",
          .absent = "by kind",
          .moves = "accelerator_utilisation falls"});
  v("shuffle", s.shuffle,
    Field{.doc = "each epoch in a new order", .moves = "accelerator_utilisation changes"});
  v("epochs", s.epochs,
    Field{.doc = "times it is read", .range = Range::positive, .moves = "emit prometheus"});
  v("tier", s.tier,
    Field{.doc = "tier it is read from; empty is the nearest shared one",
          .moves = "emit prometheus"});
  v("loader_cores", s.loader_cores,
    Field{.doc = "cores that feed one accelerator",
          .absent = "the host's, shared",
          .range = Range::at_least_one,
          .moves = "accelerator_utilisation rises"});
  v("region", s.region,
    Field{.doc = "where it lies now; empty is the tier's",
          .part = Part::region,
          .not_yet =
              "moving a data set between regions is not planned; give `tier` where it will lie"});
}

template <class V, Is<Checkpoint> S>
void visit_fields(V& v, S& s) {
  v("every", s.every,
    Field{.doc = "interval",
          .unit = "min",
          .absent = "the best one is computed",
          .range = Range::positive,
          .automatic = true,
          .moves = "interval rises"});
  v("mode", s.mode, Field{.doc = "whether training waits for the write", .moves = "stall changes"});
  v("to", s.to, Field{.doc = "tiers in the order of the copies", .moves = "write_time changes"});
  v("keep", s.keep,
    Field{.doc = "for each tier the newest so many, or milestones",
          .example = "{ hot: 3, cold: milestones }",
          .moves = "used changes"});
  v("bytes_per_param", s.bytes_per_param,
    Field{.doc = "saved for one parameter",
          .absent = "14: weight 2, master 4, moments 8",
          .range = Range::positive,
          .moves = "checkpoint_size rises"});
  v("files", s.files,
    Field{.doc = "in one save",
          .absent = "one a writing rank",
          .range = Range::at_least_one,
          .moves = "write_time rises"});
  v("replicas", s.replicas,
    Field{.doc = "copies of a node-local save on other nodes",
          .absent = "none",
          .moves = "loss_per_save falls"});
  v("milestone", s.milestone,
    Field{.doc = "how often one is kept for good",
          .unit = "d",
          .absent = "a week",
          .range = Range::positive,
          .moves = "used falls"});
}

template <class V, Is<Lora> S>
void visit_fields(V& v, S& s) {
  v("rank", s.rank,
    Field{
        .doc = "of the adapters", .range = Range::at_least_one, .moves = "checkpoint_size rises"});
  v("targets", s.targets,
    Field{.doc = "which products have one: qkv, o, mlp", .moves = "step_time changes"});
  v("base_precision", s.base_precision,
    Field{.doc = "of the frozen weights",
          .absent = "the run's",
          .not_yet = "frozen weights are held in 16 bits; narrower ones (QLoRA) are not modelled"});
}

template <class V, Is<Embeddings> S>
void visit_fields(V& v, S& s) {
  v("rows", s.rows,
    Field{.doc = "of all tables",
          .range = Range::positive,
          .required = true,
          .example = "2B",
          .moves = "memory rises"});
  v("width", s.width,
    Field{.doc = "numbers in a row", .range = Range::at_least_one, .moves = "memory rises"});
  v("precision", s.precision, Field{.doc = "of one", .moves = "memory changes"});
  v("lookups", s.lookups, Field{.doc = "rows read for one sample", .moves = "step_time rises"});
  v("placement", s.placement, Field{.doc = "where the tables live", .moves = "memory changes"});
}

template <class V, Is<FeatureStream> S>
void visit_fields(V& v, S& s) {
  v("rate", s.rate,
    Field{.doc = "events",
          .unit = "/s",
          .range = Range::positive,
          .required = true,
          .example = "200000 /s",
          .moves = "used rises"});
  v("size", s.size,
    Field{.doc = "of one event",
          .unit = "kB",
          .range = Range::positive,
          .required = true,
          .example = "2 kB",
          .moves = "used rises"});
  v("retention", s.retention,
    Field{.doc = "how long they are kept",
          .unit = "d",
          .absent = "for one retraining",
          .moves = "used rises"});
  v("freshness", s.freshness,
    Field{.doc = "from event to model, at most",
          .unit = "h",
          .absent = "no demand",
          .moves = "rule storage.features"});
  v("tier", s.tier,
    Field{.doc = "where they are stored; empty is the dataset's",
          .moves = "rule storage.features"});
}

template <class V, Is<Recurrence> S>
void visit_fields(V& v, S& s) {
  v("every", s.every,
    Field{.doc = "period",
          .unit = "d",
          .range = Range::positive,
          .required = true,
          .example = "1 d",
          .moves = "rule storage.features"});
  v("window", s.window,
    Field{.doc = "it must end within",
          .unit = "h",
          .absent = "the period",
          .range = Range::positive,
          .moves = "rule workload.deadline"});
}

template <class V, Is<Train> S>
void visit_fields(V& v, S& s) {
  v("model", s.model,
    Field{.doc = "catalog id or alias, or the path of a config.json",
          .part = Part::model,
          .example = "llama-3-70b",
          .moves = "step_time changes"});
  v("network", s.network,
    Field{.doc = "instead of `model`: a network that is no transformer", .absent = "none"});
  v("tokens", s.tokens,
    Field{.doc = "of the run",
          .absent = "the dataset's",
          .range = Range::positive,
          .example = "2T",
          .moves = "run_time rises"});
  v("samples", s.samples,
    Field{.doc = "of the run, for a network",
          .absent = "dataset times epochs",
          .range = Range::positive,
          .moves = "run_time rises"});
  v("sequence", s.sequence,
    Field{.doc = "tokens in one", .range = Range::at_least_one, .moves = "step_time rises"});
  v("batch", s.batch,
    Field{.doc = "sequences or samples in one step of the whole run",
          .range = Range::at_least_one,
          .required = true,
          .example = "1024",
          .moves = "step_time rises"});
  v("precision", s.precision, Field{.doc = "of the matrix work", .moves = "step_time changes"});
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
    Field{.doc = "the run must end within",
          .unit = "d",
          .absent = "none",
          .range = Range::positive,
          .moves = "rule workload.deadline"});
  v("runs", s.runs,
    Field{.doc = "a year, where it does not repeat",
          .absent = "such runs follow one another all year",
          .range = Range::at_least_one,
          .moves = "useful_hour falls"});
  v("min_replicas", s.min_replicas,
    Field{.doc = "data-parallel replicas that it goes on with, at their part of the rate, while "
                 "hosts are missing and no spare is free; it grows again when they are back",
          .absent = "it waits for all its hosts",
          .range = Range::at_least_one,
          .moves = "emit slurm"});
}

template <class V, Is<CleanHours> S>
void visit_fields(V& v, S& s) {
  v("below", s.below,
    Field{.doc = "what the grid may emit on average over the time that the work takes",
          .unit = "g/kWh",
          .absent = "the mean of the site's hours",
          .range = Range::positive,
          .moves = "clean_ratio changes"});
  v("wait", s.wait,
    Field{.doc = "longest that it is held; where no hour within is clean enough, it starts at once",
          .unit = "h",
          .range = Range::positive,
          .required = true,
          .example = "12 h",
          .moves = "clean_ratio falls"});
}

template <class V, Is<Jobs> S>
void visit_fields(V& v, S& s) {
  v("trace", s.trace,
    Field{.doc = "path of a CSV with submit_s, duration_s, accelerators and perhaps tenant; empty "
                 "is made from the fields below",
          .moves = "load changes"});
  v("rate", s.rate,
    Field{.doc = "jobs that come",
          .unit = "/h",
          .absent = "from the trace",
          .range = Range::positive,
          .moves = "load rises"});
  v("mean_duration", s.mean_duration,
    Field{.doc = "of a job",
          .unit = "h",
          .absent = "from the trace",
          .range = Range::positive,
          .moves = "load rises"});
  v("sizes", s.sizes,
    Field{.doc = "accelerators of a job", .range = Range::at_least_one, .moves = "load changes"});
  v("weights", s.weights,
    Field{.doc = "how common each size is; empty is as 1 / size", .moves = "load changes"});
  v("mig", s.mig,
    Field{.doc = "slices of an accelerator that its jobs ask for in place of sizes, one each: "
                 "profile: how common",
          .example = "{ 1g.18gb: 6, 3g.71gb: 2 }",
          .moves = "load changes"});
  v("clean_hours", s.clean_hours,
    Field{.doc = "jobs are held for clean hours of their site", .absent = "none waits"});
}

template <class V, Is<Inference> S>
void visit_fields(V& v, S& s) {
  v("model", s.model,
    Field{.doc = "catalog id or alias, or the path of a config.json",
          .part = Part::model,
          .required = true,
          .example = "llama-3-8b",
          .moves = "duration changes"});
  v("requests", s.requests,
    Field{.doc = "of one run",
          .range = Range::positive,
          .required = true,
          .example = "2M",
          .moves = "duration rises"});
  v("input_tokens", s.input_tokens,
    Field{.doc = "mean",
          .range = Range::at_least_one,
          .required = true,
          .example = "800",
          .moves = "duration rises"});
  v("output_tokens", s.output_tokens,
    Field{.doc = "mean",
          .range = Range::at_least_one,
          .required = true,
          .example = "100",
          .moves = "duration rises"});
  v("engine", s.engine,
    Field{.doc = "serving engine: vllm, sglang, tensorrt-llm ...", .moves = "duration changes"});
  v("tp", s.tp,
    Field{.doc = "accelerators that share one layer",
          .absent = "the least that fits",
          .range = Range::at_least_one,
          .automatic = true,
          .moves = "duration changes"});
  v("precision", s.precision, Field{.doc = "of the weights", .moves = "duration changes"});
}

template <class V, Is<Batch> S>
void visit_fields(V& v, S& s) {
  v("core_hours", s.core_hours,
    Field{.doc = "CPU work of one run",
          .absent = "none",
          .range = Range::positive,
          .moves = "duration rises"});
  v("accelerator_hours", s.accelerator_hours,
    Field{.doc = "accelerator work of one run",
          .absent = "none",
          .range = Range::positive,
          .moves = "duration rises"});
  v("inference", s.inference,
    Field{.doc = "requests that replicas answer with full batches, in place of hours; what a host "
                 "that is taken back had answered of its piece is answered again",
          .absent = "none"});
  v("tasks", s.tasks,
    Field{.doc = "pieces that can run at a time; of inference one replica each",
          .range = Range::at_least_one,
          .moves = "duration falls"});
  v("memory", s.memory,
    Field{.doc = "of one piece", .unit = "GB", .absent = "no demand", .moves = "duration rises"});
  v("dataset", s.dataset, Field{.doc = "what it reads"});
  v("output", s.output,
    Field{.doc = "what it writes", .unit = "GB", .absent = "none", .moves = "duration rises"});
  v("repeat", s.repeat, Field{.doc = "when it comes back", .absent = "it runs once"});
  v("deadline", s.deadline,
    Field{.doc = "it must end within",
          .unit = "h",
          .absent = "none",
          .range = Range::positive,
          .moves = "rule workload.deadline"});
  v("clean_hours", s.clean_hours,
    Field{.doc = "a run is held for clean hours of its site", .absent = "it does not wait"});
}

}  // namespace orrery::design
