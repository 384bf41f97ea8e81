// A ranking of accelerators as a document and as JSON.
#pragma once

#include <string>

#include "output/report/document.h"
#include "study/search/rank.h"

namespace orrery::report {

Document document_of(const search::Ranking& ranking, const std::string& title);
std::string json_of(const search::Ranking& ranking);

}  // namespace orrery::report
