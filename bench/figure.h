// A speed figure: a stable name, a unit and the function that measures it.
//
// Each bench/<name>.cpp defines `std::vector<SpeedFigure> <name>_figures();` and CMake lists them
// all in all_figures(), sorted by file. A figure is measured cold: it builds what it needs inside
// measure() and keeps nothing from an earlier call.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "core/base/diagnostic.h"

namespace orrery {

struct SpeedFigure {
  std::string name;
  std::string unit;
  std::string what;  // one line for `orrery bench --list`
  std::function<Result<double>()> measure;
};

std::vector<SpeedFigure> all_figures();

// Returns the seconds that `work` takes, by the steady clock.
template <class Work>
double seconds_of(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace orrery
