// What the site is used for: training runs, services, queues of jobs, batch work.
//
// In the file a workload is a list entry with one key, its kind: `- train: { ... }`. The terms that
// every kind shares (name, fleet, residency ...) stand among its fields.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/quantity.h"
#include "core/catalog/vocabulary.h"
#include "model/design/fleet.h"
#include "model/design/indices.h"
#include "model/design/tiers.h"

namespace orrery::design {

enum class CheckpointMode { sync, async };
enum class DataKind { text, image, video, tabular, volume };  // volume: CT and MRI studies
enum class DataFormat { shards, files };
enum class EmbeddingPlacement { device, host, ssd };

struct Terms {
  std::string name;          // empty: the kind, numbered if there are several
  std::string fleet;         // empty: the first fleet
  std::optional<int> nodes;  // none: the whole fleet (train), as many as needed (others)
  std::string residency;     // region or country that neither compute nor data may leave
  std::string tenant;
  bool encrypt_at_rest = false;
  bool encrypt_in_transit = false;
  bool isolate_tenant = false;
  std::optional<double> availability;  // share of time that it must be up
  int priority = 0;
  std::string partition;  // of its fleet; empty: the fleet's first
  std::string qos;        // one of the scheduler's; empty: none
  std::vector<std::string>
      external;  // services outside the site that it calls ("hugging-face-hub")

  bool operator==(const Terms&) const = default;
};

// A network that is not a transformer in the catalog: a convolutional net, a ranking model.
struct PlainNetwork {
  double params = 0;
  Flops forward;                     // operations in one sample's forward pass
  std::optional<Bytes> activations;  // memory kept per sample in training

  bool operator==(const PlainNetwork&) const = default;
};

struct Layout {
  int tp = 1;
  int pp = 1;
  int vp = 1;
  std::optional<int> dp;  // none: as high as the accelerators allow
  int cp = 1;
  int ep = 1;
  int mbs = 1;
  catalog::Sharding sharding = catalog::Sharding::zero1;
  catalog::Recompute recompute = catalog::Recompute::none;

  bool operator==(const Layout&) const = default;
};

struct Dataset {
  DataKind kind = DataKind::text;
  std::optional<Bytes> size;
  std::optional<double> samples;
  std::optional<Bytes> sample_size;  // stored size of one sample
  DataFormat format = DataFormat::shards;
  std::optional<Bytes> shard_size;
  double random_access = 0;       // share of samples that are read one by one out of their shards
  std::optional<Seconds> decode;  // core time per sample
  bool shuffle = true;
  double epochs = 1;
  std::string tier;                 // name or word of the tier; empty: the nearest that holds it
  std::optional<int> loader_cores;  // per accelerator
  std::string region;               // where the data is now; empty: the tier's region

  bool operator==(const Dataset&) const = default;
};

struct KeepRule {
  std::string tier;
  std::optional<int> newest;  // number of newest saves to keep; none: milestones

  bool operator==(const KeepRule&) const = default;
};

struct Checkpoint {
  std::optional<Seconds> every;  // none: the best interval is computed
  CheckpointMode mode = CheckpointMode::async;
  std::vector<std::string> to = {"hot"};  // in the order of the copies
  std::vector<KeepRule> keep;
  std::optional<double> bytes_per_param;  // none: 14 (weight 2, master 4, moments 8)
  std::optional<int> files;               // per save; none: one per writing rank
  std::optional<int> replicas;            // copies of a node-local save on other nodes
  std::optional<Seconds> milestone;       // time between milestones that are kept; none: a week

  bool operator==(const Checkpoint&) const = default;
};

struct Lora {
  int rank = 16;
  std::vector<std::string> targets = {"qkv", "o"};  // qkv, o, mlp
  // format of the frozen weights; none: the run's
  std::optional<catalog::Precision> base_precision;

  bool operator==(const Lora&) const = default;
};

// Embedding tables of a recommender: their rows are stored apart from the dense network.
struct Embeddings {
  double rows = 0;  // rows of all tables
  int width = 128;
  catalog::Precision precision = catalog::Precision::fp32;
  double lookups = 0;  // rows read per sample
  EmbeddingPlacement placement = EmbeddingPlacement::device;

  bool operator==(const Embeddings&) const = default;
};

// Events that arrive continuously and must be stored, joined and fed to training.
struct FeatureStream {
  PerSecond rate;
  Bytes size;  // per event
  std::optional<Seconds> retention;
  std::optional<Seconds> freshness;  // longest time from event to model
  std::string tier;

  bool operator==(const FeatureStream&) const = default;
};

// A run that is repeated: every day, within a window.
struct Recurrence {
  Seconds every;
  std::optional<Seconds> window;  // longest time that a run may take

  bool operator==(const Recurrence&) const = default;
};

struct Train {
  std::string model;  // catalog id, alias or path of a config.json; empty if `network` is given
  std::optional<PlainNetwork> network;
  std::optional<double> tokens;  // that the run trains on
  // that the run trains on, for a network; none: dataset times epochs
  std::optional<double> samples;
  int sequence = 4096;
  int batch = 0;  // sequences or samples per step, over the whole run
  catalog::Precision precision = catalog::Precision::bf16;
  std::optional<Layout> layout;  // none: searched
  Dataset dataset;
  std::optional<Checkpoint> checkpoint;
  std::optional<Lora> lora;
  std::optional<Embeddings> embeddings;
  std::optional<FeatureStream> features;
  std::optional<Recurrence> repeat;
  std::optional<Seconds> deadline;  // longest time that the run may take
  std::optional<int> runs;          // per year, if it does not repeat; none: one after another
  // fewest replicas to continue with while hosts are missing; none: it waits
  std::optional<int> min_replicas;

  bool operator==(const Train&) const = default;
};

// Time from an answer to the next turn of the conversation, if the design gives none: assumed.
inline constexpr Seconds kThinkTime = seconds(30);

// A task of an agent: model calls with a tool in between, each of which resends the task's history.
struct AgentLoop {
  int calls = 2;      // model calls per task
  Seconds tool_time;  // mean time from an answer to the call with the tool's result
  // mean tokens in a tool's result; none: as many as the first call's input
  std::optional<double> tool_tokens;

  bool operator==(const AgentLoop&) const = default;
};

struct Arrivals {
  PerSecond rate;     // mean
  double peak = 1;    // rate in the busiest hour over the mean
  std::string trace;  // a built-in mix ("chat", "code", "summary") or a path; empty: Poisson
  std::optional<double> input_tokens;  // mean per request; none: the trace's
  std::optional<double> output_tokens;
  double shared_prefix = 0;           // share of the input that requests have in common
  int turns = 1;                      // turns per conversation; each resends the history
  std::optional<Seconds> think_time;  // mean time from an answer to the next turn; none: kThinkTime
  double cache_hits = 0;              // share of requests that a response cache answers
  std::optional<AgentLoop> agent;     // none: requests come from people

  // Requests that follow one another in a conversation or task, and the time from an answer to the
  // next request.
  int visits() const { return agent ? agent->calls : turns; }
  Seconds pause() const { return agent ? agent->tool_time : think_time.value_or(kThinkTime); }
  // The rate of requests that reach the replicas.
  PerSecond reaching() const { return rate * (1 - cache_hits); }

  bool operator==(const Arrivals&) const = default;
};

struct Objective {
  std::optional<Seconds> ttft_p99;
  std::optional<Seconds> tpot_p99;
  std::optional<Seconds> latency_p99;  // time of a whole request
  std::optional<Seconds> task_p99;     // time of an agent's whole task

  bool operator==(const Objective&) const = default;
};

// Time from a site's loss until its users are sent elsewhere, if the design gives none: three
// health checks ten seconds apart, and a DNS answer that is valid for thirty seconds (assumed).
inline constexpr Seconds kFailoverAfter = minutes(1);

// Part of a service's traffic that comes from one place and is answered there.
struct Zone {
  std::string site;
  std::string fleet;            // empty: the first fleet of that site
  double share = 1;             // share of the arrivals
  std::optional<int> replicas;  // none: its share of the service's replicas
  std::string residency;
  std::vector<std::string> failover;      // sites whose zones take over, in order of preference
  std::optional<Seconds> failover_after;  // none: kFailoverAfter

  bool operator==(const Zone&) const = default;
};

// The number of replicas follows the load: every `period`, the requests in flight, as they were
// `lag` earlier, are compared with `target` per replica.
struct Autoscale {
  int min = 1;
  int max = 1;
  double target = 0;  // requests in flight per replica
  Seconds period = seconds(15);
  Seconds lag = seconds(15);
  Seconds hold = minutes(5);  // how long fewer must suffice before any is removed
  Seconds image;              // time to pull the container image for a new replica

  bool operator==(const Autoscale&) const = default;
};

// Where blocks of the prefix cache go when a replica's device has no room for them.
struct KvTier {
  std::string tier;  // a tier of the design, or `host`: the memory of the replica's hosts
  Bytes capacity;    // per replica

  bool operator==(const KvTier&) const = default;
};
inline constexpr std::string_view kHostMemory = "host";

// Fine-tuned adapters (LoRA) of the model; each request uses one.
struct Adapters {
  int count = 1;
  int rank = 16;
  int slots = 8;  // adapters held on a replica's devices at a time
  std::vector<std::string> targets = {"qkv", "o", "mlp"};
  double skew = 1;  // the i-th most popular is used in proportion to 1 / i^skew
  bool operator==(const Adapters&) const = default;
};
inline constexpr int kMostAdapters = 100'000, kHighestRank = 512;

// Retrieval before a prompt is complete: reads of an index on a tier.
struct Retrieval {
  std::string tier;
  Bytes index;       // stored size of the index
  double reads = 1;  // reads per request
  int hops = 1;      // rounds of reads, each of which waits for the one before
  Bytes read_size = kib(4);
  std::optional<Seconds> read_p99;  // of one read on an idle tier; none: from the tier's latency
  double tokens = 0;                // tokens that the retrieved text adds to the prompt

  bool operator==(const Retrieval&) const = default;
};

// Answers that are not good enough are generated again by a larger model.
struct Escalation {
  std::string service;  // workload with the larger model
  double share = 0;     // share of the requests answered here that are passed on

  bool operator==(const Escalation&) const = default;
};

struct Serve {
  std::string model;
  std::optional<PlainNetwork> network;  // one request is one sample
  std::string engine = "vllm";
  std::optional<int> replicas;  // none: as many as the objective needs
  std::optional<int> tp;        // none: the fewest that fit
  int pp = 1;
  catalog::Precision precision = catalog::Precision::bf16;  // format of the weights
  catalog::Precision kv_precision = catalog::Precision::bf16;
  std::optional<int> max_batch;
  std::optional<double> max_tokens;  // longest context of a request
  bool chunked_prefill = true;
  bool prefix_cache = true;
  bool disaggregated = false;
  std::optional<int> prefill_replicas;  // if disaggregated: replicas for prefill
  std::string draft_model;              // for speculative decoding
  Arrivals arrivals;
  Objective objective;
  std::vector<Zone> zones;
  std::optional<Bytes> request_size;  // bytes that arrive with a request, such as images
  std::string weights_tier;           // tier that replicas load weights from
  catalog::ServeRouter router = catalog::ServeRouter::least_requests;
  std::optional<Autoscale> autoscale;  // none: all replicas run all the time
  std::optional<KvTier> kv_tier;       // none: evicted blocks are computed again
  std::optional<Adapters> adapters;    // none: the model without adapters
  std::optional<Retrieval> retrieval;  // none: no retrieval
  std::optional<Escalation> escalate;  // none: every answer given here is final
  std::optional<double> quality;       // share of its answers that are right
  std::string quality_source;          // the test behind `quality`, and its publisher

  bool operator==(const Serve&) const = default;
};

// The replicas that the design gives, or the most that its autoscaler may start; none: as many as
// needed.
inline std::optional<int> most_replicas(const Serve& s) {
  return s.autoscale ? std::optional(s.autoscale->max) : s.replicas;
}

// Work that waits for hours in which the grid of its site emits less.
struct CleanHours {
  // mean over the time that the work takes; none: the mean of all hours
  std::optional<GramsPerJoule> below;
  Seconds wait;  // longest wait

  bool operator==(const CleanHours&) const = default;
};

// A queue of jobs from many users.
struct Jobs {
  std::string trace;  // path of a CSV (submit_s,duration_s,accelerators[,tenant]); empty: synthetic
  std::optional<PerSecond> rate;
  std::optional<Seconds> mean_duration;
  std::vector<int> sizes = {1, 2, 4, 8, 16, 32};  // accelerators per job
  // how common each size is; empty: in proportion to 1 / size
  std::vector<double> weights;
  std::vector<MigSlices> mig;  // slices that jobs ask for instead, one per job: how common
  std::optional<CleanHours> clean_hours;

  bool operator==(const Jobs&) const = default;
};

// Requests without users who wait: replicas answer them as fast as they can, in full batches.
struct Inference {
  std::string model;
  double requests = 0;  // per run
  double input_tokens = 0;
  double output_tokens = 0;
  std::string engine = "vllm";
  std::optional<int> tp;  // none: the fewest that fit
  catalog::Precision precision = catalog::Precision::bf16;

  bool operator==(const Inference&) const = default;
};

// Work counted in core-hours, accelerator-hours or requests: nightly retraining on CPUs, data
// preparation, inference over a whole archive.
struct Batch {
  std::optional<double> core_hours;         // per run
  std::optional<double> accelerator_hours;  // per run
  std::optional<Inference> inference;       // instead of hours
  int tasks = 1;                            // pieces that it divides into; for inference, replicas
  std::optional<Bytes> memory;              // per piece
  Dataset dataset;
  std::optional<Bytes> output;
  std::optional<Recurrence> repeat;
  std::optional<Seconds> deadline;
  std::optional<CleanHours> clean_hours;

  bool operator==(const Batch&) const = default;
};

using Task = std::variant<Train, Serve, Jobs, Batch>;

struct Workload {
  Terms terms;
  Task task;
  WorkloadIndex index;  // position in the design, set by design::number_workloads

  // Compares what the two say; their places in files do not matter.
  bool operator==(const Workload& o) const { return terms == o.terms && task == o.task; }
};

const char* kind_of(const Workload& w);  // "train", "serve", "jobs", "batch"

}  // namespace orrery::design
