#include "layers/facility/power_chain.h"

#include <algorithm>
#include <ranges>

namespace orrery::facility {

namespace {

// The load at which a row's typical efficiency is quoted.
constexpr double kQuotedLoad = 0.5;

struct Split {
  double no_load;
  double linear;
  double squared;  // shares of the loss at the quoted load; they sum to 1
};

Split split_of(StageKind kind) {
  switch (kind) {
    case StageKind::transformer:
      return {0.5, 0, 0.5};
    case StageKind::ups:
      return {0.6, 0.25, 0.15};
    case StageKind::conductor:
      return {0, 0, 1};
    case StageKind::converter:
      return {0.2, 0.65, 0.15};
  }
  return {0, 1, 0};
}

// N+1 and block schemes add UPS modules to one path; 2N has a second path from the utility down.
double copies(const StageCurve& stage, double multiplier) {
  return stage.kind == StageKind::ups || multiplier >= 2 ? multiplier : 1;
}

}  // namespace

StageKind stage_kind(const catalog::PowerStage& stage) {
  const auto names = [&](const char* word) {
    return stage.id.find(word) != std::string::npos || stage.name.find(word) != std::string::npos;
  };
  if (names("transformer")) return StageKind::transformer;
  if (names("UPS") || names("ups")) return StageKind::ups;
  if (names("busway")) return StageKind::conductor;
  return StageKind::converter;
}

StageCurve stage_curve(const catalog::PowerStage& stage) {
  const StageKind kind = stage_kind(stage);
  const Split split = split_of(kind);
  const double loss = kQuotedLoad * (1 / stage.efficiency_typical - 1);
  StageCurve curve;
  curve.id = stage.id;
  curve.name = stage.name;
  curve.kind = kind;
  curve.no_load = loss * split.no_load;
  curve.linear = loss * split.linear / kQuotedLoad;
  curve.squared = loss * split.squared / (kQuotedLoad * kQuotedLoad);
  curve.reference = stage.provenance.reference;
  return curve;
}

double loss_share(const StageCurve& stage, double load_share) {
  return stage.no_load + stage.linear * load_share + stage.squared * load_share * load_share;
}

double efficiency(const StageCurve& stage, double load_share) {
  if (load_share <= 0) return 0;
  return load_share / (load_share + loss_share(stage, load_share));
}

ChainResult run_chain(std::span<const StageCurve> stages, const ChainRequest& request) {
  ChainResult result;
  Watts design = request.design > Watts() ? request.design : request.load;
  Watts load = request.load;
  for (const StageCurve& stage : std::views::reverse(stages)) {
    const Watts rated = design / kContinuousDerate * copies(stage, request.capacity_multiplier);
    if (rated <= Watts()) continue;
    StageLoad s;
    s.id = stage.id;
    s.name = stage.name;
    s.output = load;
    s.rated = rated;
    s.unit_load = load / rated;
    s.loss = rated * loss_share(stage, s.unit_load);
    s.efficiency = efficiency(stage, s.unit_load);
    s.overloaded = load > design;
    s.reference = stage.reference;
    design += rated * loss_share(stage, design / rated);
    load += s.loss;
    result.loss += s.loss;
    result.stages.push_back(std::move(s));
  }
  std::reverse(result.stages.begin(), result.stages.end());
  result.input = load;
  return result;
}

std::vector<StageCurve> chain_of(const catalog::Catalog& catalog, std::span<const std::string> ids,
                                 std::string_view redundancy_id) {
  std::vector<std::string> wanted(ids.begin(), ids.end());
  if (wanted.empty()) {
    wanted = {"utility-transformer-mv", "ups-double-conversion", "pdu-transformer", "busway"};
    if (redundancy_id == "flex") wanted.erase(wanted.begin() + 1);
  }
  std::vector<StageCurve> chain;
  for (const std::string& id : wanted) {
    if (const catalog::PowerStage* stage = catalog.power_stage(id))
      chain.push_back(stage_curve(*stage));
  }
  return chain;
}

}  // namespace orrery::facility
