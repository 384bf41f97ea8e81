#include "layers/traffic/replica_trace.h"

#include <cmath>

namespace orrery::traffic {

std::vector<IterationNote> trace_iterations(const engines::EnginePolicy& policy,
                                            serving::StepClock& clock,
                                            const std::vector<Timed>& arrivals, std::size_t most) {
  std::vector<IterationNote> notes;
  if (arrivals.empty()) return notes;
  ReplicaSim sim(policy, clock, {.merge = false});
  int id = 0;
  for (const Timed& t : arrivals) sim.submit(id++, t.spec, t.at);
  const engines::BlockPool& pool = sim.scheduler().pool();
  for (double start = sim.next_start(); start < arrivals.back().at; start = sim.next_start()) {
    const ReplicaCounts before = sim.counts();
    // The smallest time that lets the iteration begin; it then runs to its end.
    sim.advance(std::nextafter(start, kForever));
    const ReplicaCounts& after = sim.counts();
    if (after.iterations == before.iterations) continue;
    notes.push_back(
        {.start = start,
         .seconds = sim.now() - start,
         .prompt_tokens = static_cast<int>(after.prompt_tokens - before.prompt_tokens),
         .output_tokens = static_cast<int>(after.output_tokens - before.output_tokens),
         .waiting = static_cast<int>(sim.scheduler().waiting()),
         .held = 1 - static_cast<double>(pool.free_blocks()) / std::max(1, pool.blocks())});
  }
  if (notes.size() > most) notes.erase(notes.begin(), notes.end() - static_cast<long>(most));
  return notes;
}

}  // namespace orrery::traffic
