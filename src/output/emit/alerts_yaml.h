// Rules and their unit tests as the YAML that Prometheus and promtool read.
//
// A test asks three times: just before `for` has passed (nothing yet), once it has (the alerts, all
// labels and annotations), and at that time with quiet series (nothing). An alert whose comparison,
// threshold or patience is changed fails its test.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "output/emit/alerts.h"

namespace orrery::emit {

std::string group_name(std::string_view group);  // "orrery-gpu"

std::string recording_yaml(const std::vector<RecordingRule>& rules);
// One group; the alerts are all of it.
std::string alerts_yaml(std::string_view group, const std::vector<Alert>& alerts);
// `rule_files`: as seen from the test file, recording rules first.
std::string alert_tests_yaml(const std::vector<std::string>& rule_files,
                             const std::vector<Alert>& alerts);

// Literal text where Prometheus expands Go templates.
std::string template_escaped(std::string_view text);

}  // namespace orrery::emit
