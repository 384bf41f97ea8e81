// What feeds the step: object fetch, cache, decoding, and the time a step waits for its samples.
#include <algorithm>

#include "layers/storage/cache.h"
#include "layers/storage/dataset.h"
#include "model/design/names.h"
#include "model/figures/assumptions.h"
#include "model/jobs/train_job.h"

namespace orrery::jobs {
namespace {

using figures::assumptions::kDefaultShard;
using figures::assumptions::kHostToDevice;
using figures::assumptions::kLoaderCores;
using figures::assumptions::kLoaderShare;
using figures::assumptions::kOtherSample;
using figures::assumptions::kTokenIdBytes;

double cores_per_accelerator(const TrainJob& job) {
  if (job.train->dataset.loader_cores) return *job.train->dataset.loader_cores;
  const auto& node = job.fleet->node;
  const int per_host = std::max(1, job.fleet->accelerators_per_host);
  return node.cores ? *node.cores * kLoaderShare / per_host : kLoaderCores;
}

// Returns the tier that the run names, or else the nearest that could hold the data set.
const machine::Tier* source_tier(const TrainJob& job, const machine::Machine& m, Bytes size) {
  if (!job.train->dataset.tier.empty()) return find_tier(m.tiers, job.train->dataset.tier);
  for (const machine::Tier& t : m.tiers) {
    if (!t.per_node && t.capacity >= size) return &t;
  }
  return nullptr;
}

Bytes dataset_size(const design::Train& train, Bytes sample) {
  const design::Dataset& d = train.dataset;
  if (d.size) return *d.size;
  if (d.samples) return sample * *d.samples;
  if (train.tokens) return Bytes(*train.tokens * kTokenIdBytes / std::max(1.0, d.epochs));
  return Bytes(0);
}

const machine::Tier* cache_of(const machine::Machine& m, const machine::Tier& tier) {
  for (const machine::Tier& t : m.tiers) {
    if (t.tier->caches == tier.label) return &t;
  }
  return nullptr;
}

double cache_hit_rate(const TrainJob& job, const machine::Tier& cache, Bytes size, int hosts) {
  const Bytes capacity = cache.per_node ? cache.capacity * hosts : cache.capacity;
  const double share = size > Bytes(0) ? std::min(1.0, capacity / size) : 1;
  const storage::EpochOrder order =
      job.train->dataset.shuffle ? storage::EpochOrder::shuffled : storage::EpochOrder::fixed;
  return storage::mean_hit_rate(hit_rate(cache.tier->policy, order, share),
                                job.train->dataset.epochs);
}

storage::FetchPath path_to(const machine::Tier& tier, const TrainJob& job,
                           const machine::Machine& m) {
  const double accelerators = std::max(1, job.accelerators);
  const double per_host = std::max(1, job.fleet->accelerators_per_host);
  const machine::Network& network = m.storage_wires(*job.fleet);
  const machine::Crossing way = m.crossing_to(*job.fleet, tier);
  storage::FetchPath path{.first_byte = tier.first_byte + way.latency(),
                          .stream = storage::stream_into_gpu(tier.stream_rate, tier.gpu_path)};
  path.streams = tier.client_streams / per_host;
  path.server = tier.per_node ? tier.read / per_host : way.capped(tier.read) / accelerators;
  path.client = network.per_node() > BytesPerSecond(0) && !tier.per_node
                    ? network.per_node() / per_host
                    : path.server;
  // Opening a file costs the metadata service as much as creating one; shards are opened rarely.
  path.requests = tier.creates / accelerators;
  return path;
}

// Returns the requests per second that the drives of a tier answer; an unknown rate does not limit.
PerSecond drive_requests(const machine::Tier& tier, const TrainJob& job) {
  const bool known = tier.device != nullptr && tier.device->random_read_iops && tier.devices > 0;
  if (!known) return storage::kUnlimitedCreates;
  const double readers =
      tier.per_node ? std::max(1, job.fleet->accelerators_per_host) : std::max(1, job.accelerators);
  return PerSecond(*tier.device->random_read_iops * storage::kDeliveredShare * tier.devices /
                   readers);
}

// Returns the fetch rate for whole shards or separate files. Samples read singly out of shards that
// are already open cost the drives one request each and the metadata service nothing.
storage::FetchRate fetch_from(const machine::Tier& tier, const TrainJob& job,
                              const machine::Machine& m) {
  storage::FetchPath path = path_to(tier, job, m);
  const storage::FetchRate usual = fetch_rate(job.feed.object, path);
  const double share = job.feed.by_themselves;
  if (share <= 0) return usual;
  path.requests = drive_requests(tier, job);
  return storage::mixed_rate(usual, fetch_rate(job.feed.sample, path), share);
}

}  // namespace

const machine::Tier* features_tier(const TrainJob& job, const machine::Machine& m) {
  if (!job.train->features) return nullptr;
  const std::string& named = job.train->features->tier;
  return named.empty() ? job.feed.tier : find_tier(m.tiers, named);
}

Bytes features_kept(const design::Train& train) {
  if (!train.features) return Bytes(0);
  const Seconds period = train.repeat ? train.repeat->every : Seconds(0);
  return train.features->rate * train.features->size * train.features->retention.value_or(period);
}

void fill_feed(TrainJob& job, const machine::Machine& m) {
  FeedPlan& feed = job.feed;
  const design::Dataset& data = job.train->dataset;
  const storage::DatasetKind* kind =
      find_dataset_kind(m.models().dataset_kinds, word_of(data.kind));
  // A language model reads token ids; samples of other kinds come on top.
  const bool text = job.model != nullptr && data.kind == design::DataKind::text;
  const Bytes tokens = job.model ? Bytes(job.train->sequence * kTokenIdBytes) : Bytes(0);
  feed.sample = data.sample_size.value_or(text   ? tokens
                                          : kind ? kind->sample + tokens
                                                 : kOtherSample + tokens);
  feed.decode = data.decode.value_or(kind && !text ? kind->decode : Seconds(0));
  const Bytes size = dataset_size(*job.train, feed.sample);
  feed.tier = source_tier(job, m, size);
  if (feed.tier == nullptr || !stands_in(*feed.tier, *job.fleet)) return;
  if (!m.crossing_to(*job.fleet, *feed.tier).leads_there()) return;
  feed.known = true;
  feed.data_set = size;
  feed.object = data.format == design::DataFormat::files ? feed.sample
                                                         : data.shard_size.value_or(kDefaultShard);
  feed.cores = cores_per_accelerator(job);
  const bool in_shards = data.format == design::DataFormat::shards;
  feed.by_themselves = in_shards ? data.random_access : 0;
  feed.fetch = fetch_from(*feed.tier, job, m);
  BytesPerSecond rate = feed.fetch.rate;
  if (const machine::Tier* cache = cache_of(m, *feed.tier)) {
    feed.cache = cache;
    feed.hit_rate = cache_hit_rate(job, *cache, size, job.hosts);
    rate = storage::rate_through_cache(feed.hit_rate, fetch_from(*cache, job, m).rate,
                                       feed.fetch.rate);
  }
  const double samples_per_step = static_cast<double>(job.train->batch) / job.accelerators;
  feed.loader =
      storage::load_rate({.batch = samples_per_step,
                          .sample = feed.sample,
                          .compute = job.step.step,
                          .fetch = rate,
                          .cores = feed.cores,
                          .decode = feed.decode,
                          .moving = storage::core_time(feed.sample, feed.tier->gpu_path),
                          .decoded_sample = kind && !text ? kind->decoded_sample : feed.sample,
                          .to_device = kHostToDevice});
  feed.wanted =
      storage::ideal_read_rate(samples_per_step, feed.sample, job.step.step) * job.accelerators;
  const BytesPerSecond of_host = feed.wanted * feed.loader.utilisation / std::max(1, job.hosts);
  feed.moving_cores = storage::core_time(of_host * seconds(1), feed.tier->gpu_path) / seconds(1);
}

}  // namespace orrery::jobs
