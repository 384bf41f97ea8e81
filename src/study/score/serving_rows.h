// Rows of measured serving in the columns of published closed-loop tests, as queries: what `orrery
// score serving` predicts and `orrery calibrate` fits to.
//
// The benchmark behind these rows sends ten prompts per concurrent client; lengths are uniform in
// [0.8 L, L], with means of 0.9 L. Settings that the rows do not name (token budgets, formats of
// the cache) are those of the tests. Rows with separate prefill and decode name the layout of each,
// and the number of replicas only in newer dumps. If other rows of the table have the same
// accelerators, engine, format, lengths, clients and devices of each role, and all of them agree,
// their layout is used; else that of the settings of published tests (serving_tests.h), if only one
// fits; else as many replicas as most tests have. Those settings also say how many requests a
// decode replica takes at once: the others wait, and their wait is part of the time to first token.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/jobs/predict_serving.h"
#include "study/score/score.h"
#include "study/score/serving_tests.h"

namespace orrery::score {

inline constexpr double kServedMeanLength = 0.9;

// Returns the load of a row's test: rows with long outputs are cut to fewer waves of requests;
// SGLang looked for requests every 10 iterations below 16 clients, else every 30.
jobs::BenchmarkLoad load_of_test(const jobs::ServingQuery& query);

// Returns the engines' budgets in those tests: SGLang's chunks, TensorRT-LLM's token limit.
engines::EngineLimits limits_of_test(const jobs::ServingQuery& query);

// Sets the guesses per step and the tokens that result.
void set_guesses(jobs::ServingQuery& query, int guesses);

// Reads a row with one kind of replica ("") or one role of it ("prefill_", "decode_").
std::expected<jobs::ServingQuery, std::string> read_serving_row(const CsvTable& table,
                                                                const CsvRow& row,
                                                                const ScoreInputs& inputs,
                                                                const std::string& role);

// The source of a row's number of replicas: the row, another row of the same test, the settings of
// the only test that fits, or none.
enum class ReplicasFrom { row, same_test, settings, usual };

struct ServedApart {
  jobs::DisaggregatedQuery query;
  ReplicasFrom from = ReplicasFrom::row;
  bool guessed = false;  // taken to be a test with guesses, although the row does not say so
};

class ApartRows {
 public:
  // Uses the settings of the tests if they are given.
  ApartRows(const CsvTable& table, const ScoreInputs& inputs);
  std::expected<ServedApart, std::string> read(const CsvRow& row, const ScoreInputs& inputs) const;

 private:
  struct Published {
    const CsvRow* row = nullptr;
    bool agreed = true;
  };
  std::string key_of(const CsvRow& row) const;
  std::string series_of(const CsvRow& row) const;
  bool is_guessed(const CsvRow& row) const;
  TestAsk ask_of(const CsvRow& row) const;
  const std::vector<TestSetting>& settings_of(const CsvRow& row) const;
  void note_sweeps(const std::vector<const CsvRow*>& rows, const std::vector<TestAsk>& asks);

  const CsvTable& table_;
  std::map<std::string, Published> published_;
  std::set<std::string> published_series_;
  std::map<std::string, int> equal_;  // rows that no column distinguishes
  std::map<const CsvRow*, std::vector<TestSetting>> settings_;
  std::set<const CsvRow*> going_on_;  // rows whose sweep has a row with twice the clients
};

}  // namespace orrery::score
