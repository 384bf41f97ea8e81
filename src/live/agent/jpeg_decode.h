// JPEG decoding on the CPU: how many images of one size a data loader's core turns into pixels.
//
// The image is generated: gradients, edges and noise at a quality that gives ImageNet's mean size
// (500 x 375, about 110 KB), so no data set is needed and the work is the same everywhere. The rate
// of one core is measured in the thread's own CPU time, so that other load does not lower it. The
// rate of all cores is measured in wall time, because that is what a loader gets.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::agent {

struct JpegPicture {
  int width = 500;
  int height = 375;
  int quality = 95;
};

// Returns an empty string if the library fails.
std::string encode_picture(const JpegPicture& picture, std::uint64_t seed);
// Fills `pixels` with RGB, row by row. Returns false if the bytes are not a JPEG.
bool decode_picture(std::string_view jpeg, std::vector<unsigned char>& pixels);

struct DecodeRate {
  double per_core_per_s = 0;  // images per second of a thread's CPU time, mean over the threads
  double all_per_s = 0;       // images of all threads per second of the wall clock
};
DecodeRate measure_decode(std::string_view jpeg, int threads, double seconds,
                          const std::function<bool()>& stop);

}  // namespace orrery::agent
