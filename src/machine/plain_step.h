// The step of a network that is no transformer of the catalog: a roofline with a stated, wide
// error.
//
//   t = 3 F b / (peak e) + embeddings + exposed share of the gradient all-reduce
// F forward FLOP of a sample, b samples of one device, e = 0.35 of the dense peak (convolutions on
// tensor cores reach 0.2 to 0.5 of it): assumed. Embedding rows are read and written at memory
// bandwidth and exchanged all to all. Deepen it by measuring: the interval is 40 % either way.
#pragma once

#include "machine/train_job.h"

namespace orrery::machine {

void fill_plain_step(TrainJob& job, const Machine& machine, int available);

}  // namespace orrery::machine
