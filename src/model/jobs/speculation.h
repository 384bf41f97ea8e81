// Speculative decoding: a small draft model guesses tokens, and the model checks them in one step.
//
//   tokens of a step = accepted / (1 + guesses x parameters of the draft / of the model)
// Three guesses per step, of which 2.3 tokens come out with the one that is sure (published
// acceptance of small drafts, 0.6 to 0.7 per guess). Wrong for drafts trained for the model, which
// are accepted more often.
#pragma once

#include "layers/serving/steady_state.h"
#include "model/machine/machine.h"

namespace orrery::jobs {

// Sets the tokens that a step checks and those that come out of it; nothing if the service names no
// draft model.
void add_speculation(serving::RequestShape& request, const machine::Machine& machine,
                     const design::Serve& serve);

}  // namespace orrery::jobs
