#include "live/agent/straggler_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::agent {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

TEST(StragglerInput, csv_rows_in_any_order) {
  const auto times =
      read_step_times("rank,step,seconds,host\n1,10,0.2,h1\n0,10,0.1,h0\n0,11,0.3,h0\n", "s.csv");
  ASSERT_TRUE(times);
  ASSERT_THAT(times->ranks, SizeIs(2));
  EXPECT_EQ(times->ranks[1].host, "h1");
  EXPECT_THAT(times->steps, ElementsAre(ElementsAre(0.1, 0.2), ElementsAre(0.3, 0.0)));
}

TEST(StragglerInput, faults_of_a_csv_are_all_named) {
  const auto columns = read_step_times("step,seconds\n1,2\n", "s.csv");
  ASSERT_FALSE(columns);
  EXPECT_EQ(columns.error().front().code, "stragglers.input");
  const auto rows = read_step_times("step,rank,seconds\n1,0,-1\n1,x,2\n1,1,nan\n", "s.csv");
  ASSERT_FALSE(rows);
  EXPECT_THAT(rows.error(), SizeIs(3));
  EXPECT_EQ(rows.error()[1].place.line, 3);
  EXPECT_FALSE(read_step_times("step,rank,seconds\n1,0,1\n", "s.csv"));  // one rank
}

TEST(StragglerInput, a_prometheus_range_answer) {
  const auto times = read_step_times(
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

// Whole in all but the one thing.
TEST(StragglerInput, an_answer_that_is_no_success_or_no_matrix_is_refused_for_that) {
  const auto answer = [](const std::string& status, const std::string& type,
                         const std::string& more = "") {
    const auto times = read_step_times(R"({"status":")" + status + R"(","data":{"resultType":")" +
                                           type + R"(","result":[
          {"metric":{"rank":"0"},"values":[[100,"0.5"]]},
          {"metric":{"rank":"1"},"values":[[100,"0.7"]]}]})" +
                                           more + "}",
                                       "answer.json");
    return times ? std::string("read") : times.error().front().why;
  };
  EXPECT_EQ(answer("success", "matrix"), "read");
  EXPECT_EQ(answer("error", "matrix", R"(,"error":"too many samples")"),
            "its status is not success: too many samples");
  EXPECT_EQ(answer("success", "vector"), "its result is no matrix");
  const std::string deep = std::string(20, '[') + std::string(20, ']');
  EXPECT_EQ(answer("success", "matrix", ",\"warnings\":" + deep), "it nests too deep");
  EXPECT_EQ(answer("success", "matrix", ",\"warnings\":[[[[\"[[[[[[[[[[[[[[[[[[[[\"]]]]"), "read")
      << "brackets in a text are text";
}

TEST(StragglerInput, what_is_no_range_answer_is_refused) {
  for (const std::string& bad :
       {std::string("{"), std::string("{}"), std::string(R"({"status":"error","error":"bad"})"),
        std::string(R"({"status":"success","data":{"resultType":"vector","result":[]}})"),
        std::string(R"({"status":"success","data":{"resultType":"matrix","result":[
            {"metric":{"gpu":"0"},"values":[[1,"2"]]}]}})"),
        std::string(R"({"status":"success","data":{"resultType":"matrix","result":[
            {"metric":{"rank":"0"},"values":[["x",2]]}]}})"),
        "{\"a\":" + std::string(100'000, '[')}) {
    EXPECT_FALSE(read_step_times(bad, "x.json")) << bad.substr(0, 100);
  }
}

}  // namespace
}  // namespace orrery::agent
