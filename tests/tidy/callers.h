// Code that nothing calls but its tests: found by reading includes and words, and kept only where a
// list says why.
//
// A header has a caller where a product file outside its own pair (x.h and x.cpp) includes it, one
// that itself has a caller. A function declared at the margin of a header has one where its name
// occurs in a product file other than as the name being declared or defined there; members are not
// looked at. A name that two functions share counts for both, so this finds less than there is and
// nothing that is not. Tests, fixtures and test_*.h are no product.
#pragma once

#include "tidy/rules.h"

namespace orrery::tidy {

// A row of the list: "src/model/design_text/schema.h | its test", or with a function after the
// path;
// `*` stands for all functions of the header.
struct Unwired {
  int line = 0;
  std::string path;
  std::string function;  // empty: the header itself
  std::string caller;    // who calls it, or why nobody does
};
std::vector<Unwired> read_unwired(const Source& list, Complaints& faults);

// What has no caller and no row, and rows whose code has a caller by now or is gone.
Complaints check_callers(const std::vector<Source>& code, const Source& list);

}  // namespace orrery::tidy
