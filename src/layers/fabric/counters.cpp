#include "layers/fabric/counters.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace orrery::fabric {
namespace {

struct Port {
  int line = 0;
  std::string switch_name, port, peer;
  double seconds = 0, tx = 0, rx = 0, speed = 0;
  double pause_rx = 0, pause_tx = 0, marked = 0, drops = 0;

  double load() const { return speed > 0 && seconds > 0 ? tx / seconds / (speed * 1e9 / 8) : 0; }
  bool storms() const { return seconds > 0 && pause_rx / seconds > kStormPausesPerSecond; }
  bool pauses_peer() const { return seconds > 0 && pause_tx / seconds > kStormPausesPerSecond; }
  std::string name() const { return switch_name + " port " + port; }
};

Diagnostic say(const CsvTable& t, const Port& p, std::string code, std::string what,
               std::string why, std::string fix, Severity severity = Severity::warning) {
  return {.severity = severity,
          .code = std::move(code),
          .place = {.file = t.file(), .line = p.line, .column = 1},
          .what = std::move(what),
          .why = std::move(why),
          .fix = std::move(fix)};
}

Result<std::vector<Port>> read_ports(const CsvTable& t) {
  std::vector<Port> out;
  Diagnostics faults;
  for (const CsvRow& r : t.rows()) {
    Port p{.line = r.line,
           .switch_name = std::string(t.text(r, "switch")),
           .port = std::string(t.text(r, "port")),
           .peer = std::string(t.text(r, "peer"))};
    const std::pair<const char*, double*> fields[] = {
        {"seconds", &p.seconds},   {"tx_bytes", &p.tx},       {"rx_bytes", &p.rx},
        {"speed_gbps", &p.speed},  {"pause_rx", &p.pause_rx}, {"pause_tx", &p.pause_tx},
        {"ecn_marked", &p.marked}, {"drops", &p.drops}};
    for (const auto& [column, field] : fields) {
      const auto v = t.number(r, column);
      if (v && *v >= 0) {
        *field = *v;
      } else {
        faults.push_back(say(t, p, "counters.field", std::string("not a count in column ") + column,
                             "", "give a number, 0 or more", Severity::error));
      }
    }
    out.push_back(std::move(p));
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return out;
}

void judge_port(const CsvTable& t, const Port& p, Diagnostics& out) {
  if (p.drops > 0) {
    out.push_back(say(t, p, "counters.drops", p.name() + " dropped packets of the lossless class",
                      "a lossless class drops packets only if headroom is too small or a hop "
                      "lacks PFC",
                      "check PFC on both ends of the cable and the headroom for its length"));
  }
  if (p.load() > kBusyLoad && p.marked == 0) {
    out.push_back(say(t, p, "counters.no-marks", p.name() + " is busy but marks no packets",
                      "congestion is not signalled, so senders do not slow down",
                      "enable ECN and set Kmin below the queue length that occurs"));
  }
  if (p.pause_tx > 0 && p.marked == 0) {
    out.push_back(say(t, p, "counters.pause-before-mark",
                      p.name() + " sends pauses before it marks packets",
                      "PFC then replaces congestion control and also stops uninvolved flows",
                      "lower Kmin and Kmax below Xoff"));
  }
}

}  // namespace

Diagnostics judge_counters(const CsvTable& counters) {
  const auto ports = read_ports(counters);
  if (!ports) return ports.error();
  Diagnostics out;
  std::set<std::string> held;  // switches with a port under a pause storm
  for (const Port& p : *ports) {
    judge_port(counters, p, out);
    if (p.storms()) held.insert(p.switch_name);
  }
  for (const Port& p : *ports) {
    if (p.storms()) {
      out.push_back(
          say(counters, p, "counters.pause-storm",
              p.name() + " is paused continuously by " + p.peer,
              "traffic through this port has stopped",
              "look at " + p.peer + ": a slow receiver or a faulty NIC; enable the PFC watchdog"));
    }
    if (p.pauses_peer() && held.contains(p.switch_name)) {
      out.push_back(say(counters, p, "counters.storm-spreads",
                        p.switch_name + " passes the pause on to " + p.peer,
                        "the storm spreads from port to port and stops flows to other destinations",
                        "stop it at its source with the PFC watchdog"));
    }
  }
  return out;
}

}  // namespace orrery::fabric
