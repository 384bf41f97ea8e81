#include "twin/storage_reads.h"

#include <algorithm>

namespace orrery::twin {

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

// As far ahead as the queue is deep.
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
    : kernel_(kernel),
      shape_(shape),
      rates_(static_cast<std::size_t>(shape.hosts), shape.of_host),
      since_(static_cast<std::size_t>(shape.hosts), kernel.now()) {
  for (int h = 0; h < shape.hosts; ++h) {
    plant.stream({.tier = shape.tier}, {.host = shape.first_host + h}, shape.of_host, shape.span,
                 *this, static_cast<std::uint64_t>(h));
  }
}

void ReadStream::on_flow_rate(sim::Kernel& kernel, fabric::FlowId, std::uint64_t tag,
                              BytesPerSecond rate) {
  missing_ += (shape_.of_host - rates_[tag]) * (kernel.now() - since_[tag]).seconds();
  since_[tag] = kernel.now();
  rates_[tag] = rate;
}

double ReadStream::starved() const {
  Bytes missing = missing_;
  Bytes wanted;
  for (std::size_t h = 0; h < rates_.size(); ++h) {
    missing += (shape_.of_host - rates_[h]) * (kernel_.now() - since_[h]).seconds();
    wanted += shape_.of_host * kernel_.now().seconds();
  }
  return wanted > Bytes(0) ? std::max(0.0, missing / wanted) : 0;
}

}  // namespace orrery::twin
