// The hosts of one fleet and who has them: free, in reserve, held by a job, in repair.
//
// A job takes hosts in their order, so that neighbours stay neighbours, and gives them back at its
// end; a declared spare is taken only where no other host is free. No host is held twice: take()
// gives only what is free, and a host in repair is nobody's until it is back.
#pragma once

#include <cstdint>
#include <vector>

namespace orrery::twin {

enum class HostState : std::uint8_t { free, reserve, held, repair };

class HostPool {
 public:
  HostPool(int hosts, int spares);

  int size() const { return static_cast<int>(state_.size()); }
  int available() const { return free_ + reserve_; }
  HostState state(int host) const { return state_[index(host)]; }
  // Whose it is; -1: nobody's.
  int holder(int host) const { return holder_[index(host)]; }

  // The first `count` that are free, sorted; where they do not suffice, spares from the reserve
  // after them, which are named in `from_reserve` too. False, and nothing taken, where there are
  // fewer of both.
  bool take(int count, int holder, std::vector<int>& taken, std::vector<int>& from_reserve);
  void give_back(int host);
  // The first declared spare that waits; -1: none does.
  int first_in_reserve() const;
  // It is in service like any other from now on.
  void call_spare(int host);
  void break_down(int host);
  void mend(int host);

 private:
  static std::size_t index(int host) { return static_cast<std::size_t>(host); }
  void claim(std::vector<int>& taken, int count, HostState wanted, int holder);
  void rest(int host);

  int first_spare_;
  std::vector<bool> is_spare_;
  int free_;
  int reserve_;
  int lowest_free_ = 0;  // none below it is free
  std::vector<HostState> state_;
  std::vector<int> holder_;
};

}  // namespace orrery::twin
