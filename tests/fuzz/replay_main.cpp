// Runs a fuzz target without libFuzzer: over every file of its corpus, and over mutations of them
// that are the same on every run. So the ordinary tests, under ASan too, exercise each target.
//
//   NAME_fuzz_replay CORPUS_DIR [MUTATIONS_PER_FILE]
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/base/random.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr int kMutationsDefault = 200;
constexpr std::uint64_t kEditsMax = 8;

// The input under test, so that a failure can name it.
const std::string* g_input = nullptr;

void show_input(int) {
  std::fputs("failing input: ", stderr);
  for (const char c : *g_input) {
    const auto u = static_cast<unsigned char>(c);
    if (u >= 0x20 && u < 0x7f) {
      std::fputc(c, stderr);
    } else {
      std::fprintf(stderr, "\\x%02x", u);
    }
  }
  std::fputc('\n', stderr);
}

void try_one(const std::string& input) {
  g_input = &input;
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

// One edit: changes a byte, drops a span, doubles a span, or cuts off the end.
void mutate(std::string& text, orrery::RandomStream& random) {
  if (text.empty()) text = "0";
  const std::size_t at = random.below(text.size());
  const std::size_t length = 1 + random.below(std::min<std::size_t>(text.size() - at, 32));
  switch (random.below(4)) {
    case 0:
      text[at] = static_cast<char>(random.below(256));
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      text.insert(at, text.substr(at, length));
      break;
    default:
      text.resize(at);
  }
}

}  // namespace

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  if (argc < 2 || !fs::is_directory(argv[1])) {
    std::fprintf(stderr, "usage: %s CORPUS_DIR [MUTATIONS_PER_FILE]\n", argv[0]);
    return 2;
  }
  std::signal(SIGABRT, show_input);
  const int mutations = argc > 2 ? std::atoi(argv[2]) : kMutationsDefault;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(argv[1])) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  long runs = 0;
  for (const fs::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    const std::string seed{std::istreambuf_iterator<char>(in), {}};
    try_one(seed);
    orrery::RandomStream random(1, file.filename().string());
    for (int i = 0; i < mutations; ++i, ++runs) {
      std::string input = seed;
      for (std::uint64_t edits = 1 + random.below(kEditsMax); edits > 0; --edits) {
        mutate(input, random);
      }
      try_one(input);
    }
  }
  std::printf("%zu files, %ld mutations\n", files.size(), runs);
  return files.empty() ? 1 : 0;
}
