#include "layers/storage/durability.h"

#include <algorithm>
#include <numbers>
#include <vector>

#include "core/base/math.h"

namespace orrery::storage {
namespace {

constexpr double kBitsPerByte = 8;

using Rates = std::vector<std::vector<double>>;

// Transition rates per second. Transitions to loss go to state 0 and are also summed in `losses`.
struct Chain {
  Rates rates;
  std::vector<double> losses;

  void add(int from, int to, double rate) {
    const int states = static_cast<int>(rates.size());
    if (to >= states) {
      losses[static_cast<std::size_t>(from)] += rate;
      to = 0;
    }
    if (to != from) rates[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)] += rate;
  }
};

double unreadable_chance(const DurabilityQuestion& q) {
  return -math::expm1(-q.rebuild_reads.base() * kBitsPerByte * q.bit_error_rate);
}

Chain chain_of(const DurabilityQuestion& q) {
  const auto states = static_cast<std::size_t>(q.losses) + 1;
  Chain chain{.rates = Rates(states, std::vector<double>(states, 0)),
              .losses = std::vector<double>(states, 0)};
  const int on_server = std::clamp(q.shards_on_server, 1, q.shards);
  for (int i = 0; i <= q.losses; ++i) {
    chain.add(i, i + 1, (q.shards - i) * q.drive_failures.base());
    const double servers = static_cast<double>(q.shards - i) / on_server;
    chain.add(i, i + on_server, servers * q.server_losses.base());
    if (i == 0 || q.rebuild <= Seconds()) continue;
    const double rebuilt = i / q.rebuild.base();
    const double fails = i == q.losses ? unreadable_chance(q) : 0;
    chain.add(i, i - 1, rebuilt * (1 - fails));
    chain.add(i, q.losses + 1, rebuilt * fails);
  }
  return chain;
}

// Returns the share of time in each state, by elimination from the last state to the first.
std::vector<double> stationary(Rates rates) {
  const std::size_t n = rates.size();
  for (std::size_t k = n; k-- > 1;) {
    double out = 0;
    for (std::size_t j = 0; j < k; ++j) out += rates[k][j];
    for (std::size_t i = 0; i < k; ++i) {
      rates[i][k] /= out;
      for (std::size_t j = 0; j < k; ++j) {
        if (j != i) rates[i][j] += rates[i][k] * rates[k][j];
      }
    }
  }
  std::vector<double> shares = {1};
  double sum = 1;
  for (std::size_t k = 1; k < n; ++k) {
    double share = 0;
    for (std::size_t i = 0; i < k; ++i) share += shares[i] * rates[i][k];
    shares.push_back(share);
    sum += share;
  }
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace

Durability durability_of(const DurabilityQuestion& question) {
  const Chain chain = chain_of(question);
  const std::vector<double> shares = stationary(chain.rates);
  double flow = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) flow += shares[i] * chain.losses[i];
  Durability result{.mean_time_to_loss = Seconds(1 / flow)};
  result.loss_a_year = -math::expm1(-(years(1) / result.mean_time_to_loss));
  result.nines = -math::log(result.loss_a_year) / std::numbers::ln10;
  return result;
}

Seconds rebuild_time(const RebuildQuestion& question) {
  return question.notice +
         question.bytes / (question.drive * (question.share * std::max(1, question.drives)));
}

}  // namespace orrery::storage
