// What the site is for: training runs, services, queues of jobs, batch work.
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
  std::string name;          // empty: the kind, numbered where there are several
  std::string fleet;         // empty: the first fleet
  std::optional<int> nodes;  // none: the whole fleet (train), as needed (others)
  std::string residency;     // region or country outside which neither compute nor data may lie
  std::string tenant;
  bool encrypt_at_rest = false;
  bool encrypt_in_transit = false;
  bool isolate_tenant = false;
  std::optional<double> availability;  // share of time it must be up
  int priority = 0;
  std::string partition;  // of its fleet; empty: the first
  std::string qos;        // of the scheduler's; empty: none
  std::vector<std::string>
      external;  // services outside the site that it calls ("hugging-face-hub")

  bool operator==(const Terms&) const = default;
};

// A network that is no transformer of the catalog: a convolutional net, a ranking model.
struct PlainNetwork {
  double params = 0;
  Flops forward;                     // for one sample
  std::optional<Bytes> activations;  // kept for one sample in training

  bool operator==(const PlainNetwork&) const = default;
};

struct Layout {
  int tp = 1;
  int pp = 1;
  int vp = 1;
  std::optional<int> dp;  // none: what the accelerators leave
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
  std::optional<Bytes> sample_size;  // as stored
  DataFormat format = DataFormat::shards;
  std::optional<Bytes> shard_size;
  double random_access = 0;       // share of the samples that are read out of shards by themselves
  std::optional<Seconds> decode;  // core time for one sample
  bool shuffle = true;
  double epochs = 1;
  std::string tier;  // name or word of the tier it is read from; empty: the nearest that holds it
  std::optional<int> loader_cores;  // for each accelerator
  std::string region;               // where it lies now; empty: the tier's

  bool operator==(const Dataset&) const = default;
};

struct KeepRule {
  std::string tier;
  std::optional<int> newest;  // this many; none: milestones

  bool operator==(const KeepRule&) const = default;
};

struct Checkpoint {
  std::optional<Seconds> every;  // none: the best interval is computed
  CheckpointMode mode = CheckpointMode::async;
  std::vector<std::string> to = {"hot"};  // in order of the copies
  std::vector<KeepRule> keep;
  std::optional<double> bytes_per_param;  // none: 14 (weight 2, master 4, moments 8)
  std::optional<int> files;               // in one save; none: one a writing rank
  std::optional<int> replicas;            // of a node-local copy, on peers
  std::optional<Seconds> milestone;       // how often a milestone is kept; none: one a week

  bool operator==(const Checkpoint&) const = default;
};

struct Lora {
  int rank = 16;
  std::vector<std::string> targets = {"qkv", "o"};   // qkv, o, mlp
  std::optional<catalog::Precision> base_precision;  // of the frozen weights; none: the run's

  bool operator==(const Lora&) const = default;
};

// Embedding tables of a recommender: their rows live apart from the dense network.
struct Embeddings {
  double rows = 0;  // of all tables
  int width = 128;
  catalog::Precision precision = catalog::Precision::fp32;
  double lookups = 0;  // rows read for one sample
  EmbeddingPlacement placement = EmbeddingPlacement::device;

  bool operator==(const Embeddings&) const = default;
};

// Events that arrive all the time and must be stored, joined and fed to training.
struct FeatureStream {
  PerSecond rate;
  Bytes size;  // of one event
  std::optional<Seconds> retention;
  std::optional<Seconds> freshness;  // from event to model
  std::string tier;

  bool operator==(const FeatureStream&) const = default;
};

// A run that comes back: every day, in a window.
struct Recurrence {
  Seconds every;
  std::optional<Seconds> window;  // it must end within

  bool operator==(const Recurrence&) const = default;
};

struct Train {
  std::string model;  // catalog id, alias or path of a config.json; empty where `network` is given
  std::optional<PlainNetwork> network;
  std::optional<double> tokens;   // of the run
  std::optional<double> samples;  // of the run, for a plain network; none: dataset times epochs
  int sequence = 4096;
  int batch = 0;  // sequences or samples in one step, of the whole run
  catalog::Precision precision = catalog::Precision::bf16;
  std::optional<Layout> layout;  // none: searched
  Dataset dataset;
  std::optional<Checkpoint> checkpoint;
  std::optional<Lora> lora;
  std::optional<Embeddings> embeddings;
  std::optional<FeatureStream> features;
  std::optional<Recurrence> repeat;
  std::optional<Seconds> deadline;  // the run must end within
  std::optional<int> runs;          // a year, where it does not repeat; none: one after another
  std::optional<int> min_replicas;  // it goes on with while hosts are missing; none: it waits

  bool operator==(const Train&) const = default;
};

// From an answer to the next turn of a talk, where the design says nothing: assumed.
inline constexpr Seconds kThinkTime = seconds(30);

// A task of an agent: calls that each wait for a tool, and bring all that was said before.
struct AgentLoop {
  int calls = 2;                      // of a task
  Seconds tool_time;                  // mean, from an answer to the call with what the tool found
  std::optional<double> tool_tokens;  // that it brings, mean; none: as many as the first call's

  bool operator==(const AgentLoop&) const = default;
};

struct Arrivals {
  PerSecond rate;   // mean
  double peak = 1;  // highest hour over the mean
  std::string
      trace;  // name of a built-in mix ("chat", "code", "summary") or a path; empty: Poisson
  std::optional<double> input_tokens;  // mean; none: the trace's
  std::optional<double> output_tokens;
  double shared_prefix = 0;           // share of the input that requests have in common
  int turns = 1;                      // of a talk: each brings all that was said before it
  std::optional<Seconds> think_time;  // mean, from an answer to the next turn; none: kThinkTime
  double cache_hits = 0;              // share of requests that a response cache answers
  std::optional<AgentLoop> agent;     // none: whoever asks is a person

  // Requests that follow from one another, and what passes between an answer and the next of them.
  int visits() const { return agent ? agent->calls : turns; }
  Seconds pause() const { return agent ? agent->tool_time : think_time.value_or(kThinkTime); }
  // What is left for the replicas.
  PerSecond reaching() const { return rate * (1 - cache_hits); }

  bool operator==(const Arrivals&) const = default;
};

struct Objective {
  std::optional<Seconds> ttft_p99;
  std::optional<Seconds> tpot_p99;
  std::optional<Seconds> latency_p99;  // of the whole request
  std::optional<Seconds> task_p99;     // of an agent's whole task

  bool operator==(const Objective&) const = default;
};

// From a site's loss until its users are sent elsewhere, where a design does not say: three looks
// of a health check ten seconds apart and an answer of the name service that lives for thirty
// (assumed).
inline constexpr Seconds kFailoverAfter = minutes(1);

// A part of a service's traffic that comes from, and must be answered in, one place.
struct Zone {
  std::string site;
  std::string fleet;            // empty: the fleet of that site
  double share = 1;             // of the arrivals
  std::optional<int> replicas;  // none: of the service's, by its share
  std::string residency;
  std::vector<std::string> failover;      // sites whose zones take what it cannot, the first first
  std::optional<Seconds> failover_after;  // none: kFailoverAfter

  bool operator==(const Zone&) const = default;
};

// Replicas follow the load: every `period` the requests in flight, as they were `lag` before, are
// held against `target` a replica.
struct Autoscale {
  int min = 1;
  int max = 1;
  double target = 0;  // requests in flight of one replica
  Seconds period = seconds(15);
  Seconds lag = seconds(15);
  Seconds hold = minutes(5);  // fewer are wanted for so long before any leaves
  Seconds image;              // until a new replica's container has its image

  bool operator==(const Autoscale&) const = default;
};

// Where the blocks of a prefix cache go that a replica's device has no room for.
struct KvTier {
  std::string tier;  // of the design's storage, or `host`: the memory of its host
  Bytes capacity;    // of one replica

  bool operator==(const KvTier&) const = default;
};
inline constexpr std::string_view kHostMemory = "host";

// Fine-tuned adapters (LoRA) of the model, one of which answers each request.
struct Adapters {
  int count = 1;
  int rank = 16;
  int slots = 8;  // on a replica's devices at a time
  std::vector<std::string> targets = {"qkv", "o", "mlp"};
  double skew = 1;  // the i-th most used is asked for as 1 / i^skew
  bool operator==(const Adapters&) const = default;
};
inline constexpr int kMostAdapters = 100'000, kHighestRank = 512;

// What is looked up before a prompt is whole: reads of an index on a tier.
struct Retrieval {
  std::string tier;
  Bytes index;       // that lies there
  double reads = 1;  // of one request
  int hops = 1;      // rounds of reads, each of which waits for the one before
  Bytes read_size = kib(4);
  std::optional<Seconds> read_p99;  // of one read on an idle tier; none: by the tier's latency
  double tokens = 0;                // that what was found adds to the prompt

  bool operator==(const Retrieval&) const = default;
};

// Answers that are not good enough are made anew by a larger model.
struct Escalation {
  std::string service;  // name of the workload with that model
  double share = 0;     // of the requests that are answered here

  bool operator==(const Escalation&) const = default;
};

struct Serve {
  std::string model;
  std::optional<PlainNetwork> network;  // one request is one sample
  std::string engine = "vllm";
  std::optional<int> replicas;  // none: as many as the objective needs
  std::optional<int> tp;        // none: the least that fits
  int pp = 1;
  catalog::Precision precision = catalog::Precision::bf16;  // of the weights
  catalog::Precision kv_precision = catalog::Precision::bf16;
  std::optional<int> max_batch;
  std::optional<double> max_tokens;  // context kept for one request
  bool chunked_prefill = true;
  bool prefix_cache = true;
  bool disaggregated = false;
  std::optional<int> prefill_replicas;  // where disaggregated
  std::string draft_model;              // speculative decoding
  Arrivals arrivals;
  Objective objective;
  std::vector<Zone> zones;
  std::optional<Bytes> request_size;  // bytes in with one request, where it carries images
  std::string weights_tier;           // where replicas load from
  catalog::ServeRouter router = catalog::ServeRouter::least_requests;
  std::optional<Autoscale> autoscale;  // none: all replicas stand all the time
  std::optional<KvTier> kv_tier;       // none: evicted blocks are computed again
  std::optional<Adapters> adapters;    // none: the model answers as it is
  std::optional<Retrieval> retrieval;  // none: a prompt is whole as it comes
  std::optional<Escalation> escalate;  // none: what is answered here stays
  std::optional<double> quality;       // share of its answers that are right
  std::string quality_source;          // by which test, and whose

  bool operator==(const Serve&) const = default;
};

// Replicas that the design gives, at the most where they follow the load; none: as many as needed.
inline std::optional<int> most_replicas(const Serve& s) {
  return s.autoscale ? std::optional(s.autoscale->max) : s.replicas;
}

// Work that waits for hours in which its site's grid emits less.
struct CleanHours {
  std::optional<GramsPerJoule> below;  // over the time it takes; none: the mean of all hours
  Seconds wait;                        // at the most

  bool operator==(const CleanHours&) const = default;
};

// A queue of jobs of many users.
struct Jobs {
  std::string trace;  // path of a CSV (submit_s,duration_s,accelerators[,tenant]); empty: synthetic
  std::optional<PerSecond> rate;
  std::optional<Seconds> mean_duration;
  std::vector<int> sizes = {1, 2, 4, 8, 16, 32};  // accelerators
  std::vector<double> weights;                    // of the sizes; empty: as 1 / size
  std::vector<MigSlices> mig;  // slices that they ask for instead, one each: how common
  std::optional<CleanHours> clean_hours;

  bool operator==(const Jobs&) const = default;
};

// Requests that wait for nobody: replicas answer them as fast as they can, all of their batch full.
struct Inference {
  std::string model;
  double requests = 0;  // of one run
  double input_tokens = 0;
  double output_tokens = 0;
  std::string engine = "vllm";
  std::optional<int> tp;  // none: the least that fits
  catalog::Precision precision = catalog::Precision::bf16;

  bool operator==(const Inference&) const = default;
};

// Work that is counted in core or accelerator hours, or in requests: nightly retraining on CPUs,
// preparation of data, answers for a whole archive.
struct Batch {
  std::optional<double> core_hours;         // of one run
  std::optional<double> accelerator_hours;  // of one run
  std::optional<Inference> inference;       // in place of hours
  int tasks = 1;                            // it splits into; of inference: replicas
  std::optional<Bytes> memory;              // of one task
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
  WorkloadIndex index;  // its position in the design; design::number_workloads sets it

  // What the two say; where they stand does not count.
  bool operator==(const Workload& o) const { return terms == o.terms && task == o.task; }
};

const char* kind_of(const Workload& w);  // "train", "serve", "jobs", "batch"

}  // namespace orrery::design
