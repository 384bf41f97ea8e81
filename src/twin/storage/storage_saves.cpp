#include "twin/storage/storage_saves.h"

#include <algorithm>

namespace orrery::twin_storage {
namespace {

// Most saves whose copies are not safe yet: as many as a host's two snapshot buffers hold.
constexpr int kUnsafeMost = 2;

}  // namespace

SaveProcess::SaveProcess(sim::Kernel& kernel, StoragePlant& plant, SaveShape shape)
    : kernel_(kernel), plant_(plant), shape_(std::move(shape)) {
  kernel_.schedule(kernel_.now().after(shape_.first_at), sim::EventRank::start, *this, kSave);
}

void SaveProcess::on_event(sim::Kernel&, std::uint32_t kind, std::uint64_t data) {
  switch (kind) {
    case kSave:
      return begin_save();
    case kSnapshotTaken:
      return write(data, 0);
    default:
      return reached(data >> 8, data & 0xff);
  }
}

int SaveProcess::unsafe() const {
  const auto is_unsafe = [](const SaveRecord& r) { return r.safe.is_never(); };
  return static_cast<int>(std::ranges::count_if(saves_, is_unsafe));
}

void SaveProcess::begin_save() {
  if (is_over_) return;
  is_waiting_ = shape_.is_async && unsafe() >= kUnsafeMost;
  SaveRecord record{.began = kernel_.now()};
  record.at.assign(shape_.stops.size(), sim::SimTime::never());
  saves_.push_back(std::move(record));
  pending_.emplace_back(shape_.stops.size(), 0);
  pending_peers_.push_back(0);
  if (!is_waiting_) take_snapshot(saves_.size() - 1);
}

void SaveProcess::take_snapshot(std::size_t save) {
  if (!shape_.is_async) return write(save, 0);
  kernel_.schedule(kernel_.now().after(shape_.snapshot), sim::EventRank::finish, *this,
                   kSnapshotTaken, save);
}

void SaveProcess::computes_again(std::size_t save) {
  saves_[save].stall_end = kernel_.now();
  kernel_.schedule(kernel_.now().after(shape_.interval), sim::EventRank::start, *this, kSave);
}

void SaveProcess::write(std::size_t save, std::size_t stop) {
  if (stop == 0 && shape_.is_async) computes_again(save);
  const SaveStop& to = shape_.stops[stop];
  const bool in_hosts = plant_.shape().tiers[static_cast<std::size_t>(to.tier)].in_hosts;
  const int from_tier = stop == 0 ? Spot::kNone : shape_.stops[stop - 1].tier;
  const bool from_hosts =
      stop == 0 || plant_.shape().tiers[static_cast<std::size_t>(from_tier)].in_hosts;
  const std::uint64_t tag = (static_cast<std::uint64_t>(save) << 8) | stop;
  if (!from_hosts) {  // from servers to servers
    pending_[save][stop] = 1;
    return plant_.start({.from = {.tier = from_tier},
                         .to = {.tier = to.tier},
                         .bytes = shape_.total(),
                         .files = shape_.files,
                         .at_most = to.at_most * shape_.hosts,
                         .tag = tag},
                        *this);
  }
  if (!in_hosts && shape_.on_burst) shape_.on_burst();
  pending_[save][stop] = shape_.hosts;
  std::vector<Transfer> parts;
  for (int h = 0; h < shape_.hosts; ++h) {
    const int host = shape_.first_host + h;
    parts.push_back({.from = {.host = host, .tier = from_tier},
                     .to = {.host = in_hosts ? host : Spot::kNone, .tier = to.tier},
                     .bytes = shape_.of(h),
                     .files = shape_.files / shape_.hosts,
                     .at_most = stop == 0 ? min(shape_.serialise, to.at_most) : to.at_most,
                     .tag = tag});
  }
  plant_.start_together(parts, *this);
}

void SaveProcess::copy_to_peers(std::size_t save) {
  const int tier = shape_.stops.front().tier;
  pending_peers_[save] = shape_.hosts;
  for (int h = 0; h < shape_.hosts; ++h) {
    const int peer = shape_.first_host + (h + 1) % shape_.hosts;
    plant_.start({.from = {.host = shape_.first_host + h, .tier = tier},
                  .to = {.host = peer, .tier = tier},
                  .bytes = shape_.of(h),
                  .tag = (static_cast<std::uint64_t>(save) << 8) | kPeers},
                 *this);
  }
}

void SaveProcess::on_arrived(sim::Kernel&, std::uint64_t tag) {
  const std::size_t save = tag >> 8;
  const std::size_t stop = tag & 0xff;
  if (stop == kPeers) {
    if (--pending_peers_[save] == 0) saves_[save].peer = kernel_.now();
    return;
  }
  if (--pending_[save][stop] > 0) return;
  kernel_.schedule(kernel_.now().after(shape_.commit), sim::EventRank::finish, *this, kCommitted,
                   tag);
}

void SaveProcess::reached(std::size_t save, std::size_t stop) {
  saves_[save].at[stop] = kernel_.now();
  const SaveStop& here = shape_.stops[stop];
  const bool is_first = stop == 0;
  if (is_first && !shape_.is_async) computes_again(save);
  const bool is_last = stop + 1 == shape_.stops.size();
  const bool goes_on =
      !is_last && save % static_cast<std::size_t>(std::max(1, shape_.stops[stop + 1].every)) == 0;
  // A save that goes no further, and one that is only on its hosts, gets no safer than that.
  if (saves_[save].safe.is_never() && (here.is_durable || !goes_on)) {
    saves_[save].safe = kernel_.now();
    if (is_waiting_) {
      is_waiting_ = false;
      take_snapshot(saves_.size() - 1);
    }
  }
  if (is_first && shape_.replicas > 1 && shape_.hosts > 1 &&
      plant_.shape().tiers[static_cast<std::size_t>(here.tier)].in_hosts) {
    copy_to_peers(save);
  }
  if (goes_on) write(save, stop + 1);
}

}  // namespace orrery::twin_storage
