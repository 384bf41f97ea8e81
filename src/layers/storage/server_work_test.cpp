#include "layers/storage/server_work.h"

#include <gtest/gtest.h>

namespace orrery::storage {
namespace {

// By hand: 0.0465 for moving, 0.25 for AES-256-GCM at 4 GB/s per core.
TEST(ServerWork, read_is_moved_and_decrypted) {
  EXPECT_NEAR(read_work({}) * 1e9, 0.0465, 1e-4);
  EXPECT_NEAR(read_work({.encrypted = true}) * 1e9, 0.2965, 1e-4);
}

// 8 + 2: ten bytes are stored per eight, and each byte is multiplied into two parities.
TEST(ServerWork, write_pays_for_parity) {
  const ServerWork coded{.data = 8, .parity = 2};
  EXPECT_NEAR(write_work(coded) * 1e9, 0.0465 * 1.25 + 2 * 0.024, 1e-4);
  const ServerWork sealed{.data = 8, .parity = 2, .encrypted = true};
  EXPECT_NEAR(write_work(sealed) * 1e9, 0.2965 * 1.25 + 2 * 0.024, 1e-4);
}

// Three copies are stored three times and need no coding.
TEST(ServerWork, copies_are_not_coded) {
  EXPECT_NEAR(write_work({.data = 1, .parity = 2}) * 1e9, 3 * 0.0465, 1e-4);
}

// Coding alone, at the rates that ISA-L reached on one core, in GB/s of data.
TEST(ServerWork, coding_is_near_the_measured_rates) {
  struct Row {
    int data, parity;
    double measured;
  };
  for (const Row& r : {Row{8, 2, 19.0}, Row{8, 3, 16.2}, Row{8, 4, 12.2}, Row{10, 4, 10.8}}) {
    const double rate = 1e-9 / (r.parity * kCodeCoreSecondsPerByte);
    EXPECT_NEAR(rate / r.measured, 1, 0.16) << r.data << '+' << r.parity;
  }
}

TEST(ServerWork, four_cores_are_a_bound_and_none_is_none) {
  const ServerWork sealed{.encrypted = true};
  EXPECT_NEAR(read_bound(4, sealed) / gbytes_per_s(1), 4 / 0.2965, 0.01);
  EXPECT_GT(write_bound(64, sealed), write_bound(4, sealed));
  EXPECT_GT(read_bound(0, sealed), gbytes_per_s(1e9));
  EXPECT_NEAR(encrypt_time(kib(4)) / microseconds(1), 1.024, 1e-6);
}

}  // namespace
}  // namespace orrery::storage
