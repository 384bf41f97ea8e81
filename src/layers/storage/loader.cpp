#include "layers/storage/loader.h"

#include <algorithm>
#include <limits>

namespace orrery::storage {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A stage that costs nothing never binds.
double per_second_of(Seconds each) { return each.base() > 0 ? 1 / each.base() : kInfinity; }

double samples_of(BytesPerSecond rate, Bytes sample) {
  return sample.base() > 0 ? (rate / sample).base() : kInfinity;
}

}  // namespace

const char* to_text(FetchLimit limit) {
  switch (limit) {
    case FetchLimit::streams:
      return "streams";
    case FetchLimit::client:
      return "client network";
    case FetchLimit::server:
      return "server bandwidth";
    case FetchLimit::requests:
      return "requests";
  }
  return "";
}

BytesPerSecond stream_rate(Bytes object, Seconds first_byte, BytesPerSecond stream) {
  return object / (first_byte + object / stream);
}

FetchRate fetch_rate(Bytes object, const FetchPath& path) {
  FetchRate best{.rate = stream_rate(object, path.first_byte, path.stream) * path.streams,
                 .limit = FetchLimit::streams};
  const auto hold = [&best](BytesPerSecond rate, FetchLimit limit) {
    if (rate < best.rate) best = {.rate = rate, .limit = limit};
  };
  hold(path.client, FetchLimit::client);
  hold(path.server, FetchLimit::server);
  hold(path.requests * object, FetchLimit::requests);
  return best;
}

FetchRate mixed_rate(const FetchRate& usual, const FetchRate& other, double share_of_other) {
  if (share_of_other <= 0) return usual;
  if (share_of_other >= 1) return other;
  const double of_usual = (1 - share_of_other) / usual.rate.base();
  const double of_other = share_of_other / other.rate.base();
  return {.rate = BytesPerSecond(1 / (of_usual + of_other)),
          .limit = of_other > of_usual ? other.limit : usual.limit};
}

const char* to_text(LoaderLimit limit) {
  switch (limit) {
    case LoaderLimit::compute:
      return "compute";
    case LoaderLimit::storage:
      return "storage";
    case LoaderLimit::decode:
      return "decode";
    case LoaderLimit::device_copy:
      return "device copy";
  }
  return "";
}

LoaderRate load_rate(const LoaderProblem& problem) {
  LoaderRate r;
  r.storage_samples_per_s = samples_of(problem.fetch, problem.sample);
  r.decode_samples_per_s = problem.cores * per_second_of(problem.decode + problem.moving);
  r.copy_samples_per_s = samples_of(problem.to_device, problem.decoded_sample);
  r.demand_samples_per_s = problem.batch * per_second_of(problem.compute);
  r.samples_per_s = r.demand_samples_per_s;
  const auto hold = [&r](double rate, LoaderLimit limit) {
    if (rate < r.samples_per_s) r.samples_per_s = rate, r.limit = limit;
  };
  hold(r.storage_samples_per_s, LoaderLimit::storage);
  hold(r.decode_samples_per_s, LoaderLimit::decode);
  hold(r.copy_samples_per_s, LoaderLimit::device_copy);
  r.stall = max(Seconds(0), Seconds(problem.batch / r.samples_per_s) - problem.compute);
  r.utilisation = problem.compute / (problem.compute + r.stall);
  return r;
}

BytesPerSecond ideal_read_rate(double batch, Bytes record, Seconds compute) {
  return record * batch / compute;
}

double decode_cores_needed(double batch, Seconds decode, Seconds compute) {
  return batch * (decode / compute);
}

BytesPerSecond rate_through_cache(double hit_rate, BytesPerSecond cache, BytesPerSecond store) {
  const double hit = std::clamp(hit_rate, 0.0, 1.0);
  const BytesPerSecond from_store = hit < 1 ? store / (1 - hit) : BytesPerSecond(kInfinity);
  const BytesPerSecond from_cache = hit > 0 ? cache / hit : BytesPerSecond(kInfinity);
  return min(from_store, from_cache);
}

}  // namespace orrery::storage
