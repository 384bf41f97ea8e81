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
  std::string_view unit = {};    // the one to suggest; for a bare double, the one it must carry
  std::string_view absent = {};  // what holds where an optional is left out
  Part part = Part::none;
  Range range = Range::not_negative;
  bool required = false;
  bool automatic = false;  // the word `auto` says "compute it", as leaving it out does
  std::string_view example = {};
  // What a change of it moves: a figure of the review and its direction ("annual rises": more of
  // this field, or true, raises it; "pue changes" for words), "rule ID" whose finding comes or
  // goes, "emit FILE" that is written otherwise ("emit store": the file of the store that
  // `orrery store` makes), "run ttft falls" of a figure that only a run in
  // simulated time sees, or "label" for a name that others refer to.
  // tests/fields_test.cpp proves it.
  std::string_view moves = {};
  // Why it cannot act yet: the reader then refuses it with this sentence.
  std::string_view not_yet = {};
};

template <class S, class T>
concept Is = std::same_as<std::remove_const_t<S>, T>;

}  // namespace orrery::design
