#include "model/machine/costs.h"

#include <gtest/gtest.h>

#include "layers/serving/graph_reduce.h"
#include "model/design_text/value_reader.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"

namespace orrery::machine {
namespace {

// Each kind of kernel has its own factor; passes over memory also have one for energy.
TEST(Costs, each_kind_of_kernel_has_its_factor) {
  const Wiring w{.accelerator = known().catalog().accelerator("b200-sxm"),
                 .nics_per_host = 8,
                 .nic_rate = gbits_per_s(400)};
  const Costs plain(known(), w, {});
  const Costs tuned(known(), w,
                    {.tuning = {.matrix = 2,
                                .matrix_8bit = 3,
                                .matrix_4bit = 5,
                                .attention = 7,
                                .passes = 11,
                                .pass_energy = 13,
                                .scaleup = 17,
                                .network = 19}});
  const auto ratio = [&](const workload::Operation& op) {
    const compute::KernelCost a = plain.kernel(op);
    const compute::KernelCost b = tuned.kernel(op);
    EXPECT_NEAR(b.clocked / a.clocked, b.time / a.time, 1e-9);
    return b.time / a.time;
  };
  const auto gemm = [](catalog::Dtype d) {
    return workload::Gemm{.m = 4096, .n = 4096, .k = 4096, .dtype = d};
  };
  EXPECT_NEAR(ratio(gemm(catalog::Dtype::bf16)), 2, 1e-9);
  EXPECT_NEAR(ratio(gemm(catalog::Dtype::fp8)), 3, 1e-9);
  EXPECT_NEAR(ratio(gemm(catalog::Dtype::fp4)), 5, 1e-9);
  const workload::MemoryPass pass{.read = gigabytes(1), .written = gigabytes(1)};
  EXPECT_NEAR(plain.kernel(pass).time * 11 / tuned.kernel(pass).time, 1, 1e-9);
  EXPECT_NEAR(tuned.kernel(pass).memory / plain.kernel(pass).memory, 13, 1e-9);
  const auto reduce = [&](const Costs& c, int ranks) {
    return c.collective(
        {workload::Collective::all_reduce, megabytes(64), c.links().group_of(ranks)});
  };
  EXPECT_NEAR(reduce(tuned, 8) / reduce(plain, 8), 17, 1e-9);
  EXPECT_NEAR(reduce(tuned, 32) / reduce(plain, 32), 19, 1e-9);
  const Costs capped(known(), w, {.power_limit = watts(500)});
  EXPECT_EQ(capped.device().power.limit, watts(500));
  const Costs above(known(), w, {.power_limit = watts(5000)});
  EXPECT_EQ(above.device().power.limit, plain.device().power.limit);
}

TEST(Costs, engine_all_reduce_is_used_if_it_is_faster) {
  const Wiring w{.accelerator = known().catalog().accelerator("h100-sxm"),
                 .nics_per_host = 8,
                 .nic_rate = gbits_per_s(400)};
  const Costs library(known(), w, {});
  const Costs own(known(), w, {.graph_reduce = true});
  const auto call = [](workload::Collective kind, double bytes, int ranks) {
    return workload::CollectiveCall{kind, Bytes(bytes), packed_group(ranks, 8)};
  };
  using enum workload::Collective;
  for (const double bytes : {1e4, 1e6, 1e9}) {
    const Seconds graph = serving::graph_all_reduce(Bytes(bytes), 8, gbytes_per_s(450), 4);
    EXPECT_EQ(own.collective(call(all_reduce, bytes, 8)),
              min(graph, library.collective(call(all_reduce, bytes, 8))));
    EXPECT_EQ(own.collective(call(all_gather, bytes, 8)),
              library.collective(call(all_gather, bytes, 8)));
    EXPECT_EQ(own.collective(call(all_reduce, bytes, 64)),
              library.collective(call(all_reduce, bytes, 64)))
        << "between hosts";
  }
  EXPECT_LT(own.collective(call(all_reduce, 1e4, 8)), library.collective(call(all_reduce, 1e4, 8)));
  // Sixteen ranks with four per host are packed into two hosts of eight.
  const workload::CollectiveCall packed{all_reduce, Bytes(1e6), {.ranks = 16, .per_domain = 4}};
  EXPECT_EQ(serving_source(library).collective(packed),
            library.collective(call(all_reduce, 1e6, 16)));
  EXPECT_NE(library.collective(packed), library.collective(call(all_reduce, 1e6, 16)));
}

}  // namespace
}  // namespace orrery::machine
