// Who is next in the queue: the two fair-share factors of Slurm's multifactor priority.
//
//   classic     f = 2^(-(U/S)/d)      U share of decayed use, S share owned, d dampening (1);
//               of a user U is own + (account's - own) * shares of the user within the account, so
//               that who has used nothing still answers for the account
//   decay       U(t) = U 2^(-t/half-life)
//   fair tree   accounts ranked by S/U among siblings, then users within them; f = rank/n, so a
//               user of a better account always comes before one of a worse
// Source: Slurm's priority/multifactor documentation. Without its accounting daemon Slurm leaves
// age and fair share at zero; a design that counts on them needs slurmdbd.
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
  double shares = 1;          // of the user within the account
  double account_shares = 1;  // of the account within the cluster
  double use = 0;             // decayed, of the user
};
// One factor a user, in the order given.
std::vector<double> classic_factors(std::span<const FairUser> users);
// Likewise. Unused shares rank before all used ones; equals share the
// better rank.
std::vector<double> fair_tree(std::span<const FairUser> users);

}  // namespace orrery::cluster
