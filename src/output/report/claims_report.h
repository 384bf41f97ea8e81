// The claims ledger as a document for people and as JSON; docs/claims.md is the Markdown of it.
#pragma once

#include <span>
#include <string>

#include "output/report/document.h"
#include "study/calc/claims.h"

namespace orrery::report {

// All claims: what was counted and, with `details`, every case with its arithmetic.
struct ClaimsView {
  bool details = false;
};
Document document_of(std::span<const calc::ClaimCheck> checks, ClaimsView view = {});
Document document_of(const calc::ClaimCheck& check);
std::string json_of(std::span<const calc::ClaimCheck> checks);

}  // namespace orrery::report
