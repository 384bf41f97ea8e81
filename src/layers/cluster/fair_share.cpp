#include "layers/cluster/fair_share.h"

#include <algorithm>
#include <limits>
#include <map>

#include "core/base/math.h"

namespace orrery::cluster {
namespace {

// Returns the level by which siblings are ranked: shares divided by use.
double level(double shares, double use) {
  return use > 0 ? shares / use : std::numeric_limits<double>::infinity();
}

struct Standing {
  double account = 0;
  double user = 0;

  auto operator<=>(const Standing&) const = default;
};

}  // namespace

double decayed_use(double use, Seconds elapsed, Seconds half_life) {
  return use * math::exp2(-(elapsed / half_life));
}

double classic_fair_share(double use_share, double owned_share, double dampening) {
  if (owned_share <= 0) return 0;
  return math::exp2(-(use_share / owned_share) / dampening);
}

std::vector<double> classic_factors(std::span<const FairUser> users) {
  struct Account {
    double use = 0;
    double shares = 0;        // the account's share of the cluster
    double users_shares = 0;  // sum over its users
  };
  std::map<std::string, Account> accounts;
  double all_use = 0;
  for (const FairUser& u : users) {
    Account& a = accounts[u.account];
    a.use += u.use;
    a.shares = u.account_shares;
    a.users_shares += u.shares;
    all_use += u.use;
  }
  double all_shares = 0;
  for (const auto& [name, a] : accounts) all_shares += a.shares;
  std::vector<double> factors;
  for (const FairUser& u : users) {
    const Account& a = accounts[u.account];
    const double within = a.users_shares > 0 ? u.shares / a.users_shares : 0;
    const double effective = u.use + (a.use - u.use) * within;
    factors.push_back(classic_fair_share(all_use > 0 ? effective / all_use : 0,
                                         all_shares > 0 ? within * a.shares / all_shares : 0));
  }
  return factors;
}

std::vector<double> fair_tree(std::span<const FairUser> users) {
  std::map<std::string, double> account_use;
  for (const FairUser& u : users) account_use[u.account] += u.use;
  std::vector<Standing> standings;
  for (const FairUser& u : users) {
    standings.push_back({.account = level(u.account_shares, account_use[u.account]),
                         .user = level(u.shares, u.use)});
  }
  std::vector<double> factors;
  for (const Standing& own : standings) {
    const auto behind = std::count_if(standings.begin(), standings.end(),
                                      [&](const Standing& other) { return other <= own; });
    factors.push_back(static_cast<double>(behind) / static_cast<double>(standings.size()));
  }
  return factors;
}

}  // namespace orrery::cluster
