#include "layers/cluster/fair_share.h"

#include <gtest/gtest.h>

namespace orrery::cluster {
namespace {

// Slurm's documentation: use equal to the share gives 0.5, no use gives 1, twice the share 0.25.
TEST(Priority, classic_fair_share) {
  EXPECT_EQ(classic_fair_share(0, 0.2), 1);
  EXPECT_DOUBLE_EQ(classic_fair_share(0.2, 0.2), 0.5);
  EXPECT_DOUBLE_EQ(classic_fair_share(0.4, 0.2), 0.25);
  EXPECT_DOUBLE_EQ(classic_fair_share(0.4, 0.2, 2), 0.5);
  EXPECT_EQ(classic_fair_share(0.1, 0), 0);
}

// Account a owns two fifths and has used three, all by one of its two users; b has the rest.
//   a heavy  U = 0.6 + (0.6 - 0.6) / 2 = 0.6, S = 0.4 / 2: 2^-3
//   a light  U = 0 + (0.6 - 0) / 2 = 0.3, S = 0.2: 2^-1.5
//   b        U = 0.4, S = 0.6: 2^(-2/3)
TEST(Priority, classic_factors_charge_users_for_their_account) {
  const std::vector<FairUser> users = {
      {"a", "heavy", 1, 40, 600}, {"a", "light", 1, 40, 0}, {"b", "only", 3, 60, 400}};
  const std::vector<double> f = classic_factors(users);
  ASSERT_EQ(f.size(), 3U);
  EXPECT_DOUBLE_EQ(f[0], 0.125);
  EXPECT_NEAR(f[1], 0.353553390593274, 1e-12);
  EXPECT_NEAR(f[2], 0.629960524947437, 1e-12);
  const std::vector<FairUser> fresh = {{"a", "x", 1, 1, 0}, {"b", "y", 1, 1, 0}};
  EXPECT_EQ(classic_factors(fresh), (std::vector<double>{1, 1}));
}

// Account b has used less, so the fair tree puts both of its users first; the classic factor lets
// a's idle user (0.55 / 0.5) overtake b's heavy one (0.45 / 0.25).
TEST(Priority, classic_lets_a_user_pass_a_better_account) {
  const std::vector<FairUser> users = {{"a", "heavy", 1, 1, 55},
                                       {"a", "idle", 1, 1, 0},
                                       {"b", "heavy", 1, 1, 45},
                                       {"b", "idle", 1, 1, 0}};
  const std::vector<double> tree = fair_tree(users);
  const std::vector<double> classic = classic_factors(users);
  EXPECT_LT(tree[1], tree[2]);
  EXPECT_GT(classic[1], classic[2]);
  EXPECT_GT(classic[3], classic[1]);
  EXPECT_GT(classic[2], classic[0]);
}

TEST(Priority, use_halves_in_a_half_life) {
  EXPECT_DOUBLE_EQ(decayed_use(800, days(14), days(7)), 200);
}

TEST(Priority, better_account_always_comes_first) {
  // Account a has used a tenth of b's use; its heaviest user still comes before b's lightest.
  const std::vector<FairUser> users = {{"a", "heavy", 1, 1, 9},
                                       {"a", "light", 1, 1, 1},
                                       {"b", "heavy", 1, 1, 99},
                                       {"b", "light", 1, 1, 1}};
  const std::vector<double> f = fair_tree(users);
  EXPECT_EQ(f, (std::vector<double>{0.75, 1, 0.25, 0.5}));
}

TEST(Priority, equals_share_a_rank) {
  const std::vector<FairUser> users = {{"a", "x", 1, 1, 0}, {"b", "y", 1, 1, 0}};
  EXPECT_EQ(fair_tree(users), (std::vector<double>{1, 1}));
}

TEST(Priority, user_without_shares_has_no_factor) {
  EXPECT_EQ(classic_fair_share(0, 0), 0);
  EXPECT_EQ(classic_fair_share(0.3, 0), 0);
  EXPECT_EQ(classic_fair_share(0, 0.2), 1);
  EXPECT_DOUBLE_EQ(classic_fair_share(0.6, 0.2, 1.5), 0.25);
}

// Two accounts with equal shares. The first account's user has no share in it.
TEST(Priority, user_without_account_shares_owns_nothing) {
  const std::vector<FairUser> users{{.account = "a", .shares = 0, .account_shares = 1, .use = 10},
                                    {.account = "b", .shares = 1, .account_shares = 1, .use = 10}};
  const std::vector<double> factors = classic_factors(users);
  ASSERT_EQ(factors.size(), 2U);
  EXPECT_EQ(factors[0], 0);
  EXPECT_DOUBLE_EQ(factors[1], 0.5) << "half is used, half is owned: 2^-1";
}

// If no account has shares, no user owns anything, used or not.
TEST(Priority, accounts_without_shares_own_nothing) {
  const std::vector<FairUser> users{{.account = "a", .shares = 1, .account_shares = 0, .use = 3},
                                    {.account = "b", .shares = 1, .account_shares = 0}};
  EXPECT_EQ(classic_factors(users), (std::vector<double>{0, 0}));
  std::vector<FairUser> quarters = users;
  for (FairUser& u : quarters) u.account_shares = 0.25;
  quarters[1].use = 1;  // a quarter of all use, by a user who owns half: 2^-0.5
  const std::vector<double> factors = classic_factors(quarters);
  EXPECT_NEAR(factors[0], std::exp2(-1.5), 1e-12);
  EXPECT_NEAR(factors[1], std::exp2(-0.5), 1e-12);
}

}  // namespace
}  // namespace orrery::cluster
