// Panels as the JSON of a Grafana dashboard, schema version 39 (Grafana 11; later versions read
// it).
#pragma once

#include <string>
#include <vector>

#include "output/emit/file.h"
#include "output/emit/grafana.h"

namespace orrery::emit {

std::string dashboard_json(const std::vector<Panel>& panels, const EmitSource& source);

}  // namespace orrery::emit
