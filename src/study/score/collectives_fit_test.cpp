#include "study/score/collectives_fit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <map>

#include "core/catalog/embedded.h"
#include "core/catalog/embedded_table.h"
#include "model/machine/known_fixture.h"
#include "study/score/refit_fixture.h"
#include "study/score/rows_fixture.h"

namespace orrery::score {
namespace {

constexpr double kPriorUs = 20;
constexpr double kWidthOfPrior = 0.5;

// The shipped models, where only the launch on NVLink4 is fitted, from 20 us and a wide prior.
machine::Models models_of_one_launch() {
  // The texts must outlive the knowledge that refers to them.
  static std::deque<std::string> texts;
  static std::deque<std::vector<catalog::EmbeddedFile>> all;
  auto& files =
      all.emplace_back(catalog::embedded_files().begin(), catalog::embedded_files().end());
  for (catalog::EmbeddedFile& file : files) {
    const bool values = file.path == "calibration/collectives.csv";
    if (!values && file.path != "calibration/collective_priors.csv") continue;
    std::string text;
    for (std::string line : split_lines(file.text)) {
      const std::size_t at = line.find(",fitted,");
      const bool kept =
          line.starts_with("scaleup,NVLink4,launch,") || line.starts_with("interval,");
      if (values && at != std::string::npos && !kept) line.replace(at, 8, ",known,");
      if (line.starts_with("scaleup,,launch,")) line = "scaleup,,launch,20,0.5,wide";
      text += line + "\n";
    }
    texts.push_back(std::move(text));
    file.text = texts.back();
  }
  return machine::load_models(files).value();
}

const machine::Models& one_launch() {
  static const machine::Models* const kModels = new machine::Models(models_of_one_launch());
  return *kModels;
}

RowFields launch_row(const std::string& id, const std::string& system, const std::string& us,
                     const RowFields& more = {}) {
  return with_fields({{"id", id},
                      {"system", system},
                      {"gpu", "h100-sxm"},
                      {"gpus_per_node", "8"},
                      {"nodes", "1"},
                      {"ranks", "8"},
                      {"fabric", "NVLink"},
                      {"collective", "all_reduce"},
                      {"bytes", "8"},
                      {"quality", "A"},
                      {"time_us_oop", us}},
                     more);
}

struct TimedRow {
  double us;
  double weight;
};

double predicted_us(double launch_us) {
  static const CollectiveRow* const kRow = [] {
    const CsvTable table = table_of({launch_row("x", "s", "1")});
    return new CollectiveRow(
        read_collective_row(table, table.rows()[0], one_launch().catalog()).value());
  }();
  fabric::CollectiveParameters p = one_launch().collectives;
  EXPECT_TRUE(set_collective_parameter(p, {"scaleup", "NVLink4", "launch"}, launch_us));
  return machine::Links(kRow->wiring, p).time(kRow->call, kRow->algorithm).time.base() * 1e6;
}

// sum of w |ln(predicted / measured)|, beyond 0.4 at 0.3 of the slope, and a tenth of the squared
// widths from the prior.
double loss_at(double launch_us, const std::vector<TimedRow>& rows) {
  const double us = predicted_us(launch_us);
  const double widths = std::log(launch_us / kPriorUs) / kWidthOfPrior;
  double sum = 0.1 * widths * widths;
  for (const TimedRow& r : rows) {
    const double x = std::abs(std::log(us / r.us));
    sum += r.weight * (x <= 0.4 ? x : 0.4 + 0.3 * (x - 0.4));
  }
  return sum;
}

double least_by_search(const std::vector<TimedRow>& rows) {
  double best = kPriorUs, least = loss_at(kPriorUs, rows);
  for (double x = -1.5; x <= 1.5; x += 0.002) {
    const double launch = kPriorUs * std::exp(x), now = loss_at(launch, rows);
    if (now < least) least = now, best = launch;
  }
  return best;
}

CsvTable fitted_table(const std::vector<RowFields>& rows) {
  const auto text = fitted_collectives(table_of(rows), {one_launch(), nullptr});
  EXPECT_TRUE(text) << to_text(text.error());
  return CsvTable::parse(text.value_or(""), "c.csv").value();
}

double value_in(const CsvTable& file, std::string_view name, std::string_view parameter) {
  for (const CsvRow& row : file.rows()) {
    if (file.text(row, "name") == name && file.text(row, "parameter") == parameter) {
      return file.number(row, "value").value_or(-1);
    }
  }
  return -2;
}

// Steps end at 0.00625 of ln(value).
TEST(CollectivesFit, one_row_moves_a_fit_against_its_prior) {
  for (const double us : {22.0, 30.0, 400.0, 9.0}) {
    const CsvTable file = fitted_table({launch_row("a", "AWS p5", std::to_string(us))});
    const double least = least_by_search({{us, 1}});
    EXPECT_NEAR(std::log(value_in(file, "NVLink4", "launch") / least), 0, 0.0075) << us;
    // Halves of 0.2 down to the last above 0.004.
    const double steps = std::log(value_in(file, "NVLink4", "launch") / kPriorUs) / 0.00625;
    EXPECT_NEAR(steps, std::round(steps), 0.05) << us;
  }
}

// Three rows of one system weigh 1 / sqrt(3) each; all are missed by far.
TEST(CollectivesFit, rows_of_a_system_share_its_weight) {
  const double root = 1 / std::sqrt(3.0);
  const CsvTable file = fitted_table(
      {launch_row("a", "AWS p5 one", "400"), launch_row("b", "AWS p5 two", "420"),
       launch_row("c", "AWS p5 three", "450"), launch_row("d", "DGX H100", "380"),
       launch_row("e", "DGX H100", "7", {{"quality", "C"}}), launch_row("f", "DGX H100", "")});
  const double least = least_by_search({{400, root}, {420, root}, {450, root}, {380, 1}});
  EXPECT_NEAR(std::log(value_in(file, "NVLink4", "launch") / least), 0, 0.0075);
}

TEST(CollectivesFit, other_parameters_do_not_move) {
  const CsvTable file = fitted_table({launch_row("a", "AWS p5", "30")});
  const CsvTable old = one_launch().knowledge->table("calibration/collectives.csv").value();
  ASSERT_EQ(file.columns(), old.columns());
  ASSERT_EQ(file.rows().size(), old.rows().size());
  for (std::size_t i = 0; i < old.rows().size(); ++i) {
    const CsvRow& was = old.rows()[i];
    const bool moved = old.text(was, "name") == "NVLink4" && old.text(was, "parameter") == "launch";
    for (const std::string& column : old.columns()) {
      if (moved && column == "value") continue;
      EXPECT_EQ(file.text(file.rows()[i], column), old.text(was, column)) << was.line;
    }
  }
}

// A link without rows keeps its prior, so a left-out system is predicted by an assumption.
TEST(CollectivesFit, a_held_out_system_does_not_count) {
  const CsvTable table =
      table_of({launch_row("a", "AWS p5", "44"), launch_row("b", "DGX H100", "33")});
  std::vector<std::pair<int, int>> calls;
  const auto score = score_collectives_held_out(
      table, {one_launch(), nullptr}, [&](int done, int all) { calls.emplace_back(done, all); });
  ASSERT_TRUE(score);
  EXPECT_EQ(calls, (std::vector<std::pair<int, int>>{{0, 2}, {1, 2}}));
  const auto& rows = score->series[0].rows;
  ASSERT_EQ(rows.size(), 2U);
  const double without_a = predicted_us(least_by_search({{33, 1}}));
  const double without_b = predicted_us(least_by_search({{44, 1}}));
  EXPECT_NEAR(rows[0].predicted.value, without_a, 0.01 * without_a);
  EXPECT_NEAR(rows[1].predicted.value, without_b, 0.01 * without_b);
  EXPECT_EQ(rows[0].predicted.basis, Basis::fitted);
  const auto alone = score_collectives_held_out(table_of({launch_row("a", "AWS p5", "44")}),
                                                {one_launch(), nullptr});
  ASSERT_TRUE(alone);
  EXPECT_NEAR(alone->series[0].rows[0].predicted.value, predicted_us(kPriorUs), 1e-9);
  EXPECT_EQ(alone->series[0].rows[0].predicted.basis, Basis::assumed);
}

// The quantiles of 0.11 and 0.89 are a third of the way into the outer steps, and
// no interval is narrower than 0.03.
TEST(CollectivesFit, intervals_are_quantiles_of_held_out_errors) {
  const std::vector<RowFields> rows = {
      launch_row("a", "AWS p5", "26"), launch_row("b", "DGX H100", "31"),
      launch_row("c", "Azure ND", "36"), launch_row("d", "GCP a3", "44")};
  const auto left_out = score_collectives_held_out(table_of(rows), {one_launch(), nullptr});
  ASSERT_TRUE(left_out);
  std::vector<double> ratios;
  for (const ScoredRow& r : left_out->series[0].rows) {
    ratios.push_back(std::log(*r.measured / r.predicted.value));
  }
  std::ranges::sort(ratios);
  ASSERT_LT(ratios[0], -0.1);
  ASSERT_GT(ratios[3], 0.1);
  const CsvTable file = fitted_table(rows);
  const double low = -(ratios[0] + 0.33 * (ratios[1] - ratios[0]));
  const double high = ratios[2] + 0.67 * (ratios[3] - ratios[2]);
  EXPECT_NEAR(value_in(file, "single below 256 KiB", "low"), low, 0.00051);
  EXPECT_NEAR(value_in(file, "single below 256 KiB", "high"), high, 0.00051);
  const CsvTable old = one_launch().knowledge->table("calibration/collectives.csv").value();
  EXPECT_EQ(value_in(file, "multi below 256 KiB", "low"),
            value_in(old, "multi below 256 KiB", "low"));
  const CsvTable alike =
      fitted_table({launch_row("a", "AWS p5", "30"), launch_row("b", "DGX H100", "30")});
  const double both = std::log(30 / predicted_us(least_by_search({{30, 1}})));
  EXPECT_NEAR(value_in(alike, "single below 256 KiB", "low"), std::max(0.03, -both), 0.006);
  EXPECT_NEAR(value_in(alike, "single below 256 KiB", "high"), std::max(0.03, both), 0.006);
}

ScoreSummary of_size(const Score& score, std::string_view group) {
  for (const GroupSummary& g : groups_of_series(score.series[0])) {
    if (g.name == group) return g.summary;
  }
  return {};
}

TEST(CollectivesFit, systems_are_named_by_two_words) {
  EXPECT_EQ(system_of("AWS p6-b200 1 node"), system_of("AWS p6-b200 partial"));
  EXPECT_NE(system_of("AWS p5.48xlarge"), system_of("AWS p6-b200 partial"));
  EXPECT_EQ(system_of("one"), "one");
}

// The gate: rows of systems that the fit has not seen.
TEST(CollectivesFit, rows_are_held_out_by_system) {
  const auto table = catalog::embedded_table("validation/collectives.csv");
  ASSERT_TRUE(table.has_value());
  const auto score = score_collectives_held_out(*table, {machine::known(), nullptr});
  ASSERT_TRUE(score.has_value());
  const ScoreSummary large = of_size(*score, "size=from 64 MiB");
  const ScoreSummary small = of_size(*score, "size=below 64 MiB");
  EXPECT_LE(large.median_ape, 0.06);
  EXPECT_LE(small.median_ape, 0.16);
  for (const ScoreSummary& s : {large, small}) {
    EXPECT_GE(s.coverage, 0.72);
    EXPECT_LE(s.coverage, 0.88);
  }
}

// The fit writes a file that can be read; parameters without rows keep their priors.
TEST(CollectivesFit, the_fit_is_written_as_csv) {
  std::string some;
  const std::string all = catalog::embedded_text("validation/collectives.csv").value();
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\n', at), all.size() - 1) + 1;
    const std::string line = all.substr(at, end - at);
    const bool wanted = line.find("a3-megagpu") != line.npos || line.find("DGX Cloud") != line.npos;
    if (at == 0 || wanted) some += line;
    at = end;
  }
  const auto table = CsvTable::parse(some, "some.csv");
  ASSERT_TRUE(table.has_value());
  const auto text = fitted_collectives(*table, {machine::known(), nullptr});
  ASSERT_TRUE(text.has_value());
  const auto written = CsvTable::parse(*text, "collectives.csv");
  ASSERT_TRUE(written.has_value());
  const auto read = fabric::read_collective_parameters(*written);
  ASSERT_TRUE(read.has_value());
  EXPECT_NEAR(read->network(catalog::NetworkKind::tcpxo).curve.latency.base(), 60e-6, 15e-6);
  EXPECT_NEAR(read->scaleup("NVLink3").curve.launch.base(), 16e-6, 1e-9);
  EXPECT_EQ(read->scaleup("NVLink3").curve.nvls_share, 0);
}

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

TEST(CollectivesFit, parameters_without_rows_stay_at_their_prior) {
  const auto values = fitted_subjects({});
  EXPECT_GT(as_number(values, "scaleup NVLink4 launch"), 16.2);
  EXPECT_EQ(values.at("scaleup NVLink5 launch"), "16");
  EXPECT_EQ(values.at("scaleup NVLink3 fill"), "150");
  EXPECT_EQ(values.at("scaleup Infinity Fabric 4 pair_share"), "0.7");
  EXPECT_EQ(values.at("network roce latency"), "15");
  EXPECT_EQ(values.at("network infiniband fill"), "150");
  EXPECT_EQ(values.at("network efa latency"), "40") << "its own";
  EXPECT_EQ(values.at("network tcpx fill"), "400");
  EXPECT_EQ(values.at("network efa1 share"), "0.94");
  EXPECT_EQ(values.at("harness torch launch"), "18");
  // Assumed, without a prior, or without a subject: as shipped.
  EXPECT_EQ(values.at("scaleup NVLink2 launch"), "18");
  EXPECT_EQ(values.at("scaleup NVLink4 pair_share"), "0.75");
  EXPECT_EQ(values.at("scaleup NVLink3 nvls_share"), "0");
  EXPECT_EQ(values.at("scaleup NVLink5 nvls_ranks"), "6");
  EXPECT_EQ(values.at("library nccl tree"), "1");
  EXPECT_EQ(values.at("network ethernet latency"), "60");
}

TEST(CollectivesFit, a_timer_is_fitted_to_its_rows) {
  const auto timed = fitted_subjects({{"quality", "A handbook"}, {"time_us_oop", "90"}});
  EXPECT_GT(as_number(timed, "harness torch launch"), 18.5);
  const auto plain = fitted_subjects({{"time_us_oop", "90"}});
  EXPECT_EQ(plain.at("harness torch launch"), "18");
}

TEST(CollectivesFit, rows_across_hosts_fit_network_and_link) {
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
TEST(CollectivesFit, a_network_needs_a_second_system) {
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
  EXPECT_EQ(basis(with_fields(other, {{"quality", "C"}})), Basis::assumed);
  EXPECT_EQ(basis(with_fields(other, {{"gpu", "a100-80-sxm"}})), Basis::assumed) << "another link";
}

}  // namespace
}  // namespace orrery::score
