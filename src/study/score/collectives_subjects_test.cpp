// Which parameters of collectives rows move: those of their link, their network and their timer.
// All others stand at their own prior or at that of all, and what is not fitted stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "study/score/collectives_fit.h"
#include "study/score/rows_fixture.h"

namespace orrery::score {
namespace {

RowFields subject_row(const RowFields& more) {
  return with_fields({{"id", "a"},
                      {"system", "AWS p5"},
                      {"gpu", "h100-sxm"},
                      {"gpus_per_node", "8"},
                      {"nodes", "1"},
                      {"ranks", "8"},
                      {"fabric", "NVLink"},
                      {"collective", "all_reduce"},
                      {"bytes", "8"},
                      {"quality", "A"},
                      {"time_us_oop", "60"}},
                     more);
}

// Values of the file by "group name parameter".
std::map<std::string, std::string> subject_values(const CsvTable& file) {
  std::map<std::string, std::string> all;
  for (const CsvRow& row : file.rows()) {
    all[std::string(file.text(row, "group")) + " " + std::string(file.text(row, "name")) + " " +
        std::string(file.text(row, "parameter"))] = file.text(row, "value");
  }
  return all;
}

std::map<std::string, std::string> fitted_subjects(const RowFields& more) {
  const auto text = fitted_collectives(table_of({subject_row(more)}), known_inputs());
  EXPECT_TRUE(text) << to_text(text.error());
  return subject_values(CsvTable::parse(text.value_or(""), "c.csv").value());
}

double as_number(const std::map<std::string, std::string>& values, const char* name) {
  return std::stod(values.at(name));
}

TEST(CollectivesSubjects, what_no_row_is_of_stands_at_its_prior_or_stays) {
  const auto values = fitted_subjects({});
  EXPECT_GT(as_number(values, "scaleup NVLink4 launch"), 16.2) << "60 us are slow";
  EXPECT_EQ(values.at("scaleup NVLink5 launch"), "16");
  EXPECT_EQ(values.at("scaleup NVLink3 fill"), "150");
  EXPECT_EQ(values.at("scaleup Infinity Fabric 4 pair_share"), "0.7");
  EXPECT_EQ(values.at("network roce latency"), "15") << "that of all networks";
  EXPECT_EQ(values.at("network infiniband fill"), "150");
  EXPECT_EQ(values.at("network efa latency"), "40") << "its own";
  EXPECT_EQ(values.at("network tcpx fill"), "400");
  EXPECT_EQ(values.at("network efa1 share"), "0.94");
  EXPECT_EQ(values.at("harness torch launch"), "18");
  // Assumed, without a prior, or of nothing: as shipped.
  EXPECT_EQ(values.at("scaleup NVLink2 launch"), "18");
  EXPECT_EQ(values.at("scaleup NVLink4 pair_share"), "0.75");
  EXPECT_EQ(values.at("scaleup NVLink3 nvls_share"), "0");
  EXPECT_EQ(values.at("scaleup NVLink5 nvls_ranks"), "6");
  EXPECT_EQ(values.at("library nccl tree"), "1");
  EXPECT_EQ(values.at("network ethernet latency"), "60");
}

TEST(CollectivesSubjects, a_timer_is_moved_by_the_rows_it_timed) {
  const auto timed = fitted_subjects({{"quality", "A handbook"}, {"time_us_oop", "90"}});
  EXPECT_GT(as_number(timed, "harness torch launch"), 18.5);
  const auto plain = fitted_subjects({{"time_us_oop", "90"}});
  EXPECT_EQ(plain.at("harness torch launch"), "18");
}

TEST(CollectivesSubjects, a_row_between_hosts_moves_its_network_and_its_link) {
  const RowFields between = {
      {"nodes", "2"}, {"ranks", "16"}, {"nic_per_node", "8x400G"}, {"time_us_oop", "300"}};
  const auto infiniband = fitted_subjects(with_fields(between, {{"fabric", "InfiniBand NDR"}}));
  EXPECT_GT(as_number(infiniband, "network infiniband latency"), 16);
  EXPECT_EQ(infiniband.at("network roce latency"), "15");
  EXPECT_EQ(infiniband.at("network efa latency"), "40");
  EXPECT_NE(infiniband.at("scaleup NVLink4 launch"), "16");
  EXPECT_EQ(infiniband.at("scaleup NVLink5 launch"), "16");
  const auto roce = fitted_subjects(with_fields(between, {{"fabric", "RoCE v2"}}));
  EXPECT_GT(as_number(roce, "network roce latency"), 16);
  EXPECT_EQ(roce.at("network infiniband latency"), "15");
}

// The network of a system that is left out was measured on the other, or is an assumption.
TEST(CollectivesSubjects, a_network_is_fitted_where_another_system_has_it) {
  const RowFields between = {{"nodes", "2"},
                             {"ranks", "16"},
                             {"nic_per_node", "8x400G"},
                             {"fabric", "InfiniBand NDR"},
                             {"time_us_oop", "80"}};
  const RowFields other = with_fields(between, {{"id", "b"}, {"system", "DGX H100"}});
  const auto basis = [&](const RowFields& second) {
    const auto score = score_collectives_held_out(
        table_of({subject_row(between), subject_row(second)}), known_inputs());
    EXPECT_TRUE(score);
    return score->series[0].rows[0].predicted.basis;
  };
  EXPECT_EQ(basis(other), Basis::fitted);
  EXPECT_EQ(basis(with_fields(other, {{"fabric", "RoCE"}})), Basis::assumed);
  EXPECT_EQ(basis(with_fields(other, {{"quality", "C"}})), Basis::assumed) << "it does not count";
  EXPECT_EQ(basis(with_fields(other, {{"gpu", "a100-80-sxm"}})), Basis::assumed) << "another link";
}

}  // namespace
}  // namespace orrery::score
