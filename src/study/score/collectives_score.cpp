#include "study/score/collectives_score.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <expected>

#include "core/base/text.h"
#include "layers/fabric/nccl_tuner.h"

namespace orrery::score {
namespace {

constexpr double kEfaAdapterGbits = 400;  // if a row gives only a number of adapters: those of p6

// Returns the ranks that share a scale-up domain: the rack's if the row says that NVLink spans
// hosts, else the host's.
int domain_of(const catalog::Accelerator& a, int per_node, std::string_view fabric) {
  const std::string f = lowered(fabric);
  const bool spans = f.find("nvlink") != std::string::npos || f.find("mnnvl") != std::string::npos;
  if (a.scaleup_domain > 8) return spans ? a.scaleup_domain : per_node;
  return std::min(a.scaleup_domain, per_node);
}

std::optional<double> measured_time(const CsvTable& table, const CsvRow& row) {
  for (const char* column : {"time_us_oop", "time_us_ip"}) {
    const auto t = table.number(row, column);
    if (t && *t > 0) return t;
  }
  return std::nullopt;
}

fabric::GpuGeneration generation_of(std::string_view link) {
  if (link.starts_with("NVLink5") || link.starts_with("NVLink6"))
    return fabric::GpuGeneration::blackwell;
  if (link.starts_with("NVLink4")) return fabric::GpuGeneration::hopper;
  return fabric::GpuGeneration::ampere;
}

std::vector<std::string> groups_of(const CollectiveRow& r, const fabric::CollectiveTime& detail) {
  const bool large = r.call.bytes >= mib(64);
  return {large ? "size=from 64 MiB" : "size=below 64 MiB",
          fmt::format("gpu={}", r.wiring.accelerator->id),
          fmt::format("network={}", to_text(r.wiring.network)),
          fmt::format("collective={}", to_text(r.call.kind)),
          fmt::format("limit={}", to_text(detail.limit)),
          fmt::format("quality={}", r.quality)};
}

// Returns why a label must be wrong, if the measured rate contradicts it.
std::string contradiction(const CollectiveRow& r, const machine::Links& links) {
  if (!r.measured_us) return "";
  const double bus = r.call.bytes.base() / (*r.measured_us * 1e-6) *
                     fabric::bus_factor(r.call.kind, r.call.group.ranks);
  const bool inside = r.call.group.per_domain >= r.call.group.ranks;
  const double link = links.built().scaleup_rate.base();
  if (inside && link > 0 && r.algorithm == fabric::CollectiveAlgorithm::ring && bus > link) {
    return "faster than a ring can be on this link, so its label is doubtful";
  }
  const double nic = links.built().nic_rate.base() * links.built().nics_per_rank;
  const double domains = std::ceil(1.0 * r.call.group.ranks / r.call.group.per_domain);
  const double wire = bus * (domains - 1) / std::max(1, r.call.group.ranks - 1);
  if (!inside && domains > 2 && nic > 0 && wire > nic) {
    return "more than its NICs carry, so their number or rate is doubtful";
  }
  return "";
}

void score_row(const CollectiveRow& r, const fabric::CollectiveParameters& parameters,
               Score& score) {
  const machine::Links links(r.wiring, parameters);
  const machine::CollectivePrediction p = links.predict(r.call, r.algorithm);
  Estimate us = p.seconds * 1e6;
  us.basis = links.fitted() ? Basis::fitted : Basis::assumed;
  const auto groups = groups_of(r, p.detail);
  score.series[0].rows.push_back({.id = r.id,
                                  .predicted = us,
                                  .measured = r.measured_us,
                                  .counts = r.counts,
                                  .groups = groups,
                                  .note = contradiction(r, links)});
  const fabric::NcclMachine nccl{
      .generation = generation_of(r.wiring.accelerator->scaleup_link),
      .nic_per_rank = links.built().nic_rate * links.built().nics_per_rank,
      .nvls = links.built().scaleup.nvls_share > 0};
  if (r.call.kind == workload::Collective::all_to_all ||
      r.call.kind == workload::Collective::send_recv)
    return;
  const double believed = nccl_choice(nccl, r.call, r.algorithm).time.base() * 1e6;
  score.series[1].rows.push_back({.id = r.id,
                                  .predicted = exact(believed, Basis::paper, "NCCL 2.30 tuning.cc"),
                                  .measured = r.measured_us,
                                  .counts = r.counts,
                                  .groups = {groups[0], groups.back()},
                                  .note = {}});
}

}  // namespace

std::optional<NicText> parse_nics(std::string_view text) {
  std::size_t at = 0;
  const auto number = [&]() -> std::optional<double> {
    const std::size_t begin = at;
    while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0) ++at;
    return at > begin && at - begin < 9 ? parse_number(text.substr(begin, at - begin))
                                        : std::nullopt;
  };
  const auto count = number();
  if (!count || *count <= 0) return std::nullopt;
  while (at < text.size() && text[at] == ' ') ++at;
  if (text.substr(at).starts_with("EFA")) return NicText{*count, gbits_per_s(kEfaAdapterGbits)};
  if (at >= text.size() || text[at] != 'x') return std::nullopt;
  ++at;
  while (at < text.size() && text[at] == ' ') ++at;
  const auto rate = number();
  if (!rate || *rate <= 0 || at >= text.size() || text[at] != 'G') return std::nullopt;
  return NicText{*count, gbits_per_s(*rate)};
}

std::expected<CollectiveRow, std::string> read_collective_row(const CsvTable& table,
                                                              const CsvRow& row,
                                                              const catalog::Catalog& catalog) {
  const auto text = [&](const char* column) { return table.text(row, column); };
  CollectiveRow r;
  r.id = std::string(text("id"));
  r.quality = std::string(text("quality").substr(0, 1));
  r.counts = r.quality != "C";
  r.measured_us = measured_time(table, row);
  const catalog::Accelerator* a = catalog.accelerator(text("gpu"));
  if (!a)
    return std::unexpected(fmt::format("there is no accelerator {} in the catalog", text("gpu")));
  const auto kind = from_any_word<workload::Collective>(lowered(text("collective")));
  const auto size = table.number(row, "bytes");
  const auto ranks = table.integer(row, "ranks"), nodes = table.integer(row, "nodes");
  if (!kind) return std::unexpected(fmt::format("there is no collective {}", text("collective")));
  if (!size || *size <= 0 || !ranks || *ranks < 2 || *ranks > 10'000'000) {
    return std::unexpected("size or number of ranks is missing or too large");
  }
  const auto n = static_cast<int>(*ranks);
  const int hosts = nodes && *nodes > 0 ? static_cast<int>(std::min<std::int64_t>(*nodes, n)) : 1;
  const int per_node = static_cast<int>(table.integer(row, "gpus_per_node").value_or(n / hosts));
  r.wiring = {.accelerator = a,
              .domain = domain_of(*a, std::max(1, per_node), text("fabric")),
              .accelerators_per_host = std::max(1, per_node),
              .network = catalog::NetworkKind::none,
              .torch_timed = text("quality").find("handbook") != std::string_view::npos};
  r.call = {
      .kind = *kind, .bytes = Bytes(*size), .group = machine::packed_group(n, r.wiring.domain)};
  if (n > r.wiring.domain) {
    const auto nics = parse_nics(text("nic_per_node"));
    r.wiring.network = fabric::network_kind_from(text("fabric"), a->scaleup_link);
    if (!nics)
      return std::unexpected("the ranks are in several domains, but the NICs are not given");
    if (r.wiring.network == catalog::NetworkKind::none) {
      return std::unexpected(fmt::format("there is no network kind in \"{}\"", text("fabric")));
    }
    r.wiring.nics_per_host = nics->count;
    r.wiring.nic_rate = nics->rate;
  }
  r.algorithm = fabric::collective_algorithm_from(text("algo"))
                    .value_or(fabric::CollectiveAlgorithm::automatic);
  return r;
}

Result<Score> score_collectives(const CsvTable& table, const ScoreInputs& inputs) {
  return score_collectives_with(table, inputs,
                                [&](const CsvRow&) -> const fabric::CollectiveParameters& {
                                  return inputs.models.collectives;
                                });
}

Score score_collectives_with(
    const CsvTable& table, const ScoreInputs& inputs,
    const std::function<const fabric::CollectiveParameters&(const CsvRow&)>& parameters_of) {
  Score score{.kind = "collectives", .rows = static_cast<int>(table.rows().size())};
  score.series = {{.name = "time", .unit = "time_us_oop", .rows = {}},
                  {.name = "nccl_equations", .unit = "time_us_oop", .rows = {}}};
  for (const CsvRow& row : table.rows()) {
    const auto read = read_collective_row(table, row, inputs.catalog());
    if (read) {
      score_row(*read, parameters_of(row), score);
    } else {
      score.skipped.push_back({std::string(table.text(row, "id")), read.error()});
    }
  }
  return score;
}

}  // namespace orrery::score
