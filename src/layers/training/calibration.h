// The parameters of training estimates: per framework family, per accelerator, one factor a
// release.
//
// data/calibration/training_frameworks.csv, training_accelerators.csv and training_releases.csv
// hold one value a row with the rows that fixed it. training_seen.csv names the models, families,
// releases and accelerators that those rows are of, training_intervals.csv how much wider the
// interval of an answer about others is, read off rows that were left out. A family whose
// parameters are of an earlier time than the accelerator, or of smaller jobs, has a successor, by
// its release where that is told (training_eras.csv): its name has outlived its software. A
// framework that no table names gets the family "default"; a release that none names gets the
// factor of the one next to it. Nothing is per model or per row.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/base/words.h"
#include "core/catalog/knowledge.h"
#include "layers/training/framework.h"

namespace orrery::training {

// Times of kernels inside a training step over compute's times of the same kernels alone: two
// matrices in a row find the clock lower and the cache fuller than a benchmark does.
struct AcceleratorTuning {
  std::string id;
  double matrix = 1;  // 16-bit products
  double matrix_8bit = 1;
  double matrix_4bit = 1;
  double attention = 1;
  double passes = 1;
  double pass_energy = 1;  // energy of passes over memory: they compute too, a copy does not
  double scaleup = 1;      // collective time inside a domain
  double network = 1;      // collective time across domains
  double error = 0.1;      // half-width that an accelerator adds, as a fraction
};

struct ReleaseFactor {
  std::string framework;
  std::string release;
  double factor = 1;  // FrameworkModel::overhead_factor
};

// The factor of the release of that family that is next in time among those that `use` admits; 1
// where there is none. A version that is no number counts as the newest.
double nearest_factor(const std::vector<ReleaseFactor>& releases, std::string_view framework,
                      std::string_view release,
                      const std::function<bool(const ReleaseFactor&)>& use = {});

// What an answer is about that no fitted row is of.
enum class Unseen { model, framework, accelerator, release, layout };
inline constexpr Word<Unseen> kUnseenWords[] = {
    {Unseen::model, "model"},
    {Unseen::framework, "framework"},
    {Unseen::accelerator, "accelerator"},
    {Unseen::release, "release"},
    {Unseen::layout, "layout", "open layout"},
};
constexpr WordTable<Unseen> words_of(Unseen) { return kUnseenWords; }

// Half-width of ln(step time) that joins the others in quadrature.
struct UnseenWidth {
  Unseen of = Unseen::model;
  bool experts = false;  // of a mixture of experts; else of a dense model
  double width = 0;
};

struct SeenThing {
  Unseen kind = Unseen::model;
  std::string id;  // a release goes by family and version
  bool operator==(const SeenThing&) const = default;
};

// A family's name where its software was not measured: on accelerators launched since, or on more
// devices than its rows have.
struct FamilyEra {
  std::string framework;
  int until = 0;        // year of the last accelerators that its parameters speak of
  int gpus = 0;         // most devices of a job that they speak of; 0: any
  std::string release;  // last release that this successor stands for; empty: all
  std::string successor;
};

struct TrainingCalibration {
  std::vector<FrameworkModel> frameworks;
  std::vector<AcceleratorTuning> accelerators;
  std::vector<ReleaseFactor> releases;
  std::vector<SeenThing> seen;  // what the fitted rows are of; only intervals ask
  std::vector<UnseenWidth> widths;
  std::vector<FamilyEra> eras;

  // "default" where unknown; the release's factor applied where it is known.
  FrameworkModel framework(std::string_view id, std::string_view release) const;
  bool knows_framework(std::string_view id) const;
  AcceleratorTuning accelerator(std::string_view id) const;
  double release_factor(std::string_view framework, std::string_view release) const;
  bool saw(Unseen kind, std::string_view id) const;
  double unseen_width(Unseen of, bool experts) const;
  // The family whose parameters hold for this release on so many accelerators of this year.
  std::string_view family_on(std::string_view framework, std::string_view release, int launch_year,
                             int gpus) const;
};

// A parameter as calibration files and the fitter name it.
using ParameterField = double*;
ParameterField framework_field(FrameworkModel& f, std::string_view parameter);
ParameterField accelerator_field(AcceleratorTuning& a, std::string_view parameter);

Result<TrainingCalibration> read_training_calibration(const catalog::Knowledge& knowledge);

}  // namespace orrery::training
