#include "live/agent/jpeg_decode.h"

#include <cstddef>
#include <cstdio>
// <jpeglib.h> uses size_t and FILE without including their headers.
#include <jpeglib.h>

#include <algorithm>
#include <chrono>
#include <csetjmp>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <thread>

#include "core/base/random.h"

namespace orrery::agent {
namespace {

constexpr int kChannels = 3;

// On an error libjpeg ends the process unless it is given an error handler.
struct ErrorExit {
  jpeg_error_mgr base;
  std::jmp_buf back;
};

[[noreturn]] void leave(j_common_ptr common) {
  std::longjmp(reinterpret_cast<ErrorExit*>(common->err)->back, 1);
}
void say_nothing(j_common_ptr) {}

void set_errors(ErrorExit& errors) {
  jpeg_std_error(&errors.base);
  errors.base.error_exit = leave;
  errors.base.output_message = say_nothing;
}

unsigned char clamped(double v) { return static_cast<unsigned char>(std::clamp(v, 0.0, 255.0)); }

std::vector<unsigned char> painted(const JpegPicture& p, std::uint64_t seed) {
  RandomStream noise(seed, "jpeg/noise");
  std::vector<unsigned char> pixels;
  pixels.reserve(static_cast<std::size_t>(p.width) * static_cast<std::size_t>(p.height) *
                 kChannels);
  for (int y = 0; y < p.height; ++y) {
    for (int x = 0; x < p.width; ++x) {
      const double edge = (x / 40 + y / 30) % 2 == 0 ? 40 : 0;
      const double grain = 34 * (noise.uniform() - 0.5);
      pixels.push_back(clamped(255.0 * x / p.width + grain));
      pixels.push_back(clamped(255.0 * y / p.height + edge + grain));
      pixels.push_back(clamped(128 + edge + 2 * grain));
    }
  }
  return pixels;
}

double thread_cpu_s() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// No C++ object with a destructor may be in this function: longjmp would skip it.
bool decode_rows(jpeg_decompress_struct& state, ErrorExit& errors, std::string_view jpeg,
                 unsigned char* pixels, std::size_t bytes_max) {
  if (setjmp(errors.back)) return false;
  jpeg_mem_src(&state, reinterpret_cast<const unsigned char*>(jpeg.data()),
               static_cast<unsigned long>(jpeg.size()));
  jpeg_read_header(&state, TRUE);
  state.out_color_space = JCS_RGB;
  jpeg_start_decompress(&state);
  const std::size_t row = std::size_t{state.output_width} * kChannels;
  if (row * state.output_height > bytes_max) return false;
  while (state.output_scanline < state.output_height) {
    JSAMPROW line = pixels + state.output_scanline * row;
    jpeg_read_scanlines(&state, &line, 1);
  }
  jpeg_finish_decompress(&state);
  return true;
}

bool read_size(jpeg_decompress_struct& state, ErrorExit& errors, std::string_view jpeg) {
  if (setjmp(errors.back)) return false;
  jpeg_mem_src(&state, reinterpret_cast<const unsigned char*>(jpeg.data()),
               static_cast<unsigned long>(jpeg.size()));
  jpeg_read_header(&state, TRUE);
  return true;
}

bool encode_rows(jpeg_compress_struct& state, ErrorExit& errors, const JpegPicture& picture,
                 const unsigned char* pixels, unsigned char** out, unsigned long* bytes) {
  if (setjmp(errors.back)) return false;
  jpeg_mem_dest(&state, out, bytes);
  state.image_width = static_cast<JDIMENSION>(picture.width);
  state.image_height = static_cast<JDIMENSION>(picture.height);
  state.input_components = kChannels;
  state.in_color_space = JCS_RGB;
  jpeg_set_defaults(&state);
  jpeg_set_quality(&state, picture.quality, TRUE);
  jpeg_start_compress(&state, TRUE);
  const std::size_t row = static_cast<std::size_t>(picture.width) * kChannels;
  while (state.next_scanline < state.image_height) {
    auto* line = const_cast<JSAMPROW>(pixels + state.next_scanline * row);
    jpeg_write_scanlines(&state, &line, 1);
  }
  jpeg_finish_compress(&state);
  return true;
}

}  // namespace

std::string encode_picture(const JpegPicture& picture, std::uint64_t seed) {
  const std::vector<unsigned char> pixels = painted(picture, seed);
  jpeg_compress_struct state{};
  ErrorExit errors{};
  set_errors(errors);
  state.err = &errors.base;
  jpeg_create_compress(&state);
  unsigned char* out = nullptr;
  unsigned long bytes = 0;
  const bool good = encode_rows(state, errors, picture, pixels.data(), &out, &bytes);
  jpeg_destroy_compress(&state);
  std::string jpeg = good ? std::string(reinterpret_cast<char*>(out), bytes) : std::string();
  std::free(out);
  return jpeg;
}

bool decode_picture(std::string_view jpeg, std::vector<unsigned char>& pixels) {
  jpeg_decompress_struct state{};
  ErrorExit errors{};
  set_errors(errors);
  state.err = &errors.base;
  jpeg_create_decompress(&state);
  bool good = read_size(state, errors, jpeg);
  if (good) {
    pixels.resize(std::size_t{state.image_width} * state.image_height * kChannels);
    jpeg_abort_decompress(&state);
    good = decode_rows(state, errors, jpeg, pixels.data(), pixels.size());
  }
  jpeg_destroy_decompress(&state);
  return good;
}

DecodeRate measure_decode(std::string_view jpeg, int threads, double seconds,
                          const std::function<bool()>& stop) {
  std::mutex mutex;
  DecodeRate rate;
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  std::vector<std::thread> crew;
  for (int i = 0; i < threads; ++i) {
    crew.emplace_back([&] {
      std::vector<unsigned char> pixels;
      const double cpu = thread_cpu_s();
      double images = 0;
      while (elapsed() < seconds && !(stop && stop()) && decode_picture(jpeg, pixels)) ++images;
      const double used = thread_cpu_s() - cpu;
      const std::lock_guard lock(mutex);
      rate.per_core_per_s += images / std::max(used, 1e-9) / threads;
      rate.all_per_s += images;
    });
  }
  for (std::thread& t : crew) t.join();
  rate.all_per_s /= std::max(elapsed(), 1e-9);
  return rate;
}

}  // namespace orrery::agent
