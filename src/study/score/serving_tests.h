// Settings of published serving tests that their rows do not name: how many replicas prefill and
// decode have, on how many devices each, how many requests a replica decodes at once and how many
// tokens a step guesses.
//
// A line names accelerator, engine, model, format, lengths, the numbers of clients that were tried,
// the layout, and the period in which tests had these settings. A row fits a line if everything
// that the row says agrees: dumps of different dates give the devices of one replica, of all
// replicas of a role, or of both roles together, and experts or devices of one if they say nothing.
// If no test of its layout had the row's clients, those with other clients fit. What rows say
// together counts too:
//   run     rows of one moment come from one set of settings: the set that fits most of them
//   sweep   neighbours in a table that differ only in their clients come from one setting, if
//           one fits them all
// Several settings may still fit one row; measured values are never looked at.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/csv.h"

namespace orrery::score {

struct TestRole {
  double replicas = 1;
  int devices = 1;  // per replica
  int ep = 1;
  bool by_rank = false;  // each device has its own attention

  bool operator==(const TestRole&) const = default;
};

struct TestSetting {
  TestRole prefill;
  TestRole decode;
  int guesses = 0;
  double decode_batch = 0;  // requests that an attention rank decodes at once; 0: not given
  std::string set;          // tests that are run together

  bool operator==(const TestSetting&) const = default;
};

// What a row says of its test; what it does not say is empty, zero or one.
struct TestAsk {
  std::string accelerator;
  std::string_view engine, model, precision;
  std::string run;       // the source and the moment
  std::string_view day;  // 2026-03-23
  double input = 0, output = 0, clients = 0;
  double prefill_replicas = 0, decode_replicas = 0;
  int prefill_devices = 1, prefill_ep = 1, decode_devices = 1;
};

// Returns where the sweeps of a table's rows end, in order: one after the last row of each.
std::vector<std::size_t> ends_of_sweeps(const std::vector<TestAsk>& asks);

// Returns for each row of a table, in order, the settings that fit, each once, those without
// guesses first.
std::vector<std::vector<TestSetting>> settings_for(const CsvTable& tests,
                                                   const std::vector<TestAsk>& asks);

}  // namespace orrery::score
