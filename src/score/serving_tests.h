// Settings of published serving tests that their rows do not name: how many replicas prefill and
// decode have, on how many devices each, and how many tokens a step guesses.
//
// A line names accelerator, engine, release, model, format, lengths, the numbers of clients that
// were tried and the layout. A row fits it where all that the row says agrees: dumps of different
// dates give the devices of one replica, of all replicas of a role, or of both roles together, and
// the split of the experts of prefill alone. Several settings may fit one row; what a test
// measured is never looked at.
#pragma once

#include <string_view>
#include <vector>

#include "base/csv.h"

namespace orrery::score {

struct TestRole {
  double replicas = 1;
  int devices = 1;  // of a replica
  int ep = 1;
  bool by_rank = false;  // each device attends by itself

  bool operator==(const TestRole&) const = default;
};

struct TestSetting {
  TestRole prefill;
  TestRole decode;
  int guesses = 0;

  bool operator==(const TestSetting&) const = default;
};

// What a row says of its test; `release` may be empty.
struct TestAsk {
  std::string_view accelerator, engine, release, model, precision;
  double input = 0, output = 0, clients = 0;
  int prefill_devices = 1, prefill_ep = 1, decode_devices = 1;
};

// Each once, those without guesses first.
std::vector<TestSetting> settings_for(const CsvTable& tests, const TestAsk& ask);

}  // namespace orrery::score
