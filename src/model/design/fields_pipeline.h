// Fields of the pipeline.
#pragma once

#include "model/design/fields.h"
#include "model/design/pipeline.h"

namespace orrery::design {

template <class V, Is<Stage> S>
void visit_fields(V& v, S& s) {
  v("stage", s.stage,
    Field{.doc = "kind of stage: ingest and archive, register and deploy move bytes; prepare, "
                 "train and validate are a batch or a training run; serve is a service that loads "
                 "new weights, one replica after the other",
          .required = true,
          .example = "ingest",
          .moves = "lead changes"});
  v("name", s.name,
    Field{.doc = "name in reports and for `after`; empty is the kind of stage", .moves = "label"});
  v("workload", s.workload,
    Field{.doc =
              "name of the workload that does the stage's work (prepare, train, validate or serve)",
          .moves = "stage_time changes"});
  v("from", s.from,
    Field{.doc = "tier that the stage reads; an ingest reads from outside",
          .moves = "stage_time changes"});
  v("to", s.to, Field{.doc = "tier that the stage writes", .moves = "stage_time changes"});
  v("size", s.size,
    Field{.doc = "bytes per cycle",
          .unit = "TB",
          .absent = "register and deploy: the weights of the trained model, 2 bytes each",
          .range = Range::positive,
          .moves = "stage_time rises"});
  v("rate", s.rate,
    Field{.doc = "rate of the line from outside, for an ingest; for a copy, the highest rate that "
                 "it may take",
          .unit = "Gb/s",
          .absent = "as much as tiers and lines carry",
          .range = Range::positive,
          .moves = "stage_time falls"});
  v("keep", s.keep,
    Field{.doc = "how long the data stays on the target tier",
          .unit = "d",
          .absent = "until the data of the next cycle has arrived",
          .range = Range::positive,
          .moves = "used rises"});
  v("after", s.after,
    Field{.doc = "earlier stages that this one waits for; `begin` is the start of the cycle; empty "
                 "is the stage above it",
          .example = "[train]",
          .moves = "lead changes"});
}

template <class V, Is<Pipeline> S>
void visit_fields(V& v, S& s) {
  v("every", s.every,
    Field{.doc = "time between the starts of two cycles",
          .unit = "d",
          .absent = "a single cycle",
          .range = Range::positive,
          .moves = "freshness rises"});
  v("stages", s.stages, Field{.doc = "the stages, in order"});
}

}  // namespace orrery::design
