#include "live/drives/erasure.h"

#include <isa-l/crc.h>
#include <isa-l/crc64.h>
#include <isa-l/erasure_code.h>

#include <algorithm>

namespace orrery::drives {
namespace {

using Matrix = std::vector<unsigned char>;

unsigned char* raw(std::string& bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }
// ISA-L takes sources as char** although it only reads them.
unsigned char* raw(std::string_view bytes) {
  return reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
}

Matrix code_matrix(const ShardPlan& plan) {
  Matrix matrix(static_cast<std::size_t>(plan.total() * plan.data));
  gf_gen_cauchy1_matrix(matrix.data(), plan.total(), plan.data);
  return matrix;
}

// Returns `rows` (each k long) multiplied by the blocks.
std::vector<std::string> multiplied(const ShardPlan& plan, Matrix rows, int count,
                                    std::vector<unsigned char*> sources, std::size_t bytes,
                                    std::vector<std::string> out = {}) {
  Matrix tables(static_cast<std::size_t>(32 * plan.data * count));
  ec_init_tables(plan.data, count, rows.data(), tables.data());
  out.resize(static_cast<std::size_t>(count));
  std::vector<unsigned char*> targets;
  for (std::string& block : out) {
    block.resize(bytes);
    targets.push_back(raw(block));
  }
  ec_encode_data(static_cast<int>(bytes), plan.data, count, tables.data(), sources.data(),
                 targets.data());
  return out;
}

}  // namespace

std::vector<std::string> parity_of(const ShardPlan& plan, std::span<const std::string_view> data,
                                   std::vector<std::string> spare) {
  if (plan.parity == 0) return {};
  if (plan.data == 1) {
    return std::vector<std::string>(static_cast<std::size_t>(plan.parity), std::string(data[0]));
  }
  Matrix matrix = code_matrix(plan);
  matrix.erase(matrix.begin(), matrix.begin() + std::ptrdiff_t{plan.data} * plan.data);
  std::vector<unsigned char*> sources;
  for (const std::string_view block : data) sources.push_back(raw(block));
  return multiplied(plan, std::move(matrix), plan.parity, std::move(sources), data[0].size(),
                    std::move(spare));
}

std::optional<std::string> rebuilt_block(const ShardPlan& plan,
                                         std::span<const std::optional<std::string>> blocks,
                                         int wanted) {
  std::vector<int> present;
  for (int i = 0; i < plan.total() && static_cast<int>(present.size()) < plan.data; ++i) {
    if (i != wanted && blocks[static_cast<std::size_t>(i)]) present.push_back(i);
  }
  if (static_cast<int>(present.size()) < plan.data) return std::nullopt;
  const std::size_t bytes = blocks[static_cast<std::size_t>(present.front())]->size();
  if (plan.data == 1) return blocks[static_cast<std::size_t>(present.front())];
  const auto k = static_cast<std::size_t>(plan.data);
  const Matrix code = code_matrix(plan);
  Matrix chosen(k * k);
  std::vector<unsigned char*> sources;
  for (std::size_t r = 0; r < k; ++r) {
    const auto row = static_cast<std::size_t>(present[r]);
    std::copy_n(code.begin() + static_cast<std::ptrdiff_t>(row * k), k,
                chosen.begin() + static_cast<std::ptrdiff_t>(r * k));
    if (blocks[row]->size() != bytes) return std::nullopt;
    sources.push_back(raw(std::string_view(*blocks[row])));
  }
  Matrix inverse(k * k);
  if (gf_invert_matrix(chosen.data(), inverse.data(), plan.data) != 0) return std::nullopt;
  // The wanted shard is its row of the code times the data; the data is the inverse times the
  // present shards.
  Matrix row(k);
  const auto at = static_cast<std::size_t>(wanted) * k;
  for (std::size_t c = 0; c < k; ++c) {
    unsigned char sum = 0;
    for (std::size_t i = 0; i < k; ++i) sum ^= gf_mul(code[at + i], inverse[i * k + c]);
    row[c] = sum;
  }
  return multiplied(plan, std::move(row), 1, std::move(sources), bytes).front();
}

std::uint32_t block_crc(std::string_view bytes, std::uint32_t before) {
  return crc32_iscsi(raw(bytes), static_cast<int>(bytes.size()), before);
}

std::uint64_t content_crc(std::string_view bytes, std::uint64_t before) {
  return crc64_ecma_refl(before, raw(bytes), bytes.size());
}

}  // namespace orrery::drives
