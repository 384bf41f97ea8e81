// Code that only tests call: found by reading includes and words, and allowed only if a list gives
// the reason.
//
// A header has a caller if a product file outside its own pair (x.h and x.cpp) includes it and has
// a caller itself. An unindented function in a header has a caller if its name occurs in a product
// file other than as the name being declared or defined there; members are not checked. A name that
// two functions share counts for both, so this check misses some unused code but reports no used
// code. Tests, fixtures and test_*.h do not belong to the product.
#pragma once

#include "tidy/rules.h"

namespace orrery::tidy {

// A row of the list: "src/model/design_text/schema.h | its test", or with a function after the
// path; `*` means all functions of the header.
struct Unwired {
  int line = 0;
  std::string path;
  std::string function;  // empty: the header itself
  std::string caller;    // who calls it, or why it has no caller
};
std::vector<Unwired> read_unwired(const Source& list, Complaints& faults);

// Returns code that has neither a caller nor a row, and rows whose code has a caller by now or no
// longer exists.
Complaints check_callers(const std::vector<Source>& code, const Source& list);

}  // namespace orrery::tidy
