// The fitted parameters of collective_model.h, per scale-up link generation, kind of network and
// library; never per system. Read from data/calibration/collectives.csv, whose rows say what each
// was fitted to (docs/models/collectives.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/csv.h"
#include "core/base/diagnostic.h"
#include "core/catalog/vocabulary.h"
#include "layers/fabric/collective_model.h"

namespace orrery::fabric {

// Recognises free text from logs and tables: "RoCEv2", "IB NDR", "EFA/SRD", "GPUDirect-TCPXO".
// `scaleup_link` distinguishes the generations of EFA.
catalog::NetworkKind network_kind_from(std::string_view text, std::string_view scaleup_link);

struct CollectiveParameters {
  struct ScaleUp {
    std::string link;  // "NVLink4": the beginning of its name in the catalog
    ScaleUpCurve curve;
    bool fitted = false;  // false: assumed, no measured rows
  };
  struct Network {
    std::string kind;
    NetworkCurve curve;
    bool fitted = false;
  };
  // Log half-widths of the 80 % interval, by size and by whether NICs take part.
  struct Interval {
    bool network = false;
    Bytes below;
    double low = 0;
    double high = 0;
  };

  std::vector<ScaleUp> scaleups;
  std::vector<Network> networks;
  std::vector<Interval> intervals;
  ProtocolStep protocol;
  Seconds torch_launch;
  bool rccl_tree = false;

  // Returns the row whose link is a prefix of the name, or "other".
  const ScaleUp& scaleup(std::string_view link) const;
  const Network& network(catalog::NetworkKind kind) const;
  Interval interval(bool network, Bytes bytes) const;
};

// The names in one row of data/calibration/collectives.csv.
struct CollectiveRowName {
  std::string_view group;
  std::string_view name;
  std::string_view parameter;
};
// Sets a parameter to another value, in the file's unit; returns false if there is no such
// parameter.
bool set_collective_parameter(CollectiveParameters& parameters, const CollectiveRowName& name,
                              double value);

Result<CollectiveParameters> read_collective_parameters(const CsvTable& table);

}  // namespace orrery::fabric
