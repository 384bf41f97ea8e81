// Fields of workloads.
#pragma once

#include "model/design/fields.h"
#include "model/design/fields_serve.h"
#include "model/design/workloads.h"

namespace orrery::design {

template <class V, Is<Terms> S>
void visit_fields(V& v, S& s) {
  v("name", s.name, Field{.doc = "name in reports; empty is the kind", .moves = "label"});
  v("fleet", s.fleet,
    Field{.doc = "fleet that it runs on; empty is the first fleet", .moves = "use changes"});
  v("nodes", s.nodes,
    Field{.doc = "number of nodes",
          .absent = "training: the whole fleet; others: as many as needed",
          .range = Range::at_least_one,
          .moves = "rule cluster.nodes"});
  v("residency", s.residency,
    Field{.doc = "region or country that neither its compute nor its data may leave",
          .moves = "rule policy.residency"});
  v("tenant", s.tenant, Field{.doc = "tenant that owns the workload", .moves = "emit "});
  v("encrypt_at_rest", s.encrypt_at_rest,
    Field{.doc = "its data must be stored encrypted", .moves = "rule policy.encryption-at-rest"});
  v("encrypt_in_transit", s.encrypt_in_transit,
    Field{.doc = "its traffic must be encrypted", .moves = "rule policy.encryption-in-transit"});
  v("isolate_tenant", s.isolate_tenant,
    Field{.doc = "it must be kept apart from other tenants",
          .moves = "rule policy.tenant-isolation"});
  v("availability", s.availability,
    Field{.doc = "share of time that it must be up",
          .absent = "no objective",
          .range = Range::fraction,
          .moves = "rule serving.availability"});
  v("priority", s.priority,
    Field{.doc = "workloads with a higher number go first", .range = Range::any, .moves = "emit "});
  v("partition", s.partition,
    Field{
        .doc = "partition of its fleet, one of `scheduler.partitions`; empty is the fleet's first",
        .moves = "emit slurm"});
  v("qos", s.qos,
    Field{.doc = "quality of service of its jobs, one of `scheduler.qos`; empty is none",
          .moves = "emit slurm"});
  v("external", s.external,
    Field{.doc = "services outside the site that it calls",
          .example = "[hugging-face-hub]",
          .moves = "rule policy.air-gap"});
}

template <class V, Is<PlainNetwork> S>
void visit_fields(V& v, S& s) {
  v("params", s.params,
    Field{.doc = "number of parameters",
          .range = Range::positive,
          .required = true,
          .example = "300M",
          .moves = "checkpoint_size rises"});
  v("forward", s.forward,
    Field{.doc = "operations in one sample's forward pass",
          .unit = "GFLOP",
          .range = Range::positive,
          .required = true,
          .example = "12 GFLOP",
          .moves = "step_time rises"});
  v("activations", s.activations,
    Field{.doc = "activation memory kept per sample in training",
          .unit = "MB",
          .absent = "estimated",
          .moves = "memory rises"});
}

template <class V, Is<Layout> S>
void visit_fields(V& v, S& s) {
  constexpr Range kOne = Range::at_least_one;
  v("tp", s.tp,
    Field{.doc = "tensor-parallel degree", .range = kOne, .moves = "step_time changes"});
  v("pp", s.pp,
    Field{.doc = "pipeline-parallel degree", .range = kOne, .moves = "step_time changes"});
  v("vp", s.vp,
    Field{.doc = "virtual stages per pipeline rank", .range = kOne, .moves = "step_time changes"});
  v("dp", s.dp,
    Field{.doc = "data-parallel degree",
          .absent = "as high as the accelerators allow",
          .range = kOne,
          .moves = "step_time changes"});
  v("cp", s.cp,
    Field{.doc = "context-parallel degree", .range = kOne, .moves = "step_time changes"});
  v("ep", s.ep,
    Field{.doc = "expert-parallel degree", .range = kOne, .moves = "step_time changes"});
  v("mbs", s.mbs,
    Field{.doc = "micro-batch size, in sequences or samples",
          .range = kOne,
          .moves = "memory rises"});
  v("sharding", s.sharding,
    Field{.doc = "which of optimizer state, gradients and weights are sharded over dp",
          .moves = "memory changes"});
  v("recompute", s.recompute,
    Field{.doc = "which activations are recomputed in the backward pass",
          .moves = "step_time changes"});
}

template <class V, Is<Dataset> S>
void visit_fields(V& v, S& s) {
  v("kind", s.kind, Field{.doc = "what the samples are", .moves = "read_rate changes"});
  v("size", s.size,
    Field{.doc = "stored size of all samples",
          .unit = "TB",
          .absent = "computed",
          .moves = "used rises"});
  v("samples", s.samples,
    Field{.doc = "number of samples", .absent = "computed", .moves = "used rises"});
  v("sample_size", s.sample_size,
    Field{.doc = "stored size of one sample",
          .unit = "kB",
          .absent = "by kind of sample",
          .range = Range::positive,
          .moves = "read_rate rises"});
  v("format", s.format,
    Field{.doc = "many samples per shard, or one file each",
          .moves = "accelerator_utilisation changes"});
  v("shard_size", s.shard_size,
    Field{.doc = "size of one shard",
          .unit = "MB",
          .absent = "256 MB, assumed",
          .range = Range::positive,
          .moves = "accelerator_utilisation rises"});
  v("random_access", s.random_access,
    Field{.doc = "share of the samples that are read one by one out of their shards",
          .range = Range::fraction,
          .moves = "accelerator_utilisation falls"});
  v("decode", s.decode,
    Field{.doc = "CPU core time to decode one sample",
          .unit = "ms",
          .absent = "by kind of sample",
          .moves = "accelerator_utilisation falls"});
  v("shuffle", s.shuffle,
    Field{.doc = "each epoch reads the samples in a new order",
          .moves = "accelerator_utilisation changes"});
  v("epochs", s.epochs,
    Field{.doc = "number of times that the data set is read",
          .range = Range::positive,
          .moves = "emit prometheus"});
  v("tier", s.tier,
    Field{.doc = "tier that it is read from; empty is the nearest shared one",
          .moves = "emit prometheus"});
  v("loader_cores", s.loader_cores,
    Field{.doc = "CPU cores that load data for one accelerator",
          .absent = "the host's cores, divided among its accelerators",
          .range = Range::at_least_one,
          .moves = "accelerator_utilisation rises"});
  v("region", s.region,
    Field{.doc = "region where the data is now; empty is the tier's",
          .part = Part::region,
          .not_yet =
              "moving a data set between regions is not modelled; set `tier` to where it will be"});
}

template <class V, Is<Checkpoint> S>
void visit_fields(V& v, S& s) {
  v("every", s.every,
    Field{.doc = "time between saves",
          .unit = "min",
          .absent = "the best one is computed",
          .range = Range::positive,
          .automatic = true,
          .moves = "interval rises"});
  v("mode", s.mode, Field{.doc = "whether training waits for the write", .moves = "stall changes"});
  v("to", s.to,
    Field{.doc = "tiers that a save is copied to, in this order", .moves = "write_time changes"});
  v("keep", s.keep,
    Field{.doc = "for each tier the number of newest saves to keep, or `milestones`",
          .example = "{ hot: 3, cold: milestones }",
          .moves = "used changes"});
  v("bytes_per_param", s.bytes_per_param,
    Field{.doc = "bytes saved per parameter",
          .absent = "14: weight 2, master 4, moments 8",
          .range = Range::positive,
          .moves = "checkpoint_size rises"});
  v("files", s.files,
    Field{.doc = "files per save",
          .absent = "one per writing rank",
          .range = Range::at_least_one,
          .moves = "write_time rises"});
  v("replicas", s.replicas,
    Field{.doc = "copies of a node-local save on other nodes",
          .absent = "none",
          .moves = "loss_per_save falls"});
  v("milestone", s.milestone,
    Field{.doc = "time between saves that are kept for good",
          .unit = "d",
          .absent = "a week",
          .range = Range::positive,
          .moves = "used falls"});
}

template <class V, Is<Lora> S>
void visit_fields(V& v, S& s) {
  v("rank", s.rank,
    Field{.doc = "rank of the adapters",
          .range = Range::at_least_one,
          .moves = "checkpoint_size rises"});
  v("targets", s.targets,
    Field{.doc = "matrix products that get an adapter: qkv, o, mlp", .moves = "step_time changes"});
  v("base_precision", s.base_precision,
    Field{.doc = "number format of the frozen weights",
          .absent = "the run's precision",
          .not_yet = "frozen weights are held in 16 bits; narrower ones (QLoRA) are not modelled"});
}

template <class V, Is<Embeddings> S>
void visit_fields(V& v, S& s) {
  v("rows", s.rows,
    Field{.doc = "rows in all tables together",
          .range = Range::positive,
          .required = true,
          .example = "2B",
          .moves = "memory rises"});
  v("width", s.width,
    Field{.doc = "numbers per row", .range = Range::at_least_one, .moves = "memory rises"});
  v("precision", s.precision, Field{.doc = "format of one number", .moves = "memory changes"});
  v("lookups", s.lookups, Field{.doc = "rows read per sample", .moves = "step_time rises"});
  v("placement", s.placement, Field{.doc = "where the tables are held", .moves = "memory changes"});
}

template <class V, Is<FeatureStream> S>
void visit_fields(V& v, S& s) {
  v("rate", s.rate,
    Field{.doc = "rate of events",
          .unit = "/s",
          .range = Range::positive,
          .required = true,
          .example = "200000 /s",
          .moves = "used rises"});
  v("size", s.size,
    Field{.doc = "size of one event",
          .unit = "kB",
          .range = Range::positive,
          .required = true,
          .example = "2 kB",
          .moves = "used rises"});
  v("retention", s.retention,
    Field{.doc = "how long events are kept",
          .unit = "d",
          .absent = "the period of `repeat`",
          .moves = "used rises"});
  v("freshness", s.freshness,
    Field{.doc = "longest time from an event to a model trained on it",
          .unit = "h",
          .absent = "no objective",
          .moves = "rule storage.features"});
  v("tier", s.tier,
    Field{.doc = "tier that stores the events; empty is the dataset's",
          .moves = "rule storage.features"});
}

template <class V, Is<Recurrence> S>
void visit_fields(V& v, S& s) {
  v("every", s.every,
    Field{.doc = "time between two runs",
          .unit = "d",
          .range = Range::positive,
          .required = true,
          .example = "1 d",
          .moves = "rule storage.features"});
  v("window", s.window,
    Field{.doc = "longest time that a run may take",
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
    Field{.doc = "instead of `model`: a network that is not a transformer", .absent = "none"});
  v("tokens", s.tokens,
    Field{.doc = "tokens that the run trains on",
          .absent = "the dataset's",
          .range = Range::positive,
          .example = "2T",
          .moves = "run_time rises"});
  v("samples", s.samples,
    Field{.doc = "samples that the run trains on, for a network",
          .absent = "dataset times epochs",
          .range = Range::positive,
          .moves = "run_time rises"});
  v("sequence", s.sequence,
    Field{.doc = "tokens per sequence", .range = Range::at_least_one, .moves = "step_time rises"});
  v("batch", s.batch,
    Field{.doc = "sequences or samples per step, over the whole run",
          .range = Range::at_least_one,
          .required = true,
          .example = "1024",
          .moves = "step_time rises"});
  v("precision", s.precision,
    Field{.doc = "number format of the matrix products", .moves = "step_time changes"});
  v("layout", s.layout,
    Field{.doc = "how the run is spread over the accelerators",
          .absent = "searched",
          .automatic = true});
  v("dataset", s.dataset, Field{.doc = "the data that the run reads"});
  v("checkpoint", s.checkpoint,
    Field{.doc = "the checkpoints that the run saves", .absent = "nothing is saved"});
  v("lora", s.lora,
    Field{.doc = "LoRA: adapters are trained instead of all weights",
          .absent = "all weights are trained"});
  v("embeddings", s.embeddings,
    Field{.doc = "embedding tables of a recommender", .absent = "none"});
  v("features", s.features, Field{.doc = "events that arrive continuously", .absent = "none"});
  v("repeat", s.repeat, Field{.doc = "period, if the run is repeated", .absent = "it runs once"});
  v("deadline", s.deadline,
    Field{.doc = "longest time that the run may take",
          .unit = "d",
          .absent = "none",
          .range = Range::positive,
          .moves = "rule workload.deadline"});
  v("runs", s.runs,
    Field{.doc = "runs per year, if it does not repeat",
          .absent = "runs follow one another all year",
          .range = Range::at_least_one,
          .moves = "useful_hour falls"});
  v("min_replicas", s.min_replicas,
    Field{
        .doc =
            "fewest data-parallel replicas that the run continues with, at their share of the "
            "rate, while hosts are missing and no spare is free; it grows again when they are back",
        .absent = "it waits for all its hosts",
        .range = Range::at_least_one,
        .moves = "emit slurm"});
}

template <class V, Is<CleanHours> S>
void visit_fields(V& v, S& s) {
  v("below", s.below,
    Field{.doc = "highest mean carbon intensity of the grid, over the time that the work takes, at "
                 "which it starts",
          .unit = "g/kWh",
          .absent = "the mean of the site's hours",
          .range = Range::positive,
          .moves = "clean_ratio changes"});
  v("wait", s.wait,
    Field{.doc = "longest time that work is held; if no hour in that time is clean enough, it "
                 "starts at once",
          .unit = "h",
          .range = Range::positive,
          .required = true,
          .example = "12 h",
          .moves = "clean_ratio falls"});
}

template <class V, Is<Jobs> S>
void visit_fields(V& v, S& s) {
  v("trace", s.trace,
    Field{.doc = "path of a CSV with submit_s, duration_s, accelerators and optionally tenant; "
                 "empty draws jobs from the fields below",
          .moves = "load changes"});
  v("rate", s.rate,
    Field{.doc = "arrival rate of jobs",
          .unit = "/h",
          .absent = "the trace's",
          .range = Range::positive,
          .moves = "load rises"});
  v("mean_duration", s.mean_duration,
    Field{.doc = "mean duration of a job",
          .unit = "h",
          .absent = "the trace's",
          .range = Range::positive,
          .moves = "load rises"});
  v("sizes", s.sizes,
    Field{.doc = "accelerators per job; one is drawn for each job",
          .range = Range::at_least_one,
          .moves = "load changes"});
  v("weights", s.weights,
    Field{.doc = "how common each size is; empty is in proportion to 1 / size",
          .moves = "load changes"});
  v("mig", s.mig,
    Field{.doc = "MIG slices that its jobs ask for instead of `sizes`, one slice per job, as "
                 "profile: how common",
          .example = "{ 1g.18gb: 6, 3g.71gb: 2 }",
          .moves = "load changes"});
  v("clean_hours", s.clean_hours,
    Field{.doc = "jobs are held for clean hours of their site", .absent = "no job is held"});
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
    Field{.doc = "requests per run",
          .range = Range::positive,
          .required = true,
          .example = "2M",
          .moves = "duration rises"});
  v("input_tokens", s.input_tokens,
    Field{.doc = "input tokens per request, mean",
          .range = Range::at_least_one,
          .required = true,
          .example = "800",
          .moves = "duration rises"});
  v("output_tokens", s.output_tokens,
    Field{.doc = "output tokens per request, mean",
          .range = Range::at_least_one,
          .required = true,
          .example = "100",
          .moves = "duration rises"});
  v("engine", s.engine,
    Field{.doc = "serving engine: vllm, sglang, tensorrt-llm ...", .moves = "duration changes"});
  v("tp", s.tp,
    Field{.doc = "tensor-parallel degree: accelerators that share each layer",
          .absent = "the fewest that the model fits on",
          .range = Range::at_least_one,
          .automatic = true,
          .moves = "duration changes"});
  v("precision", s.precision,
    Field{.doc = "number format of the weights", .moves = "duration changes"});
}

template <class V, Is<Batch> S>
void visit_fields(V& v, S& s) {
  v("core_hours", s.core_hours,
    Field{.doc = "CPU core-hours of work per run",
          .absent = "none",
          .range = Range::positive,
          .moves = "duration rises"});
  v("accelerator_hours", s.accelerator_hours,
    Field{.doc = "accelerator-hours of work per run",
          .absent = "none",
          .range = Range::positive,
          .moves = "duration rises"});
  v("inference", s.inference,
    Field{.doc = "requests that replicas answer in full batches, instead of hours of work; if a "
                 "host is taken back, its piece is answered again from the start",
          .absent = "none"});
  v("tasks", s.tasks,
    Field{.doc = "pieces that can run at a time; for inference, one replica each",
          .range = Range::at_least_one,
          .moves = "duration falls"});
  v("memory", s.memory,
    Field{.doc = "memory per piece",
          .unit = "GB",
          .absent = "no requirement",
          .moves = "duration rises"});
  v("dataset", s.dataset, Field{.doc = "the data that it reads"});
  v("output", s.output,
    Field{
        .doc = "bytes that it writes", .unit = "GB", .absent = "none", .moves = "duration rises"});
  v("repeat", s.repeat, Field{.doc = "period, if the batch is repeated", .absent = "it runs once"});
  v("deadline", s.deadline,
    Field{.doc = "longest time that the batch may take",
          .unit = "h",
          .absent = "none",
          .range = Range::positive,
          .moves = "rule workload.deadline"});
  v("clean_hours", s.clean_hours,
    Field{.doc = "runs are held for clean hours of their site", .absent = "it is not held"});
}

}  // namespace orrery::design
