// Named random streams that give the same numbers on every compiler and thread.
//
// A stream is a 64-bit seed and a name ("failure/node-17"); it depends on nothing else, so the
// draws of one part of a model do not change if another part draws more. The generator is
// SplitMix64 (Steele, Lea, Flood 2014), whose whole state is one counter. The distributions are
// written out here because those of the standard library differ between implementations.
#pragma once

#include <cstdint>
#include <string_view>

namespace orrery {

class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view name);

  std::uint64_t next();
  double uniform();                          // [0, 1), 53 bits
  std::uint64_t below(std::uint64_t bound);  // [0, bound), unbiased; bound > 0
  double exponential(double mean);
  double normal();  // mean 0, standard deviation 1

 private:
  std::uint64_t state_;
};

}  // namespace orrery
