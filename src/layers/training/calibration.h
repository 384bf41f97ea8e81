// The parameters of training estimates: per framework family, per accelerator, and one factor per
// release.
//
// data/calibration/training_frameworks.csv, training_accelerators.csv and training_releases.csv
// hold one value per row, with the rows it was fitted to. training_seen.csv lists the models,
// families, releases and accelerators of those rows; training_intervals.csv says how much wider the
// interval is for anything else, measured on held-out rows. If a family's parameters are from older
// accelerators or smaller jobs, training_eras.csv names its successor, chosen by release if that is
// known: the family's name has outlived the software it was fitted to. A framework that no table
// names gets the family "default"; a release that no table names gets the factor of the nearest
// release. Nothing is per model or per row.
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

// Times of kernels inside a training step relative to compute's times for single kernels: after
// other matrix products the clock is lower and the cache is fuller than in a benchmark.
struct AcceleratorTuning {
  std::string id;
  double matrix = 1;  // 16-bit products
  double matrix_8bit = 1;
  double matrix_4bit = 1;
  double attention = 1;
  double passes = 1;
  double pass_energy = 1;  // energy of passes over memory: they also compute, unlike a copy
  double scaleup = 1;      // collective time inside a domain
  double network = 1;      // collective time across domains
  double error = 0.1;      // half-width that an accelerator contributes, as a fraction
};

struct ReleaseFactor {
  std::string framework;
  std::string release;
  double factor = 1;  // FrameworkModel::overhead_factor
};

// Returns the factor of the family's nearest release in time among those that `use` admits; 1 if
// there is none. A version that is not a number counts as the newest.
double nearest_factor(const std::vector<ReleaseFactor>& releases, std::string_view framework,
                      std::string_view release,
                      const std::function<bool(const ReleaseFactor&)>& use = {});

// What the question is about that no fitted row covers.
enum class Unseen { model, framework, accelerator, release, layout };
inline constexpr Word<Unseen> kUnseenWords[] = {
    {Unseen::model, "model"},
    {Unseen::framework, "framework"},
    {Unseen::accelerator, "accelerator"},
    {Unseen::release, "release"},
    {Unseen::layout, "layout", "open layout"},
};
constexpr WordTable<Unseen> words_of(Unseen) { return kUnseenWords; }

// Half-width of ln(step time), added to the others in quadrature.
struct UnseenWidth {
  Unseen of = Unseen::model;
  bool experts = false;  // for mixtures of experts; otherwise for dense models
  double width = 0;
};

struct SeenThing {
  Unseen kind = Unseen::model;
  std::string id;  // for a release, family and version
  bool operator==(const SeenThing&) const = default;
};

// The successor of a family name where its software was not measured: on accelerators launched
// later, or on more devices than its rows have.
struct FamilyEra {
  std::string framework;
  int until = 0;        // launch year of the newest accelerators that its parameters cover
  int gpus = 0;         // most devices per job that its parameters cover; 0: any
  std::string release;  // last release that this successor replaces; empty: all
  std::string successor;
};

struct TrainingCalibration {
  std::vector<FrameworkModel> frameworks;
  std::vector<AcceleratorTuning> accelerators;
  std::vector<ReleaseFactor> releases;
  std::vector<SeenThing> seen;  // what the fitted rows cover; used for intervals only
  std::vector<UnseenWidth> widths;
  std::vector<FamilyEra> eras;

  // Returns "default" for an unknown family; applies the release's factor if it is known.
  FrameworkModel framework(std::string_view id, std::string_view release) const;
  bool knows_framework(std::string_view id) const;
  AcceleratorTuning accelerator(std::string_view id) const;
  double release_factor(std::string_view framework, std::string_view release) const;
  bool saw(Unseen kind, std::string_view id) const;
  double unseen_width(Unseen of, bool experts) const;
  // Returns the family whose parameters apply to this release on this many accelerators of this
  // year.
  std::string_view family_on(std::string_view framework, std::string_view release, int launch_year,
                             int gpus) const;
};

// A parameter as named in calibration files and by the fitter.
using ParameterField = double*;
ParameterField framework_field(FrameworkModel& f, std::string_view parameter);
ParameterField accelerator_field(AcceleratorTuning& a, std::string_view parameter);

Result<TrainingCalibration> read_training_calibration(const catalog::Knowledge& knowledge);

}  // namespace orrery::training
