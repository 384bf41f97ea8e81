// `orrery score collectives`: times of measured collectives, in the columns of
// data/validation/collectives.csv (microseconds out of place, else in place).
//
// A rank's machine is read from the row: accelerator, ranks and nodes, "8x400G" NICs, the kind of
// network. Rows of quality C, whose machine is partly unknown or known to be faulty, form a
// separate group. The second series, "nccl_equations", is the time that NCCL's own tuner expects.
#pragma once

#include "model/machine/links.h"
#include "study/score/score.h"

namespace orrery::score {

Result<Score> score_collectives(const CsvTable& table, const ScoreInputs& inputs);
// Scores with separate parameters for each row, which must outlive the call.
Score score_collectives_with(
    const CsvTable& table, const ScoreInputs& inputs,
    const std::function<const fabric::CollectiveParameters&(const CsvRow&)>& parameters_of);

// Returns the machine and call of a row, or the reason why it cannot be predicted.
struct CollectiveRow {
  std::string id;
  machine::Wiring wiring;
  workload::CollectiveCall call;
  fabric::CollectiveAlgorithm algorithm = fabric::CollectiveAlgorithm::automatic;
  std::optional<double> measured_us;
  bool counts = true;
  std::string quality;
};
std::expected<CollectiveRow, std::string> read_collective_row(const CsvTable& table,
                                                              const CsvRow& row,
                                                              const catalog::Catalog& catalog);

// "8x400G", "16x100G", "4x100G EFA", "16 EFA" (400G each).
struct NicText {
  double count = 0;
  BytesPerSecond rate;
};
std::optional<NicText> parse_nics(std::string_view text);

}  // namespace orrery::score
