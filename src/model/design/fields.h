// The one table of the design file's fields: key, value, unit, range, meaning, effect.
//
// visit_fields(v, s) calls v(key, member, Field) for every field of a section, in the order in
// which the writer puts them. Reader, writer, JSON Schema and the reference in docs/guide are
// visitors, so they cannot drift apart. A value's kind follows from the member's type: a Quantity
// wants a unit, an enum one of its words (names.h), an optional may be left out, a struct is a
// section of its own.
#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>

namespace orrery::design {

// Which table of the catalog an id must be in.
enum class Part {
  none,
  region,
  cooling,
  redundancy,
  power_stage,
  climate,
  lead_time,
  node,
  accelerator,
  scale_up_link,
  switch_part,
  nic,
  optic,
  storage_device,
  storage_profile,
  model,
  provider,
};

enum class Range { any, not_negative, positive, fraction, positive_fraction, at_least_one };

constexpr bool is_share(Range r) { return r == Range::fraction || r == Range::positive_fraction; }

struct Field {
  std::string_view doc;
  std::string_view unit = {};    // the unit to suggest; for a bare double, the unit it must carry
  std::string_view absent = {};  // what holds if an optional is left out
  Part part = Part::none;
  Range range = Range::not_negative;
  bool required = false;
  // true if the word `auto` means "compute it", as leaving the field out does
  bool automatic = false;
  std::string_view example = {};
  // What a change of the field moves:
  //   "annual rises"  a figure of the review and its direction when the field grows or turns true
  //   "pue changes"   the same for fields whose values are words
  //   "rule ID"       a rule whose finding appears or disappears
  //   "emit FILE"     an emitted file that changes ("emit store": what `orrery store` makes)
  //   "run ttft falls" a figure that only a simulated run gives
  //   "label"         a name that other fields refer to
  // tests/fields_test.cpp proves it.
  std::string_view moves = {};
  // Why the field cannot act yet: the reader then refuses it with this sentence.
  std::string_view not_yet = {};
};

template <class S, class T>
concept Is = std::same_as<std::remove_const_t<S>, T>;

}  // namespace orrery::design
