// Speed of base/: the cost of every parsed file and every random draw.
#include "bench/figure.h"
#include "core/base/digest.h"
#include "core/base/random.h"

namespace orrery {
namespace {

constexpr int kDraws = 10'000'000;
constexpr std::size_t kDigestBytes = 16'000'000;

Result<double> random_draws_per_second() {
  RandomStream stream(1, "bench/draws");
  double sum = 0;
  const double seconds = seconds_of([&] {
    for (int i = 0; i < kDraws; ++i) sum += stream.uniform();
  });
  // The sum is used, so the compiler cannot drop the loop.
  return sum > 0 ? kDraws / seconds : 0;
}

Result<double> digest_rate() {
  const std::string text(kDigestBytes, 'x');
  std::string digest;
  const double seconds = seconds_of([&] { digest = sha256_hex(text); });
  return digest.empty() ? 0 : static_cast<double>(kDigestBytes) / seconds;
}

}  // namespace

std::vector<SpeedFigure> base_figures() {
  return {{"random_uniform", "1/s", "uniform draws of one random stream", random_draws_per_second},
          {"sha256", "B/s", "digest of 16 MB of text", digest_rate}};
}

}  // namespace orrery
