#include "twin/storage/storage_reads.h"

#include <algorithm>

namespace orrery::twin_storage {

ReadProcess::ReadProcess(sim::Kernel& kernel, StoragePlant& plant, const ReadShape& shape)
    : kernel_(kernel),
      plant_(plant),
      shape_(shape),
      reader_(shape.epochs),
      cache_(shape.policy, shape.epochs.items, shape.cached, shape.epochs.seed),
      arrived_(static_cast<std::size_t>(std::max(1, shape.depth)), false) {
  kernel_.schedule(kernel_.now(), sim::EventRank::start, *this);
  idle_since_ = kernel_.now();
}

void ReadProcess::on_event(sim::Kernel&, std::uint32_t, std::uint64_t) {
  is_idle_ = true;
  idle_since_ = kernel_.now();
  take();
}

// Asks for as many objects ahead as the queue is deep.
void ReadProcess::ask() {
  while (asked_ < shape_.reads && asked_ - taken_ < std::ssize(arrived_)) {
    const storage::EpochRead read = reader_.next();
    const bool hit = cache_.read(read);
    if (asked_ >= shape_.warm_up) {
      ++outcome_.reads;
      outcome_.hits += hit ? 1 : 0;
    }
    const bool from_cache = hit && shape_.cache_tier != Spot::kNone;
    plant_.start({.from = {.host = from_cache ? shape_.host : Spot::kNone,
                           .tier = from_cache ? shape_.cache_tier : shape_.tier},
                  .to = {.host = shape_.host},
                  .bytes = shape_.object,
                  .files = 1,
                  .tag = static_cast<std::uint64_t>(asked_)},
                 *this);
    ++asked_;
  }
}

void ReadProcess::on_arrived(sim::Kernel&, std::uint64_t tag) {
  arrived_[tag % arrived_.size()] = true;
  take();
}

void ReadProcess::take() {
  if (!is_idle_ || taken_ == shape_.reads) return;
  const auto next = static_cast<std::size_t>(taken_) % arrived_.size();
  if (arrived_[next]) {
    if (taken_ > shape_.warm_up) {
      outcome_.waited += (kernel_.now() - idle_since_).seconds();
      outcome_.spent += (kernel_.now() - idle_since_).seconds() + shape_.use;
    }
    arrived_[next] = false;
    ++taken_;
    is_idle_ = false;
    kernel_.schedule(kernel_.now().after(shape_.use), sim::EventRank::finish, *this);
  }
  ask();
}

ReadStream::ReadStream(sim::Kernel& kernel, StoragePlant& plant, const StreamShape& shape)
    : kernel_(kernel), shape_(shape) {
  for (int h = 0; h < shape.hosts;) {
    const int many = shape.is_joined && h > 0 ? shape.hosts - h : 1;
    const auto tag = static_cast<std::uint64_t>(parts_.size());
    parts_.push_back({.hosts = many, .rate = shape.of_host * many, .since = kernel.now()});
    plant.start_stream({.tier = shape.tier,
                        .host = shape.first_host + h,
                        .hosts = many,
                        .rate = shape.of_host,
                        .span = shape.span,
                        .tag = tag},
                       *this);
    h += many;
  }
}

Bytes ReadStream::missing_of(const Part& part) const {
  return (shape_.of_host * part.hosts - part.rate) * (kernel_.now() - part.since).seconds();
}

void ReadStream::on_flow_rate(sim::Kernel& kernel, fabric::FlowId, std::uint64_t tag,
                              BytesPerSecond rate) {
  Part& part = parts_[tag];
  missing_ += missing_of(part);
  part.since = kernel.now();
  part.rate = rate;
}

double ReadStream::starved() const {
  Bytes missing = missing_;
  for (const Part& part : parts_) missing += missing_of(part);
  const Bytes wanted = shape_.of_host * kernel_.now().seconds() * std::max(0, shape_.hosts);
  return wanted > Bytes(0) ? std::max(0.0, missing / wanted) : 0;
}

}  // namespace orrery::twin_storage
