// The classic questions, each with its arithmetic: what `orrery calc` answers.
//
// Every function takes plain values, says which ones it assumed, and gives the formula with the
// numbers in it. They use the same layer functions as the review, so a calculator and a review
// agree.
#pragma once

#include <optional>
#include <string>

#include "core/base/diagnostic.h"
#include "core/catalog/catalog.h"
#include "model/jobs/predict_training.h"
#include "model/machine/models.h"
#include "study/calc/calculation.h"

namespace orrery::calc {

// A model by shape, or only by its number of parameters.
struct ModelQuestion {
  const catalog::ModelShape* shape = nullptr;
  double parameters = 0;  // used if there is no shape

  double count() const;
  std::string name() const;
};

struct CheckpointQuestion {
  ModelQuestion model;
  double bytes_per_param = 14;
  BytesPerSecond write = gbytes_per_s(40);
  std::optional<Seconds> stall;  // if given, asks for the bandwidth that keeps the stall this short
  Seconds interval = hours(1);
};
Calculation calc_checkpoint(const CheckpointQuestion& q);

struct MemoryQuestion {
  const catalog::ModelShape* model = nullptr;
  const catalog::Accelerator* accelerator = nullptr;
  int gpus = 8;
  int tp = 1;
  int pp = 1;
  int microbatch = 1;
  double sequence = 4096;
  std::string sharding = "zero1";
  std::string recompute = "none";
};
Result<Calculation> calc_memory(const MemoryQuestion& q, const machine::Models& models);

struct TrainTimeQuestion {
  ModelQuestion model;
  double tokens = 0;
  const catalog::Accelerator* accelerator = nullptr;
  int gpus = 8;
  double mfu = 0.4;
  double goodput = 0.95;
  double sequence = 8192;
};
Calculation calc_train_time(const TrainTimeQuestion& q);

struct KvCacheQuestion {
  const catalog::ModelShape* model = nullptr;
  double context = 8192;
  double requests = 1;
  catalog::Dtype dtype = catalog::Dtype::bf16;
};
Calculation calc_kv_cache(const KvCacheQuestion& q);

struct GoodputQuestion {
  Seconds mtbf;
  Seconds stall = seconds(30);
  Seconds restart = minutes(10);
  std::optional<Seconds> interval;  // none: the optimum is computed
};
Calculation calc_goodput(const GoodputQuestion& q);

struct SparesQuestion {
  double nodes = 0;
  Seconds node_mtbf;
  Seconds repair = days(1);
  double shortfall = 0.01;
};
Calculation calc_spares(const SparesQuestion& q);

struct PowerQuestion {
  const catalog::Node* node = nullptr;
  const catalog::Accelerator* accelerator = nullptr;
  int count = 1;
  double matrix = 0.75;  // shares of time
  double communication = 0.15;
  double pue = 1.25;
  const catalog::CoolingMethod* cooling = nullptr;
};
Result<Calculation> calc_power(const PowerQuestion& q);

struct TcoQuestion {
  const catalog::Node* node = nullptr;
  int count = 1;
  double pue = 1.25;
  UsdPerJoule electricity = usd_per_kwh(0.08);
  double goodput = 1;
  double utilisation = 0.9;
};
Result<Calculation> calc_tco(const TcoQuestion& q, const catalog::Catalog& catalog);

struct CollectiveQuestion {
  workload::Collective kind = workload::Collective::all_reduce;
  Bytes bytes = gib(1);
  const catalog::Node* node = nullptr;
  const catalog::Accelerator* accelerator = nullptr;
  int ranks = 8;
  bool roce = false;
};
Result<Calculation> calc_collective(const CollectiveQuestion& q, const machine::Models& models);

}  // namespace orrery::calc
