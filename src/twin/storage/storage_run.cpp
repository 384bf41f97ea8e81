#include "twin/storage/storage_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/base/text.h"
#include "core/base/units.h"
#include "layers/storage/cache.h"
#include "twin/storage/storage_reads.h"
#include "twin/storage/storage_saves.h"

namespace orrery::twin_storage {
namespace {

using jobs::TrainJob;

// Least saves that are simulated, whatever the interval.
constexpr double kSavesLeast = 3;
// Most objects for which one host's cache is simulated, and most pieces that its share of a data
// set is divided into: the hit rate of a few thousand objects is within half a point of that of
// many.
constexpr int kObjectsMost = 2000;
constexpr std::int64_t kColdEpochs = 2;
constexpr std::int64_t kWarmEpochs = 2;
// A collective that is short compared with any burst.
constexpr Seconds kRing = milliseconds(10);
// Point within a burst at which the collective is run, as a share of it.
constexpr double kIntoBurst = 0.3;
// Bursts that have not ended after this many times their length never end.
constexpr double kOverrun = 3;

// A ring over a run's hosts: each sends to the next; the last arrival ends it.
class Ring final : public sim::EventHandler, private TransferObserver {
 public:
  Ring(sim::Kernel& kernel, StoragePlant& plant, int first, int hosts, Bytes bytes)
      : kernel_(kernel), plant_(plant), first_(first), hosts_(hosts), bytes_(bytes) {}
  ~Ring() { kernel_.forget(*this); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  void begin_at(sim::SimTime at) { kernel_.schedule(at, sim::EventRank::start, *this); }
  // Returns nothing until it has ended.
  std::optional<Seconds> took() const {
    if (left_ != 0) return std::nullopt;
    return (ended_ - began_).seconds();
  }

  void on_event(sim::Kernel& kernel, std::uint32_t, std::uint64_t) override {
    began_ = kernel.now();
    left_ = hosts_;
    for (int h = 0; h < hosts_; ++h) {
      plant_.send(first_ + h, first_ + (h + 1) % hosts_, bytes_, *this, 0);
    }
  }

 private:
  void on_arrived(sim::Kernel& kernel, std::uint64_t) override {
    if (--left_ == 0) ended_ = kernel.now();
  }

  sim::Kernel& kernel_;
  StoragePlant& plant_;
  int first_;
  int hosts_;
  Bytes bytes_;
  int left_ = -1;
  sim::SimTime began_;
  sim::SimTime ended_;
};

// All hosts read what they saved; the last one to finish ends it.
class Restore final : private TransferObserver {
 public:
  Restore(sim::Kernel& kernel, StoragePlant& plant, const SaveShape& save, const SaveStop& from)
      : began_(kernel.now()), left_(save.hosts) {
    const bool in_hosts = plant.shape().tiers[static_cast<std::size_t>(from.tier)].in_hosts;
    std::vector<Transfer> parts;
    for (int h = 0; h < save.hosts; ++h) {
      const int host = save.first_host + h;
      parts.push_back({.from = {.host = in_hosts ? host : Spot::kNone, .tier = from.tier},
                       .to = {.host = host},
                       .bytes = save.of(h),
                       .files = save.files / save.hosts,
                       .at_most = from.at_most});
    }
    plant.start_together(parts, *this);
  }

  Seconds took() const { return (ended_ - began_).seconds(); }

 private:
  void on_arrived(sim::Kernel& kernel, std::uint64_t) override {
    if (--left_ == 0) ended_ = kernel.now();
  }

  sim::SimTime began_;
  sim::SimTime ended_;
  int left_;
};

struct JobProcesses {
  std::unique_ptr<SaveProcess> saves;
  std::unique_ptr<ReadStream> stream;
  std::unique_ptr<ReadProcess> reads;
  std::unique_ptr<Ring> alone;
  std::unique_ptr<Ring> in_burst;
};

class Day {
 public:
  Day(const StorageWork& work, const StorageOptions& options)
      : work_(work),
        options_(options),
        span_(span_of()),
        kernel_(options.seed),
        plant_(kernel_, plant_shape()) {}

  StorageRun run() {
    jobs_.resize(work_.trains.size());
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      if (work_.trains[j].feasible()) begin(j);
    }
    kernel_.run(sim::SimTime::from(span_));
    StorageRun result{.span = span_};
    for (const machine::Tier& t : work_.machine->tiers) add_tier(result, t);
    for (JobProcesses& j : jobs_) {
      if (j.saves) j.saves->stop_saving();
    }
    std::vector<double> starved;
    for (const JobProcesses& j : jobs_) starved.push_back(j.stream ? j.stream->starved() : 0);
    kernel_.run(sim::SimTime::from(span_ * kOverrun));
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      result.jobs.push_back(outcome_of(j, starved[j]));
    }
    result.events = kernel_.events_run();
    return result;
  }

 private:
  const machine::Machine& machine() const { return *work_.machine; }

  Seconds span_of() const {
    double a_second = 0;
    Seconds longest;
    for (const TrainJob& job : work_.trains) {
      if (!job.feasible() || !job.checkpoint || job.checkpoint->interval <= Seconds(0)) continue;
      const double stops = static_cast<double>(job.train->checkpoint->to.size());
      a_second += job.hosts * stops / job.checkpoint->interval.base();
      longest = max(longest, job.checkpoint->interval + job.checkpoint->stall.total);
    }
    Seconds span = min(options_.span, work_.horizon);
    if (a_second > 0) span = min(span, Seconds(options_.transfers_most / a_second));
    return max(span, longest * kSavesLeast);
  }

  PlantShape plant_shape() const {
    PlantShape shape{.seed = options_.seed};
    const bool converged = machine().design().fabric.storage.converged;
    for (const TrainJob& job : work_.trains) {
      PlantHosts hosts{.many = job.feasible() ? job.hosts : 0};
      if (job.feasible()) {
        hosts.wires = or_unlimited(machine().storage_wires(*job.fleet).per_node());
        const BytesPerSecond compute = machine().networks_of(*job.fleet).compute.per_node();
        if (!converged) hosts.compute = or_unlimited(compute);
      }
      shape.hosts.push_back(hosts);
    }
    for (const machine::Tier& t : machine().tiers) shape.tiers.push_back(plant_tier(t));
    return shape;
  }

  static BytesPerSecond or_unlimited(BytesPerSecond rate) {
    return rate > BytesPerSecond(0) ? rate : storage::kUnlimitedRate;
  }

  static PlantTier plant_tier(const machine::Tier& t) {
    return {.label = t.label,
            .in_hosts = t.per_node,
            .servers = std::max(1, static_cast<int>(t.servers)),
            // Each server of an NFS tier holds whole files; other tiers spread files over all
            // servers.
            .stripes = t.tier->kind == design::TierKind::nfs ? 1 : 0,
            .read = or_unlimited(t.read),
            .write = or_unlimited(t.write),
            .requests = t.per_node ? storage::kUnlimitedCreates : t.creates,
            .first_byte = t.first_byte,
            .restore = mount_time(t),
            .client = t.stream_rate * t.client_streams};
  }

  int tier_index(const machine::Tier* tier) const { return static_cast<int>(tier->index.value()); }

  int first_host(std::size_t j) const {
    int first = 0;
    for (std::size_t i = 0; i < j; ++i) first += plant_.shape().hosts[i].many;
    return first;
  }

  void begin(std::size_t j) {
    const TrainJob& job = work_.trains[j];
    if (job.feed.known && job.feed.wanted > BytesPerSecond(0)) begin_reads(j);
    if (job.checkpoint && job.checkpoint->interval > Seconds(0)) begin_saves(j);
  }

  void begin_reads(std::size_t j) {
    const TrainJob& job = work_.trains[j];
    const jobs::FeedPlan& feed = job.feed;
    const BytesPerSecond of_host = feed.wanted * feed.loader.utilisation / job.hosts;
    const int tier = tier_index(feed.tier);
    jobs_[j].stream = std::make_unique<ReadStream>(
        kernel_, plant_,
        StreamShape{.first_host = first_host(j),
                    .hosts = feed.tier->per_node ? 0 : job.hosts,
                    .tier = tier,
                    .of_host = of_host * (1 - feed.hit_rate),
                    .span = span_,
                    .is_joined = is_alone_on_wires(job) && plant_.can_join(tier)});
    if (feed.cache) begin_cache(j, of_host);
  }

  // Returns true if only the loaders' bytes reach its hosts: no peers' copies, no collectives.
  bool is_alone_on_wires(const TrainJob& job) const {
    const bool has_peers = job.checkpoint && job.train->checkpoint->replicas.value_or(1) > 1;
    return !machine().design().fabric.storage.converged && !has_peers;
  }

  // Simulates one host, object by object: what its drives hold of its part of the data set.
  void begin_cache(std::size_t j, BytesPerSecond of_host) {
    const TrainJob& job = work_.trains[j];
    const jobs::FeedPlan& feed = job.feed;
    const double objects = std::max(1.0, feed.data_set / feed.object / job.hosts);
    const int items = static_cast<int>(std::min<double>(kObjectsMost, std::ceil(objects)));
    const Bytes held =
        feed.cache->per_node ? feed.cache->capacity : feed.cache->capacity / std::max(1, job.hosts);
    const double share = std::min(1.0, held / (feed.data_set / job.hosts));
    const bool shuffled = job.train->dataset.shuffle;
    jobs_[j].reads = std::make_unique<ReadProcess>(
        kernel_, plant_,
        ReadShape{.host = first_host(j),
                  .tier = tier_index(feed.tier),
                  .cache_tier = feed.cache->per_node ? tier_index(feed.cache) : Spot::kNone,
                  .policy = feed.cache->tier->policy,
                  .epochs = {.items = items,
                             .shuffle_buffer = shuffled ? items : 0,
                             .seed = options_.seed},
                  .cached = static_cast<int>(std::lround(share * items)),
                  .object = feed.object,
                  .use = feed.object / of_host,
                  .reads = (kColdEpochs + kWarmEpochs) * items,
                  .warm_up = kColdEpochs * items});
  }

  void begin_saves(std::size_t j) {
    const TrainJob& job = work_.trains[j];
    JobProcesses& own = jobs_[j];
    SaveShape shape = save_shape(job, j);
    if (shape.stops.empty()) return;
    if (job.hosts > 1) {
      const Bytes message = machine().networks_of(*job.fleet).compute.per_node() * kRing;
      own.alone = std::make_unique<Ring>(kernel_, plant_, shape.first_host, job.hosts, message);
      own.in_burst = std::make_unique<Ring>(kernel_, plant_, shape.first_host, job.hosts, message);
      own.alone->begin_at(kernel_.now().after(kRing));
      const storage::WriteTime& w = job.checkpoint->drain;
      const Seconds into = w.metadata + max(max(w.server, w.network), w.serialise) * kIntoBurst;
      shape.on_burst = [this, &own, into, is_first = true]() mutable {
        if (is_first) own.in_burst->begin_at(kernel_.now().after(into));
        is_first = false;
      };
    }
    own.saves = std::make_unique<SaveProcess>(kernel_, plant_, std::move(shape));
  }

  SaveShape save_shape(const TrainJob& job, std::size_t j) const {
    const jobs::SavePlan& plan = *job.checkpoint;
    SaveShape s{.first_host = first_host(j), .hosts = job.hosts};
    const int per_host = std::max(1, job.fleet->accelerators_per_host);
    s.heavy_bytes = plan.load.busiest_node;
    s.heavy_hosts = std::min(plan.load.heavy_nodes, job.hosts);
    s.other_bytes = plan.load.other_node;
    s.files = plan.files;
    s.interval = plan.interval;
    RandomStream phase(options_.seed, "storage/phase/" + std::to_string(j));
    s.first_at = j == 0 ? plan.interval : plan.interval * phase.uniform();
    s.is_async = plan.async;
    s.snapshot = plan.stall.snapshot;
    s.commit = plan.write.commit;
    if (plan.write.serialise > Seconds(0)) {
      s.serialise = plan.load.busiest_rank / plan.write.serialise * per_host;
    }
    s.replicas = job.train->checkpoint->replicas.value_or(1);
    for (const std::string& label : job.train->checkpoint->to) add_stop(s, job, label);
    return s;
  }

  void add_stop(SaveShape& s, const TrainJob& job, const std::string& label) const {
    const machine::Tier* tier = find_tier(machine().tiers, label);
    if (tier == nullptr) return;
    const machine::Crossing way = machine().crossing_to(*job.fleet, *tier);
    if (!way.leads_there()) return;
    SaveStop stop{.tier = tier_index(tier), .is_durable = tier->durable()};
    if (way.path) stop.at_most = way.path->rate / job.hosts;
    for (const jobs::LaterCopy& copy : job.checkpoint->later) {
      if (copy.tier != tier) continue;
      stop.every = std::max(1, static_cast<int>(std::lround(copy.every / s.interval)));
    }
    s.stops.push_back(stop);
  }

  void add_tier(StorageRun& result, const machine::Tier& t) const {
    const int index = tier_index(&t);
    const TierUse& use = plant_.use(index);
    if (use.read + use.written <= Bytes(0)) return;
    const double many = t.per_node ? plant_.shape().all_hosts() : 1;
    TierLoad load{.label = t.label, .use = use};
    if (t.read > BytesPerSecond(0)) load.read_share = use.read / (t.read * many * span_);
    if (t.write > BytesPerSecond(0)) load.write_share = use.written / (t.write * many * span_);
    result.tiers.push_back(std::move(load));
  }

  JobStorage outcome_of(std::size_t j, double starved) {
    const TrainJob& job = work_.trains[j];
    JobProcesses& own = jobs_[j];
    JobStorage result{.label = job.label, .starved = starved};
    result.is_converged = machine().design().fabric.storage.converged;
    if (own.reads) {
      result.hit_rate = own.reads->outcome().hit_rate();
      result.hit_reads = static_cast<std::uint64_t>(own.reads->outcome().reads);
    }
    if (own.saves) result.saves = times_of(*own.saves);
    const auto alone = own.alone ? own.alone->took() : std::nullopt;
    const auto burst = own.in_burst ? own.in_burst->took() : std::nullopt;
    if (alone && burst && *alone > Seconds(0)) {
      result.all_reduce = *burst / *alone;
      result.ring_alone = *alone / kRing;
    }
    return result;
  }

  std::optional<SaveTimes> times_of(const SaveProcess& process) {
    SaveTimes t;
    Seconds stall;
    Seconds safe;
    Seconds local;
    Seconds peer;
    std::uint64_t peers = 0;
    for (const SaveStop& stop : process.shape().stops) {
      t.stops.push_back({.tier = plant_.shape().tiers[static_cast<std::size_t>(stop.tier)].label});
    }
    for (const SaveRecord& r : process.saves()) {
      if (r.safe.is_never() || r.stall_end.is_never()) continue;
      ++t.saves;
      const auto since = [&r](sim::SimTime at) { return (at - r.began).seconds(); };
      stall += since(r.stall_end);
      safe += since(r.safe);
      local += since(r.at.front());
      t.longest_stall = max(t.longest_stall, since(r.stall_end));
      t.longest_safe = max(t.longest_safe, since(r.safe));
      if (!r.peer.is_never()) peer += since(r.peer), ++peers;
      for (std::size_t s = 0; s < r.at.size(); ++s) {
        if (r.at[s].is_never()) continue;
        t.stops[s].mean += since(r.at[s]);
        t.stops[s].longest = max(t.stops[s].longest, since(r.at[s]));
        ++t.stops[s].saves;
      }
    }
    if (t.saves == 0) return std::nullopt;
    const auto many = static_cast<double>(t.saves);
    t.stall = stall / many;
    t.safe = safe / many;
    t.local = local / many;
    if (peers > 0) t.peer = peer / static_cast<double>(peers);
    for (StopTimes& s : t.stops) {
      if (s.saves > 0) s.mean = s.mean / static_cast<double>(s.saves);
    }
    t.restore = restore_time(process);
    return t;
  }

  Seconds restore_time(const SaveProcess& process) {
    const std::vector<SaveStop>& stops = process.shape().stops;
    auto from = std::ranges::find_if(stops, &SaveStop::is_durable);
    if (from == stops.end()) from = stops.begin();
    Restore restore(kernel_, plant_, process.shape(), *from);
    kernel_.run();
    return restore.took();
  }

  const StorageWork& work_;
  StorageOptions options_;
  Seconds span_;
  sim::Kernel kernel_;
  StoragePlant plant_;
  std::vector<JobProcesses> jobs_;
};

}  // namespace

StorageRun run_storage(const StorageWork& work, const StorageOptions& options) {
  const auto is_large = [](const jobs::TrainJob& j) { return j.hosts > kStorageHostsMost; };
  if (std::ranges::any_of(work.trains, is_large)) {
    StorageRun none;
    none.jobs.resize(work.trains.size());
    return none;
  }
  return Day(work, options).run();
}

void lay_over(std::span<jobs::TrainJob> trains, const StorageRun& storage) {
  for (std::size_t j = 0; j < trains.size(); ++j) {
    jobs::TrainJob& job = trains[j];
    const JobStorage& found = storage.jobs[j];
    if (!job.checkpoint || !found.saves) continue;
    jobs::SavePlan& plan = *job.checkpoint;
    plan.stall.wait = max(Seconds(0), found.saves->stall - plan.stall.snapshot);
    plan.stall.total = found.saves->stall;
    plan.stall.stall_end = found.saves->stall;
    plan.stall.safe = found.saves->safe;
    plan.drain.total = plan.async ? found.saves->safe - found.saves->stall : found.saves->safe;
    plan.write.total = plan.async ? found.saves->local - found.saves->stall : found.saves->local;
    if (!found.is_converged) continue;
    const double exposed = job.step.exposed_network_share;
    job.contended.feeding = exposed * (found.ring_alone - 1);
    job.contended.draining = exposed * (found.ring_alone * found.all_reduce - 1);
  }
}

}  // namespace orrery::twin_storage
