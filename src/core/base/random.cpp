#include "core/base/random.h"

#include <cmath>

#include "core/base/math.h"

namespace orrery {
namespace {

std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// FNV-1a. Any fixed hash would do, and this one is four lines.
std::uint64_t hashed(std::string_view name) {
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h;
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::string_view name)
    : state_(mixed(seed + 0x9e3779b97f4a7c15ULL) ^ hashed(name)) {}

std::uint64_t RandomStream::next() {
  state_ += 0x9e3779b97f4a7c15ULL;
  return mixed(state_);
}

double RandomStream::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

std::uint64_t RandomStream::below(std::uint64_t bound) {
  // Draws below 2^64 mod bound are discarded, so that every residue is equally likely.
  const std::uint64_t threshold = (0 - bound) % bound;
  while (true) {
    const std::uint64_t draw = next();
    if (draw >= threshold) return draw % bound;
  }
}

double RandomStream::exponential(double mean) { return -mean * math::log1p(-uniform()); }

double RandomStream::normal() {
  // Box-Muller. The second value is dropped, so that the stream's state is a single number.
  const double radius = std::sqrt(-2.0 * math::log1p(-uniform()));
  return radius * math::cos(6.283185307179586 * uniform());
}

}  // namespace orrery
