#include "layers/fabric/nccl_log.h"

#include <algorithm>
#include <cmath>

#include "core/base/text.h"

namespace orrery::fabric {
namespace {

// Below this the log prints too few digits for the ratio to be useful.
constexpr double kTellingBandwidth = 20;
constexpr std::size_t kMostLines = 10'000;

std::optional<workload::Collective> kind_in(std::string_view text) {
  const auto has = [&](const char* word) { return text.find(word) != std::string_view::npos; };
  if (has("all_reduce")) return workload::Collective::all_reduce;
  if (has("all_gather")) return workload::Collective::all_gather;
  if (has("reduce_scatter")) return workload::Collective::reduce_scatter;
  if (has("alltoall")) return workload::Collective::all_to_all;
  if (has("broadcast")) return workload::Collective::broadcast;
  if (has("sendrecv")) return workload::Collective::send_recv;
  return std::nullopt;
}

// Columns: size count type redop root time algbw busbw wrong time algbw busbw wrong.
std::optional<NcclLine> table_line(std::string_view line) {
  const auto words = split_at_blanks(line);
  if (words.size() < 8) return std::nullopt;
  const auto size = parse_number(words[0]);
  if (!size || !parse_number(words[1]) || parse_number(words[2])) return std::nullopt;
  // The time is the first number after the names (type, redop) and the root.
  std::size_t at = 3;
  while (at < words.size() && !parse_number(words[at])) ++at;
  if (words.size() - at >= 9) ++at;  // a root precedes the time
  if (at + 2 >= words.size()) return std::nullopt;
  const auto time = parse_number(words[at]), alg = parse_number(words[at + 1]),
             bus = parse_number(words[at + 2]);
  if (!time || !alg || !bus || *time <= 0) return std::nullopt;
  return NcclLine{*size, *time, *alg, *bus};
}

constexpr int kMostRanks = 10'000'000;

// Solves the ranks of a log, with the range that the printed digits allow.
void solve_ranks(NcclLog& log) {
  const NcclLine* best = nullptr;
  for (const NcclLine& l : log.lines) {
    if (l.algbw > kTellingBandwidth && (!best || l.algbw > best->algbw)) best = &l;
  }
  if (!best || !log.kind) return;
  const double ratio = best->busbw / best->algbw;
  const double top = *log.kind == workload::Collective::all_reduce ? 2 : 1;
  if (*log.kind == workload::Collective::broadcast || *log.kind == workload::Collective::send_recv)
    return;
  // The log prints two decimals, so the ratio is known to about 0.01 / algbw.
  const double gap = top - ratio;
  if (gap <= 0.02 / best->algbw) return;
  log.ranks_solved = static_cast<int>(std::lround(top / gap));
  constexpr double kHalfDigit = 0.005;
  const auto ranks_at = [&](double bus, double alg) {
    const double left = top - bus / alg;
    return left > top / kMostRanks ? top / left : kMostRanks;
  };
  const double least = ranks_at(best->busbw - kHalfDigit, best->algbw + kHalfDigit);
  const double most = ranks_at(best->busbw + kHalfDigit, best->algbw - kHalfDigit);
  log.ranks_least = std::min(*log.ranks_solved, static_cast<int>(std::floor(least)));
  log.ranks_most = std::max(*log.ranks_solved, static_cast<int>(std::ceil(most)));
}

}  // namespace

Result<NcclLog> parse_nccl_log(std::string_view text, const std::string& file,
                               std::optional<workload::Collective> kind) {
  NcclLog log{.kind = kind};
  int ranks = 0;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view t = trimmed(line);
    if (t.starts_with("#")) {
      if (!log.kind) log.kind = kind_in(t);
      const auto words = split_at_blanks(t);
      ranks += words.size() > 2 && (words[1] == "Rank" || words[0] == "#Rank");
      continue;
    }
    if (!log.kind && t.find("_perf") != std::string_view::npos) log.kind = kind_in(t);
    const auto row = table_line(t);
    if (row && log.lines.size() < kMostLines) log.lines.push_back(*row);
  }
  if (log.lines.empty()) {
    return fail({.severity = Severity::error,
                 .code = "nccl.empty",
                 .place = {.file = file},
                 .what = "there is no line of an nccl-tests table",
                 .why = {},
                 .fix = "give the whole output of all_reduce_perf or another test"});
  }
  if (ranks > 0) log.ranks_stated = ranks;
  solve_ranks(log);
  if (log.ranks_stated && log.ranks_solved &&
      (*log.ranks_stated < log.ranks_least || *log.ranks_stated > log.ranks_most)) {
    log.notes.push_back({.severity = Severity::warning,
                         .code = "nccl.ranks",
                         .place = {.file = file},
                         .what = "the header lists " + std::to_string(*log.ranks_stated) +
                                 " ranks, but the bandwidths imply " +
                                 std::to_string(*log.ranks_solved),
                         .why = "the ratio of bus to algorithm bandwidth depends on the number of "
                                "ranks only",
                         .fix = "check that header and table come from the same run"});
  }
  return log;
}

int ranks_of(const NcclLog& log, int per_host) {
  if (log.ranks_stated) return *log.ranks_stated;
  if (!log.ranks_solved) return 0;
  const int solved = *log.ranks_solved, host = std::max(1, per_host);
  const int whole = (solved + host / 2) / host * host;
  return whole >= log.ranks_least && whole <= log.ranks_most && whole > 0 ? whole : solved;
}

std::vector<GapReason> likely_reasons(const GapFacts& f) {
  std::vector<GapReason> out;
  const bool slow = f.large_ratio < 0.85;
  if (slow && f.leaves_domain && f.nics > 1) {
    // Counts the NICs which, at 95 % of their rate, would give the measured figure, assuming the
    // expected figure's own traffic factor.
    const double used = f.nics * f.large_ratio;
    if (std::abs(used - std::round(used)) < 0.12 && used < f.nics - 0.5) {
      out.push_back({"the rate is that of " + std::to_string(static_cast<int>(std::lround(used))) +
                         " of " + std::to_string(f.nics) + " NICs",
                     "NCCL_IB_HCA, link state, and that every NIC has its GPU's PCIe switch"});
    }
    if (f.large_ratio < 0.6) {
      out.push_back({"no GPUDirect RDMA: data goes through host memory",
                     "nvidia-peermem or dma-buf; NCCL_DEBUG=INFO should say GDRDMA"});
    }
    if (f.roce) {
      out.push_back(
          {"hash collisions in the fabric: a permutation gets about half the wire rate with "
           "one queue pair",
           "NCCL_IB_QPS_PER_CONNECTION, adaptive routing, switch counters"});
    }
  }
  if (slow && !f.leaves_domain) {
    out.push_back({"NVLink SHARP is off or some NVLink is down",
                   "NCCL_NVLS_ENABLE, nvidia-smi nvlink -s, the fabric manager"});
  }
  if (f.small_ratio < 0.6) {
    out.push_back({"launch overhead: the call is timed from a framework or the CPU is slow",
                   "CUDA graphs, CPU governor, NUMA binding"});
  }
  return out;
}

}  // namespace orrery::fabric
