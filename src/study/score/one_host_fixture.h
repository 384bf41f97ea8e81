// For tests of fits: a run of one host whose layout is given whole.
#pragma once

#include "model/machine/known_fixture.h"
#include "study/score/training_rows.h"

namespace orrery::score {

inline TrainingRow one_host_row(const char* accelerator = "h100-sxm",
                                const char* model = "llama-3-8b", int batch = 16) {
  const machine::Models& models = machine::known();
  TrainingRow row{.id = "r", .query = {}};
  row.query.model = *models.catalog().model(model);
  row.query.accelerator = models.catalog().accelerator(accelerator);
  row.query.gpus = 8;
  row.query.sequence = 4096;
  row.query.batch = batch;
  row.query.framework = "nemo";
  row.query.release = "25.04";
  row.query.layout.tp = 2;
  row.query.layout.pp = 1;
  row.query.layout.vp = 1;
  row.query.layout.cp = 1;
  row.query.layout.ep = 1;
  row.query.layout.microbatch = 1;
  row.query.layout.sharding = catalog::Sharding::zero1;
  row.query.layout.recompute = catalog::Recompute::none;
  row.query.layout.schedule = catalog::Schedule::one_f_one_b;
  row.query.layout.sequence_parallel = true;
  return row;
}

}  // namespace orrery::score
