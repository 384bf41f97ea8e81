// Rules and their unit tests as the YAML that Prometheus and promtool read.
//
// A test checks three times: just before `for` has passed (no alert yet), once it has (the alerts,
// with all labels and annotations), and at that time with quiet series (no alert). An alert whose
// comparison, threshold or `for` is changed therefore fails its test.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "output/emit/alerts.h"

namespace orrery::emit {

std::string group_name(std::string_view group);  // "orrery-gpu"

std::string recording_yaml(const std::vector<RecordingRule>& rules);
// Returns one group of rules; `alerts` are all of its alerts.
std::string alerts_yaml(std::string_view group, const std::vector<Alert>& alerts);
// `rule_files` are paths relative to the test file, recording rules first.
std::string alert_tests_yaml(const std::vector<std::string>& rule_files,
                             const std::vector<Alert>& alerts);

// Escapes a text where Prometheus expands Go templates.
std::string template_escaped(std::string_view text);

}  // namespace orrery::emit
