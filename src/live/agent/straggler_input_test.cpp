#include "live/agent/straggler_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::agent::straggler_input_tests {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

TEST(StragglerInput, csv_rows_may_be_in_any_order) {
  const auto times =
      read_step_times("rank,step,seconds,host\n1,10,0.2,h1\n0,10,0.1,h0\n0,11,0.3,h0\n", "s.csv");
  ASSERT_TRUE(times);
  ASSERT_THAT(times->ranks, SizeIs(2));
  EXPECT_EQ(times->ranks[1].host, "h1");
  EXPECT_THAT(times->steps, ElementsAre(ElementsAre(0.1, 0.2), ElementsAre(0.3, 0.0)));
}

TEST(StragglerInput, csv_faults_have_their_lines) {
  const auto columns = read_step_times("time\n1\n", "s.csv");
  ASSERT_FALSE(columns);
  EXPECT_THAT(columns.error(), SizeIs(3)) << "step, rank and seconds are missing";
  EXPECT_EQ(columns.error()[2].code, "stragglers.input");
  EXPECT_EQ(columns.error()[2].place.file, "s.csv");
  EXPECT_EQ(columns.error()[2].place.line, 1);
  const auto rows = read_step_times("step,rank,seconds\n1,0,-1\n1,x,2\n1,1,nan\n", "s.csv");
  ASSERT_FALSE(rows);
  EXPECT_THAT(rows.error(), SizeIs(3));
  EXPECT_EQ(rows.error()[1].place.line, 3);
  std::string thirty = "step,rank,seconds\n";
  for (int i = 0; i < 30; ++i) thirty += "1,2,0\n";
  EXPECT_THAT(step_times_from_csv(thirty, "s.csv").error(), SizeIs(20)) << "twenty are shown";
}

TEST(StragglerInput, ranks_and_times_have_limits) {
  const std::string head = "step,rank,seconds\n";
  EXPECT_TRUE(read_step_times(head + "1,0,1\n1,1,1\n", "s.csv"));
  for (const char* bad :
       {"1,0,1\n", "1,-1,1\n1,0,1\n", "1,1000000000,1\n1,0,1\n", "1,0,0\n1,1,1\n"}) {
    EXPECT_FALSE(read_step_times(head + bad, "s.csv")) << bad;
  }
  std::string many = head;
  for (int i = 0; i <= 100'000; ++i) many += "1," + std::to_string(i) + ",1\n";
  const auto refused = read_step_times(many, "s.csv");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().front().code, "stragglers.input");
}

TEST(StragglerInput, prometheus_answer_is_read) {
  const auto times = read_step_times(
      "\n  "
      R"({"status":"success","data":{"resultType":"matrix","result":[
          {"metric":{"rank":"0","instance":"h0:9400"},"values":[[100,"0.5"],[115.5,"0.6"]]},
          {"metric":{"rank":"1","host":"h1","leaf":"l2"},"values":[[100,"0.7"],[115.5,"NaN"]]}]}})",
      "answer.json");
  ASSERT_TRUE(times) << to_text(times.error());
  EXPECT_EQ(times->ranks[0].host, "h0");
  EXPECT_EQ(times->ranks[1].host, "h1");
  EXPECT_EQ(times->ranks[1].leaf, "l2");
  EXPECT_THAT(times->steps, ElementsAre(ElementsAre(0.5, 0.7), ElementsAre(0.6, 0.0)));
}

TEST(StragglerInput, answer_must_be_a_success_with_a_matrix_and_not_nest_too_deep) {
  const auto reads = [](const std::string& status, const std::string& type,
                        const std::string& more = "") {
    return read_step_times(R"({"status":")" + status + R"(","data":{"resultType":")" + type +
                               R"(","result":[
          {"metric":{"rank":"0"},"values":[[100,"0.5"]]},
          {"metric":{"rank":"1"},"values":[[100,"0.7"]]}]})" +
                               more + "}",
                           "answer.json");
  };
  EXPECT_TRUE(reads("success", "matrix"));
  EXPECT_THAT(reads("error", "matrix", R"(,"error":"too many samples")").error().front().why,
              testing::HasSubstr("too many samples"));
  EXPECT_FALSE(reads("success", "vector"));
  const std::string deep = std::string(20, '[') + std::string(20, ']');
  EXPECT_FALSE(reads("success", "matrix", ",\"warnings\":" + deep));
  EXPECT_TRUE(reads("success", "matrix", ",\"warnings\":[[[[\"[[[[[[[[[[[[[[[[[[[[\"]]]]"))
      << "brackets in a string do not nest";
}

TEST(StragglerInput, other_documents_are_refused) {
  for (const std::string& bad :
       {std::string("{"), std::string("{}"), std::string(R"({"status":"error","error":"bad"})"),
        std::string(R"({"status":"success","data":{"resultType":"vector","result":[]}})"),
        std::string(R"({"status":"success","data":{"resultType":"matrix","result":[
            {"metric":{"gpu":"0"},"values":[[1,"2"]]}]}})"),
        std::string(R"({"status":"success","data":{"resultType":"matrix","result":[
            {"metric":{"rank":"0"},"values":[["x",2]]}]}})"),
        std::string(R"({"status":"success","data":{"resultType":"matrix","result":[
            {"metric":{"rank":"-4"},"values":[[1,"2"]]},{"metric":{"rank":"1"},"values":[[1,"2"]]},
            {"metric":{"rank":"2"},"values":[[1,"2"]]}]}})"),
        "{\"a\":" + std::string(100'000, '[')}) {
    EXPECT_FALSE(read_step_times(bad, "x.json")) << bad.substr(0, 100);
  }
}

}  // namespace
}  // namespace orrery::agent::straggler_input_tests
