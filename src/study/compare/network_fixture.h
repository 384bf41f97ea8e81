// For tests of networks: a small pod.
#pragma once

#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"
#include "study/compare/diff.h"

namespace orrery::compare {

inline design::Design pod() {
  return design_text::read_design(design_text::find_template("superpod-h100")->text,
                                  machine::known().catalog())
      .value();
}

}  // namespace orrery::compare
