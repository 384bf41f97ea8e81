// Recent reviews, kept for the next edit.
//
// Most of a review's time goes into the steps of its training runs, its services and the build
// schedule. None of them depends on names, money or goals. A design that differs from a kept one
// only in these reuses those parts and gets the same verdict, to the byte, several times sooner.
// The shelf holds the designs that were requested last. A design that names files is always
// reviewed in full, because a file may have changed.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>

#include "model/design/design.h"
#include "model/machine/models.h"
#include "plan/review/stages.h"
#include "plan/verdict/verdict.h"

namespace orrery::server {

class ReviewShelf {
 public:
  explicit ReviewShelf(const machine::Models& models) : models_(models) {}

  // Same results as review(design, models) and run_stages(design, models); callable from any
  // thread.
  verdict::Verdict review(design::Design design);
  std::shared_ptr<const review::Review> stages(design::Design design);

 private:
  struct Kept {
    design::Design machines;  // the design without names, money and goals
    std::shared_ptr<const review::Review> stages;
  };
  std::shared_ptr<const review::Review> find(const design::Design& machines);
  void keep(Kept kept);

  static constexpr std::size_t kMost = 32;

  const machine::Models& models_;
  std::mutex mutex_;
  std::list<Kept> kept_;  // most recently used first
};

}  // namespace orrery::server
