// The place of each value of a design in its file.
//
// Values stay plain (site.power is Watts), so the planner and the search can build and change a
// Design without wrappers; the places are kept beside them, by path: "fleet[0].count",
// "workloads[1].serve.objective.ttft_p99", "fabric.compute.switch". Two designs that say the same
// at different places of a file are equal.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/base/diagnostic.h"

namespace orrery::design {

// Line and column, counted from 1, in characters of the text.
struct Mark {
  int line = 1;
  int column = 1;
};

class PlaceMap {
 public:
  void set(std::string path, Mark mark) { marks_[std::move(path)] = mark; }
  // Returns true if the file gave this value; false if it is a default.
  bool given(std::string_view path) const { return marks_.find(path) != marks_.end(); }
  // Returns the mark of the value or, for a default, of the nearest section around it that was
  // given.
  Mark find(std::string_view path) const;

  bool operator==(const PlaceMap&) const { return true; }

 private:
  std::map<std::string, Mark, std::less<>> marks_;
};

}  // namespace orrery::design
