// Who is next in the queue: the two fair-share factors of Slurm's multifactor priority.
//
//   classic     f = 2^(-(U/S)/d)      U decayed share of use, S share owned, d dampening (1);
//               a user's U is own + (account's - own) * share of the user within the account,
//               so a user who has used nothing is still charged for the account's use
//   decay       U(t) = U 2^(-t/half-life)
//   fair tree   ranks accounts by S/U among siblings, then users within them; f = rank/n, so a
//               user of a better account always comes before one of a worse account
// Source: Slurm's priority/multifactor documentation. Without the accounting daemon slurmdbd, Slurm
// leaves the age and fair-share factors at zero, so a design that relies on them needs slurmdbd.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/quantity.h"

namespace orrery::cluster {

double decayed_use(double use, Seconds elapsed, Seconds half_life);
double classic_fair_share(double use_share, double owned_share, double dampening = 1);

struct FairUser {
  std::string account;
  std::string user;
  double shares = 1;          // the user's, within the account
  double account_shares = 1;  // the account's, within the cluster
  double use = 0;             // the user's, decayed
};
// Returns one factor per user, in the order given.
std::vector<double> classic_factors(std::span<const FairUser> users);
// Returns one factor per user, in the order given. Users without use rank before all others; ties
// share the better rank.
std::vector<double> fair_tree(std::span<const FairUser> users);

}  // namespace orrery::cluster
