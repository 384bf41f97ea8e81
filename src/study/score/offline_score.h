// `orrery score offline`: throughput with all requests queued, in the columns of TensorRT-LLM's
// published performance tables (model, gpu, precision, parallel, isl, osl, value in its metric).
//
// Each test is simulated as it was run: the published number of requests queued at once, each with
// its prompt and whole output reserved in the cache, tokens over the time until the last is done.
// "Mixed" precision is 16 bits. Rows with a metric other than output tokens per second are skipped.
#pragma once

#include "model/jobs/predict_serving.h"
#include "study/score/score.h"

namespace orrery::score {

struct OfflineRow {
  jobs::ServingQuery query;
  int requests = 0;
  double devices = 1;  // devices by which the row's throughput is divided
};
std::expected<OfflineRow, std::string> read_offline_row(const CsvTable& table, const CsvRow& row,
                                                        const ScoreInputs& inputs);

Result<Score> score_offline(const CsvTable& table, const ScoreInputs& inputs);

}  // namespace orrery::score
