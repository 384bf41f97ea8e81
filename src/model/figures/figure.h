// A figure of a design: a row of the table (figure_kind.h) with its value, interval, origin and the
// arithmetic behind it. `--explain` and the console's "why?" print formula and inputs.
#pragma once

#include <string>
#include <vector>

#include "core/base/estimate.h"
#include "model/figures/figure_kind.h"

namespace orrery::figures {

struct Input {
  std::string name;
  std::string value;      // as shown
  std::string reference;  // catalog row, line of the design, or rule
};

// A value with its own name, label and unit, as a calculator gives it.
struct Number {
  std::string id;
  std::string label;
  Unit unit = Unit::count;
  Estimate estimate;
  std::string formula;  // with the numbers filled in
  std::vector<Input> inputs;
};

struct Figure {
  FigureId kind = FigureId::peak;
  std::string of;    // which fleet, workload or cause, if a section has several figures of the kind
  std::string note;  // what is special here: "on hot", "asynchronous"
  Estimate estimate;
  std::string formula;  // with the numbers filled in
  std::vector<Input> inputs;

  std::string id() const { return id_text(kind, of); }  // unique in its section
  std::string label() const { return label_text(kind, of); }
  // The label with the note.
  std::string title() const { return note.empty() ? label() : label() + ", " + note; }
  Unit unit() const { return kind_of(kind).unit; }
};

// The figure as a Number.
Number number_of(const Figure& figure);

}  // namespace orrery::figures
