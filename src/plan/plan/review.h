// The design review: joins the layers in closed form and says what holds, what binds, what breaks.
//
//   design -> fleets -> networks -> training and serving -> checkpoints and failures -> power ->
//   money
// Each stage (stages.h) takes what the earlier ones found, so that a change in one layer moves the
// figures of the others: a slower disk lengthens the stall, the stall lowers goodput, goodput
// raises the price of a useful hour.
#pragma once

#include "model/design/design.h"
#include "model/machine/models.h"
#include "plan/plan/stages.h"
#include "plan/plan/verdict.h"

namespace orrery::plan {

struct ReviewOptions {
  bool spends = true;  // try the changes of spend.cpp; each costs a review of its own
  bool insist = true;  // assert what invariants.h promises, in debug builds
};

Verdict review(const design::Design& design, const machine::Models& models,
               ReviewOptions options = {});

// The stages alone, without rules, goals or spends. `same_steps` is the review of a design that
// differs in nothing a training step, a service or the build depends on.
Review run_stages(design::Design design, const machine::Models& models,
                  const Review* same_steps = nullptr);

// What the stages come to: sections, rules, goals and spends.
Verdict verdict_of(const Review& review, ReviewOptions options = {});

}  // namespace orrery::plan
