// Panels as the JSON of a Grafana dashboard, schema version 39 (Grafana 11, read by later ones).
#pragma once

#include <string>
#include <vector>

#include "emit/file.h"
#include "emit/grafana.h"

namespace orrery::emit {

std::string dashboard_json(const std::vector<Panel>& panels, const EmitSource& source);

}  // namespace orrery::emit
