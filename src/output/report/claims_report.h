// The register of claims as a document and as JSON; docs/claims.md is its Markdown.
#pragma once

#include <span>
#include <string>

#include "output/report/document.h"
#include "study/calc/claims.h"

namespace orrery::report {

// A list of all claims with their verdicts; with `details`, every case with its arithmetic.
struct ClaimsView {
  bool details = false;
};
Document document_of(std::span<const calc::ClaimCheck> checks, ClaimsView view = {});
Document document_of(const calc::ClaimCheck& check);
std::string json_of(std::span<const calc::ClaimCheck> checks);

}  // namespace orrery::report
